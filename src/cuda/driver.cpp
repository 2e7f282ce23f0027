#include "cuda/driver.h"

#include <fmt/format.h>

namespace fusednn::cuda {

namespace {

struct Loaded {
  Driver driver;
  Search search{"CUDA driver", {}};
  base::Status status = base::success();
};

base::Status load(Loaded& l) {
  auto fail = [&](std::string outcome) -> base::Status {
    if (!outcome.empty()) l.search.attempts.back().outcome = std::move(outcome);
    return base::make_error(base::Rule::cuda_driver, {}, l.search.text());
  };
  void* library = open_library("libcuda.so.1", l.search);
  if (!library) return fail({});
  char const* missing = nullptr;
#define FUSEDNN_LOAD_OPTIONAL(function, name, parameters) \
  l.driver.function = reinterpret_cast<decltype(l.driver.function)>(symbol(library, name));
#define FUSEDNN_LOAD(function, name, parameters)   \
  FUSEDNN_LOAD_OPTIONAL(function, name, parameters) \
  if (!l.driver.function) missing = name;
  FUSEDNN_DRIVER_FUNCTIONS(FUSEDNN_LOAD)
  FUSEDNN_OPTIONAL_DRIVER_FUNCTIONS(FUSEDNN_LOAD_OPTIONAL)
#undef FUSEDNN_LOAD
#undef FUSEDNN_LOAD_OPTIONAL
  if (missing) return fail(fmt::format("lacks {}; it is older than CUDA 11.8", missing));
  l.driver.driver_version(&l.driver.version);
  if (DriverCode code = l.driver.init(0); code != code::success)
    return fail(l.driver.text(code, "cuInit"));
  l.search.attempts.back().outcome =
      fmt::format("loaded, for CUDA {}.{}", l.driver.version / 1000, l.driver.version % 1000 / 10);
  return base::success();
}

// Never destroyed: modules and contexts in static storage are released while the process ends.
Loaded const& loaded() {
  static Loaded const& instance = *[] {
    auto* l = new Loaded;
    l->status = load(*l);
    return l;
  }();
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
  Loaded const& l = loaded();
  if (!l.status) return l.status.errors();
  return &l.driver;
}

Search const& driver_search() { return loaded().search; }

}  // namespace fusednn::cuda
