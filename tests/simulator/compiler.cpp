#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

// A run-time compiler that makes of a CUDA text a library for the host: the text, with what tests/simulator/device has
// in place of the machine's own, through the compiler that this file went through. For each kernel NAME the library
// has `simulate_NAME`, which takes the places of the parameters.

#define EXPORT extern "C" __attribute__((visibility("default")))

struct _nvrtcProgram {
  std::string text;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string image, log;
};
using Program = _nvrtcProgram*;

namespace {

namespace fs = std::filesystem;

constexpr int success = 0, compilation_failed = 6, internal_error = 11;
int const archs[] = {80, 90, 100, 120};

int give(std::string const& from, char* to) { return std::memcpy(to, from.data(), from.size()), success; }
int measure(std::string const& of, size_t* bytes) { return *bytes = of.size(), success; }

std::string read(fs::path const& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write(fs::path const& path, std::string const& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

/// The text, then a caller for each kernel. A kernel's name is the last word before its parameters, which follow the
/// launch bounds where it has any.
std::string with_callers(std::string const& text) {
  std::string callers;
  for (size_t at = text.find("__global__"); at != text.npos; at = text.find("__global__", at + 1)) {
    size_t open = text.find('(', at);
    if (text.compare(open - 17, 17, "__launch_bounds__") == 0) open = text.find('(', open + 1);
    size_t const before = text.find_last_of(" \n", open);
    std::string const name = text.substr(before + 1, open - before - 1);
    callers += "extern \"C\" __attribute__((visibility(\"default\"))) void simulate_" + name +
               "(void** parameters) { simulator::call(&" + name + ", parameters); }\n";
  }
  return "#include \"device.h\"\n" + text + "\n" + callers;
}

/// The exit status of a command whose output goes to a file.
int run(std::vector<std::string> const& words, fs::path const& output) {
  std::vector<char*> arguments;
  for (std::string const& w : words) arguments.push_back(const_cast<char*>(w.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  int const failed = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (failed || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int compile(Program p, fs::path const& folder) {
  for (auto const& [name, text] : p->headers) write(folder / name, text);
  write(folder / "kernel.cpp", with_callers(p->text));
  // Registers that nobody has set hold a pattern; products are contracted as a device compiler does.
  int const status = run({SIMULATOR_CXX, "-std=c++17", "-O1", "-w", "-fPIC", "-shared", "-fvisibility=hidden",
                          "-fno-gnu-unique", "-fno-strict-aliasing", "-ftrivial-auto-var-init=pattern",
                          "-ffp-contract=fast", "-march=native", "-I", SIMULATOR_DEVICE, "-I", folder.string(), "-o",
                          (folder / "kernel.so").string(), (folder / "kernel.cpp").string()},
                         folder / "log");
  p->log = status ? read(folder / "log") + "\n" + p->text : "";
  p->image = read(folder / "kernel.so");
  return status ? compilation_failed : success;
}

}  // namespace

EXPORT int nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, success; }
EXPORT int nvrtcGetNumSupportedArchs(int* count) { return *count = std::size(archs), success; }
EXPORT int nvrtcGetSupportedArchs(int* to) { return std::copy(std::begin(archs), std::end(archs), to), success; }
EXPORT int nvrtcCreateProgram(Program* p, char const* text, char const*, int count, char const* const* headers,
                              char const* const* names) {
  *p = new _nvrtcProgram{text, {}, {}, {}};
  for (int i = 0; i < count; ++i) (*p)->headers.emplace_back(names[i], headers[i]);
  return success;
}
EXPORT int nvrtcDestroyProgram(Program* p) { return delete *p, *p = nullptr, success; }
EXPORT int nvrtcCompileProgram(Program p, int, char const* const*) {
  std::string pattern = (fs::temp_directory_path() / "fusednn-simulator-XXXXXX").string();
  if (!mkdtemp(pattern.data())) return internal_error;
  int const code = compile(p, pattern);
  fs::remove_all(pattern);
  return code;
}
EXPORT int nvrtcGetPTXSize(Program p, size_t* bytes) { return measure(p->image, bytes); }
EXPORT int nvrtcGetPTX(Program p, char* to) { return give(p->image, to); }
EXPORT int nvrtcGetCUBINSize(Program p, size_t* bytes) { return measure(p->image, bytes); }
EXPORT int nvrtcGetCUBIN(Program p, char* to) { return give(p->image, to); }
EXPORT int nvrtcGetProgramLogSize(Program p, size_t* bytes) { return *bytes = p->log.size() + 1, success; }
EXPORT int nvrtcGetProgramLog(Program p, char* to) {
  return std::memcpy(to, p->log.c_str(), p->log.size() + 1), success;
}
