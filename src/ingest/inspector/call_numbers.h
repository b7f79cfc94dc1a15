// Which of a communicator's calls, by number, a trace's calls are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace skewscope::ingest {

// A call of one operation in one communicator.
struct ComparedCall {
  int64_t bytes = 0;  // of the message; 0: not known
  int64_t end_ns = 0, duration_ns = 0;
  int64_t number = -1;  // of a log's call
  int32_t row = -1;     // of its trace's calls
};

struct NumberedCalls {
  std::vector<int32_t> log_row;     // row = row of `trace`: row of `log`; -1: it is in no line, or not told
  int64_t found = 0, compared = 0;  // calls whose sizes and durations agree, of those that have a line
};

// `trace`: in order of time, a window without gaps of the calls that `log` numbers. `log`: by number, each once; it may
// lack some. `timed`: the log's ends are times of the trace's clock, but for some milliseconds; else an end is at most
// when the line was written.
NumberedCalls number_calls(const std::vector<ComparedCall>& log, const std::vector<ComparedCall>& trace, bool timed);

}  // namespace skewscope::ingest
