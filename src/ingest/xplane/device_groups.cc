// Which of a collective's groups a device is in: the numbers of groups are of replicas, of partitions or of both
// (GroupIds), and the program's device assignment says which devices these are.
#include <algorithm>
#include <utility>

#include "hlo_module.h"
#include "skewscope/base/disjoint_sets.h"

namespace skewscope::ingest {
namespace {

// Places of a program: replica * partitions + partition.
class Places {
 public:
  explicit Places(const HloModule& module) : module_(module) {}

  int64_t count() const { return module_.replicas * module_.partitions; }
  // -1: the device does not run the program.
  int64_t of(int64_t device) const {
    if (module_.devices.empty()) return device;
    const auto found = std::find(module_.devices.begin(), module_.devices.end(), device);
    return found == module_.devices.end() ? -1 : found - module_.devices.begin();
  }
  int64_t device(int64_t place) const {
    if (module_.devices.empty()) return place;
    return place < 0 || std::cmp_greater_equal(place, module_.devices.size())
               ? -1
               : module_.devices[static_cast<size_t>(place)];
  }
  // What groups name the place by.
  int64_t id(int64_t place, GroupIds ids) const {
    switch (ids) {
      case GroupIds::replicas:
      case GroupIds::replicas_everywhere:
        return module_.devices.empty() ? place : place / module_.partitions;
      case GroupIds::partitions:
        return module_.devices.empty() ? place : place % module_.partitions;
      case GroupIds::flat:
        return place;
    }
    return place;
  }
  // The devices that `id` names where the device at `own` writes it.
  void add_devices(int64_t id, GroupIds ids, int64_t own, DeviceGroup& members) const {
    if (module_.devices.empty() || ids == GroupIds::flat) return members.push_back(device(id));
    if (id < 0 || id >= kMostHloDevices) return members.push_back(-1);
    const int64_t partitions = module_.partitions;
    if (ids == GroupIds::partitions) return members.push_back(device(own - own % partitions + id));
    if (ids == GroupIds::replicas) return members.push_back(device(id * partitions + own % partitions));
    for (int64_t partition = 0; partition < partitions; ++partition)
      members.push_back(device(id * partitions + partition));
  }

 private:
  const HloModule& module_;
};

// The ids that pairs join with `own`, ascending.
DeviceGroup joined(const DeviceGroups& pairs, int64_t own) {
  DeviceGroup ids;
  for (const DeviceGroup& pair : pairs) ids.insert(ids.end(), pair.begin(), pair.end());
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  const auto row = [&](int64_t id) {
    return static_cast<size_t>(std::lower_bound(ids.begin(), ids.end(), id) - ids.begin());
  };
  DisjointSets sets(ids.size());
  for (const DeviceGroup& pair : pairs) {
    if (pair.size() == 2) sets.unite(row(pair[0]), row(pair[1]));
  }
  DeviceGroup group;
  if (!std::binary_search(ids.begin(), ids.end(), own)) return group;
  for (const int64_t id : ids) {
    if (sets.root(row(id)) == sets.root(row(own))) group.push_back(id);
  }
  return group;
}

}  // namespace

DeviceGroup group_of_device(const HloModule& module, const HloCollective& collective, int64_t device) {
  DeviceGroup members;
  if (!collective.groups) return members;
  const Places places(module);
  const DeviceGroups& groups = *collective.groups;
  int64_t own = device < 0 ? -1 : places.of(device);
  if (own < 0) {
    // Any member of the only group that there is stands for the device.
    const bool all_in_one = groups.size() <= 1 && !collective.permutes &&
                            (module.replicas == 1 || collective.ids != GroupIds::partitions) &&
                            (module.partitions == 1 || collective.ids != GroupIds::replicas);
    if (!all_in_one || device >= 0) return members;
    own = 0;
  }
  if (groups.empty() || (groups.size() == 1 && groups[0].empty())) {
    // All of the kind that groups would name.
    if (module.devices.empty()) return members;
    const bool by_partition = collective.ids == GroupIds::partitions;
    const int64_t all = by_partition                       ? module.partitions
                        : collective.ids == GroupIds::flat ? places.count()
                                                           : module.replicas;
    for (int64_t id = 0; id < all; ++id) places.add_devices(id, collective.ids, own, members);
    return members;
  }
  const int64_t id = places.id(own, collective.ids);
  if (collective.permutes) {
    for (const int64_t member : joined(groups, id)) places.add_devices(member, collective.ids, own, members);
  } else {
    const bool only = device < 0 && groups.size() == 1;
    const auto is_it = [&](const DeviceGroup& group) {
      return only || std::find(group.begin(), group.end(), id) != group.end();
    };
    const auto group = std::find_if(groups.begin(), groups.end(), is_it);
    if (group == groups.end()) return members;
    for (const int64_t member : *group) places.add_devices(member, collective.ids, own, members);
  }
  if (std::find(members.begin(), members.end(), -1) != members.end()) members.clear();
  return members;
}

PermutePeers permute_peers(const HloModule& module, const HloCollective& collective, int64_t device) {
  PermutePeers peers;
  const Places places(module);
  const int64_t own = device < 0 ? -1 : places.of(device);
  if (own < 0 || !collective.groups) return peers;
  const int64_t id = places.id(own, collective.ids);
  const auto device_of = [&](int64_t member) {
    DeviceGroup devices;
    places.add_devices(member, collective.ids, own, devices);
    return devices.front();
  };
  for (const DeviceGroup& pair : *collective.groups) {
    if (pair.size() != 2) continue;
    if (pair[0] == id) peers.target = device_of(pair[1]);
    if (pair[1] == id) peers.source = device_of(pair[0]);
  }
  return peers;
}

}  // namespace skewscope::ingest
