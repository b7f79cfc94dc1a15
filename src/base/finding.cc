#include "skewscope/base/finding.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace skewscope {

const char* to_string(Severity severity) {
  switch (severity) {
    case Severity::info:
      return "info";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return "error";
}

Finding finding_of_file(Severity severity, FindingCode code, std::string file, std::string message, int64_t count) {
  return {severity, code, std::move(file), Rank(), -1, count, std::move(message)};
}

Finding finding_of_rank(Severity severity, FindingCode code, std::string file, Rank rank, std::string message) {
  return {severity, code, std::move(file), rank, -1, 1, std::move(message)};
}

Finding finding_of_job(Severity severity, FindingCode code, std::string message, int64_t count) {
  return finding_of_file(severity, code, "", std::move(message), count);
}

void add_finding(Findings& findings, Finding finding) {
  for (Finding& known : findings) {
    if (known.code == finding.code && known.file == finding.file && known.rank == finding.rank) {
      known.count += finding.count;
      known.severity = std::max(known.severity, finding.severity);
      return;
    }
  }
  findings.push_back(std::move(finding));
}

void sort_findings(Findings& findings) {
  std::sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    return std::tie(b.severity, a.code, a.file, a.rank, a.byte_offset, a.message) <
           std::tie(a.severity, b.code, b.file, b.rank, b.byte_offset, b.message);
  });
}

}  // namespace skewscope
