// Problem: the longest chain of things that waited for each other, from the start of a step to its end. HTA builds a
// graph of all begins and ends and looks for its longest path.
//
// Idea: walk back from the end. Each begin and each end has one event that it came after last; everything else that it
// needed had been there already. So the path is one chain of "the last that was missing", found without a graph:
// - an operator or call: what ran within it, then itself, then what stood before it in the same parent;
// - a thread that did nothing: the thread that worked meanwhile, if they hand work to each other (host_lines);
// - a GPU row: the row before it on its stream or, where that had ended when the launch began, the launch (HTA's rule:
//   a launch delay counts only if nothing is outstanding on the stream); or the row of another stream that its stream
//   waited for (gpu_arrivals), or that ran until just before it began after a delay longer than launches and streams
//   take by themselves, whatever made it wait;
// - a call that waits for the GPU: the row that it waited for, if that ended while it did.
// What lies between the two is launch delay, delay between kernels or synchronization. Gaps of 1.5 ms and more between
// rows of a stream say that something else was waited for (HTA drops them): unexplained.
//
// Why it is right: the walk never goes forward in time and leaves nothing out, so the parts cover the step exactly.
// With edges to the last event each path is as long as the time it spans; among HTA's paths this one is the causal one.
//
// Cost: linear in the rows of the step, after HostLines and GpuArrivals.
#include "path_walk.h"

#include <algorithm>

#include "src/summarize/gpu/host_calls.h"

