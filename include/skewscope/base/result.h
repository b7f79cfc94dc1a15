// Result<T>: a value, or an Error that says where, what, and what to do. For operations that can fail; imperfect input
// that work can continue from is a Finding instead.
#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace skewscope {

// What kind of failure it is; the command line maps each to an exit code.
enum class ErrorKind {
  usage,           // the user's arguments or configuration do not make sense      (exit 2)
  no_input,        // nothing usable was given                                     (exit 3)
  unreadable,      // it cannot be read now: memory, descriptors, a disk           (exit 3)
  output,          // the output exists or cannot be written                       (exit 5)
  resource_limit,  // --memory-limit would be exceeded                             (exit 6)
  internal,        // an invariant of skewscope does not hold                      (exit 70)
};

struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string message;
};

// For a file or folder: no_input, or unreadable where `error`, an errno, says nothing of the file itself.
Error cannot_read(const std::string& path, int error);

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor): return value;
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor): return Error{...};

  bool ok() const { return std::holds_alternative<T>(state_); }
  const T& value() const& { return assert(ok()), std::get<T>(state_); }
  T& value() & { return assert(ok()), std::get<T>(state_); }
  T&& value() && { return assert(ok()), std::get<T>(std::move(state_)); }
  const Error& error() const { return assert(!ok()), std::get<Error>(state_); }

 private:
  std::variant<T, Error> state_;
};

// The value of an operation that only succeeds or fails.
struct Done {};

}  // namespace skewscope
