// Problem: a timeline of some ranks over all steps, in a few hundred kilobytes.
// Idea: work comes in blocks already (the stage `lanes`). Calls are made blocks in the same way: those shorter than a
// resolution share one with their neighbours, and the resolution doubles until all fit. Times are counted in sixteenths
// of the resolution, from one block to the next, so that most numbers take two letters.
// Cost: one look at all calls, and O(calls of the lanes) for each doubling.
#include "lane_data.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "packed_numbers.h"
#include "page_tables.h"
#include "src/report/fields/json_values.h"
#include "src/report/rows/timed_instances.h"
#include "src/report/words/kernel_label.h"

namespace skewscope::report {
namespace {

struct CallBlock {
  int64_t start_ns = 0, end_ns = 0;
  int64_t wait_ns = -1;  // of its calls; -1: none of them was split
  int64_t calls = 1;
  const JobReport::CallRow* longest = nullptr;
  int32_t last = -1;  // who arrived last at the longest; -1: not known

  int64_t longest_ns() const { return longest->end_ns - longest->start_ns; }
};

using LaneCalls = std::vector<CallBlock>;

// The calls of these ranks, by start. Keys of `places`: ranks, with the place of their lane.
std::vector<LaneCalls> calls_of(const std::vector<JobReport::CallRow>& calls,
                                const std::unordered_map<int32_t, size_t>& places) {
  std::vector<LaneCalls> lanes(places.size());
  std::vector<bool> has_lane;
  for (const auto& [rank, place] : places) {
    has_lane.resize(std::max(has_lane.size(), static_cast<size_t>(rank) + 1));
    has_lane[static_cast<size_t>(rank)] = true;
  }
  const auto is_shown = [&](const JobReport::CallRow& call) {
    return static_cast<size_t>(call.rank) < has_lane.size() && has_lane[static_cast<size_t>(call.rank)];
  };
  for (const std::span<const JobReport::CallRow> members : calls_by_instance(calls)) {
    if (std::none_of(members.begin(), members.end(), is_shown)) continue;
    const auto wait = longest_wait(members);
    for (const JobReport::CallRow& call : members) {
      if (!is_shown(call)) continue;
      lanes[places.at(call.rank)].push_back(
          {call.start_ns, call.end_ns, call.wait_ns, 1, &call, wait ? wait->late->rank : -1});
    }
  }
  for (LaneCalls& lane : lanes) {
    std::stable_sort(lane.begin(), lane.end(), [](const CallBlock& a, const CallBlock& b) {
      return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns < b.end_ns;
    });
  }
  return lanes;
}

LaneCalls merged(const LaneCalls& lane, int64_t resolution_ns) {
  LaneCalls blocks;
  for (const CallBlock& next : lane) {
    const bool joins = !blocks.empty() && next.start_ns - blocks.back().end_ns < resolution_ns &&
                       blocks.back().end_ns - blocks.back().start_ns < resolution_ns;
    if (!joins) {
      blocks.push_back(next);
      continue;
    }
    CallBlock& last = blocks.back();
    last.end_ns = std::max(last.end_ns, next.end_ns);
    if (next.wait_ns >= 0) last.wait_ns = std::max<int64_t>(0, last.wait_ns) + next.wait_ns;
    last.calls += next.calls;
    if (next.longest_ns() <= last.longest_ns()) continue;
    last.longest = next.longest;
    last.last = next.last;
  }
  return blocks;
}

size_t block_count(const std::vector<LaneCalls>& lanes) {
  size_t size = 0;
  for (const LaneCalls& lane : lanes) size += lane.size();
  return size;
}

// Merges until all fit; the resolution that it took, 0: each call has its own block.
int64_t make_fit(std::vector<LaneCalls>& lanes, int64_t window_ns) {
  int64_t resolution_ns = 0;
  while (block_count(lanes) > kMostLaneCalls) {
    resolution_ns = resolution_ns == 0 ? std::max<int64_t>(1, window_ns / 100'000) : 2 * resolution_ns;
    for (LaneCalls& lane : lanes) lane = merged(lane, resolution_ns);
  }
  return resolution_ns;
}

// Labels of kernels, each once; what does not fit is the last, "others".
class LabelNumbers {
 public:
  int64_t of(const std::string& name) {
    const auto [at, is_new] = numbers_.emplace(page_text(kernel_label(name)), labels_.size());
    if (!is_new) return static_cast<int64_t>(at->second);
    if (labels_.size() < kMostLaneNames) {
      labels_.push_back(at->first);
    } else {
      at->second = kMostLaneNames;
      if (labels_.size() == kMostLaneNames) labels_.push_back("others");
    }
    return static_cast<int64_t>(at->second);
  }
  nlohmann::ordered_json take() { return std::move(labels_); }

 private:
  std::unordered_map<std::string, size_t> numbers_;
  nlohmann::ordered_json labels_ = nlohmann::ordered_json::array();
};

// Times of one lane in units; their rounding does not add up.
class LaneTimes {
 public:
  LaneTimes(PackedNumbers& numbers, int64_t unit_ns) : numbers_(numbers), unit_ns_(unit_ns) {}
  void put_start(int64_t ns) {
    const int64_t units = ns / unit_ns_;
    numbers_.put(units - before_);
    before_ = units;
  }
  void put_length(int64_t ns) { numbers_.put((ns + unit_ns_ / 2) / unit_ns_); }

 private:
  PackedNumbers& numbers_;
  int64_t unit_ns_, before_ = 0;
};

std::string packed_work(const std::vector<const WorkLane*>& traces, int64_t window_start_ns, int64_t unit_ns,
                        LabelNumbers& labels) {
  PackedNumbers numbers;
  LaneTimes times(numbers, unit_ns);
  for (const WorkLane* lane : traces) {  // sessions of one rank, one after the other
    std::vector<int64_t> number(lane->names.size());
    std::transform(lane->names.begin(), lane->names.end(), number.begin(),
                   [&](const std::string& name) { return labels.of(name); });
    for (const WorkBlock& block : lane->blocks) {
      times.put_start(block.start.ns - window_start_ns);
      times.put_length(block.length_ns);
      times.put_length(block.length_ns - block.busy_ns);
      numbers.put(block.rows - 1);
      numbers.put(2 * number[static_cast<size_t>(block.name)] + (block.copies ? 1 : 0));
    }
  }
  return numbers.take();
}

std::string packed_idle(const std::vector<const WorkLane*>& traces, int64_t window_start_ns, int64_t unit_ns) {
  PackedNumbers numbers;
  LaneTimes times(numbers, unit_ns);
  for (const WorkLane* lane : traces) {
    for (const IdleBlock& block : lane->idle) {
      times.put_start(block.start.ns - window_start_ns);
      times.put_length(block.length_ns);
      numbers.put(static_cast<int64_t>(block.cause));
    }
  }
  return numbers.take();
}

std::string packed_calls(const LaneCalls& lane, int64_t unit_ns) {
  PackedNumbers numbers;
  LaneTimes times(numbers, unit_ns);
  int32_t before = 0;
  for (const CallBlock& block : lane) {
    times.put_start(block.start_ns);
    times.put_length(block.end_ns - block.start_ns);
    if (block.wait_ns < 0) {
      numbers.put_none();
    } else {
      times.put_length(block.wait_ns);
    }
    numbers.put(block.calls - 1);
    numbers.put(block.longest->instance - before);
    before = block.longest->instance;
    numbers.put(block.longest->communicator);
    numbers.put(static_cast<int64_t>(block.longest->op));
    if (block.last < 0) {
      numbers.put_none();
    } else {
      numbers.put(block.last);
    }
  }
  return numbers.take();
}

}  // namespace

nlohmann::ordered_json lane_data(const JobReport& report) {
  std::map<int32_t, std::vector<const WorkLane*>> by_rank;
  for (const WorkLane& lane : report.lanes.lanes) by_rank[lane.rank.value].push_back(&lane);
  if (by_rank.empty()) return {};
  std::unordered_map<int32_t, size_t> places;
  for (const auto& [rank, traces] : by_rank) places.emplace(rank, places.size());
  std::vector<LaneCalls> calls = calls_of(report.calls, places);
  const int64_t calls_below_ns = make_fit(calls, report.job.window_ns);
  const int64_t finest_ns = std::min(report.lanes.merged_below_ns, calls_below_ns);
  const int64_t unit_ns = std::max<int64_t>(1, finest_ns / 16);

  LabelNumbers labels;
  auto lanes = nlohmann::ordered_json::array(), ops = nlohmann::ordered_json::array();
  auto causes = nlohmann::ordered_json::array();
  for (const auto& [rank, traces] : by_rank) {
    lanes.push_back({{"rank", rank},
                     {"reason", to_string(traces.front()->reason)},
                     {"work", packed_work(traces, report.job.window_start_ns, unit_ns, labels)},
                     {"calls", packed_calls(calls[places.at(rank)], unit_ns)},
                     {"idle", packed_idle(traces, report.job.window_start_ns, unit_ns)}});
  }
  for (uint8_t kind = 0; is_valid(static_cast<CollectiveKind>(kind)); ++kind) {
    ops.push_back(to_string(static_cast<CollectiveKind>(kind)));
  }
  for (size_t cause = 0; cause < kIdleCauses; ++cause) causes.push_back(to_string(static_cast<IdleCause>(cause)));
  return {{"ranks", report.ranks.size()},
          {"unit_ns", unit_ns},
          {"merged_below_ns", exact(report.lanes.merged_below_ns)},
          {"calls_merged_below_ns", exact(calls_below_ns)},
          {"idle_below_ns", exact(report.lanes.idle_below_ns)},
          {"names", labels.take()},
          {"idle_causes", std::move(causes)},
          {"ops", std::move(ops)},
          {"lanes", std::move(lanes)}};
}

}  // namespace skewscope::report
