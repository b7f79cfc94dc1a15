// A Finding is imperfect input that work went on from: counted, placed, with its consequence. Findings end in
// report.json `diagnostics[]` and in diagnostics.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skewscope/base/finding_code.h"
#include "skewscope/base/ids.h"

namespace skewscope {

struct Finding {
  Severity severity = Severity::warning;
  FindingCode code;          // which of those in finding_codes.h
  std::string file;          // path as the user gave it; empty: the job as a whole
  Rank rank;                 // none where no rank is known
  int64_t byte_offset = -1;  // of the first occurrence, in the uncompressed text; -1: nowhere in a file
  int64_t count = 1;         // how often
  std::string message;       // what was seen and what follows from it, one sentence
};

using Findings = std::vector<Finding>;

// About a file of which no rank is known, about the file of a rank, about the job as a whole.
Finding finding_of_file(Severity severity, FindingCode code, std::string file, std::string message, int64_t count = 1);
Finding finding_of_rank(Severity severity, FindingCode code, std::string file, Rank rank, std::string message);
Finding finding_of_job(Severity severity, FindingCode code, std::string message, int64_t count = 1);

// Whether it says that the operating system refused a file, perhaps this time only.
constexpr FindingCode kUnreadableFile = "unreadable-file";
inline bool is_of_unreadable_file(const Finding& finding) { return finding.code == kUnreadableFile; }

// Adds to an entry of equal code, file and rank (its count grows, its first offset stays), else appends.
void add_finding(Findings& findings, Finding finding);

// Orders by severity (errors first), code, file, rank, offset, message: equal for any thread count and file order.
void sort_findings(Findings& findings);

}  // namespace skewscope
