// What the labels of a GPU have taken up to each instant at which blame asks for them: the ends of its calls, from
// which spans run, and its forks, up to which they do (member_books.h). Which end a span runs from is known only once
// the lines of all ranks are; by then the rows need not be there any more.
#pragma once

#include <vector>

#include "gpu_labels.h"
#include "rank_line.h"

namespace skewscope::blame {

struct LabelMarks {
  LabelTimes at_first{};        // RankTrace::first_event
  Column<LabelTimes> at_end;    // by call
  Column<LabelTimes> at_forks;  // by fork of its line
};

// What is known of each call of a trace. The rest of an incomplete collective may be waiting for a rank that is
// missing.
std::vector<CallSplit> splits_of(const JobView& view, TraceIndex trace);

LabelMarks label_marks(const JobView& view, TraceIndex trace, const RankLine& line);

}  // namespace skewscope::blame
