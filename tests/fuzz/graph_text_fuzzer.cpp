#include "fuzz/graph_text_property.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

// Entry point of libFuzzer.
extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  std::string const fault = fusednn::tests::check_graph_text({reinterpret_cast<char const*>(data), size});
  if (fault.empty()) return 0;
  std::fprintf(stderr, "%s\n", fault.c_str());
  std::abort();
}
