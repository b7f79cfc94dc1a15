// Problem: a step is a range of the host, but hosts run ahead: when the host is in step 9, the GPU may still be in
// step 7, and a step whose work lies outside of it is of no use. What was launched in a step is the step, as it ran on
// the GPU; but rows of two steps overlap there, since streams do not wait for each other.
// Rule: step N of a trace ends when the last row that was launched in N ends, and begins where the step before it
// ended: the tail of N on another stream (a collective, a copy) belongs to N, with whatever N + 1 has begun next to it.
// Ends never go back: a step that is over before the one before it has the length 0. Where the step before was not
// recorded, or launched nothing, a step begins with its first row. What hosts launched between two steps ends as a step
// does, and is no step. Rows without a launch in the trace: what ran on a stream before the first row there that has
// one was launched before recording began, since streams keep their order; it is no step, and ends as one does. Any
// other has lost the record of its launch: it cuts nothing, and is part of what it ran in. So every nanosecond from the
// first row to the last end is in exactly one step or in the rest, and it is the same nanosecond that is labelled by
// what ran in it. A collective that ran on the host next to GPU rows is of the step in which it began. Cost: one pass
// over the rows, times the streams where launches are lacking; neighbours are mostly launched in the same step.
#include "skewscope/model/step_spans.h"

#include <algorithm>
#include <map>

namespace skewscope {
namespace {

// What was launched in one range of the host, or between two.
struct Launched {
  int64_t rows = 0;  // of the GPU
  LocalNs first{INT64_MAX}, last{INT64_MIN};

  bool nothing() const { return first > last; }
  void add(LocalNs start, LocalNs end) {
    first = std::min(first, start);
    last = std::max(last, end);
  }
  void add(const Launched& more) {
    rows += more.rows;
    first = std::min(first, more.first);
    last = std::max(last, more.last);
  }
};

// Slot 0 is before the first range, 2i + 1 in range i, 2i + 2 between it and the next one.
class Slots {
 public:
  explicit Slots(const std::vector<StepRange>& steps) : steps_(steps) {}

  size_t of(LocalNs launched) {
    if (launched < from_ || launched >= to_) look_up(launched);
    return slot_;
  }

 private:
  void look_up(LocalNs launched) {
    const auto after = std::upper_bound(steps_.begin(), steps_.end(), launched,
                                        [](LocalNs t, const StepRange& step) { return t < step.start; });
    to_ = after == steps_.end() ? LocalNs{INT64_MAX} : after->start;
    from_ = LocalNs{INT64_MIN};
    slot_ = 0;
    if (after == steps_.begin()) return;
    const auto range = static_cast<size_t>(after - steps_.begin()) - 1;
    const LocalNs end = steps_[range].start + steps_[range].duration_ns;
    const bool within = launched < end;
    slot_ = 2 * range + (within ? 1 : 2);
    from_ = within ? steps_[range].start : end;
    if (within) to_ = std::min(to_, end);
  }

  const std::vector<StepRange>& steps_;
  LocalNs from_{INT64_MAX}, to_{INT64_MIN};  // launches of the slot last looked up
  size_t slot_ = 0;
};

// What was launched before recording began: rows without a launch, up to the first row of their stream that has one.
class LaunchedBefore {
 public:
  explicit LaunchedBefore(const GpuEvents& gpu) : gpu_(gpu) {}

  void add(size_t row) {
    Stream& stream = stream_of(row);
    if (stream.told) return;
    stream.rows.add(gpu_.start[row], gpu_.start[row] + gpu_.duration_ns[row]);
    ++stream.rows.rows;
  }
  void has_launch(size_t row) { stream_of(row).told = true; }
  // Nothing is known of streams on which no row has a launch.
  void add_to(Launched& launched) const {
    for (const Stream& stream : streams_) {
      if (stream.told) launched.add(stream.rows);
    }
  }

 private:
  struct Stream {
    int32_t device, stream;
    bool told = false;  // a row with a launch was seen
    Launched rows;
  };

  Stream& stream_of(size_t row) {
    const auto is_of = [&](const Stream& s) { return s.stream == gpu_.stream[row] && s.device == gpu_.device[row]; };
    if (last_ < streams_.size() && is_of(streams_[last_])) return streams_[last_];
    const auto found = std::find_if(streams_.begin(), streams_.end(), is_of);
    last_ = static_cast<size_t>(found - streams_.begin());
    if (found == streams_.end()) streams_.push_back({gpu_.device[row], gpu_.stream[row], false, {}});
    return streams_[last_];
  }

