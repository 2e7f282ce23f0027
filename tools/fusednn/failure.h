#pragma once

#include <fusednn/error.h>

#include <stdexcept>
#include <string>

namespace tool {

/// How the program ends. Documented in `fusednn --help`.
enum ExitCode : int {
  exit_ok = 0,
  exit_check_failed = 1,
  exit_usage = 2,
  exit_invalid = 3,
  exit_unsupported = 4,
  exit_runtime = 5,
};

class Failure : public std::runtime_error {
 public:
  Failure(ExitCode code, std::string const& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

inline ExitCode exit_code_of(fusednn::error_code_t code) {
  using fusednn::error_code_t;
  switch (code) {
    case error_code_t::OK:
      return exit_ok;
    case error_code_t::ATTRIBUTE_NOT_SET:
    case error_code_t::SHAPE_DEDUCTION_FAILED:
    case error_code_t::INVALID_TENSOR_NAME:
    case error_code_t::UNSUPPORTED_GRAPH_FORMAT:
    case error_code_t::INVALID_VALUE:
      return exit_invalid;
    case error_code_t::GRAPH_NOT_SUPPORTED:
    case error_code_t::HANDLE_ERROR:
      return exit_unsupported;
    default:
      return exit_runtime;
  }
}

inline void check(fusednn::error_t const& outcome) {
  if (outcome.is_bad()) throw Failure(exit_code_of(outcome.get_code()), outcome.get_message());
}

}  // namespace tool
