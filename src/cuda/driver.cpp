#include "cuda/driver.h"

#include <fmt/format.h>

namespace fusednn::cuda {

base::Result<Driver> Driver::load(std::string const& library, Search& search) {
  auto fail = [&] { return base::make_error(base::Rule::cuda_driver, {}, search.text()); };
  void* opened = open_library(library, search);
  if (!opened) return fail();
  std::string& outcome = search.attempts.back().outcome;
  Driver d;
  char const* missing = nullptr;
#define FUSEDNN_LOAD_OPTIONAL(function, name, parameters) \
  d.function = reinterpret_cast<decltype(d.function)>(symbol(opened, name));
#define FUSEDNN_LOAD(function, name, parameters)    \
  FUSEDNN_LOAD_OPTIONAL(function, name, parameters) \
  if (!d.function) missing = name;
  FUSEDNN_DRIVER_FUNCTIONS(FUSEDNN_LOAD)
  FUSEDNN_OPTIONAL_DRIVER_FUNCTIONS(FUSEDNN_LOAD_OPTIONAL)
#undef FUSEDNN_LOAD
#undef FUSEDNN_LOAD_OPTIONAL
  if (missing) {
    outcome = fmt::format("lacks {}", missing);
    return fail();
  }
  d.driver_version(&d.version);
  if (DriverCode code = d.init(0)) {
    outcome = d.text(code, "cuInit");
    return fail();
  }
  outcome = fmt::format("loaded, for CUDA {}.{}", d.version / 1000, d.version % 1000 / 10);
  return d;
}

namespace {

struct Loaded {
  Search search{"CUDA driver", {}};
  base::Result<Driver> driver = Driver::load("libcuda.so.1", search);
};

// Never destroyed: modules and contexts in static storage are released while the process ends.
Loaded& loaded() {
  static Loaded& instance = *new Loaded;
  return instance;
}

}  // namespace

std::string Driver::text(DriverCode code, std::string_view call) const {
  char const* name = nullptr;
  char const* text = nullptr;
  error_name(code, &name);
  error_text(code, &text);
  return fmt::format("{}: {} ({})", call, name ? name : std::to_string(code), text ? text : "no text");
}

base::Error Driver::error(DriverCode code, std::string_view call) const {
  return base::make_error(base::Rule::cuda_call, {}, text(code, call));
}

base::Result<Driver const*> driver() {
  Loaded& l = loaded();
  if (!l.driver) return l.driver.errors();
  return &*l.driver;
}

Search const& driver_search() { return loaded().search; }

}  // namespace fusednn::cuda
