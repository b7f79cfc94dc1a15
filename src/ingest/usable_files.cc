#include "usable_files.h"

#include <algorithm>
#include <map>
#include <utility>

#include "src/ingest/digests/digest_file.h"

namespace skewscope::ingest {
namespace {

struct Reason {
  FindingCode code;
  const char* format;
  const char* message;
};

Reason reason_of(ContentKind kind) {
  switch (kind) {
    case ContentKind::execution_trace:
      return {"execution-trace", "not a rank: execution trace",
              "an execution trace, without times on the GPU; left out"};
    case ContentKind::merged_trace:
      return {"merged-trace", "not a rank: merged trace",
              "several ranks merged into one file; left out: name the ranks' own files"};
    case ContentKind::front_end:
      return {"front-end", "not a rank: front end", "a process without GPU work and collectives; left out"};
    case ContentKind::empty:
      return {"empty-file", "empty", "no event in it; left out"};
    case ContentKind::not_a_trace:
      return {"not-a-trace", "not a trace", "no profiler trace; left out"};
    case ContentKind::rank_trace:
      break;
  }
  return {{}, "", ""};
}

}  // namespace

void tell_apart(std::vector<TraceFile>& files) {
  std::map<std::string, int> claims;
  for (const TraceFile& file : files) ++claims[file.evidence.file];
  for (TraceFile& file : files) {
    if (claims[file.evidence.file] < 2) continue;
    const FileNameFacts facts = file.evidence.name;
    set_path(file.path, file);
    file.evidence.name = facts;
  }
}

void report_left_out(TraceFile& file) {
  const Reason reason = reason_of(file.kind);
  Findings& findings = file.linked.findings;
  const bool said = std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
    const bool seems_to_hold_nothing = file.kind == ContentKind::not_a_trace || file.kind == ContentKind::empty;
    const bool nobody_knows = seems_to_hold_nothing && is_of_unreadable_file(finding);
    return finding.code == reason.code || finding.code == "other-format" || finding.code == "copied-trace" ||
           nobody_knows;
  });
  if (said) return;
  findings.push_back(finding_of_file(Severity::warning, reason.code, file.evidence.file, reason.message));
}

void mark_usable(std::vector<TraceFile>& files) {
  const bool any_rank = std::any_of(files.begin(), files.end(),
                                    [](const TraceFile& file) { return file.kind == ContentKind::rank_trace; });
  for (TraceFile& file : files) {
    const bool claims_rank = file.evidence.distributed.rank >= 0;
    file.usable =
        file.kind == ContentKind::rank_trace || (file.kind == ContentKind::front_end && (claims_rank || !any_rank));
    if (file.usable) continue;
    report_left_out(file);
  }
}

std::string format_of(const TraceFile& file) {
  return file.usable || file.kind == ContentKind::rank_trace ? file.format : reason_of(file.kind).format;
}

}  // namespace skewscope::ingest
