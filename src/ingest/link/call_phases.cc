// Problem: whether an all-gather can be hidden, and behind what, depends on when in a step it runs; the GPU's rows do
// not tell. Reading all operators of the host, of which those of the backward pass are, would cost more than all else.
// Idea: PyTorch runs the backward pass of GPU work on threads of its own, which traces name (pt_autograd_0) or on which
// autograd::engine::evaluate_function runs; optimizers leave a range, Optimizer.step#…. So a call launched on such a
// thread is of the backward pass, recomputed layers included; one launched within such a range is the optimizer's.
// What else the thread of the steps launched before the step's last backward launch is of the forward pass: while the
// backward pass runs that thread is idle.
// What stays unknown: what is launched behind the backward pass and outside of the optimizer's range (the norm of
// gradients), messages outside of the backward threads (they carry activations and gradients alike), what was launched
// outside of steps, and all that is not the optimizer's where no backward thread is seen: inference, or a backward pass
// that runs on the thread of the steps, out of one graph or compiled.
// Cost: a range per step, and one look at the threads of launches.
#include "call_phases.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace skewscope::ingest {
namespace {

bool may_be_message(CollectiveKind kind) {
  return kind == CollectiveKind::send || kind == CollectiveKind::recv || kind == CollectiveKind::send_recv ||
         kind == CollectiveKind::coalesced || kind == CollectiveKind::unknown;
}

bool among(const std::vector<int64_t>& threads, int64_t thread) {
  return std::find(threads.begin(), threads.end(), thread) != threads.end();
}

bool runs_at(const StepRange& step, LocalNs t) { return step.start <= t && t < step.start + step.duration_ns; }

// The row of the step that runs then; -1: none.
int64_t step_row_at(const std::vector<StepRange>& steps, LocalNs t) {
  const auto after = std::upper_bound(steps.begin(), steps.end(), t,
                                      [](LocalNs time, const StepRange& step) { return time < step.start; });
  if (after == steps.begin() || !runs_at(*std::prev(after), t)) return -1;
  return std::prev(after) - steps.begin();
}

}  // namespace

CallPhases::CallPhases(const FileContent& content, const std::vector<StepRange>& steps)
    : steps_(steps), backward_ends_(steps.size()), has_backward_(steps.size()) {
  for (const StepRow& step : content.steps) {
    if (!among(step_threads_, step.thread)) step_threads_.push_back(step.thread);
  }
  for (const int64_t thread : content.backward_threads) {
    if (!among(step_threads_, thread)) backward_threads_.push_back(thread);
  }
  add_optimizers(content.optimizer_steps);
  if (!backward_threads_.empty() && !content.gpu.comm_kernels.empty()) find_backward_ends(content.launches.events);
}

// One may call another.
void CallPhases::add_optimizers(std::vector<OptimizerRow> rows) {
  std::sort(rows.begin(), rows.end(), [](const OptimizerRow& a, const OptimizerRow& b) {
    return std::tie(a.thread, a.start) < std::tie(b.thread, b.start);
  });
  for (const OptimizerRow& row : rows) {
    const LocalNs end = row.start + row.duration_ns;
    const bool same = !optimizers_.empty() && optimizers_.back().thread == row.thread;
    if (same && row.start <= optimizers_.back().end) {
      optimizers_.back().end = std::max(optimizers_.back().end, end);
    } else {
      optimizers_.push_back({row.thread, row.start, end});
    }
  }
}

bool CallPhases::optimizes(int64_t thread, LocalNs t) const {
  const auto after = std::upper_bound(
      optimizers_.begin(), optimizers_.end(), std::tie(thread, t),
      [](const auto& wanted, const Optimizer& one) { return wanted < std::tie(one.thread, one.start); });
  return after != optimizers_.begin() && std::prev(after)->thread == thread && t < std::prev(after)->end;
}

void CallPhases::find_backward_ends(const LaunchEvents& launches) {
  int64_t near = -1;  // the step of the last one
  for (size_t i = 0; i < launches.size(); ++i) {
    if (!among(backward_threads_, launches.thread[i])) continue;
    const LocalNs start = launches.start[i];
    if (near < 0 || !runs_at(steps_[static_cast<size_t>(near)], start)) near = step_row_at(steps_, start);
    if (near < 0) continue;
    const auto row = static_cast<size_t>(near);
    backward_ends_[row] = has_backward_[row] ? std::max(backward_ends_[row], start) : start;
    has_backward_[row] = true;
  }
}

CallPhase CallPhases::of(const CollectiveCall& call, int64_t thread) const {
  if (among(backward_threads_, thread)) return CallPhase::backward;
  if (optimizes(thread, call.launch_start)) return CallPhase::optimizer;
  if (backward_threads_.empty() || may_be_message(call.kind) || !among(step_threads_, thread)) {
    return CallPhase::unknown;
  }
  const int64_t row = step_row_at(steps_, call.launch_start);
  if (row < 0) return CallPhase::unknown;
  const auto step = static_cast<size_t>(row);
  const bool behind = has_backward_[step] && call.launch_start > backward_ends_[step];
  return behind ? CallPhase::unknown : CallPhase::forward;
}

}  // namespace skewscope::ingest
