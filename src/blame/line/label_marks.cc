#include "label_marks.h"

namespace skewscope::blame {

std::vector<CallSplit> splits_of(const JobView& view, TraceIndex trace) {
  std::vector<CallSplit> splits(view.job[trace].calls.size(), {0, Label::unsplit});
  for (size_t c = 0; c < splits.size(); ++c) {
    const int32_t row = view.row_of_call[trace.index()][c];
    if (row < 0) continue;
    splits[c].wait_ns = view.d.members[static_cast<size_t>(row)].wait_ns;
    const auto id = static_cast<size_t>(view.instance_of_row[static_cast<size_t>(row)]);
    const bool split = view.d.instances[id].reason == SplitReason::split && view.instance(id).complete;
    splits[c].rest = split ? Label::transfer : Label::unsplit;
  }
  return splits;
}

LabelMarks label_marks(const JobView& view, TraceIndex trace, const RankLine& line) {
  const RankTrace& rows = view.job[trace];
  const GpuLabels labels(rows, splits_of(view, trace));
  LabelMarks marks;
  marks.at_first = GpuLabels::Walk(labels).up_to(rows.first_event);
  marks.at_end.reserve(rows.calls.size());
  GpuLabels::Walk ends(labels);
  for (const CollectiveCall& call : rows.calls) marks.at_end.push_back(ends.up_to(call.end()));
  marks.at_forks.reserve(line.forks.size());
  GpuLabels::Walk forks(labels);
  for (const Fork& fork : line.forks) marks.at_forks.push_back(forks.up_to(fork.at));
  return marks;
}

}  // namespace skewscope::blame
