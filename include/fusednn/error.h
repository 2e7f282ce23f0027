#pragma once

#include <fusednn/enums.h>

#include <string>

FUSEDNN_BEGIN_NAMESPACE

/// Outcome of a call. A bad one carries a message that names the node, the tensor, the value found and the rule.
class [[nodiscard]] error_object {
 public:
  error_object() = default;
  error_object(error_code_t c, std::string message) : code(c), err_msg(std::move(message)) {}

  error_code_t get_code() const { return code; }
  std::string const& get_message() const { return err_msg; }
  bool is_good() const { return code == error_code_t::OK; }
  bool is_bad() const { return !is_good(); }
  bool operator==(error_code_t other) const { return code == other; }
  bool operator!=(error_code_t other) const { return code != other; }

  error_code_t code = error_code_t::OK;
  std::string err_msg;
};

using error_t = error_object;

/// "INVALID_VALUE" and so on.
FUSEDNN_EXPORT char const* to_string(error_code_t) noexcept;

FUSEDNN_END_NAMESPACE
