// The critical path backwards from one moment.
#pragma once

#include <cstdint>

#include "gpu_arrivals.h"
#include "host_lines.h"
#include "skewscope/model/critical_path.h"

namespace skewscope::summarize {

struct PathRules {
  bool waits = true;  // calls that wait for the GPU, streams that wait for streams
  bool ties = true;   // threads that hand work to each other
};

// A part of the path: [start, end). `row`: of GpuEvents where on_gpu, else of HostEvents; -1: none.
struct PathPart {
  PathKind kind = PathKind::unexplained;
  bool on_gpu = false;
  int32_t row = -1;
  LocalNs start, end;
};

class PathWalk {
 public:
  explicit PathWalk(const OperatorView& view, const PathRules& rules = {})
      : view_(view), rules_(rules), lines_(view, rules.ties), arrivals_(view) {}

  const HostLines& lines() const { return lines_; }
  const GpuArrivals& arrivals() const { return arrivals_; }

  // What a host thread does at `until`; then use next() until it tells that `from` is reached.
  void begin_on_host(int32_t thread, LocalNs from, LocalNs until);
  // The GPU row ends at `until` or after.
  void begin_on_gpu(int32_t row, LocalNs from, LocalNs until);
  // The part before; false: there is none. Parts may be empty.
  bool next(PathPart& part);

 private:
  void begin(LocalNs from, LocalNs until);
  bool next_on_gpu(PathPart& part);
  bool next_on_host(PathPart& part);
  bool next_between(PathPart& part);
  bool enter(int32_t row, PathPart& part);
  bool work(PathPart& part);
  // The row of another stream that ended just before `row` began after a long delay; -1: none.
  int32_t held_up_by(int32_t row, LocalNs since) const;
  bool take(PathKind kind, bool on_gpu, int32_t row, LocalNs start, PathPart& part);
  void go_to_gpu(int32_t row);
  PathKind kind_of(int32_t host_row) const;

  const OperatorView& view_;
  PathRules rules_;
  HostLines lines_;
  GpuArrivals arrivals_;

  LocalNs from_, now_;
  int64_t steps_left_ = 0;  // rows are met once or twice; odd stamps must not make it turn in circles
  // On the GPU: a row, and whether its own time was counted. On the host: the row that holds, -1 between the outermost
  // ones of the thread; and the row in it that comes next.
  int32_t gpu_row_ = -1;
  bool ran_ = false;
  int32_t thread_ = 0, within_ = -1, next_ = -1;
};

}  // namespace skewscope::summarize
