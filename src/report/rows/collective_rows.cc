#include "collective_rows.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>

#include "collectives/traffic.h"
#include "measured_waits.h"
#include "statistics.h"

namespace skewscope::report {
namespace {

struct Samples {
  int64_t count = 0, exposed_wait_ns = 0, exposed_transfer_ns = 0;
  int64_t measured_wait_ns = -1, split_of_measured_ns = -1;
  std::vector<double> wait, transfer, start_skew, end_skew, algo_bandwidth, bus_bandwidth;
};

void add_bandwidth(Samples& samples, const InstanceView& view) {
  const CollectiveInstance& instance = view.instance;
  const double factor = bus_bandwidth_factor(instance.kind, instance.expected);
  if (!instance.complete || !view.split() || instance.bytes <= 0 || view.timing.transfer_ns <= 0 || factor <= 0) return;
  // bytes per nanosecond = 1e9 bytes per second
  const double algo = static_cast<double>(instance.bytes) / static_cast<double>(view.timing.transfer_ns);
  samples.algo_bandwidth.push_back(algo);
  samples.bus_bandwidth.push_back(algo * factor);
}

void add_instance(Samples& samples, const InstanceView& view) {
  samples.count++;
  if (view.timing.reason != SplitReason::unconnected && view.size() > 1) {
    samples.start_skew.push_back(static_cast<double>(view.timing.start_skew_ns));
    if (!view.trace(0).durations_only) samples.end_skew.push_back(static_cast<double>(view.timing.end_skew_ns));
  }
  if (view.split()) {
    for (size_t m = 0; m < view.size(); ++m) {
      samples.wait.push_back(static_cast<double>(view.parts(m).wait_ns));
      samples.transfer.push_back(static_cast<double>(view.parts(m).transfer_ns));
      samples.exposed_wait_ns += view.parts(m).exposed_wait_ns;
      samples.exposed_transfer_ns += view.parts(m).exposed_transfer_ns;
      add_measured_wait(view.call(m), view.parts(m), samples);
    }
  }
  add_bandwidth(samples, view);
}

// Of lengths that people read; at most so many windows, and rows over all ranks.
constexpr int64_t kTrendSecond_ns = 1'000'000'000;
constexpr std::array<int64_t, 15> kTrendWindows_s = {1,   2,   5,    10,   20,   30,     60,    120,
                                                     300, 600, 1800, 3600, 7200, 21'600, 86'400};
constexpr int64_t kLeastTrendWindows = 10, kMostTrendWindows = 240, kMostTrendRows = 200'000;

int64_t window_length_ns(int64_t window_ns, size_t ranks) {
  const int64_t most = std::clamp<int64_t>(kMostTrendRows / std::max<int64_t>(1, static_cast<int64_t>(ranks)),
                                           kLeastTrendWindows, kMostTrendWindows);
  for (const int64_t seconds : kTrendWindows_s) {
    if (window_ns / (seconds * kTrendSecond_ns) < most) return seconds * kTrendSecond_ns;
  }
  return (window_ns / most / (kTrendWindows_s.back() * kTrendSecond_ns) + 1) * kTrendWindows_s.back() * kTrendSecond_ns;
}

}  // namespace

std::vector<JobReport::CollectiveRow> collective_rows(const Sources& sources) {
  std::map<std::tuple<int32_t, std::string, std::string, int64_t>, Samples> groups;
  for (size_t i = 0; i < sources.instances.instances.size(); ++i) {
    const InstanceView view(sources, i);
    const CollectiveInstance& c = view.instance;
    add_instance(groups[{c.communicator.value, to_string(c.kind), to_string(c.dtype), c.bytes}], view);
  }
  std::vector<JobReport::CollectiveRow> rows;
  rows.reserve(groups.size());
  for (auto& [key, samples] : groups) {
    JobReport::CollectiveRow row;
    row.communicator = std::get<0>(key);
    row.op = from_text<CollectiveKind>(std::get<1>(key)).value_or(CollectiveKind::unknown);
    row.dtype = std::get<2>(key);
    row.bytes = std::get<3>(key);
    row.count = samples.count;
    row.exposed_wait_ns = samples.exposed_wait_ns;
    row.exposed_transfer_ns = samples.exposed_transfer_ns;
    row.measured_wait_ns = samples.measured_wait_ns;
    row.split_of_measured_ns = samples.split_of_measured_ns;
    row.wait_ns = statistics_of(samples.wait);
    row.transfer_ns = statistics_of(samples.transfer);
    row.start_skew_ns = statistics_of(samples.start_skew);
    row.end_skew_ns = statistics_of(samples.end_skew);
    row.algo_bandwidth_gb_per_s = statistics_of(samples.algo_bandwidth);
    row.bus_bandwidth_gb_per_s = statistics_of(samples.bus_bandwidth);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<TransportRow> transport_rows(const Sources& sources) {
  using Key = std::tuple<CollectiveKind, int64_t, int32_t, Algorithm, Protocol>;
  struct Samples {
    int64_t count = 0;
    std::vector<double> transfer, algo_bandwidth, bus_bandwidth;
  };
  std::map<Key, Samples> groups;
  for (size_t i = 0; i < sources.instances.instances.size(); ++i) {
    const InstanceView view(sources, i);
    const CollectiveInstance& instance = view.instance;
    if (instance.algorithm == Algorithm::unknown && instance.protocol == Protocol::unknown) continue;
    Samples& samples =
        groups[{instance.kind, instance.bytes, instance.expected, instance.algorithm, instance.protocol}];
    ++samples.count;
    if (!instance.complete || !view.split() || view.timing.transfer_ns <= 0) continue;
    const auto transfer = static_cast<double>(view.timing.transfer_ns);
    samples.transfer.push_back(transfer);
    const double factor = bus_bandwidth_factor(instance.kind, instance.expected);
    if (instance.bytes <= 0 || factor <= 0) continue;
    const double algo = static_cast<double>(instance.bytes) / transfer;  // bytes per nanosecond = 1e9 bytes per second
    samples.algo_bandwidth.push_back(algo);
    samples.bus_bandwidth.push_back(algo * factor);
  }
  std::vector<TransportRow> rows;
  for (auto& [key, samples] : groups) {
    TransportRow& row = rows.emplace_back();
    std::tie(row.op, row.bytes, row.size, row.algorithm, row.protocol) = key;
    row.count = samples.count;
    row.transfer_ns = statistics_of(samples.transfer);
    row.algo_bandwidth_gb_per_s = statistics_of(samples.algo_bandwidth);
    row.bus_bandwidth_gb_per_s = statistics_of(samples.bus_bandwidth);
  }
  return rows;
}

std::vector<TrendRow> trend_rows(const Sources& sources) {
  if (sources.clocks.window_ns < kLeastTrendWindows * kTrendSecond_ns) return {};
  const int64_t length = window_length_ns(sources.clocks.window_ns, sources.job.traces.size());
  std::map<std::tuple<int32_t, int64_t, int32_t>, TrendRow> rows;
  for (size_t i = 0; i < sources.instances.instances.size(); ++i) {
    const InstanceView view(sources, i);
    for (size_t m = 0; m < view.size(); ++m) {
      const TraceIndex trace = view.ref(m).trace;
      const CallSpan& span = sources.instances.spans[view.row(m)];
      const int64_t end = sources.clocks.to_job(trace, span.end()).ns - sources.clocks.reference_ns;
      const int64_t window = std::max<int64_t>(0, end) / length;
      const int32_t session = view.trace(m).session.value, rank = view.trace(m).rank.value;
      TrendRow& row = rows[{session, window, rank}];
      row.start_ns = window * length;
      row.duration_ns = length;
      row.rank = rank;
      row.session = session;
      ++row.collectives;
      row.wait_ns += view.parts(m).wait_ns;
      row.wait_caused_ns += sources.decomposition.caused_ns[view.row(m)];
      if (view.instance.complete && view.split()) ++row.late_candidates;
      if (view.timing.last == trace) ++row.late_count;
    }
  }
  std::vector<TrendRow> trend;
  trend.reserve(rows.size());
  for (auto& [key, row] : rows) {
    if (row.late_candidates > 0) {
      row.late_share = static_cast<double>(row.late_count) / static_cast<double>(row.late_candidates);
    }
    trend.push_back(row);
  }
  return trend;
}

}  // namespace skewscope::report
