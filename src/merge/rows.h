// Where rows of a trace lie on the common clock, and which of them are written.
#pragma once

#include <optional>
#include <vector>

#include "skewscope/merge.h"

namespace skewscope::merge {

struct JobSpan {
  JobNs start, end;
};

// For any row but a call.
JobSpan span_of(const CorrelatedJob& rooms, TraceIndex trace, LocalNs start, int64_t duration_ns);
// As in the report: it lasts as long as recorded.
JobSpan span_of(const CorrelatedJob& rooms, TraceIndex trace, const CollectiveCall& call);

class Selection {
 public:
  Selection(const CorrelatedJob& rooms, const MergeOptions& options) : rooms_(rooms), options_(options) {}
  // From now on only what touches one of these that is about its rank.
  void keep_to(const std::vector<MergeWindow>& windows);

  bool has_trace(TraceIndex trace) const;
  bool has(TraceIndex trace, const JobSpan& span) const;
  bool has_step(int64_t number) const;
  bool has_launched_at(const RankTrace& trace, LocalNs launch) const { return has_step(step_at(trace, launch)); }
  bool has_gpu_row(TraceIndex trace, size_t row, const JobSpan& span) const;
  bool has_call(const CallRef& ref) const;

  const MergeOptions& options() const { return options_; }

 private:
  static int64_t step_at(const RankTrace& trace, LocalNs t);

  const CorrelatedJob& rooms_;
  const MergeOptions& options_;
  std::optional<std::vector<std::vector<JobSpan>>> kept_;  // by TraceIndex; sorted, apart; none: all times
};

}  // namespace skewscope::merge
