// Problem: exposed transfer says what an operation costs a GPU, not what the job would gain without it: behind one
// transfer another may wait, or a rank that is late anyway.
// Idea: replay the job with the transfers of one operation in one kind of group changed. Hidden: they take no time
// where anything waits for them; waiting for late ranks stays, it has other cures. What is hidden still takes its time
// during computation: the job is taken to be no shorter than the longest rank's transfers of the operation. Whether the
// program allows it (an all-gather of weights may be prefetched, an all-reduce of activations hardly), the replay
// cannot tell: it is what hiding would gain at most. Faster: these transfers take half as long. Replayed are the
// operations whose exposed transfer is two hundredths of the GPUs' time or more, kMostOperations of them at most.
// Where an operation is called in several phases of the steps, each phase is hidden alone, too, and so is the module
// that exposes more than half of it: what to prefetch first. Cost: two replays each, one more per phase and for the
// module; kAbreast of them are one run.
#include "operation_what_if.h"

#include <algorithm>
#include <map>

namespace skewscope::blame {
namespace {

constexpr size_t kMostOperations = 16;
constexpr double kLeastExposed = 0.02, kUnknownOperationTails = 0.05, kTwiceAsFast = 0.5;

// Calls and exposed transfer of each operation. One island of several has its calls summed, those of several streams
// may expose the same nanosecond.
std::map<Operation, OperationWhatIf> sums_of(const ReplayPlan& plan, const ReplayIsland& island) {
  std::map<Operation, OperationWhatIf> sums;
  if (plan.islands.size() == 1) {
    for (const ClassTotals& totals : plan.view.d.classes) {
      OperationWhatIf& sum = sums[{totals.of.group_kind, totals.of.kind}];
      sum.calls += totals.calls;
      sum.exposed_transfer_ns += totals.parts.exposed_transfer_ns;
    }
    return sums;
  }
  for (const Moment moment : island.moments) {
    if (moment.is_end()) continue;
    const auto id = static_cast<size_t>(plan.view.instance_of_row[moment.row()]);
    OperationWhatIf& sum = sums[plan.operations[static_cast<size_t>(plan.operation_of_instance[id])]];
    ++sum.calls;
    sum.exposed_transfer_ns += plan.view.d.members[moment.row()].exposed_transfer_ns;
  }
  return sums;
}

// Those that expose most, by their rows in plan.operations.
std::vector<OperationWhatIf> exposed_operations(const ReplayPlan& plan, const ReplayIsland& island,
                                                int64_t replayed_ns) {
  const double least = kLeastExposed * static_cast<double>(replayed_ns) * static_cast<double>(island.traces.size());
  std::vector<OperationWhatIf> out;
  for (auto& [operation, sum] : sums_of(plan, island)) {
    if (!std::binary_search(plan.operations.begin(), plan.operations.end(), operation)) continue;
    if (static_cast<double>(sum.exposed_transfer_ns) < least) continue;
    sum.group_kind = operation.group_kind;
    sum.kind = operation.kind;
    out.push_back(sum);
  }
  std::stable_sort(out.begin(), out.end(), [](const OperationWhatIf& a, const OperationWhatIf& b) {
    return a.exposed_transfer_ns > b.exposed_transfer_ns;
  });
  out.resize(std::min(out.size(), kMostOperations));
  return out;
}

// What follows the last arrivals, per row of plan.operations.
struct OperationTails {
  std::vector<bool> known;          // that it is transfer, for all but little
  std::vector<int64_t> longest_ns;  // the transfers of one trace
};

OperationTails operation_tails(const ReplayPlan& plan, const ReplayIsland& island) {
  const size_t operations = plan.operations.size();
  std::vector<double> all(operations, 0), kept(operations, 0);
  std::vector<int64_t> of_trace(operations * plan.lines.size(), 0);
  for (const Moment moment : island.moments) {
    if (moment.is_end()) continue;
    const size_t row = moment.row();
    const auto instance = static_cast<size_t>(plan.view.instance_of_row[row]);
    const auto operation = static_cast<size_t>(plan.operation_of_instance[instance]);
    const auto ns = static_cast<double>(plan.tail_ns[row]);
    all[operation] += ns;
    if (!plan.tail_is_transfer[row]) kept[operation] += ns;
    of_trace[plan.view.ref(row).trace.index() * operations + operation] += plan.tail_ns[row];
  }
  OperationTails tails;
  for (size_t i = 0; i < operations; ++i) tails.known.push_back(kept[i] <= kUnknownOperationTails * all[i]);
  tails.longest_ns.assign(operations, 0);
  for (size_t i = 0; i < of_trace.size(); ++i) {
    tails.longest_ns[i % operations] = std::max(tails.longest_ns[i % operations], of_trace[i]);
  }
  return tails;
}

const CollectiveCall& call_of(const ReplayPlan& plan, size_t row) {
  const CallRef ref = plan.view.ref(row);
  return plan.view.job[ref.trace].calls[static_cast<size_t>(ref.call)];
}

bool is_of(const ClassTotals& totals, const OperationWhatIf& one) {
  return totals.of.group_kind == one.group_kind && totals.of.kind == one.kind;
}

// Sums over the classes of an operation that have the same `key`, where that is known; without the one that is all.
template <class Key>
std::map<Key, OperationWhatIf::Part> sums_by(const std::vector<ClassTotals>& classes, const OperationWhatIf& one,
                                             Key CallClass::*key, Key unknown) {
  std::map<Key, OperationWhatIf::Part> sums;
  for (const ClassTotals& totals : classes) {
    if (!is_of(totals, one) || totals.of.*key == unknown) continue;
    OperationWhatIf::Part& sum = sums[totals.of.*key];
    sum.calls += totals.calls;
    sum.exposed_transfer_ns += totals.parts.exposed_transfer_ns;
  }
  std::erase_if(sums, [&](const auto& sum) { return sum.second.calls == one.calls; });
  return sums;
}

// The phases of an operation, where it has several, and the module that exposes most of it, where it has several.
std::vector<OperationWhatIf::Part> parts_of(const ReplayPlan& plan, const OperationWhatIf& one) {
  const std::vector<ClassTotals>& classes = plan.view.d.classes;
  std::vector<OperationWhatIf::Part> parts;
  for (auto& [phase, part] : sums_by(classes, one, &CallClass::phase, CallPhase::unknown)) {
    part.phase = phase;
    parts.push_back(part);
  }
  for (auto& [module, part] : sums_by(classes, one, &CallClass::module, -1)) {
    part.module = module;
    if (2 * part.exposed_transfer_ns > one.exposed_transfer_ns) parts.push_back(part);
  }
  return parts;
}

// A part of an operation that is replayed: which calls, and the longest rank's transfers of them.
struct HiddenPart {
  OperationWhatIf::Part* part = nullptr;
  int32_t operation = kNoOperation;
  std::vector<bool> rows;  // of table.members
  int64_t longest_ns = 0;
};

HiddenPart hidden_part(const ReplayPlan& plan, int32_t operation, OperationWhatIf::Part& part) {
  HiddenPart hidden{&part, operation, std::vector<bool>(plan.tail_ns.size(), false), 0};
  std::vector<int64_t> of_trace(plan.lines.size(), 0);
  for (size_t row = 0; row < plan.tail_ns.size(); ++row) {
    if (plan.operation_of_instance[static_cast<size_t>(plan.view.instance_of_row[row])] != operation) continue;
    const CollectiveCall& call = call_of(plan, row);
    if (part.module >= 0 ? call.module != part.module : call.phase != part.phase) continue;
    hidden.rows[row] = true;
    of_trace[plan.view.ref(row).trace.index()] += plan.tail_ns[row];
  }
  hidden.longest_ns = *std::max_element(of_trace.begin(), of_trace.end());
  return hidden;
}

int32_t operation_row(const ReplayPlan& plan, const OperationWhatIf& one) {
  const auto at = std::lower_bound(plan.operations.begin(), plan.operations.end(), Operation{one.group_kind, one.kind});
  return static_cast<int32_t>(at - plan.operations.begin());
}

}  // namespace

std::vector<OperationWhatIf> what_if_operations(const ReplayPlan& plan, const ReplayIsland& island,
                                                int64_t replayed_ns) {
  std::vector<OperationWhatIf> out = exposed_operations(plan, island, replayed_ns);
  const OperationTails tails = operation_tails(plan, island);
  std::vector<Change> changes;
  std::vector<OperationWhatIf*> changed;
  std::vector<HiddenPart> parts;
  for (OperationWhatIf& one : out) {
    one.parts = parts_of(plan, one);
    const int32_t operation = operation_row(plan, one);
    if (!tails.known[static_cast<size_t>(operation)]) continue;
    for (const double transfer : {0.0, kTwiceAsFast}) {
      changes.push_back(no_change(plan));
      changes.back().operation = operation;
      changes.back().transfer = transfer;
    }
    changed.push_back(&one);
    for (OperationWhatIf::Part& part : one.parts) parts.push_back(hidden_part(plan, operation, part));
  }
  const size_t first_part = changes.size();
  for (const HiddenPart& hidden : parts) {
    changes.push_back(no_change(plan));
    changes.back().operation = hidden.operation;
    changes.back().transfer = 0;
    changes.back().rows = &hidden.rows;
  }
  const std::vector<int64_t> lengths = replay(plan, island, changes);
  const auto saved = [&](int64_t length) { return std::max<int64_t>(0, replayed_ns - length); };
  for (size_t i = 0; i < changed.size(); ++i) {
    const int64_t longest = tails.longest_ns[static_cast<size_t>(changes[2 * i].operation)];
    changed[i]->hidden_saved_ns = saved(std::max(lengths[2 * i], longest));
    changed[i]->faster_saved_ns = saved(lengths[2 * i + 1]);
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i].part->hidden_saved_ns = saved(std::max(lengths[first_part + i], parts[i].longest_ns));
  }
  std::stable_sort(out.begin(), out.end(), [](const OperationWhatIf& a, const OperationWhatIf& b) {
    return a.hidden_saved_ns > b.hidden_saved_ns;
  });
  return out;
}

}  // namespace skewscope::blame
