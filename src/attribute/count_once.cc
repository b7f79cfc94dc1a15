// Problem: calls of several streams run at once. What of each is exposed adds up to more than the GPU had of time, and
// what one kind of calls costs cannot be read from a sum that counts a nanosecond twice.
// Idea: an instant at which nothing computes has one label, as in StepParts: transfer before waiting before what is not
// distinguished. Among the calls that have this label then, it is given to the one whose part began first (of equal
// ones, the one that comes first): the others would have been exposed no earlier without it. So the sums over calls are
// the totals of the trace to the nanosecond. Cost: one sort by start. Most calls overlap none: they keep what they
// have. Among those that do, each part enters and leaves once.
#include "count_once.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include "skewscope/base/sort_runs.h"

namespace skewscope::attribute {
namespace {

// In the order of their labels.
constexpr std::array kExposed = {&CallParts::exposed_transfer_ns, &CallParts::exposed_wait_ns,
                                 &CallParts::exposed_unattributed_ns};

struct Part {
  int64_t begin, end;
  size_t label;   // row of kExposed
  uint32_t call;  // row of the calls
};

void add_parts(const TimedParts& timed, uint32_t call, std::vector<Part>& parts) {
  const CallParts& p = timed.parts;
  const int64_t start = timed.start.ns, middle = start + p.wait_ns;
  if (p.transfer_ns > 0) parts.push_back({middle, middle + p.transfer_ns, 0, call});
  if (p.wait_ns > 0) parts.push_back({start, middle, 1, call});
  if (p.unattributed_ns > 0) parts.push_back({start, start + p.unattributed_ns, 2, call});
}

// Parts of calls that overlap.
class Owners {
 public:
  Owners(std::vector<Part>& parts, std::vector<TimedParts>& calls, const BusyIntervals& busy)
      : parts_(parts), calls_(calls), busy_(busy) {
    std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
      return std::tie(a.begin, a.call, a.label) < std::tie(b.begin, b.call, b.label);
    });
    for (const Part& part : parts) {
      bounds_.push_back(part.begin);
      bounds_.push_back(part.end);
    }
    std::sort(bounds_.begin(), bounds_.end());
    bounds_.erase(std::unique(bounds_.begin(), bounds_.end()), bounds_.end());
  }

  void give() {
    size_t next = 0;
    for (size_t i = 0; i + 1 < bounds_.size(); ++i) {
      for (; next < parts_.size() && parts_[next].begin == bounds_[i]; ++next) {
        running_[parts_[next].label].push_back(next);
      }
      if (const Part* owner = first_running(bounds_[i])) {
        const LocalNs from{bounds_[i]}, to{bounds_[i + 1]};
        calls_[owner->call].parts.*kExposed[owner->label] += (to - from) - busy_.covered_ns(from, to);
      }
    }
  }

 private:
  // One with the first label that any has; null: none runs.
  const Part* first_running(int64_t now) {
    for (size_t label = 0; label < kExposed.size(); ++label) {
      size_t& front = front_[label];
      while (front < running_[label].size() && parts_[running_[label][front]].end <= now) ++front;
      if (front < running_[label].size()) return &parts_[running_[label][front]];
    }
    return nullptr;
  }

  std::vector<Part>& parts_;
  std::vector<TimedParts>& calls_;
  BusyIntervals::InOrder busy_;
  std::vector<int64_t> bounds_;
  std::array<std::vector<size_t>, kExposed.size()> running_;  // by label: rows of parts_, by begin
  std::array<size_t, kExposed.size()> front_{};               // the first that may still run
};

}  // namespace

void count_once(std::vector<TimedParts>& calls, const BusyIntervals& busy) {
  std::vector<uint32_t> order(calls.size());
  std::iota(order.begin(), order.end(), 0U);
  sort_runs(order, [&](uint32_t a, uint32_t b) { return calls[a].start < calls[b].start; });
  std::vector<Part> parts;
  for (size_t i = 0; i < order.size();) {
    const size_t first = i;
    LocalNs end = calls[order[i]].start;
    for (; i < order.size() && (i == first || calls[order[i]].start < end); ++i) {
      end = std::max(end, calls[order[i]].start + calls[order[i]].parts.duration_ns());
    }
    if (i - first < 2) continue;
    parts.clear();
    for (size_t k = first; k < i; ++k) {
      CallParts& own = calls[order[k]].parts;
      add_parts(calls[order[k]], order[k], parts);
      for (int64_t CallParts::*exposed : kExposed) own.*exposed = 0;
    }
    Owners(parts, calls, busy).give();
  }
}

}  // namespace skewscope::attribute
