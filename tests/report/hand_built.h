// Rooms of a small job built by hand: every number a test expects can be computed from the arrivals it states.
#pragma once

#include <string>
#include <vector>

#include "skewscope/report.h"

namespace skewscope::test {

struct HandBuilt {
  JobTrace job;
  InstanceTable instances;
  ClockModel clocks;
  Decomposition decomposition;
  Blame blame;  // empty: all wait began where it was charged, for unknown reasons
  std::vector<RankSummary> summaries;

  JobReport report() const {
    const Blame blamed = blame.traces.empty() ? direct_blame() : blame;
    return build_report(job, instances, clocks, decomposition, blamed, summaries);
  }
  Blame direct_blame() const {
    Blame direct;
    for (const TraceTotals& totals : decomposition.traces) {
      TraceBlame trace;
      trace.direct_ns = trace.origin_ns = totals.delay_caused_ns;
      trace.origin_by_cause[static_cast<size_t>(LateCause::unknown)] = totals.delay_caused_ns;
      direct.traces.push_back(trace);
    }
    return direct;
  }
};

// `ranks` ranks on two hosts (first half, second half), one communicator of all, clocks aligned at +-1.2 us, a window
// of 1 ms from 1'000'000 ns on. Each GPU: 600 us computing, 300 us exposed communication, 100 us idle.
HandBuilt job_of(int32_t ranks);

// One all_reduce of float32: starts[r] since the window's start (-1: the rank's call is missing), all end at `end`.
// wait, transfer and blame as DEFINITIONS.md defines them, all blame on the last. Returns the instance's row.
size_t add_all_reduce(HandBuilt& built, const std::vector<int64_t>& starts, int64_t end, int64_t bytes,
                      int64_t step = -1);

// Moves the parts of an instance to "unattributed", as attribute does when it cannot split.
void unsplit(HandBuilt& built, size_t instance, SplitReason reason);

// A call of `rank` that is in no instance.
void add_unmatched(HandBuilt& built, int32_t rank, UnmatchedReason reason);

inline const ReportStamp kStamp{"0.1.0", "skewscope report traces", "2026-01-02T03:04:05Z"};

// A new directory, removed with everything in it at the end of the test.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& text);

// Python's jsonschema is there.
bool has_jsonschema();
// Empty when `text` follows configs/`schema`.schema.json; else what the validator said.
std::string schema_violation(const std::string& schema, const std::string& text);

}  // namespace skewscope::test
