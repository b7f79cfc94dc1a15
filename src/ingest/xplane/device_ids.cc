// Problem: a plane is called by its number on its host. Idea, in order of trust: a TPU's plane holds its number in the
// job; the clique of a GPU's collectives lists the numbers of its devices and says which of them is its own; a program
// that ran on one device alone was assigned to it by its number; and a program assigned to as many devices as the file
// has planes ran on all of them, in their order.
#include "device_ids.h"

#include <algorithm>
#include <set>

namespace skewscope::ingest {
namespace {

// -1: none, or they contradict each other.
int64_t id_by_programs(const DevicePlane& device) {
  int64_t id = -1;
  for (const DeviceOp& op : device.ops) {
    if (op.module == nullptr || op.module->devices.size() != 1) continue;
    const int64_t own = op.module->devices.front();
    if (id >= 0 && id != own) return -1;
    id = own;
  }
  return id;
}

const HloModule* largest_program(const Space& space) {
  const HloModule* largest = nullptr;
  for (const auto& [id, module] : space.programs) {
    if (largest == nullptr || module.devices.size() > largest->devices.size()) largest = &module;
  }
  return largest;
}

bool all_different(const std::vector<DeviceId>& ids) {
  std::set<int64_t> seen;
  for (const DeviceId& device : ids) {
    if (device.id >= 0 && !seen.insert(device.id).second) return false;
  }
  return true;
}

}  // namespace

std::vector<DeviceId> global_ids(const std::vector<DevicePlane>& devices, const HostPlane& host, const Space& space) {
  std::vector<DeviceId> ids;
  for (const DevicePlane& device : devices) {
    const auto by_clique = host.global_ids.find(device.ordinal);
    if (device.global_id >= 0) {
      ids.push_back({device.global_id, "core number in the profile"});
    } else if (by_clique != host.global_ids.end() && by_clique->second >= 0) {
      ids.push_back({by_clique->second, "clique of its collectives"});
    } else {
      ids.push_back({id_by_programs(device), "device of its programs"});
    }
  }
  const bool all = std::all_of(ids.begin(), ids.end(), [](const DeviceId& device) { return device.id >= 0; });
  if (all && all_different(ids)) return ids;
  const HloModule* program = largest_program(space);
  if (program == nullptr || program->devices.size() != devices.size() || devices.size() < 2) {
    return all_different(ids) ? ids : std::vector<DeviceId>(devices.size());
  }
  std::vector<int64_t> assigned = program->devices, ordinals;
  for (const DevicePlane& device : devices) ordinals.push_back(device.ordinal);
  std::sort(assigned.begin(), assigned.end());
  std::sort(ordinals.begin(), ordinals.end());
  for (size_t i = 0; i < devices.size(); ++i) {
    const auto place = std::lower_bound(ordinals.begin(), ordinals.end(), devices[i].ordinal) - ordinals.begin();
    ids[i] = {assigned[static_cast<size_t>(place)], "devices of its program, in order"};
  }
  return ids;
}

int64_t devices_of_job(const HostPlane& host, const Space& space) {
  int64_t most = -1;
  for (const auto& [device, count] : host.clique_devices) most = std::max(most, count);
  if (const HloModule* program = largest_program(space)) {
    const auto count = static_cast<int64_t>(program->devices.size());
    // Devices may be numbered further than a program of fewer goes: it did not run on all.
    if (count > 1) most = std::max(most, count);
    for (const int64_t id : program->devices) {
      if (count > 1 && id < kMostHloDevices) most = std::max(most, id + 1);
    }
  }
  return most > 1 ? most : -1;
}

}  // namespace skewscope::ingest
