// Problem: from PyTorch 2.4 until early 2025 "baseTimeNanoseconds" stood behind the events, so a file that was cut has
// stamps of 1970, and its rank seems to lie half a century before the others: a window of 475,000 hours. Idea: the base
// is the time of day floored to a multiple of 7,889,238 s (KINETO.md, section 2), so a rank of the same job
// tells it. Right where all others agree; a job on both sides of such a multiple is left alone. A trace that counts
// from the start of its machine would be moved, too, and is no worse off: it is said.
#include "lost_base_time.h"

#include <set>
#include <string>

namespace skewscope::ingest {
namespace {

constexpr int64_t kPeriod_ns = 7'889'238'000'000'000;

bool counts_from_base(const TraceFile& file) {
  const RankEvidence& evidence = file.evidence;
  return evidence.first_event.ns > 0 && evidence.last_event.ns < kPeriod_ns;
}

void shift(TraceFile& file, int64_t base_ns) {
  const auto move = [base_ns](LocalNs& time) { time = time + base_ns; };
  RankTrace& trace = file.linked.trace;
  for (LocalNs& start : trace.gpu.start) move(start);
  for (LocalNs& start : trace.launches.start) move(start);
  for (StepRange& step : trace.steps) move(step.start);
  for (CollectiveCall& call : trace.calls) {
    move(call.start);
    move(call.launch_start);
  }
  for (LocalNs* time : {&trace.first_event, &trace.last_event, &file.linked.first_host_row, &file.linked.last_host_row,
                        &file.evidence.first_event, &file.evidence.last_event}) {
    move(*time);
  }
}

}  // namespace

void restore_base_times(std::vector<TraceFile>& files) {
  std::set<int64_t> bases;
  for (const TraceFile& file : files) {
    if (file.usable && !counts_from_base(file)) bases.insert(file.evidence.first_event.ns / kPeriod_ns * kPeriod_ns);
  }
  if (bases.size() != 1 || *bases.begin() <= 0) return;
  for (TraceFile& file : files) {
    if (!file.usable || !counts_from_base(file)) continue;
    shift(file, *bases.begin());
    file.linked.findings.push_back(finding_of_file(
        Severity::warning, "base-time-lost", file.evidence.file,
        "its time stamps count from a base that the file does not name; the base of the other files was used"));
  }
}

}  // namespace skewscope::ingest
