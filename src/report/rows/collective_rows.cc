#include "collective_rows.h"

#include <map>
#include <string>
#include <tuple>

#include "collectives/traffic.h"
#include "statistics.h"

namespace skewscope::report {
namespace {

struct Samples {
  int64_t count = 0, exposed_wait_ns = 0, exposed_transfer_ns = 0;
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
    samples.end_skew.push_back(static_cast<double>(view.timing.end_skew_ns));
  }
  if (view.split()) {
    for (size_t m = 0; m < view.size(); ++m) {
      samples.wait.push_back(static_cast<double>(view.parts(m).wait_ns));
      samples.transfer.push_back(static_cast<double>(view.parts(m).transfer_ns));
      samples.exposed_wait_ns += view.parts(m).exposed_wait_ns;
      samples.exposed_transfer_ns += view.parts(m).exposed_transfer_ns;
    }
  }
  add_bandwidth(samples, view);
}

}  // namespace

std::vector<JobReport::CollectiveRow> collective_rows(const Rooms& rooms) {
  std::map<std::tuple<int32_t, std::string, std::string, int64_t>, Samples> groups;
  for (size_t i = 0; i < rooms.instances.instances.size(); ++i) {
    const InstanceView view(rooms, i);
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

}  // namespace skewscope::report
