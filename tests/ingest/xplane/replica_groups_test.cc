// Groups of collectives as XLA writes them, in text and in messages. What they mean is taken from XLA's documentation
// of HLO and worked out by hand.
#include "src/ingest/xplane/replica_groups.h"

#include <catch2/catch.hpp>
#include <protozero/pbf_writer.hpp>

#include "src/ingest/xplane/hlo_module.h"
#include "src/ingest/xplane/hlo_text.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

std::string count_message(int64_t groups, int64_t size, const std::vector<int64_t>& sizes,
                          const std::vector<int64_t>& order) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  message.add_int64(1, groups);
  message.add_int64(2, size);
  message.add_packed_int64(3, sizes.begin(), sizes.end());
  message.add_packed_int64(4, order.begin(), order.end());
  return bytes;
}

struct Axis {
  std::string name;
  int64_t size;
};
struct AxisPart {
  int64_t axis, before = 1, size = -1;
};

std::string mesh_message(const std::vector<Axis>& axes, const std::vector<int64_t>& devices,
                         const std::vector<AxisPart>& parts) {
  std::string bytes;
  protozero::pbf_writer list(bytes);
  {
    protozero::pbf_writer mesh(list, 1);
    for (const Axis& axis : axes) {
      protozero::pbf_writer of(mesh, 1);
      of.add_string(1, axis.name);
      of.add_int64(2, axis.size);
    }
    mesh.add_packed_int64(2, devices.begin(), devices.end());
  }
  for (const AxisPart& part : parts) {
    protozero::pbf_writer of(list, 2);
    of.add_int64(1, part.axis);
    if (part.size < 0) continue;
    protozero::pbf_writer sub(of, 2);
    sub.add_int64(1, part.before);
    sub.add_int64(2, part.size);
  }
  return bytes;
}

HloModule module_of(int64_t replicas, int64_t partitions, std::vector<int64_t> devices) {
  HloModule module;
  module.replicas = replicas;
  module.partitions = partitions;
  module.devices = std::move(devices);
  return module;
}

HloCollective collective_of(GroupIds ids, DeviceGroups groups) {
  HloCollective collective;
  collective.ids = ids;
  collective.groups = std::move(groups);
  return collective;
}

}  // namespace

