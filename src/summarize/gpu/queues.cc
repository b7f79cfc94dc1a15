// The queue of a stream is a step function: up where a host call begins to launch a row, down where the row begins. Its
// values after each change are HTA's sample; over time it is given in equal bins of the trace's window, the same for
// all streams: a table that stays small however long the trace is. Cost: one sort of the changes, one pass over them.
#include "queues.h"

#include <algorithm>

#include "spread.h"

namespace skewscope::summarize {
namespace {

constexpr int32_t kFullQueue = 1024;  // HTA's
constexpr int64_t kBins = 100;

struct Change {
  LocalNs at;
  int32_t by;
};

// Where clocks let a row begin before its launch, both are one instant. At one instant they keep the order of the rows,
// and a launch comes before the start of its row (as HTA's).
std::vector<Change> changes_of(const RankTrace& trace, const std::vector<size_t>& rows) {
  std::vector<Change> changes;
  for (const size_t row : rows) {
    if (trace.gpu.launch[row] < 0) continue;
    const LocalNs launched = trace.launches.start[static_cast<size_t>(trace.gpu.launch[row])];
    changes.push_back({launched, 1});
    changes.push_back({std::max(launched, trace.gpu.start[row]), -1});
  }
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  return changes;
}

// Bins of [first_event, last_event); the last one holds what the division leaves.
class Bins {
 public:
  Bins(const RankTrace& trace, int32_t device, int32_t stream) {
    const int64_t window_ns = trace.last_event - trace.first_event;
    const int64_t length_ns = std::max<int64_t>(window_ns / kBins, 1);
    for (int64_t from = 0; from < window_ns && std::ssize(bins_) < kBins; from += length_ns) {
      bins_.push_back({device, stream, from, length_ns, 0, 0});
    }
    if (!bins_.empty()) bins_.back().length_ns = window_ns - bins_.back().start_ns;
    length_ns_ = length_ns;
  }

  // The depth holds from `from` to `to`, since first_event.
  void add(int64_t from, int64_t to, int32_t depth) {
    for (size_t b = bin_at(from); b < bins_.size() && bins_[b].start_ns < to; ++b) {
      QueueBin& bin = bins_[b];
      const int64_t end = bin.start_ns + bin.length_ns;
      bin.depth_ns += depth * std::max<int64_t>(0, std::min(to, end) - std::max(from, bin.start_ns));
      bin.deepest = std::max(bin.deepest, depth);
    }
  }

  const std::vector<QueueBin>& bins() const { return bins_; }

 private:
  size_t bin_at(int64_t since_first) const {
    return std::min(static_cast<size_t>(std::max<int64_t>(since_first, 0) / length_ns_), bins_.size() - 1);
  }

  std::vector<QueueBin> bins_;
  int64_t length_ns_ = 1;
};

}  // namespace

void add_queue(const RankTrace& trace, const std::vector<size_t>& rows, RankTables& tables) {
  const std::vector<Change> changes = changes_of(trace, rows);
  QueueDepth queue;
  queue.device = trace.gpu.device[rows.front()];
  queue.stream = trace.gpu.stream[rows.front()];
  Bins over_time(trace, queue.device, queue.stream);
  int32_t depth = 0;
  std::vector<double> depths;
  for (size_t i = 0; i < changes.size(); ++i) {
    depth += changes[i].by;
    depths.push_back(depth);
    const LocalNs until = i + 1 < changes.size() ? changes[i + 1].at : changes[i].at;
    if (depth >= kFullQueue) queue.full_ns += until - changes[i].at;
    if (!over_time.bins().empty()) over_time.add(changes[i].at - trace.first_event, until - trace.first_event, depth);
  }
  queue.depth = distribution_of(depths);
  tables.queues.push_back(queue);
  const std::vector<QueueBin>& bins = over_time.bins();
  if (!changes.empty()) tables.queues_over_time.insert(tables.queues_over_time.end(), bins.begin(), bins.end());
}

}  // namespace skewscope::summarize
