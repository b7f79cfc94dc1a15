// Which devices take part in a collective of XLA together, as a program of HLO writes it: lists, a reshaped and
// transposed count ("[4,2]<=[2,4]T(1,0)"), axes of a mesh ("mesh['x'=2,'y'=4] {'y'}").
//
// Sources: ReplicaGroup, IotaReplicaGroupListProto, MeshProto and AxisRefProto of openxla/xla, and how XLA expands
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace skewscope::ingest {

using DeviceGroup = std::vector<int64_t>;
using DeviceGroups = std::vector<DeviceGroup>;

// No program runs on more devices: what claims so is damaged, and makes no list.
constexpr int64_t kMostHloDevices = 1 << 20;

// Messages of protobuf; nullopt: damaged, or of no groups that can be.
std::optional<DeviceGroups> groups_of_lists(const std::vector<std::string_view>& replica_groups);
std::optional<DeviceGroups> groups_of_count(std::string_view iota_replica_group_list);
std::optional<DeviceGroups> groups_of_mesh(std::string_view mesh_axes_replica_group_list);
// CollectiveDeviceListProto: lists, or a count.
std::optional<DeviceGroups> groups_of_device_list(std::string_view collective_device_list);

// What stands behind "replica_groups=" in the text of an instruction, whatever follows it. Empty: "{}", all devices.
std::optional<DeviceGroups> groups_of_text(std::string_view text);

// "{{0,1},{1,2}}" behind "source_target_pairs=".
std::optional<DeviceGroups> pairs_of_text(std::string_view text);

}  // namespace skewscope::ingest