TEST_CASE("a list of groups is read as it stands, and an empty one means all devices") {
  CHECK(groups_of_text("{{0,4},{1,5},{2,6},{3,7}}, use_global_device_ids=true") ==
        DeviceGroups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(groups_of_text("{}, dimensions={0}") == DeviceGroups{});
  CHECK_FALSE(groups_of_text("{{0,4},{1").has_value());
}

TEST_CASE("a count is laid out in rows, transposed and read in groups") {
  // 0 1 2 3 / 4 5 6 7, transposed: 0 4 / 1 5 / 2 6 / 3 7.
  const DeviceGroups pairs = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};
  CHECK(groups_of_text("[4,2]<=[2,4]T(1,0), to_apply=%add") == pairs);
  CHECK(groups_of_count(count_message(4, 2, {2, 4}, {1, 0})) == pairs);
  CHECK(groups_of_text("[2,4]<=[8]") == DeviceGroups{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(groups_of_count(count_message(2, 4, {8}, {})) == DeviceGroups{{0, 1, 2, 3}, {4, 5, 6, 7}});
  // [2,2,2]: device = 4 a + 2 b + c; T(2,0,1) reads c outermost, then a, then b.
  CHECK(groups_of_text("[4,2]<=[2,2,2]T(2,0,1)") == DeviceGroups{{0, 2}, {4, 6}, {1, 3}, {5, 7}});
}

TEST_CASE("a count that does not come out is no list of groups") {
  CHECK_FALSE(groups_of_text("[3,2]<=[8]").has_value());
  CHECK_FALSE(groups_of_text("[4,2]<=[2,4]T(1,1)").has_value());
  CHECK_FALSE(groups_of_text("[4,2]<=[2,4]T(1)").has_value());
  CHECK_FALSE(groups_of_count(count_message(1, int64_t{1} << 40, {int64_t{1} << 40}, {})).has_value());
  CHECK_FALSE(groups_of_count(count_message(-1, -8, {8}, {})).has_value());
  CHECK_FALSE(groups_of_count("\x1a\xff").has_value());
}

TEST_CASE("groups run along the axes of a mesh that are named, and along parts of axes") {
  const std::vector<Axis> mesh = {{"x", 2}, {"y", 4}};
  CHECK(groups_of_mesh(mesh_message(mesh, {}, {{1}})) == DeviceGroups{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(groups_of_mesh(mesh_message(mesh, {}, {{0}})) == DeviceGroups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(groups_of_text("mesh['x'=2,'y'=4] {'x'}") == DeviceGroups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(groups_of_text("@mesh<x=2,y=4> {y}") == DeviceGroups{{0, 1, 2, 3}, {4, 5, 6, 7}});
  // Both, the last one named fastest.
  CHECK(groups_of_mesh(mesh_message(mesh, {}, {{1}, {0}})) == DeviceGroups{{0, 4, 1, 5, 2, 6, 3, 7}});
  // y is cut in two: the inner half of it, and the outer one.
  CHECK(groups_of_mesh(mesh_message(mesh, {}, {{1, 2, 2}})) == DeviceGroups{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  CHECK(groups_of_text("mesh['x'=2,'y'=4] {'y':(1)2}") == DeviceGroups{{0, 2}, {1, 3}, {4, 6}, {5, 7}});
  CHECK(groups_of_mesh(mesh_message({{"a", 8}}, {}, {{0, 4, 2}, {0, 1, 2}})) ==
        DeviceGroups{{0, 4, 1, 5}, {2, 6, 3, 7}});
}

TEST_CASE("a mesh may order its devices itself") {
  CHECK(groups_of_mesh(mesh_message({{"x", 2}, {"y", 2}}, {3, 1, 2, 0}, {{1}})) == DeviceGroups{{3, 1}, {2, 0}});
  CHECK(groups_of_text("mesh['x'=2,'y'=2], device_ids=([3,1,2,0]) {'x'}") == DeviceGroups{{3, 2}, {1, 0}});
}

TEST_CASE("a mesh that contradicts itself is no list of groups") {
  CHECK_FALSE(groups_of_mesh(mesh_message({{"x", 2}}, {0, 1, 2}, {{0}})).has_value());
  CHECK_FALSE(groups_of_mesh(mesh_message({{"x", 2}}, {}, {{1}})).has_value());
  CHECK_FALSE(groups_of_mesh(mesh_message({{"x", 4}}, {}, {{0, 3, 2}})).has_value());
  CHECK_FALSE(groups_of_mesh(mesh_message({{"x", 4}}, {}, {{0, 1, 4}, {0, 2, 2}})).has_value());
  CHECK_FALSE(groups_of_mesh(mesh_message({{"x", int64_t{1} << 40}}, {}, {{0}})).has_value());
  CHECK_FALSE(groups_of_text("mesh['x'=2] {'z'}").has_value());
}

TEST_CASE("numbers of groups are of replicas, of partitions or of both, by channel and use_global_device_ids") {
  // Two replicas of two partitions: place = 2 * replica + partition, on devices 10, 11, 12, 13.
  const HloModule module = module_of(2, 2, {10, 11, 12, 13});
  const DeviceGroups both = {{0, 1}};
  CHECK(group_of_device(module, collective_of(GroupIds::replicas, both), 11) == DeviceGroup{11, 13});
  CHECK(group_of_device(module, collective_of(GroupIds::partitions, both), 12) == DeviceGroup{12, 13});
  CHECK(group_of_device(module, collective_of(GroupIds::replicas_everywhere, both), 13) == DeviceGroup{10, 11, 12, 13});
  CHECK(group_of_device(module, collective_of(GroupIds::flat, {{0, 3}, {1, 2}}), 12) == DeviceGroup{11, 12});
  CHECK(group_of_device(module, collective_of(GroupIds::replicas, {}), 10) == DeviceGroup{10, 12});
  CHECK(group_of_device(module, collective_of(GroupIds::partitions, {}), 10) == DeviceGroup{10, 11});

  const HloOperation *reduce = hlo_operation("all-reduce-start"), *exchange = hlo_operation("all-to-all");
  REQUIRE((reduce != nullptr && exchange != nullptr));
  CHECK(group_ids(*reduce, false, false) == GroupIds::replicas);
  CHECK(group_ids(*reduce, true, false) == GroupIds::replicas_everywhere);
  CHECK(group_ids(*reduce, true, true) == GroupIds::flat);
  CHECK(group_ids(*exchange, true, false) == GroupIds::partitions);
}

TEST_CASE("a device that is in no group, or that nobody knows among several groups, has none") {
  const HloModule module = module_of(1, 4, {0, 1, 2, 3});
  const HloCollective pairs = collective_of(GroupIds::flat, {{0, 1}, {2, 3}});
  CHECK(group_of_device(module, pairs, 7).empty());
  CHECK(group_of_device(module, pairs, -1).empty());
  CHECK(group_of_device(module, collective_of(GroupIds::flat, {{0, 1, 2, 3}}), -1) == DeviceGroup{0, 1, 2, 3});
  CHECK(group_of_device(module, collective_of(GroupIds::flat, {{0, 9}}), 0).empty());
}

TEST_CASE("a permutation's group is whom its pairs join, and each device has whom it sends to and receives from") {
  const HloModule module = module_of(1, 6, {0, 1, 2, 3, 4, 5});
  HloCollective ring = collective_of(GroupIds::partitions, {{0, 1}, {1, 2}, {2, 0}, {3, 4}, {4, 3}});
  ring.permutes = true;
  CHECK(group_of_device(module, ring, 1) == DeviceGroup{0, 1, 2});
  CHECK(group_of_device(module, ring, 4) == DeviceGroup{3, 4});
  CHECK(group_of_device(module, ring, 5).empty());
  const PermutePeers of_1 = permute_peers(module, ring, 1), of_5 = permute_peers(module, ring, 5);
  CHECK(of_1.source == 0);
  CHECK(of_1.target == 2);
  CHECK(of_5.source == -1);
  CHECK(of_5.target == -1);
}

TEST_CASE("the text of an instruction tells its operation, its size and its groups") {
  const auto text = read_hlo_text(
      "%all-reduce.3 = f32[5,1024]{1,0:T(8,128)} all-reduce(f32[5,1024]{1,0:T(8,128)} %bitcast), channel_id=1, "
      "replica_groups=[4,2]<=[2,4]T(1,0), use_global_device_ids=true, to_apply=%region_0.3.clone");
  REQUIRE(text);
  CHECK(text->name == "all-reduce.3");
  CHECK(text->opcode == "all-reduce");
  REQUIRE(text->collective);
  CHECK(text->collective->operation == "allreduce");
  CHECK(text->collective->dtype == "Float");
  CHECK(text->collective->elements == 5120);
  CHECK(text->collective->ids == GroupIds::flat);
  CHECK(text->collective->groups == DeviceGroups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});

  const auto gather = read_hlo_text(
      "%all-gather-start = (bf16[4,8]{1,0}, bf16[16,8]{1,0}) all-gather-start(bf16[4,8]{1,0} %p), "
      "replica_groups={{0,1,2,3}}, dimensions={0}");
  REQUIRE((gather && gather->collective));
  CHECK(gather->collective->elements == 128);
  CHECK(gather->collective->dtype == "BFloat16");
  CHECK(gather->collective->ids == GroupIds::replicas);

  const auto ring = read_hlo_text(
      "%collective-permute = f32[8]{0} collective-permute(f32[8]{0} %x), channel_id=2, "
      "source_target_pairs={{0,1},{1,0}}");
  REQUIRE((ring && ring->collective));
  CHECK(ring->collective->permutes);
  CHECK(ring->collective->groups == DeviceGroups{{0, 1}, {1, 0}});

  const auto fusion = read_hlo_text("%fusion.1 = f32[8]{0} fusion(f32[8]{0} %all-reduce.3), kind=kLoop");
  REQUIRE(fusion);
  CHECK(fusion->opcode == "fusion");
  CHECK_FALSE(fusion->collective);
  CHECK_FALSE(read_hlo_text("dependency-wait"));
  CHECK_FALSE(read_hlo_text("%broken = f32[8"));
}
