#include "exit_code.h"

#include <spdlog/spdlog.h>

#include "skewscope/base/printable.h"

namespace skewscope::cli {
namespace {

ExitCode code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
      return kUsage;
    case ErrorKind::no_input:
    case ErrorKind::unreadable:
      return kNoInput;
    case ErrorKind::output:
      return kOutput;
    case ErrorKind::resource_limit:
      return kResourceLimit;
    case ErrorKind::internal:
      return kInternal;
  }
  return kInternal;
}

}  // namespace

ExitCode fail(const Error& error) {
  spdlog::error("{}", printable(error.message));
  return code_of(error.kind);
}

}  // namespace skewscope::cli
