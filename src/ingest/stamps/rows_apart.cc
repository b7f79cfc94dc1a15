// Problem: a stamp that is none (0, a negative one that the tracer cut off, one of another clock) makes the job as long
// as the way from there to everything else: an hour of idle time, found in one row of 1.2 us.
// Idea: what a process did, it did together: rows fall into clusters by time. In one that is real, some GPU row is
// next to its launch, or there are many rows. A cluster of a row or two without its launch, further from the others
// than these are long, is no time. Why right: a pause, however long, has launches with their rows on both sides; a
// kernel that was launched before recording began runs next to the first ones of the trace. A row that is as far away
// as the trace is short tells nothing that its loss could hide, and it is counted. What contradicts the order of things
// is left out however near it lies (out_of_turn.h). Cost: a look at the gaps between rows; only where one is a quarter
// of a second, or a host row lies outside the GPU's rows by as much, more: linear in the rows but for those outside.
#include "rows_apart.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "clocks_apart.h"
#include "out_of_turn.h"

namespace skewscope::ingest {
namespace {

constexpr int64_t kGap_ns = 250'000'000;  // between clusters

struct Cluster {
  LocalNs first, last;
  size_t gpu_rows = 0, host_rows = 0, pairs = 0;  // pairs: GPU rows whose launches are in it, too
  bool is_apart = false;

  size_t rows() const { return gpu_rows + host_rows; }
};

template <class Row>
LocalNs end_of_row(const Row& row) {
  return row.start + std::max<int64_t>(row.duration_ns, 0);
}

class ApartRows {
 public:
  explicit ApartRows(FileContent& content) : content_(content) {}

  bool leave_out() {
    const bool any_out_of_turn = drop_out_of_turn();
    if (!may_be_apart()) return any_out_of_turn;
    find_clusters();
    if (clusters_.size() < 2) return any_out_of_turn;
    count_rows();
    judge();
    if (std::none_of(clusters_.begin(), clusters_.end(), [](const Cluster& c) { return c.is_apart; })) {
      return any_out_of_turn;
    }
    const auto away = [&](size_t, LocalNs start) { return away_words(start) + " them"; };
    const Column<LocalNs>&launched = content_.launches.events.start, &began = content_.gpu.events.start;
    drop_launches([&](size_t row) { return is_apart(launched[row]); },
                  "host calls have time stamps far from all others", away);
    drop_gpu_rows([&](size_t row) { return is_apart(began[row]); }, "GPU rows have time stamps far from all others",
                  away);
    drop_steps([&](size_t row) { return is_apart(content_.steps[row].start); },
               "ProfilerStep ranges have time stamps far from all others", away);
    drop_host_calls();
    return true;
  }

 private:
  bool drop_out_of_turn() {
    const auto drop = [](const std::vector<OutOfTurn>& rows, const auto& drop_rows) {
      const auto at = [&](size_t row) {
        return std::partition_point(rows.begin(), rows.end(),
                                    [&](const OutOfTurn& r) { return r.row < static_cast<int32_t>(row); });
      };
      const auto is_dropped = [&](size_t row) {
        const auto found = at(row);
        return found != rows.end() && found->row == static_cast<int32_t>(row);
      };
      const auto away = [&](size_t row, LocalNs) {
        const int64_t late_ns = at(row)->late_ns;
        return late_ns < 0 ? long_time_words(-late_ns) + " early" : long_time_words(late_ns) + " late";
      };
      if (!rows.empty()) drop_rows(is_dropped, away);
      return !rows.empty();
    };
    const bool launches = drop(launches_out_of_turn(content_), [&](const auto& is_dropped, const auto& away) {
      drop_launches(is_dropped, "host calls have time stamps out of the order in which they were made", away);
    });
    const bool rows = drop(gpu_rows_out_of_turn(content_), [&](const auto& is_dropped, const auto& away) {
      drop_gpu_rows(is_dropped,
                    "GPU rows have time stamps before their own launch, after rows launched later, or after calls that "
                    "had waited for them",
                    away);
    });
    drop(steps_out_of_turn(content_), [&](const auto& is_dropped, const auto& away) {
      drop_steps(is_dropped, "ProfilerStep ranges have time stamps where nothing was launched", away);
    });
    return launches || rows;
  }

  bool may_be_apart() {
    const GpuEvents& gpu = content_.gpu.events;
    for (size_t i = 1; i < gpu.size(); ++i) {
      if (gpu.start[i] - gpu.start[i - 1] > kGap_ns) return true;
    }
    if (gpu.size() == 0) return true;
    const LocalNs first = gpu.start[0] + -kGap_ns, last = gpu.start[gpu.size() - 1] + kGap_ns;
    const auto is_outside = [&](LocalNs start) { return start < first || start > last; };
    const Column<LocalNs>& launches = content_.launches.events.start;
    return std::any_of(launches.begin(), launches.end(), is_outside) ||
           std::any_of(content_.steps.begin(), content_.steps.end(),
                       [&](const StepRow& step) { return is_outside(step.start); });
  }

