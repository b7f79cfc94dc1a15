// A trace format as merge sees it: processes with tracks, slices and counters on them, arrows between slices.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "skewscope/base/result.h"
#include "skewscope/base/time.h"

namespace skewscope::merge {

struct Argument {
  std::string_view name;
  std::variant<int64_t, std::string_view> value;
};

struct Slice {
  JobNs start;
  int64_t duration_ns = 0;
  std::string_view name, category;
  std::vector<Argument> arguments;
  std::vector<uint64_t> arrows_out, arrows_in;  // an id is in one slice's out and another's in

  JobNs end() const { return start + duration_ns; }
};

// Counted within a process.
struct TrackId {
  int32_t value = 0;
};

// Process after process; within one, tracks in the order in which they are to be shown. Failures are reported by
// close().
class TraceWriter {
 public:
  virtual ~TraceWriter() = default;
  // `number` names the process in the file.
  virtual void begin_process(int64_t number, std::string_view name) = 0;
  virtual TrackId track(std::string_view name) = 0;
  // Its values are nanoseconds.
  virtual TrackId counter(std::string_view name) = 0;
  // On one track: by start, and each either within those that are open or apart from them.
  virtual void slice(TrackId track, const Slice& slice) = 0;
  virtual void value(TrackId counter, JobNs at, int64_t value_ns) = 0;
  virtual void end_process() = 0;
  virtual Result<Done> close() = 0;
};

// `zero`: the job's first event.
std::unique_ptr<TraceWriter> make_json_writer(const std::string& path, JobNs zero);
std::unique_ptr<TraceWriter> make_pftrace_writer(const std::string& path, JobNs zero);

}  // namespace skewscope::merge
