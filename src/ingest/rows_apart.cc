// Problem: a stamp that is none (0, a negative one that the tracer cut off, one of another clock) makes the job as long
// as the way from there to everything else: an hour of idle time, found in one row of 1.2 us.
// Idea: what a process did, it did together: rows fall into clusters by time. In one that is real, some GPU row stands
// beside its launch, or there are many rows. A cluster of a row or two without its launch, further from the others than
// these are long, is no time.
// Why right: a pause, however long, has launches with their rows on both sides; a kernel that was launched before
// recording began runs next to the first ones of the trace. A row that is as far away as the trace is short tells
// nothing that its loss could hide, and it is counted. A first row that starts before its own launch is no time,
// however near it lies: as long as few rows are so, for a clock that is off by as much moves them all.
// Cost: a look at the gaps between rows; only where one is a quarter of a second, or a host row lies outside the GPU's
// rows by as much, more: linear in the rows but for those outside.
#include "rows_apart.h"

#include <fmt/format.h>

#include <algorithm>

#include "clocks_apart.h"

namespace skewscope::ingest {
namespace {

constexpr int64_t kGap_ns = 250'000'000;          // between clusters
constexpr int64_t kBeforeLaunch_ns = 10'000'000;  // more than clocks of a host and its GPU differ
constexpr size_t kRowsOfNone = 2;                 // and the hundredth part of all: what a broken clock may have stamped
constexpr size_t kShareOfNone = 100;

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
    const bool were_early = drop_early_rows();
    if (!may_be_apart()) return were_early;
    find_clusters();
    if (clusters_.size() < 2) return were_early;
    count_rows();
    judge();
    if (std::none_of(clusters_.begin(), clusters_.end(), [](const Cluster& c) { return c.is_apart; })) {
      return were_early;
    }
    drop_launches();
    drop_gpu_rows([&](size_t row) { return is_apart(content_.gpu.events.start[row]); },
                  "GPU rows were stamped far from all others");
    drop_steps();
    drop_host_calls();
    return true;
  }

 private:
  // GPU rows are dropped that start before all others, and before their own launch.
  bool drop_early_rows() {
    const GpuEvents& gpu = content_.gpu.events;
    const auto is_early = [&](size_t row) {
      if (gpu.launch[row] < 0) return false;
      return content_.launches.events.start[static_cast<size_t>(gpu.launch[row])] - gpu.start[row] > kBeforeLaunch_ns;
    };
    const size_t most = std::min(few_of(gpu.size()), (gpu.size() + 1) / 2 - 1);
    size_t early = 0;
    while (early < gpu.size() && early <= most && is_early(early)) ++early;
    if (early == 0 || early > most) return false;
    first_real_ = gpu.start[early];
    drop_gpu_rows([&](size_t row) { return row < early; },
                  "GPU rows were stamped before their own launch and before all others");
    return true;
  }

  // So many rows a broken clock may have stamped.
  static size_t few_of(size_t rows) { return std::max(kRowsOfNone, rows / kShareOfNone); }

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
    const GpuEvents& gpu = content_.gpu.events;
    for (size_t i = 0; i < gpu.size(); ++i) {
      if (spans.empty() || gpu.start[i] - spans.back().last > kGap_ns) spans.push_back({gpu.start[i], gpu.start[i]});
      spans.back().last = std::max(spans.back().last, gpu.start[i]);
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
    const LocalNs latest = latest_start();
    const auto add_range = [&](const auto& row) {
      // An end behind all that began says nothing.
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
    const size_t few = few_of(all);
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
                               : long_time_words(start - last_real_) + " behind";
  }

  void report(const char* code, int64_t count, LocalNs first, const char* what, const char* consequence) {
    if (count == 0) return;
    add_finding(content_.findings,
                {Severity::warning, code, content_.file, Rank(), -1, count,
                 fmt::format("{}: {}, the first {} them, at {} us of the file's stamps; {}", what, count,
                             away_words(first), (first.ns - content_.base_time_ns) / 1000, consequence)});
  }

  template <class IsDropped>
  void drop_gpu_rows(IsDropped is_dropped, const char* what) {
    std::vector<int32_t> kept;
    LocalNs first{INT64_MAX};
    const GpuEvents& gpu = content_.gpu.events;
    for (size_t i = 0; i < gpu.size(); ++i) {
      if (!is_dropped(i)) {
        kept.push_back(static_cast<int32_t>(i));
      } else {
        first = std::min(first, gpu.start[i]);
        if (gpu.work[i] == GpuWork::compute) content_.kernel_grids.add_time(gpu.name[i], -gpu.duration_ns[i]);
      }
    }
    if (kept.size() == gpu.size()) return;
    report("time-out-of-range", std::ssize(gpu.start) - std::ssize(kept), first, what, "they were left out");
    keep(kept, content_.gpu);
    if (content_.details) content_.details->gpu = gathered(content_.details->gpu, kept);
  }

  void drop_launches() {
    std::vector<int32_t> kept;
    LocalNs first{INT64_MAX};
    LaunchRows& launches = content_.launches;
    for (size_t i = 0; i < launches.size(); ++i) {
      if (is_apart(launches.events.start[i])) {
        first = std::min(first, launches.events.start[i]);
      } else {
        kept.push_back(static_cast<int32_t>(i));
      }
    }
    if (kept.size() == launches.size()) return;
    report("launch-out-of-range", std::ssize(launches.events.start) - std::ssize(kept), first,
           "calls of the host were stamped far from all others",
           "what they launched counts without step or CPU partner");
    LaunchRows left;
    std::vector<LaunchRow> rows;
    for (const int32_t row : kept) rows.push_back(launches[static_cast<size_t>(row)]);
    left.append(rows);
    launches = std::move(left);
    if (content_.details) content_.details->launches = gathered(content_.details->launches, kept);
  }

  void drop_steps() {
    LocalNs first{INT64_MAX};
    const auto dropped = std::erase_if(content_.steps, [&](const StepRow& step) {
      if (is_apart(step.start)) first = std::min(first, step.start);
      return is_apart(step.start);
    });
    report("step-out-of-range", static_cast<int64_t>(dropped), first,
           "ProfilerStep ranges were stamped far from all others", "they are no steps of this report");
  }

  // Without GPU rows the ranges of collectives are the calls; beside them they only tell what a kernel is.
  void drop_host_calls() {
    if (!content_.gpu.empty()) return;
    LocalNs first{INT64_MAX};
    const auto dropped = std::erase_if(content_.comm_ops, [&](const CommOpRow& op) {
      if (is_apart(op.start)) first = std::min(first, op.start);
      return is_apart(op.start);
    });
    report("call-out-of-range", static_cast<int64_t>(dropped), first,
           "collectives of the host were stamped far from all others", "they were left out");
  }

  FileContent& content_;
  std::vector<Cluster> clusters_;  // by time
  LocalNs first_real_, last_real_;
};

}  // namespace

bool leave_out_rows_apart(FileContent& content) { return ApartRows(content).leave_out(); }

}  // namespace skewscope::ingest
