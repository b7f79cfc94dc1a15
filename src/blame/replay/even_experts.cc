// Problem: a rank whose experts get more tokens than others' makes its group wait. How much shorter is the job with a
// router that divides them evenly?
// Idea: between an all-to-all that brings tokens and the group's next collective, which takes them back, a rank
// computes on what it received. Replay the job with that work as much longer or shorter as the mean of what the members
// received is than their own. What experts of all ranks compute stays the same: it is moved. Work that does not depend
// on tokens but lies there too is scaled with it; the transfers stay as they are, though even ones would take less.
// Where a member received nothing, how long its part would take is not known: such an exchange stays as it is.
// Cost: one replay.
#include "even_experts.h"

namespace skewscope::blame {
namespace {

// What each member of a dispatch received, in elements; empty where one received nothing, or that is not known.
std::vector<int64_t> received_in(const JobView& view, size_t dispatch) {
  const CollectiveInstance& i = view.instance(dispatch);
  std::vector<int64_t> received;
  for (uint32_t row = i.first_member; row < i.first_member + i.member_count; ++row) {
    received.push_back(view.call(row).out_elements);
    if (received.back() <= 0) return {};
  }
  return received;
}

class EvenWork {
 public:
  EvenWork(const ReplayPlan& plan, const ReplayIsland& island) : plan_(plan), factors_(plan.lines.size()) {
    const int32_t own = plan.island_of_trace[island.traces.front().index()];
    for (const AllToAllTotals& totals : plan.view.d.all_to_all) {
      for (const UnevenDispatch& dispatch : totals.uneven) {
        const CollectiveInstance& i = plan.view.instance(static_cast<size_t>(dispatch.instance));
        if (plan.island_of_row(i.first_member) == own) even_out(dispatch);
      }
    }
  }

  bool any() const { return any_; }
  ForkFactors take() { return std::move(factors_); }

 private:
  void even_out(const UnevenDispatch& dispatch) {
    const auto id = static_cast<size_t>(dispatch.instance);
    const std::vector<int64_t> received = received_in(plan_.view, id);
    double sum = 0;
    for (const int64_t elements : received) sum += static_cast<double>(elements);
    for (size_t m = 0; m < received.size(); ++m) {
      const double factor = sum / static_cast<double>(received.size()) / static_cast<double>(received[m]);
      scale(plan_.view.instance(id).first_member + m, static_cast<size_t>(dispatch.next), factor);
    }
  }

  // The work of a member between its calls.
  void scale(size_t row, size_t next, double factor) {
    const TraceIndex trace = plan_.view.ref(row).trace;
    const int64_t next_row = plan_.view.row_of(next, trace);
    if (next_row < 0) return;
    const int32_t from = plan_.fork_of_row[row], to = plan_.fork_of_row[static_cast<size_t>(next_row)];
    if (from < 0) return;
    std::vector<double>& of_trace = factors_[trace.index()];
    of_trace.resize(plan_.lines[trace.index()].forks.size(), 1);
    for (int32_t fork = from + 1; fork <= to; ++fork) of_trace[static_cast<size_t>(fork)] = factor;
    any_ = any_ || from < to;
  }

  const ReplayPlan& plan_;
  ForkFactors factors_;
  bool any_ = false;
};

}  // namespace

int64_t length_with_even_experts(const ReplayPlan& plan, const ReplayIsland& island) {
  EvenWork work(plan, island);
  if (!work.any()) return -1;
  const ForkFactors factors = work.take();
  Change change = no_change(plan);
  change.work_by_fork = &factors;
  return replay(plan, island, {change}).front();
}

}  // namespace skewscope::blame