namespace skewscope::summarize {
namespace {

constexpr int64_t kLongestKernelDelayNs = 1'500'000;  // HTA's
constexpr int64_t kLongDelayNs = 20'000;              // launches and streams take less by themselves

PathKind kind_of_work(GpuWork work) {
  if (work == GpuWork::communication) return PathKind::communication;
  return work == GpuWork::memcpy ? PathKind::copy : PathKind::computation;
}

}  // namespace

PathKind PathWalk::kind_of(int32_t host_row) const {
  if (view_.host().kind[static_cast<size_t>(host_row)] == HostKind::op) return PathKind::host_operator;
  // A call that waits has no time of its own where waits are not followed, as in HTA.
  const bool waiting = !rules_.waits && waits_for_gpu(view_.name(host_row));
  return waiting ? PathKind::synchronization : PathKind::runtime_call;
}

void PathWalk::begin(LocalNs from, LocalNs until) {
  from_ = from;
  now_ = until;
  steps_left_ = 4 * static_cast<int64_t>(view_.host().size() + view_.gpu().size()) + 4;
}

void PathWalk::begin_on_host(int32_t thread, LocalNs from, LocalNs until) {
  begin(from, until);
  gpu_row_ = within_ = -1;
  thread_ = thread;
  next_ = lines_.last_begun(thread, until);
}

void PathWalk::begin_on_gpu(int32_t row, LocalNs from, LocalNs until) {
  begin(from, until);
  go_to_gpu(row);
}

bool PathWalk::take(PathKind kind, bool on_gpu, int32_t row, LocalNs start, PathPart& part) {
  const LocalNs reached = std::max(from_, std::min(now_, start));
  part = {kind, on_gpu, row, reached, now_};
  now_ = reached;
  return true;
}

void PathWalk::go_to_gpu(int32_t row) {
  gpu_row_ = row;
  ran_ = false;
}

bool PathWalk::next(PathPart& part) {
  if (now_ <= from_) return false;
  if (steps_left_-- <= 0) return take(PathKind::unexplained, false, -1, from_, part);
  if (gpu_row_ >= 0) return next_on_gpu(part);
  return within_ < 0 ? next_between(part) : next_on_host(part);
}

bool PathWalk::next_on_host(PathPart& part) {
  if (next_ >= 0) {
    // Its own time up to the end of the row within; that row comes next.
    const LocalNs end = view_.host().end(static_cast<size_t>(next_));
    if (end < now_) return take(kind_of(within_), false, within_, end, part);
    return enter(next_, part);
  }
  const int32_t row = within_;
  next_ = lines_.before(row);
  within_ = lines_.parent(row);
  return take(kind_of(row), false, row, view_.host().start[static_cast<size_t>(row)], part);
}

bool PathWalk::next_between(PathPart& part) {
  const LocalNs own_end = next_ < 0 ? from_ : view_.host().end(static_cast<size_t>(next_));
  if (own_end >= now_ && next_ >= 0) return enter(next_, part);
  const int32_t elsewhere = lines_.last_elsewhere(thread_, own_end, now_);
  if (elsewhere >= 0) {
    thread_ = view_.host().thread[static_cast<size_t>(elsewhere)];
    next_ = elsewhere;
    return take(PathKind::between_operators, false, -1, view_.host().end(static_cast<size_t>(elsewhere)), part);
  }
  return take(PathKind::between_operators, false, -1, own_end, part);
}

bool PathWalk::enter(int32_t row, PathPart& part) {
  const bool call = view_.host().kind[static_cast<size_t>(row)] == HostKind::call;
  const int32_t awaited = rules_.waits && call ? arrivals_.awaited_by_call(row, now_) : -1;
  if (awaited >= 0) {
    go_to_gpu(awaited);
    return take(PathKind::synchronization, false, row, arrivals_.end(awaited), part);
  }
  within_ = row;
  next_ = lines_.last_within(row);
  return take(kind_of(row), false, row, now_, part);
}

bool PathWalk::work(PathPart& part) {
  ran_ = true;
  const auto row = static_cast<size_t>(gpu_row_);
  return take(kind_of_work(view_.gpu().work[row]), true, gpu_row_, view_.gpu().start[row], part);
}

int32_t PathWalk::held_up_by(int32_t row, LocalNs since) const {
  const LocalNs start = view_.gpu().start[static_cast<size_t>(row)];
  if (!rules_.waits || start - since < kLongDelayNs) return -1;
  const int32_t other = arrivals_.ran_meanwhile(row, since);
  return other >= 0 && start - arrivals_.end(other) < kLongDelayNs ? other : -1;
}

bool PathWalk::next_on_gpu(PathPart& part) {
  if (!ran_) return work(part);
  const int32_t row = gpu_row_;
  const LocalNs start = view_.gpu().start[static_cast<size_t>(row)];
  const int32_t caller = view_.detail.gpu.caller[static_cast<size_t>(row)], before = arrivals_.before(row);
  const LocalNs launched = caller < 0 ? from_ : std::min(start, view_.host().start[static_cast<size_t>(caller)]);
  const LocalNs free = before < 0 ? from_ : std::min(start, arrivals_.end(before));
  const int32_t awaited = rules_.waits ? arrivals_.awaited_by_row(row, std::max({launched, free, from_})) : -1;
  if (awaited >= 0) {
    go_to_gpu(awaited);
    return take(PathKind::synchronization, true, row, arrivals_.end(awaited), part);
  }
  const int32_t meanwhile = held_up_by(row, std::max({launched, free, from_}));
  if (meanwhile >= 0) {
    go_to_gpu(meanwhile);
    return take(PathKind::kernel_delay, true, row, arrivals_.end(meanwhile), part);
  }
  if (caller >= 0 && (before < 0 || launched >= free)) {
    gpu_row_ = -1;
    thread_ = view_.host().thread[static_cast<size_t>(caller)];
    within_ = lines_.parent(caller);
    next_ = lines_.before(caller);
    return take(PathKind::launch_delay, true, row, launched, part);
  }
  if (before < 0) return take(PathKind::unexplained, true, row, from_, part);
  go_to_gpu(before);
  const bool known = start - free < kLongestKernelDelayNs;
  return take(known ? PathKind::kernel_delay : PathKind::unexplained, true, row, free, part);
}

}  // namespace skewscope::summarize
