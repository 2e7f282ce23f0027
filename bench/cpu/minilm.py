#!/usr/bin/env python3
"""Measures the sentence-embedding example against onnxruntime and writes bench/results/cpu/minilm.json.

Both run in alternating blocks, so that what else the machine does falls on both; the figures are medians over
all blocks. Needs a release build, the model (scripts/fetch_model.sh) and the packages of requirements.txt:

    .venv/bin/pip install -r bench/cpu/requirements.txt
    .venv/bin/python bench/cpu/minilm.py [--build build/release] [--model build/model]
"""

import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
THREADS = 2


def run_json(command):
    environment = dict(os.environ, OMP_NUM_THREADS=str(THREADS))
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return json.loads(done.stdout)


def processor():
    fields = dict(line.split(":", 1) for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if ":" in line)
    fields = {key.strip(): value.strip() for key, value in fields.items()}
    return f"{fields['model name']}, family {fields['cpu family']} model {fields['model']}, {THREADS} threads"


def measure(ours, peer, blocks):
    ours_ms, peer_ms = [], []
    for _ in range(blocks):
        found, expected = run_json(ours), run_json(peer)
        ours_ms += found["pass_ms"]
        peer_ms += expected["pass_ms"]
    return found, expected["versions"], ours_ms, peer_ms


def case(dtype, result, ours_ms, peer_ms):
    ours, peer = statistics.median(ours_ms), statistics.median(peer_ms)
    return {
        "case": f"all-MiniLM-L6-v2 {dtype}, 12 sentences padded to 39 tokens",
        "plan": {graph["graph"]: graph["engine"] + " " + graph["plan"] for graph in result["graphs"]},
        "correct": result["correct"],
        "difference": result["difference"],
        "ours_ms": round(ours, 3),
        "peers": {"onnxruntime": round(peer, 3)},
        "ratio": round(peer / ours, 3),
        "best_ms": {"ours": round(min(ours_ms), 3), "onnxruntime": round(min(peer_ms), 3)},
        "ms_by_graph": {graph["graph"]: round(graph["ms_per_pass"], 3) for graph in result["graphs"]},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--model", type=pathlib.Path, default=ROOT / "build" / "model")
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=40, help="passes in a block")
    arguments = parser.parse_args()

    example = arguments.build / "examples" / "bin" / "sentence_embedding"
    common = ["--rounds", str(arguments.rounds), "--json"]
    peer = [sys.executable, str(ROOT / "bench" / "cpu" / "minilm_onnxruntime.py"), str(arguments.model),
            "--threads", str(THREADS), *common]
    cases = []
    for dtype in ("float32", "bfloat16"):
        ours = [str(example), "--model", str(arguments.model), "--dtype", dtype, *common]
        result, versions, ours_ms, peer_ms = measure(ours, peer, arguments.blocks)
        cases.append(case(dtype, result, ours_ms, peer_ms))
        print(f"{cases[-1]['case']}: {cases[-1]['ours_ms']} ms, onnxruntime {cases[-1]['peers']['onnxruntime']} ms "
              f"(in float32), ratio {cases[-1]['ratio']}")

    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True)
    report = {"device": processor(), "versions": versions, "commit": commit.stdout.strip(),
              "date": datetime.date.today().isoformat(), "cases": cases}
    path = ROOT / "bench" / "results" / "cpu" / "minilm.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
