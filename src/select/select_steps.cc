// The stage: which collectives belong to the steps -> calls and GPU rows of each trace -> instances -> window.
//
// Problem: a collective must not lose members because some of them launched it in another step than others did: a host
// that runs ahead, a rank that counts otherwise, a window that opened late. Idea: a collective is of the step in which
// most of its members launched it (of equally many, the earliest), and all its calls go with it, and their kernels with
// them. What is no collective goes by its own launch. Why right: every collective is of one step, so slices that lie
// side by side share none and lose none. Cost: O(n) over calls and GPU rows, O(n log n) over members; between processes
// go the steps of the calls once.

#include <tbb/parallel_for.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "skewscope/model/clock_components.h"
#include "skewscope/select.h"

namespace skewscope {
namespace {

// Most common one; of several the smallest.
int64_t step_of_most(std::vector<int64_t> steps) {
  std::sort(steps.begin(), steps.end());
  int64_t most = -1;
  std::ptrdiff_t count = 0;
  for (auto low = steps.begin(), high = low; low != steps.end(); low = high) {
    high = std::upper_bound(low, steps.end(), *low);
    if (high - low <= count) continue;
    count = high - low;
    most = *low;
  }
  return most;
}

class Selection {
 public:
  Selection(const StepNumbers& steps, JobTrace& job, InstanceTable& table, ClockModel& clocks, Exchange& exchange)
      : steps_(steps), job_(job), table_(table), clocks_(clocks), exchange_(exchange) {}

  Result<Done> apply() {
    if (!any_step_left()) {
      return Error{ErrorKind::no_input, "--steps: no trace has such a step; " + recorded_steps()};
    }
    keep_instances();
    tbb::parallel_for(size_t{0}, job_.traces.size(), [&](size_t t) { reduce(t); });
    renumber_instances();
    share_windows();
    set_window();
    const bool before_recording = has_step(steps_, -1);
    if (!before_recording) std::erase_if(job_.findings, [](const Finding& f) { return f.code == "orphan-kernels"; });
    return Done{};
  }

 private:
  bool any_step_left() const {
    return std::any_of(job_.traces.begin(), job_.traces.end(), [&](const RankTrace& trace) {
      return std::any_of(trace.steps.begin(), trace.steps.end(),
                         [&](const StepRange& step) { return has_step(steps_, step.number); });
    });
  }

  std::string recorded_steps() const {
    std::set<int64_t> steps;
    for (const RankTrace& trace : job_.traces) {
      for (const StepRange& step : trace.steps) steps.insert(step.number);
    }
    if (steps.empty()) return "no step was recorded (ProfilerStep#N)";
    return "recorded steps are " + std::to_string(*steps.begin()) + " to " + std::to_string(*steps.rbegin());
  }

  // The steps of all calls, those of instances first, which the processes of their traces know.
  std::vector<int64_t> steps_of_calls() const {
    const size_t members = table_.members.size();
    const auto call_of = [&](size_t i) -> const CallRef& {
      return i < members ? table_.members[i] : table_.unmatched[i - members].call;
    };
    std::vector<int64_t> steps(members + table_.unmatched.size());
    tbb::parallel_for(size_t{0}, steps.size(), [&](size_t i) {
      const CallRef& ref = call_of(i);
      if (job_.holds(ref.trace)) steps[i] = job_[ref.trace].calls[static_cast<size_t>(ref.call)].step;
    });
    share(
        exchange_, [&](size_t i) { return job_[call_of(i).trace].process; }, steps);
    return steps;
  }

  // Which instances and calls are of the steps. Every call is in one instance or unmatched.
  void keep_instances() {
    const std::vector<int64_t> steps = steps_of_calls();
    calls_.resize(job_.traces.size());
    const auto mark = [&](const CallRef& ref, bool keep) {
      std::vector<bool>& calls = calls_[ref.trace.index()];
      const auto call = static_cast<size_t>(ref.call);
      if (calls.size() <= call) calls.resize(call + 1);
      calls[call] = keep;
    };
    for (const CollectiveInstance& i : table_.instances) {
      const auto first = steps.begin() + i.first_member;
      kept_.push_back(has_step(steps_, step_of_most({first, first + i.member_count})));
      for (uint32_t k = 0; k < i.member_count; ++k) mark(table_.members[i.first_member + k], kept_.back());
    }
    for (size_t u = 0; u < table_.unmatched.size(); ++u) {
      mark(table_.unmatched[u].call, has_step(steps_, steps[table_.members.size() + u]));
    }
    for (const std::vector<bool>& calls : calls_) new_call_.push_back(numbers_of(calls));
  }

  void reduce(size_t t) {
    RankTrace& trace = job_.traces[t];
    if (!job_.holds(TraceIndex(static_cast<int64_t>(t)))) {
      std::erase_if(trace.steps, [&](const StepRange& step) { return !has_step(steps_, step.number); });
      return;
    }
    std::vector<bool> rows = gpu_rows_of_steps(trace, steps_);
    for (size_t c = 0; c < trace.calls.size(); ++c) {
      if (trace.calls[c].gpu_row >= 0) rows[static_cast<size_t>(trace.calls[c].gpu_row)] = calls_[t][c];
    }
    keep_steps(rows, calls_[t], steps_, trace);
    describe(trace);
  }

