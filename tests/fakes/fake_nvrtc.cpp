#include <cstring>
#include <string>

// A run-time compiler that knows sm_80 and sm_90 and makes of a text an image that repeats it. "#error" fails; what
// follows "ptxas says " goes to the log.

#define EXPORT extern "C" __attribute__((visibility("default")))

struct _nvrtcProgram {
  std::string text, image, log;
};
using Program = _nvrtcProgram*;

namespace {

int give(std::string const& from, char* to) { return std::memcpy(to, from.c_str(), from.size() + 1), 0; }
int measure(std::string const& of, size_t* bytes) { return *bytes = of.size() + 1, 0; }

}  // namespace

EXPORT int nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, 0; }
EXPORT int nvrtcGetNumSupportedArchs(int* count) { return *count = 2, 0; }
EXPORT int nvrtcGetSupportedArchs(int* archs) { return archs[0] = 80, archs[1] = 90, 0; }
EXPORT int nvrtcCreateProgram(Program* p, char const* text, char const*, int, char const* const*, char const* const*) {
  return *p = new _nvrtcProgram{text, {}, {}}, 0;
}
EXPORT int nvrtcDestroyProgram(Program* p) { return delete *p, *p = nullptr, 0; }
EXPORT int nvrtcCompileProgram(Program p, int count, char const* const* options) {
  constexpr int compilation_failed = 6;
  if (size_t const at = p->text.find("#error"); at != p->text.npos)
    return p->log = p->text.substr(at, p->text.find('\n', at) - at), compilation_failed;
  for (int i = 0; i < count; ++i) p->image += std::string(options[i]) + "\n";
  p->image += p->text;
  if (size_t const at = p->text.find("ptxas says "); at != p->text.npos)
    p->log = p->text.substr(at + 11, p->text.find('\n', at) - at - 11);
  return 0;
}
EXPORT int nvrtcGetPTXSize(Program p, size_t* bytes) { return measure(p->image, bytes); }
EXPORT int nvrtcGetPTX(Program p, char* to) { return give(p->image, to); }
EXPORT int nvrtcGetCUBINSize(Program p, size_t* bytes) { return measure(p->image, bytes); }
EXPORT int nvrtcGetCUBIN(Program p, char* to) { return give(p->image, to); }
EXPORT int nvrtcGetProgramLogSize(Program p, size_t* bytes) { return measure(p->log, bytes); }
EXPORT int nvrtcGetProgramLog(Program p, char* to) { return give(p->log, to); }
