#include "exit_code.h"

#include <spdlog/spdlog.h>

#include <algorithm>

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

int64_t count_partial(const Findings& findings) {
  return std::count_if(findings.begin(), findings.end(), [](const Finding& f) { return f.severity != Severity::info; });
}

ExitCode exit_code_of(int64_t partial, bool strict) {
  if (!strict || partial == 0) return kDone;
  spdlog::error("--strict: done in part, {} findings are more than information", partial);
  return kInPart;
}

ExitCode fail(const Error& error) {
  spdlog::error("{}", printable(error.message));
  return code_of(error.kind);
}

}  // namespace skewscope::cli