  const GpuEvents& gpu_;
  std::vector<Stream> streams_;
  size_t last_ = 0;  // looked up
};

std::vector<Launched> launched_in(const RankTrace& trace, const std::vector<int32_t>& host_calls) {
  std::vector<Launched> launched(2 * trace.steps.size() + 1);
  Slots slots(trace.steps);
  const GpuEvents& gpu = trace.gpu;
  const bool all_have_launches = std::find(gpu.launch.begin(), gpu.launch.end(), -1) == gpu.launch.end();
  LaunchedBefore before(gpu);
  for (size_t i = 0; i < gpu.size(); ++i) {
    if (gpu.launch[i] < 0) {
      before.add(i);
      continue;
    }
    if (!all_have_launches) before.has_launch(i);
    const LocalNs at = trace.launches.start[static_cast<size_t>(gpu.launch[i])];
    Launched& slot = launched[slots.of(at)];
    slot.add(gpu.start[i], gpu.start[i] + gpu.duration_ns[i]);
    ++slot.rows;
  }
  for (const int32_t c : host_calls) {
    const CollectiveCall& call = trace.calls[static_cast<size_t>(c)];
    launched[slots.of(call.start)].add(call.start, call.end());
  }
  before.add_to(launched[0]);
  return launched;
}

// Ranges of one number are one step: what they launched counts where the first of them is.
void join_ranges(const std::vector<StepRange>& steps, std::vector<Launched>& launched) {
  std::map<int64_t, size_t> first_of;
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto [first, is_new] = first_of.try_emplace(steps[i].number, i);
    if (is_new) continue;
    launched[2 * first->second + 1].add(launched[2 * i + 1]);
    launched[2 * i + 1] = Launched();
  }
}

// The time that calls cover, which come by start: in each of several windows that lie end to end.
class Covered {
 public:
  // Windows by start.
  explicit Covered(std::vector<std::pair<LocalNs, LocalNs>> windows)
      : windows_(std::move(windows)), ns_(windows_.size()) {}

  void add(LocalNs start, LocalNs end) {
    start = std::max(start, until_);
    until_ = std::max(until_, end);
    while (at_ < windows_.size() && windows_[at_].second <= start) ++at_;
    for (size_t w = at_; w < windows_.size() && windows_[w].first < end; ++w) {
      ns_[w] += std::max<int64_t>(0, std::min(end, windows_[w].second) - std::max(start, windows_[w].first));
    }
  }
  int64_t ns(size_t window) const { return ns_[window]; }

 private:
  std::vector<std::pair<LocalNs, LocalNs>> windows_;
  std::vector<int64_t> ns_;
  size_t at_ = 0;
  LocalNs until_{INT64_MIN};
};

// What of each step's window on the host its launches and its waits take; of several threads, a moment counts once.
void add_host_calls(const RankTrace& trace, const std::map<int64_t, LocalNs>& ends,
                    const std::map<int64_t, StepSpan*>& by_number) {
  if (trace.launches.size() == 0) return;
  std::vector<std::pair<LocalNs, StepSpan*>> steps;
  for (const auto& [number, span] : by_number) steps.emplace_back(span->host_start, span);
  std::sort(steps.begin(), steps.end());
  std::vector<std::pair<LocalNs, LocalNs>> windows;
  for (const auto& [start, span] : steps) {
    if (!windows.empty()) windows.back().second = std::min(windows.back().second, start);
    windows.emplace_back(start, ends.at(span->number));
  }
  Covered launching(windows), waiting(windows);
  for (size_t i = 0; i < trace.launches.size(); ++i) {
    launching.add(trace.launches.start[i], trace.launches.start[i] + trace.launches.duration_ns[i]);
  }
  for (const SynchronizingCall& call : trace.synchronizing) waiting.add(call.start, call.start + call.duration_ns);
  for (size_t w = 0; w < steps.size(); ++w) {
    steps[w].second->host_launch_ns = launching.ns(w);
    steps[w].second->host_wait_ns = waiting.ns(w);
  }
}

// Host windows and calls, by number.
void add_host(const RankTrace& trace, std::vector<StepSpan>& spans) {
  std::map<int64_t, StepSpan*> by_number;
  for (StepSpan& span : spans) {
    if (span.place == StepPlace::step) by_number[span.number] = &span;
  }
  std::map<int64_t, LocalNs> ends;
  for (const StepRange& range : trace.steps) {
    const auto found = by_number.find(range.number);
    if (found == by_number.end()) continue;
    StepSpan& span = *found->second;
    const auto [end, is_first] = ends.try_emplace(range.number, range.start);
    if (is_first) span.host_start = range.start;
    end->second = std::max(end->second, range.start + range.duration_ns);
    span.host_ns = end->second - span.host_start;
  }
  add_host_calls(trace, ends, by_number);
  StepSpan* last = nullptr;
  for (const CollectiveCall& call : trace.calls) {
    if (last == nullptr || last->number != call.step) {
      const auto found = by_number.find(call.step);
      if (found == by_number.end()) continue;
      last = found->second;
    }
    ++last->calls;
  }
}

// Cuts the window at the ends of what was launched, slot by slot.
class Cutter {
 public:
  Cutter(LocalNs begin, LocalNs end) : at_(begin), end_(end) {}

