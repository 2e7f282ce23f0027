#pragma once

#include "base/enum_names.h"
#include "base/result.h"

#include <fusednn/error.h>

namespace fusednn {

/// The public form of errors: the code of the first, all messages, one per line.
inline error_t to_public(std::vector<base::Error> const& errors) {
  return {base::row(errors.front().rule).code, base::join(errors)};
}
inline error_t to_public(base::Error const& error) { return {base::row(error.rule).code, error.message}; }
inline error_t to_public(base::Status const& status) { return status ? error_t() : to_public(status.errors()); }

}  // namespace fusednn
