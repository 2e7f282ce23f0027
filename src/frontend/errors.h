#pragma once

#include "base/log.h"
#include "base/result.h"

#include <fusednn/error.h>

namespace fusednn {

/// The public form of errors: the code of the first, all messages, one per line. They are logged on their way out.
inline error_t to_public(std::vector<base::Error> const& errors) {
  error_t result(base::row(errors.front().rule).code, base::join(errors));
  log(LogLevel::ERROR, "{}", result.err_msg);
  return result;
}
inline error_t to_public(base::Error const& error) { return to_public(std::vector{error}); }
inline error_t to_public(base::Status const& status) { return status ? error_t() : to_public(status.errors()); }

}  // namespace fusednn
