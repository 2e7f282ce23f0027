#pragma once

#include "base/rules.h"

#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace fusednn::base {

/// A refusal: the rule that was broken, and a message that says where, what was found, and the rule.
struct Error {
  Rule rule;
  std::string message;

  ErrorKind kind() const { return row(rule).kind; }
};

/// Where an error was found; empty parts are left out of the message.
struct Where {
  std::string_view node;
  std::string_view tensor;
};

/// "invalid: node 'mm' tensor 'A': <found>; rule: <text> [matmul_inner_dim]"
Error make_error(Rule rule, Where where, std::string_view found);

/// One text that lists all errors, one per line; the public code is that of the first.
std::string join(std::vector<Error> const& errors);

/// A value or the errors that prevented it.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Error error) : state_(std::vector<Error>{std::move(error)}) {}
  Result(std::vector<Error> errors) : state_(std::move(errors)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() { return std::get<0>(state_); }
  T const& value() const { return std::get<0>(state_); }
  T& operator*() { return value(); }
  T* operator->() { return &value(); }
  std::vector<Error> const& errors() const { return std::get<1>(state_); }
  Error const& error() const { return errors().front(); }

 private:
  std::variant<T, std::vector<Error>> state_;
};

struct Unit {};
using Status = Result<Unit>;
inline Status success() { return Unit{}; }

}  // namespace fusednn::base