  // Spans of the GPU rows first, then what lies outside of them.
  void find_clusters() {
    std::vector<Cluster> spans;
    const LocalNs latest = latest_start();  // an end behind all that began says nothing
    const GpuEvents& gpu = content_.gpu.events;
    for (size_t i = 0; i < gpu.size(); ++i) {
      if (spans.empty() || gpu.start[i] - spans.back().last > kGap_ns) spans.push_back({gpu.start[i], gpu.start[i]});
      const LocalNs end = gpu.start[i] + gpu.duration_ns[i];
      spans.back().last = std::max(spans.back().last, end <= latest ? end : gpu.start[i]);
    }
    const std::vector<Cluster> of_gpu = spans;
    const auto add = [&](LocalNs first, LocalNs last) {
      const auto near =
          std::partition_point(of_gpu.begin(), of_gpu.end(), [&](const Cluster& c) { return c.last < first; });
      const bool inside = near != of_gpu.end() && near->first <= first && last <= near->last;
      if (!inside) spans.push_back({first, last});
    };
    const LaunchEvents& launches = content_.launches.events;
    for (const LocalNs start : launches.start) add(start, start);
    const auto add_range = [&](const auto& row) {
      add(row.start, end_of_row(row) <= latest ? end_of_row(row) : row.start);
    };
    for (const StepRow& step : content_.steps) add_range(step);
    for (const CommOpRow& op : content_.comm_ops) add_range(op);
    std::sort(spans.begin(), spans.end(), [](const Cluster& a, const Cluster& b) { return a.first < b.first; });
    for (const Cluster& span : spans) {
      if (clusters_.empty() || span.first - clusters_.back().last > kGap_ns) clusters_.push_back(span);
      clusters_.back().last = std::max(clusters_.back().last, span.last);
    }
  }

  LocalNs latest_start() const {
    LocalNs latest{INT64_MIN};
    const auto see = [&](LocalNs start) { latest = std::max(latest, start); };
    if (!content_.gpu.empty()) see(content_.gpu.events.start[content_.gpu.size() - 1]);
    for (const LocalNs start : content_.launches.events.start) see(start);
    for (const StepRow& step : content_.steps) see(step.start);
    for (const CommOpRow& op : content_.comm_ops) see(op.start);
    return latest;
  }

  size_t cluster_at(LocalNs start) const {
    const auto next =
        std::partition_point(clusters_.begin(), clusters_.end(), [&](const Cluster& c) { return c.first <= start; });
    return static_cast<size_t>(next - clusters_.begin()) - 1;
  }
  bool is_apart(LocalNs start) const { return clusters_[cluster_at(start)].is_apart; }

  // A launch and its row that were both stamped with the base are no pair: that is where stamps are cut off.
  void count_rows() {
    const GpuEvents& gpu = content_.gpu.events;
    for (size_t i = 0; i < gpu.size(); ++i) {
      const size_t at = cluster_at(gpu.start[i]);
      ++clusters_[at].gpu_rows;
      if (gpu.launch[i] < 0 || is_at_base(gpu.start[i])) continue;
      const LocalNs launched = content_.launches.events.start[static_cast<size_t>(gpu.launch[i])];
      if (cluster_at(launched) == at) ++clusters_[at].pairs;
    }
    for (const LocalNs start : content_.launches.events.start) ++clusters_[cluster_at(start)].host_rows;
    for (const StepRow& step : content_.steps) ++clusters_[cluster_at(step.start)].host_rows;
    for (const CommOpRow& op : content_.comm_ops) ++clusters_[cluster_at(op.start)].host_rows;
  }

  bool is_at_base(LocalNs start) const {
    return start.ns <= content_.base_time_ns && (content_.has_base_time || start.ns <= 0);
  }

  // The cluster with most rows is real; the others are where they have pairs or rows, or lie near.
  void judge() {
    size_t all = 0;
    for (const Cluster& cluster : clusters_) all += cluster.rows();
    const size_t few = few_rows_of(all);
    const auto largest = std::max_element(clusters_.begin(), clusters_.end(), [](const Cluster& a, const Cluster& b) {
      return std::pair(a.pairs, a.rows()) < std::pair(b.pairs, b.rows());
    });
    LocalNs first{INT64_MAX}, last{INT64_MIN};
    for (Cluster& cluster : clusters_) {
      const bool may_be_none = cluster.rows() <= few || is_at_base(cluster.last);
      cluster.is_apart = &cluster != &*largest && cluster.pairs == 0 && may_be_none;
      if (cluster.is_apart) continue;
      first = std::min(first, cluster.first);
      last = std::max(last, cluster.last);
    }
    for (Cluster& cluster : clusters_) {
      const int64_t away_ns = std::max(first - cluster.last, cluster.first - last);
      if (is_at_base(cluster.first) && away_ns > kGap_ns) continue;
      cluster.is_apart = cluster.is_apart && away_ns > std::max(last - first, kGap_ns);
    }
    first_real_ = first;
    last_real_ = last;
  }

