// Idea: communicators of one size over as many nodes and the same link, with the same operation on as many bytes,
// should move them equally fast. At least three of them, so that the median is not the slow one's. A group is slow
// where it takes half as long again as that median or longer, over all its comparable calls a quarter of its time at
// least is beyond it, and that is worth a hundredth of the window. The excess is an upper bound on what its repair
// saves: some may be hidden behind another group's wait.
#include "slow_groups.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>

namespace skewscope::report {
namespace {

constexpr size_t kLeastGroups = 3;
constexpr double kSlower = 1.5, kLeastExcess = 0.25, kLeastLoss = 0.01;

struct Losses {
  double transfer_ns = 0, excess_ns = 0, exposed_excess_ns = 0, largest_ns = 0;
  double gb_per_s = 0, peers_gb_per_s = 0;
};

double lower_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::vector<SlowGroup> slow_groups(const JobReport& report) {
  std::map<int32_t, const JobReport::CommunicatorRow*> groups;
  for (const JobReport::CommunicatorRow& group : report.communicators) groups[group.id] = &group;
  std::map<std::tuple<int32_t, int32_t, std::string, std::string, std::string, int64_t>,
           std::vector<const JobReport::CollectiveRow*>>
      alike;
  for (const JobReport::CollectiveRow& row : report.collectives) {
    const auto group = groups.find(row.communicator);
    if (group == groups.end() || row.bus_bandwidth_gb_per_s.count == 0) continue;
    const JobReport::CommunicatorRow& g = *group->second;
    alike[{g.size, g.nodes, g.link, to_string(row.op), row.dtype, row.bytes}].push_back(&row);
  }
  std::map<int32_t, Losses> losses;
  for (const auto& [key, rows] : alike) {
    if (rows.size() < kLeastGroups) continue;
    std::vector<double> bandwidths;
    for (const auto* row : rows) bandwidths.push_back(row->bus_bandwidth_gb_per_s.median);
    const double peers = lower_median(bandwidths);
    for (const auto* row : rows) {
      Losses& own = losses[row->communicator];
      own.transfer_ns += row->transfer_ns.sum;
      const double gb_per_s = row->bus_bandwidth_gb_per_s.median;
      if (gb_per_s * kSlower > peers) continue;
      const double beyond = 1 - gb_per_s / peers;
      own.excess_ns += beyond * row->transfer_ns.sum;
      own.exposed_excess_ns += beyond * static_cast<double>(row->exposed_transfer_ns);
      if (beyond * row->transfer_ns.sum <= own.largest_ns) continue;
      own.largest_ns = beyond * row->transfer_ns.sum;
      own.gb_per_s = gb_per_s;
      own.peers_gb_per_s = peers;
    }
  }
  std::vector<SlowGroup> slow;
  for (const auto& [id, own] : losses) {
    if (own.excess_ns <= 0 || own.excess_ns < kLeastExcess * own.transfer_ns) continue;
    const JobReport::CommunicatorRow& group = *groups.at(id);
    const auto members = static_cast<double>(std::max<size_t>(group.ranks.size(), 1));
    if (own.exposed_excess_ns / members < kLeastLoss * static_cast<double>(report.job.window_ns)) continue;
    slow.push_back({&group, own.gb_per_s, own.peers_gb_per_s, std::llround(own.exposed_excess_ns / members)});
  }
  std::stable_sort(slow.begin(), slow.end(),
                   [](const SlowGroup& a, const SlowGroup& b) { return a.excess_ns > b.excess_ns; });
  return slow;
}

}  // namespace skewscope::report
