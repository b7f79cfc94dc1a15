#include "exit_code.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>

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

std::string partial_words(const Findings& findings) {
  std::map<std::string, int64_t> counts;
  int64_t partial = 0;
  for (const Finding& finding : findings) {
    if (finding.severity == Severity::info) continue;
    ++counts[std::string(finding.code.text())];
    ++partial;
  }
  std::string words = fmt::format("{} {}", partial, partial == 1 ? "warning" : "warnings");
  const char* before = ": ";
  for (const auto& [code, count] : counts) {
    words += before + code + (count > 1 ? fmt::format(" ({})", count) : "");
    before = ", ";
  }
  return words;
}

ExitCode exit_code_of(const Findings& findings, bool strict) {
  if (!strict || count_partial(findings) == 0) return kDone;
  spdlog::error("--strict: {}", partial_words(findings));
  return kInPart;
}

ExitCode fail(const Error& error) {
  spdlog::error("{}", printable(error.message));
  return code_of(error.kind);
}

}  // namespace skewscope::cli