  // How far the first of them lies from what is real.
  std::string away_words(LocalNs start) const {
    return start < first_real_ ? long_time_words(first_real_ - start) + " before"
                               : long_time_words(start - last_real_) + " after";
  }

  void report(FindingCode code, int64_t count, LocalNs first, const char* what, const std::string& away,
              const char* consequence) {
    ingest::report(content_, Severity::warning, code, count,
                   fmt::format("{}: {}, the first {}, at {} us in the file; {}", what, count, away,
                               (first.ns - content_.base_time_ns) / 1000, consequence));
  }

  // Rows that are kept, and which of the others is the first by time; -1: none.
  struct Split {
    std::vector<int32_t> kept;
    int64_t dropped = 0;
    int32_t first = -1;
  };

  template <class IsDropped, class StartOf>
  static Split split(size_t rows, IsDropped is_dropped, StartOf start_of) {
    Split split;
    for (size_t i = 0; i < rows; ++i) {
      if (!is_dropped(i)) {
        split.kept.push_back(static_cast<int32_t>(i));
        continue;
      }
      ++split.dropped;
      if (split.first < 0 || start_of(i) < start_of(static_cast<size_t>(split.first))) {
        split.first = static_cast<int32_t>(i);
      }
    }
    return split;
  }

  // `away(row, start)`: how far a row lies from where it belongs.
  template <class IsDropped, class Away>
  void drop_gpu_rows(IsDropped is_dropped, const char* what, Away away) {
    const GpuEvents& gpu = content_.gpu.events;
    const Split rows = split(gpu.size(), is_dropped, [&](size_t row) { return gpu.start[row]; });
    if (rows.dropped == 0) return;
    for (size_t i = 0; i < gpu.size(); ++i) {
      if (gpu.work[i] != GpuWork::compute || !is_dropped(i)) continue;
      content_.kernel_grids.add_time(gpu.name[i], -gpu.duration_ns[i]);
    }
    const auto first = static_cast<size_t>(rows.first);
    report("time-out-of-range", rows.dropped, gpu.start[first], what, away(first, gpu.start[first]),
           "they were left out");
    Column<int32_t> launches = gathered(gpu.launch, rows.kept);
    keep(rows.kept, content_.gpu);
    content_.gpu.events.launch = std::move(launches);
    if (content_.details) content_.details->gpu = gathered(content_.details->gpu, rows.kept);
  }

  template <class IsDropped, class Away>
  void drop_launches(IsDropped is_dropped, const char* what, Away away) {
    LaunchRows& launches = content_.launches;
    const Split rows = split(launches.size(), is_dropped, [&](size_t row) { return launches.events.start[row]; });
    if (rows.dropped == 0) return;
    const auto first = static_cast<size_t>(rows.first);
    const LocalNs start = launches.events.start[first];
    report("launch-out-of-range", rows.dropped, start, what, away(first, start),
           "their kernels are counted, but not in any step");
    std::vector<int32_t> place(launches.size(), -1);
    std::vector<LaunchRow> left;
    for (const int32_t row : rows.kept) {
      place[static_cast<size_t>(row)] = static_cast<int32_t>(left.size());
      left.push_back(launches[static_cast<size_t>(row)]);
    }
    for (int32_t& launch : content_.gpu.events.launch) launch = launch < 0 ? -1 : place[static_cast<size_t>(launch)];
    launches = LaunchRows();
    launches.append(left);
    if (content_.details) content_.details->launches = gathered(content_.details->launches, rows.kept);
  }

  template <class IsDropped, class Away>
  void drop_steps(IsDropped is_dropped, const char* what, Away away) {
    std::vector<StepRow>& steps = content_.steps;
    const Split rows = split(steps.size(), is_dropped, [&](size_t row) { return steps[row].start; });
    if (rows.dropped == 0) return;
    const auto first = static_cast<size_t>(rows.first);
    report("step-out-of-range", rows.dropped, steps[first].start, what, away(first, steps[first].start),
           "they do not count as steps");
    steps = gathered(steps, rows.kept);
  }

  // Without GPU rows the ranges of collectives are the calls; next to them they only tell what a kernel is.
  void drop_host_calls() {
    if (!content_.gpu.empty()) return;
    std::vector<CommOpRow>& ops = content_.comm_ops;
    const Split rows = split(
        ops.size(), [&](size_t row) { return is_apart(ops[row].start); }, [&](size_t row) { return ops[row].start; });
    if (rows.dropped == 0) return;
    const LocalNs first = ops[static_cast<size_t>(rows.first)].start;
    report("call-out-of-range", rows.dropped, first, "host collectives have time stamps far from all others",
           away_words(first) + " them", "they were left out");
    ops = gathered(ops, rows.kept);
  }

  FileContent& content_;
  std::vector<Cluster> clusters_;  // by time
  LocalNs first_real_, last_real_;
};

}  // namespace

bool leave_out_rows_apart(FileContent& content) { return ApartRows(content).leave_out(); }

}  // namespace skewscope::ingest
