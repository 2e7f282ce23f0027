"""Runs the programs of a GPU bundle in parallel and reports; see gpu_test.sh."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

SECONDS_FOR_ALL = 450
MOST_TESTS_REPEATED = 96
# Every family of kernels, on sizes with remainders.
SANITIZER_FILTER = ":".join((
    "NormThenMultiply.*", "NormShapes.OneElement*", "MatmulEpilogue.BiasAndResidualOnOddSizes", "SoftmaxBehindMatmul.*",
    "Attention.DecodeWithACausalMaskAndGroupedHeads", "Attention.BiasesAcrossTileEdges", "Broadcast.*", "AmaxOfLittle.*",
    "NotANumber.IsKeptByReductionsWhereverItLies"))


@dataclass
class Job:
    """One process. `tests`: it is a GoogleTest program, which says in a file what became of its tests."""
    name: str
    command: list[str]
    limit: int = 240
    environment: dict[str, str] = field(default_factory=dict)
    tests: bool = True
    # What it became:
    seconds: float = 0.0
    code: int | None = None
    passed: int = 0
    skipped: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    @property
    def good(self):
        return self.code == 0 and not self.failed and (self.passed > 0 or not self.tests)


class Runner:
    def __init__(self, bundle, device, scratch):
        self.logs = scratch / "logs"
        self.logs.mkdir()
        self.start = time.monotonic()
        cache = scratch / "cache"
        shutil.copytree(bundle / "cache", cache)
        self.environment = os.environ | {
            "LD_LIBRARY_PATH": f"{bundle / 'lib'}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":"),
            "FUSEDNN_TEST_DEVICE": device,
            "FUSEDNN_CACHE_DIR": str(cache),
            # Every core has a process of its own.
            "FUSEDNN_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
        }

    def run(self, job):
        left = SECONDS_FOR_ALL - (time.monotonic() - self.start)
        results = self.logs / f"{job.name}.json"
        environment = self.environment | job.environment
        if job.tests:
            environment["GTEST_OUTPUT"] = f"json:{results}"
        begin = time.monotonic()
        with open(self.logs / f"{job.name}.log", "wb") as log:
            try:
                job.code = subprocess.run(job.command, stdout=log, stderr=subprocess.STDOUT, env=environment,
                                          timeout=max(1, min(job.limit, left))).returncode
            except subprocess.TimeoutExpired:
                job.failed.append("ran out of time")
            except OSError as error:
                job.failed.append(str(error))
        job.seconds = time.monotonic() - begin
        if job.tests:
            self.read(job, results)
        elif job.code == 0:
            job.passed = 1
        if job.code and not job.failed:
            job.failed.append(f"ended with code {job.code}: {self.last_line(job)}")
        return job

    def read(self, job, results):
        """What the tests became; where the program ended early, its output names the test it was at."""
        if not results.exists():
            begun = re.findall(r"^\[ RUN      \] (.*)$", self.text(job), re.MULTILINE)
            if begun:
                job.failed.append(f"ended in {begun[-1]}")
            return
        for suite in json.loads(results.read_text())["testsuites"]:
            for test in suite["testsuite"]:
                name = f"{suite['name']}.{test['name']}"
                if "failures" in test:
                    job.failed.append(name)
                elif test["result"] == "SKIPPED":
                    job.skipped.append(name)
                elif test["result"] == "COMPLETED":
                    job.passed += 1

    def text(self, job):
        return (self.logs / f"{job.name}.log").read_text(errors="replace")

    def last_line(self, job):
        lines = self.text(job).strip().splitlines()
        return lines[-1] if lines else "no output"

    def run_all(self, jobs, at_once):
        with ThreadPoolExecutor(at_once) as pool:
            return list(pool.map(self.run, jobs))


def parallel_jobs(bundle, cores, seconds_of_random):
    program = lambda name: str(bundle / "bin" / name)
    jobs = []
    for i in range(cores):
        jobs.append(Job(f"cases_{i}", [program("test_cases")],
                        environment={"GTEST_TOTAL_SHARDS": str(cores), "GTEST_SHARD_INDEX": str(i)}))
    for i in range(4):
        jobs.append(Job(f"gpu_{i}", [program("test_gpu"), "--gtest_filter=-Times.*:ColdCache*:*Child.*"],
                        environment={"GTEST_TOTAL_SHARDS": "4", "GTEST_SHARD_INDEX": str(i)}))
    jobs.append(Job("api_execute", [program("test_api_execute")]))
    # The cache that came along serves this machine: nothing is compiled.
    if any((bundle / "cache").iterdir()):
        jobs.append(Job("carried_cache", [program("test_cases"), "--gtest_filter=Norm*"],
                        environment={"FUSEDNN_JIT": "forbid", "FUSEDNN_CACHE_DIR": str(bundle / "cache")}))
    for graph in sorted((bundle / "graphs").glob("*.json")):
        jobs.append(Job(f"tool_{graph.stem}", tests=False,
                        command=[program("fusednn"), "run", str(graph), "--device", "cuda", "--all-plans", "--check"]))
    for i in range(cores - 2):
        jobs.append(Job(f"random_{i}", [program("test_random")], limit=seconds_of_random + 60,
                        environment={"FUSEDNN_TEST_SEED": str(100000 * (i + 1)),
                                     "FUSEDNN_TEST_SECONDS": str(seconds_of_random)}))
    return jobs


def lone_jobs(bundle):
    """What counts on the machine's cores and its GPU for itself."""
    program = lambda name: str(bundle / "bin" / name)
    every_core = {"FUSEDNN_NUM_THREADS": "", "OMP_NUM_THREADS": str(os.cpu_count())}
    return [Job("cases_concurrency", [program("test_cases_concurrency")], environment=every_core),
            Job("gpu_cold_cache", [program("test_gpu"), "--gtest_filter=ColdCache.*"]),
            Job("gpu_times", [program("test_gpu"), "--gtest_filter=Times.*"], environment=every_core)]


