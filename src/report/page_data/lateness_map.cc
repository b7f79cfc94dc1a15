// Problem: show at a glance who is late when, of a job of any length, in a picture of bounded size.
// Idea: one column per profiler step where the instances name at least two, else one per instance; neighbours share a
// column when there would be more than 200 columns or 200,000 cells. A cell is the mean over the rank's calls in the
// column of its arrival minus that of the member in the middle (the lower one of two): above 0 it came late. The middle
// is the reference because one early or one late member does not move it.
// In a pipeline each member is held against the middle of those of its own stage: that stages come to a collective of
// the whole job one after the other is the schedule's. A member that is alone of its stage has no cell there. Sends and
// receives are left out: a receiver that is there first is how pipelines are written. Cost: O(calls), memory O(cells).
// Sums are of integers, so that their order does not matter.
#include "lateness_map.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace skewscope::report {
namespace {

bool is_message(const TimedInstance& instance) { return carries_messages(instance.calls.front().op); }

// Slot of each instance: which of the steps, or which instance.
struct Slots {
  bool by_step = false;
  std::vector<int64_t> labels;           // slot -> step number, or position
  std::vector<const TimedInstance*> of;  // instances with more than one member, no messages, by time
  std::vector<size_t> slot;              // row = `of`
};

Slots slots_of(const std::vector<TimedInstance>& instances) {
  Slots slots;
  std::map<int64_t, size_t> steps;
  for (const TimedInstance& instance : instances) {
    if (instance.calls.size() < 2 || is_message(instance)) continue;
    slots.of.push_back(&instance);
    if (instance.step >= 0) steps.emplace(instance.step, 0);
  }
  slots.by_step = steps.size() > 1;
  for (auto& [step, slot] : steps) {
    slot = slots.labels.size();
    slots.labels.push_back(step);
  }
  if (!slots.by_step) slots.labels.resize(slots.of.size());
  for (size_t i = 0; i < slots.of.size(); ++i) {
    if (!slots.by_step) slots.labels[i] = static_cast<int64_t>(i);
    const bool before_steps = slots.by_step && slots.of[i]->step < 0;
    slots.slot.push_back(!slots.by_step ? i : before_steps ? 0 : steps.at(slots.of[i]->step));
  }
  return slots;
}

// The stage of each rank; 0 for all where there is no pipeline.
class Stages {
 public:
  explicit Stages(const JobReport::Pipeline& pipeline) {
    for (const JobReport::Pipeline::Stage& stage : pipeline.by_stage) {
      for (const int32_t rank : stage.ranks) stage_of_.emplace(rank, stage.stage + 1);
    }
  }
  int32_t of(int32_t rank) const {
    if (stage_of_.empty()) return 0;
    const auto found = stage_of_.find(rank);
    return found == stage_of_.end() ? 0 : found->second;
  }

 private:
  std::unordered_map<int32_t, int32_t> stage_of_;
};

// Calls of one instance that are held against each other, by stage, and when the middle one of them began.
struct Peers {
  int32_t stage = 0;
  std::vector<const JobReport::CallRow*> calls;

  int64_t middle_start() {
    const auto middle = calls.begin() + (std::ssize(calls) - 1) / 2;
    std::nth_element(calls.begin(), middle, calls.end(),
                     [](const auto* a, const auto* b) { return a->start_ns < b->start_ns; });
    return (*middle)->start_ns;
  }
};

std::vector<Peers> peers_of(const TimedInstance& instance, const Stages& stages) {
  std::vector<Peers> peers;
  for (const JobReport::CallRow& call : instance.calls) {
    const int32_t stage = stages.of(call.rank);
    auto at = std::find_if(peers.begin(), peers.end(), [&](const Peers& p) { return p.stage == stage; });
    if (at == peers.end()) at = peers.insert(at, {stage, {}});
    at->calls.push_back(&call);
  }
  if (peers.size() > 1) std::erase_if(peers, [](const Peers& p) { return p.calls.size() < 2; });
  return peers;
}

struct MapCell {
  int64_t sum = 0, count = 0;
};

int64_t rounded(const MapCell& cell) {
  const int64_t half = cell.sum < 0 ? -cell.count / 2 : cell.count / 2;
  return (cell.sum + half) / cell.count;
}

}  // namespace

LatenessMap lateness_map(const std::vector<JobReport::RankRow>& ranks, const std::vector<TimedInstance>& instances,
                         const JobReport::Pipeline& pipeline) {
  const Slots slots = slots_of(instances);
  LatenessMap map;
  map.by_step = slots.by_step;
  std::unordered_map<int32_t, size_t> row_of;
  for (const JobReport::RankRow& rank : ranks) {
    row_of.emplace(rank.rank, map.ranks.size());
    map.ranks.push_back(rank.rank);
  }
  if (ranks.empty() || slots.of.empty()) return map;
  const size_t fit = std::clamp<size_t>(kMostMapCells / ranks.size(), 1, kMostMapColumns);
  const size_t count = std::min(slots.labels.size(), fit);
  const auto column_of = [&](size_t slot) { return slot * count / slots.labels.size(); };

  map.columns.assign(count, {INT64_MAX, INT64_MIN, INT64_MAX});
  for (size_t slot = 0; slot < slots.labels.size(); ++slot) {
    LatenessMap::Column& column = map.columns[column_of(slot)];
    column.first = std::min(column.first, slots.labels[slot]);
    column.last = std::max(column.last, slots.labels[slot]);
  }
  std::vector<MapCell> cells(ranks.size() * count);
  const Stages stages(pipeline);
  for (size_t i = 0; i < slots.of.size(); ++i) {
    const size_t c = column_of(slots.slot[i]);
    map.columns[c].start_ns = std::min(map.columns[c].start_ns, slots.of[i]->arrival_ns);
    for (Peers& peers : peers_of(*slots.of[i], stages)) {
      const int64_t middle = peers.middle_start();
      for (const JobReport::CallRow* call : peers.calls) {
        MapCell& cell = cells[row_of.at(call->rank) * count + c];
        cell.sum += call->start_ns - middle;
        ++cell.count;
      }
    }
  }
  map.mean.assign(ranks.size(), std::vector<std::optional<int64_t>>(count));
  for (size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].count > 0) map.mean[i / count][i % count] = rounded(cells[i]);
  }
  return map;
}

}  // namespace skewscope::report