  // The window of what is left; nothing where nothing is.
  static void describe(RankTrace& trace) {
    std::optional<std::pair<LocalNs, LocalNs>> window;
    const auto include = [&](LocalNs start, int64_t duration_ns) {
      const LocalNs end = start + std::max<int64_t>(duration_ns, 0);
      if (!window) window = {start, end};
      window = {std::min(window->first, start), std::max(window->second, end)};
    };
    for (size_t i = 0; i < trace.gpu.size(); ++i) include(trace.gpu.start[i], trace.gpu.duration_ns[i]);
    for (size_t i = 0; i < trace.launches.size(); ++i) include(trace.launches.start[i], trace.launches.duration_ns[i]);
    for (const StepRange& step : trace.steps) include(step.start, step.duration_ns);
    for (const CollectiveCall& call : trace.calls) include(call.start, call.duration_ns);
    if (!window) window = {trace.last_event, trace.first_event};  // the wrong way round: none
    trace.first_event = window->first;
    trace.last_event = window->second;
  }

  void renumber_instances() {
    std::vector<uint32_t> new_row(table_.members.size());
    std::vector<bool> rows(table_.members.size());
    uint32_t next = 0;
    for (size_t n = 0; n < kept_.size(); ++n) {
      CollectiveInstance& i = table_.instances[n];
      const uint32_t first = i.first_member;
      i.first_member = next;
      for (uint32_t row = first; kept_[n] && row < first + i.member_count; ++row) {
        rows[row] = true;
        new_row[row] = next++;
      }
    }
    std::erase_if(table_.links, [&](const BatchLink& link) { return !rows[link.row]; });
    for (BatchLink& link : table_.links) link = {new_row[link.row], new_row[link.partner], link.receives};
    keep_rows(kept_, table_.instances);
    keep_rows(rows, table_.members);
    keep_rows(rows, table_.spans);
    std::erase_if(table_.unmatched, [&](const UnmatchedCall& u) { return new_number(u.call) < 0; });
    for (CallRef& ref : table_.members) ref.call = new_number(ref);
    for (UnmatchedCall& u : table_.unmatched) u.call.call = new_number(u.call);
    for (size_t n = 0; n < table_.instances.size(); ++n) {
      CollectiveInstance& i = table_.instances[n];
      const bool same = n > 0 && table_.instances[n - 1].communicator == i.communicator &&
                        table_.instances[n - 1].session == i.session;
      i.ordinal = same ? table_.instances[n - 1].ordinal + 1 : 0;
    }
  }

  int32_t new_number(const CallRef& ref) const { return new_call_[ref.trace.index()][static_cast<size_t>(ref.call)]; }

  // All know the windows of all traces.
  void share_windows() {
    struct Window {
      LocalNs first, last;
    };
    std::vector<Window> windows;
    for (const RankTrace& trace : job_.traces) windows.push_back({trace.first_event, trace.last_event});
    share(
        exchange_, [&](size_t t) { return job_.traces[t].process; }, windows);
    for (size_t t = 0; t < windows.size(); ++t) {
      job_.traces[t].first_event = windows[t].first;
      job_.traces[t].last_event = windows[t].last;
    }
  }

  // The job's first event is another one: the same clocks, written around it. A trace that has nothing left lies there.
  void set_window() {
    JobNs first{INT64_MAX};
    ComponentSpans spans;
    for (size_t t = 0; t < job_.traces.size(); ++t) {
      const RankTrace& trace = job_.traces[t];
      if (trace.first_event > trace.last_event) continue;
      const TraceIndex index(static_cast<int64_t>(t));
      const JobNs own_first = clocks_.to_job(index, trace.first_event);
      first = std::min(first, own_first);
      spans.add(trace.session, component_number(clocks_.clocks[t], t), own_first.ns,
                clocks_.to_job(index, trace.last_event).ns);
    }
    const int64_t later_ns = first.ns - clocks_.reference_ns;
    clocks_.reference_ns = first.ns;
    clocks_.window_ns = spans.window_ns();
    for (size_t t = 0; t < job_.traces.size(); ++t) {
      TraceClock& clock = clocks_.clocks[t];
      clock.offset_ns += std::llround(clock.drift_ppb * 1e-9 * static_cast<double>(later_ns));
      RankTrace& trace = job_.traces[t];
      if (trace.first_event > trace.last_event) {
        trace.first_event = trace.last_event = LocalNs{first.ns + clock.offset_ns};
      }
    }
  }

  const StepNumbers steps_;
  JobTrace& job_;
  InstanceTable& table_;
  ClockModel& clocks_;
  Exchange& exchange_;
  std::vector<bool> kept_;                      // per instance
  std::vector<std::vector<bool>> calls_;        // per trace and call: whether it is kept
  std::vector<std::vector<int32_t>> new_call_;  // its number then; -1: none
};

}  // namespace

Result<Done> select_steps(const StepNumbers& steps, JobTrace& job, InstanceTable& instances, ClockModel& clocks,
                          Exchange& exchange) {
  return Selection(steps, job, instances, clocks, exchange).apply();
}

}  // namespace skewscope