def sanitizer_jobs(bundle):
    found = shutil.which("compute-sanitizer", path=f"{os.environ.get('PATH', '')}:/usr/local/cuda/bin")
    if not found:
        return []
    return [Job(f"sanitizer_{tool}",
                [found, "--tool", tool, "--error-exitcode", "99", str(bundle / "bin" / "test_cases"),
                 f"--gtest_filter={SANITIZER_FILTER}"], limit=150)
            for tool in ("memcheck", "racecheck")]


def repeat_alone(jobs, runner, at_once):
    """Runs each failed test in a process of its own: a fault on the GPU takes all later tests of its process along."""
    alone = []
    for job in jobs:
        for name in job.failed:
            test = name.removeprefix("ended in ")
            if job.tests and re.fullmatch(r"[\w/]+\.[\w/]+", test) and "random" not in job.name:
                command = [c for c in job.command if not c.startswith("--gtest_filter")] + [f"--gtest_filter={test}"]
                alone.append((job, name, Job(f"alone_{re.sub(r'[^A-Za-z0-9]', '_', test)}_{job.name}", command, limit=60,
                                             environment={k: v for k, v in job.environment.items() if "SHARD" not in k})))
    runner.run_all([repeated for _, _, repeated in alone[:MOST_TESTS_REPEATED]], at_once)
    for job, name, repeated in alone[:MOST_TESTS_REPEATED]:
        if repeated.good:
            job.failed[job.failed.index(name)] = f"{name} (passes alone)"


def describe(bundle, runner):
    def output(*command):
        try:
            return subprocess.run(command, capture_output=True, text=True, env=runner.environment,
                                  timeout=30).stdout.strip()
        except (OSError, subprocess.TimeoutExpired):
            return "unknown"

    return {
        "device": output("nvidia-smi", "--query-gpu=name", "--format=csv,noheader"),
        "driver": output("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"),
        "commit": (bundle / "commit").read_text().strip(),
        "date": time.strftime("%Y-%m-%d"),
        "environment": output(str(bundle / "bin" / "fusednn"), "env").splitlines(),
    }


def report(jobs, runner, machine, out):
    failures = []
    for job in jobs:
        if job.good:
            continue
        for name in job.failed or ["nothing ran"]:
            failures.append(f"{job.name}: {name}")
    with open(out / "gpu_failures.txt", "w") as file:
        for job in jobs:
            if job.good:
                continue
            text = runner.text(job)
            print(f"== {job.name}: {'; '.join(job.failed) or 'nothing ran'}", file=file)
            # A graph's text is long; what failed stands before it.
            print(text if len(text) < 60000 else f"{text[:40000]}\n[...]\n{text[-20000:]}", file=file)
    with tarfile.open(out / "gpu_test_logs.tar.gz", "w:gz") as archive:
        archive.add(runner.logs, "logs")
    rows = [{"name": j.name, "passed": j.passed, "failed": j.failed, "skipped": j.skipped, "code": j.code,
             "seconds": round(j.seconds, 1)} for j in jobs]
    total = {"passed": sum(j.passed for j in jobs), "failed": len(failures),
             "skipped": sum(len(j.skipped) for j in jobs), "seconds": round(time.monotonic() - runner.start, 1)}
    (out / "gpu_test.json").write_text(json.dumps(machine | {"total": total, "jobs": rows}, indent=1) + "\n")

    for job in jobs:
        if job.name == "gpu_times":
            print(*re.findall(r"^(?:plan build|execute),.*$", runner.text(job), re.MULTILINE), sep="\n")
    for failure in failures:
        print(f"FAILED {failure}")
    print(f"{'program':32} {'passed':>7} {'failed':>7} {'skipped':>8} {'seconds':>8}")
    for job in jobs:
        failed = len(job.failed) or int(not job.good)
        print(f"{job.name:32} {job.passed:7} {failed:7} {len(job.skipped):8} {job.seconds:8.1f}")
    print(f"GPU {machine['device']}, driver {machine['driver']}, commit {machine['commit']}: "
          f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped in {total['seconds']:.0f} s")
    return not failures and total["passed"] > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=min(16, os.cpu_count()), help="processes at once")
    parser.add_argument("--random-seconds", type=int, default=60, help="for random graphs, per process")
    parser.add_argument("--device", default="cuda", help="cpu: tries this program where there is no GPU")
    parser.add_argument("--no-sanitizer", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fusednn-gpu-") as scratch:
        runner = Runner(arguments.bundle, arguments.device, Path(scratch))
        machine = describe(arguments.bundle, runner)
        print(*machine["environment"], sep="\n", flush=True)
        jobs = runner.run_all(parallel_jobs(arguments.bundle, arguments.jobs, arguments.random_seconds), arguments.jobs)
        jobs += runner.run_all(lone_jobs(arguments.bundle), 1)
        repeat_alone(jobs, runner, arguments.jobs)
        if not arguments.no_sanitizer:
            found = sanitizer_jobs(arguments.bundle)
            if not found:
                print("compute-sanitizer: absent")
            jobs += runner.run_all(found, 2)
        return 0 if report(jobs, runner, machine, arguments.out) else 1


if __name__ == "__main__":
    sys.exit(main())