  void add_step(const StepRange& range, const Launched& launched) {
    if (launched.nothing()) return;
    const bool follows = any_step_ && range.number == last_number_ + 1;
    if (!follows) rest_until(launched.first, 0);
    StepSpan span;
    span.number = range.number;
    span.rows = launched.rows;
    span.begin = at_;
    at_ = span.end = std::max(at_, launched.last);
    spans_.push_back(span);
    any_step_ = true;
    last_number_ = range.number;
  }

  void add_rest(const Launched& launched) {
    if (!launched.nothing()) rest_until(launched.last, launched.rows);
  }

  // Empty without a step.
  std::vector<StepSpan> finish() {
    if (!any_step_) return {};
    rest_until(end_, 0);
    for (auto span = spans_.rbegin(); span != spans_.rend() && span->place == StepPlace::between; ++span) {
      span->place = StepPlace::after;
    }
    return std::move(spans_);
  }

 private:
  void rest_until(LocalNs to, int64_t rows) {
    if (to <= at_ && rows == 0) return;
    const bool goes_on = !spans_.empty() && spans_.back().place != StepPlace::step;
    if (!goes_on) {
      StepSpan span;
      span.place = any_step_ ? StepPlace::between : StepPlace::before;
      span.begin = at_;
      spans_.push_back(span);
    }
    at_ = spans_.back().end = std::max(at_, to);
    spans_.back().rows += rows;
  }

  LocalNs at_, end_;
  bool any_step_ = false;
  int64_t last_number_ = -1;
  std::vector<StepSpan> spans_;
};

}  // namespace

const char* to_string(StepBasis basis) {
  switch (basis) {
    case StepBasis::none:
      return "";
    case StepBasis::gpu:
      return "gpu";
    case StepBasis::host:
      return "host";
  }
  return "";
}

const char* to_string(StepPlace place) {
  switch (place) {
    case StepPlace::step:
      return "step";
    case StepPlace::before:
      return "before";
    case StepPlace::between:
      return "between";
    case StepPlace::after:
      return "after";
  }
  return "step";
}

std::vector<StepSpan> step_spans(const RankTrace& trace) {
  const GpuEvents& gpu = trace.gpu;
  if (trace.steps.empty() || gpu.size() == 0) return {};
  const std::vector<int32_t> host_calls = calls_beside_gpu(trace);
  std::vector<Launched> launched = launched_in(trace, host_calls);
  join_ranges(trace.steps, launched);
  LocalNs begin = gpu.start[0], end{INT64_MIN};
  for (size_t i = 0; i < gpu.size(); ++i) end = std::max(end, gpu.start[i] + gpu.duration_ns[i]);
  for (const int32_t c : host_calls) {
    const CollectiveCall& call = trace.calls[static_cast<size_t>(c)];
    begin = std::min(begin, call.start);
    end = std::max(end, call.end());
  }
  Cutter cutter(begin, end);
  cutter.add_rest(launched[0]);
  for (size_t i = 0; i < trace.steps.size(); ++i) {
    cutter.add_step(trace.steps[i], launched[2 * i + 1]);
    cutter.add_rest(launched[2 * i + 2]);
  }
  std::vector<StepSpan> spans = cutter.finish();
  add_host(trace, spans);
  return spans;
}

std::vector<StepSpan> host_step_spans(const RankTrace& trace) {
  std::map<int64_t, StepSpan> by_number;
  for (const StepRange& range : trace.steps) {
    StepSpan span;
    span.number = range.number;
    span.begin = span.end = range.start;
    StepSpan& own = by_number.try_emplace(range.number, span).first->second;
    own.end = std::max(own.end, range.start + range.duration_ns);
  }
  std::vector<StepSpan> spans;
  for (const auto& [number, span] : by_number) {
    spans.push_back(span);
    if (spans.size() < 2) continue;
    const StepSpan& before = spans[spans.size() - 2];
    if (before.number + 1 == number) spans.back().begin = before.end;
    spans.back().end = std::max(spans.back().end, spans.back().begin);
  }
  add_host(trace, spans);
  return spans;
}

}  // namespace skewscope
