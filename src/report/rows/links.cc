// Problem: a bandwidth means little without what the link could do.
// Idea: a ring moves the bus bandwidth through every port of its members (nccl-tests, PERFORMANCE.md), so the smallest
// of the members' ports bounds it: within a node the link of the device, between nodes what the node's members have of
// the network together, as rings go through the ports of all. In-network reductions (NVLink SHARP, SHARP) send less
// than a ring and may exceed the bound.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "skewscope/efficiency/roofline.h"
#include "skewscope/report.h"

namespace skewscope {
namespace report {
namespace {

constexpr double kGiga = 1e9;

struct Place {
  std::string host;
  const efficiency::Device* device = nullptr;
};

using Places = std::map<int32_t, Place>;  // by rank; of those whose host is known

Places places_of(const JobReport& report) {
  Places places;
  std::map<std::string, const efficiency::Device*> devices;  // few, by the name that traces record
  for (const JobReport::RankRow& row : report.ranks) {
    if (row.host.empty()) continue;
    const auto [known, first] = devices.try_emplace(row.device_name);
    if (first) known->second = efficiency::find_device(efficiency::built_in_devices(), row.device_name);
    places[row.rank] = {row.host, known->second};
  }
  return places;
}

void name_link(JobReport::CommunicatorRow& row, const Places& places, double network_gb_per_s) {
  std::map<std::string, int64_t> members;  // of each host
  const efficiency::Device* slowest = nullptr;
  bool linked = true;
  for (const int32_t rank : row.ranks) {
    const auto place = places.find(rank);
    if (place == places.end()) return;
    ++members[place->second.host];
    const efficiency::Device* device = place->second.device;
    linked = linked && device != nullptr && device->link_bytes_per_s > 0;
    if (linked && (slowest == nullptr || device->link_bytes_per_s < slowest->link_bytes_per_s)) slowest = device;
  }
  if (row.ranks.size() < 2 || std::ssize(row.ranks) != row.size) return;
  const double within = linked ? slowest->link_bytes_per_s / kGiga : -1;
  if (members.size() == 1 && linked) {
    row.link = slowest->link;
    row.link_peak_gb_per_s = within;
  } else if (members.size() > 1 && network_gb_per_s > 0) {
    int64_t fewest = row.size;
    for (const auto& [host, count] : members) fewest = std::min(fewest, count);
    const double between = static_cast<double>(fewest) * network_gb_per_s;
    row.link = linked && within < between ? slowest->link
                                          : fmt::format("network, {} GPU{} a node", fewest, fewest == 1 ? "" : "s");
    row.link_peak_gb_per_s = linked ? std::min(within, between) : between;
  }
}

}  // namespace
}  // namespace report

void name_links(JobReport& report, double network_gb_per_s) {
  const report::Places places = report::places_of(report);
  for (JobReport::CommunicatorRow& row : report.communicators) report::name_link(row, places, network_gb_per_s);
}

}  // namespace skewscope
