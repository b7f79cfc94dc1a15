// Sources: hlo.proto, xla_data.proto (field numbers and meanings) of openxla/xla; nsys_jax of NVIDIA/JAX-Toolbox, which
// lists the encodings of groups that it met.
#include "hlo_module.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <utility>

#include "protobuf.h"

namespace skewscope::ingest {
namespace {

namespace module_field {
constexpr uint32_t kName = 1, kComputations = 3, kDeviceAssignment = 15;
}
namespace computation_field {
constexpr uint32_t kInstructions = 2, kId = 5;
}
namespace instruction_field {
constexpr uint32_t kName = 1, kOpcode = 2, kShape = 3, kFusionKind = 11, kChannelId = 26, kCustomCallTarget = 28,
                   kId = 35, kOperands = 36, kCalledComputations = 38, kAllReduceId = 45, kReplicaGroups = 49,
                   kSourceTargetPairs = 52, kUsesGlobalIds = 71, kDeviceList = 87, kIotaList = 92, kMeshAxes = 93;
}
namespace shape_field {
constexpr uint32_t kElementType = 2, kDimensions = 3, kTupleShapes = 4;
}

// Arrays of a shape, one after another: their types and elements.
struct ShapeSum {
  int64_t type = -1;  // -2: several
  int64_t elements = 0;
  int64_t bytes = 0;  // -1: not known

  void add(int64_t of_type, int64_t count) {
    if (of_type == 17) return;  // a token
    const int64_t more = bytes_of_elements(of_type, count);
    bytes = bytes < 0 || more < 0 || bytes > INT64_MAX - more ? -1 : bytes + more;
    type = type == -1 || type == of_type ? of_type : -2;
    elements = elements < 0 || count < 0 || elements > INT64_MAX - count ? -1 : elements + count;
  }
};

constexpr int kDeepestShape = 8;  // of tuples in tuples

void sum_shape(std::string_view shape, int depth, ShapeSum& sum) {
  protozero::pbf_reader message = message_of(shape);
  int64_t type = 0, elements = 1;
  bool tuple = false;
  while (message.next()) {
    if (message.tag() == shape_field::kElementType) {
      type = message.get_int64();
    } else if (message.tag() == shape_field::kDimensions) {
      each_number(message, [&](int64_t size) {
        elements = elements < 0 || size < 0 || (size > 0 && elements > INT64_MAX / size) ? -1 : elements * size;
      });
    } else if (message.tag() == shape_field::kTupleShapes && depth < kDeepestShape) {
      tuple = true;
      sum_shape(view_of(message.get_view()), depth + 1, sum);
    } else {
      message.skip();
    }
  }
  if (!tuple && type != 13) sum.add(type, elements);
}

// Entry `part` of a tuple, or what is no tuple.
std::string_view part_of_shape(std::string_view shape, int part) {
  protozero::pbf_reader message = message_of(shape);
  int at = 0;
  while (message.next(shape_field::kTupleShapes)) {
    const std::string_view entry = view_of(message.get_view());
    if (at++ == part) return entry;
  }
  return shape;
}

struct Instruction {
  std::string_view name, opcode, shape, custom_call_target, fusion_kind;
  int64_t id = -1, channel = 0;
  bool uses_global_ids = false;
  std::vector<int64_t> calls;  // computations
  std::vector<int64_t> operands;
  std::vector<std::string_view> replica_groups, pairs;
  std::string_view device_list, iota, mesh;
};

constexpr size_t kMostOperands = 1 << 16;

Instruction read_instruction(std::string_view bytes) {
  namespace f = instruction_field;
  Instruction instruction;
  protozero::pbf_reader message = message_of(bytes);
  while (message.next()) {
    switch (message.tag()) {
      case f::kName:
        instruction.name = view_of(message.get_view());
        break;
      case f::kOpcode:
        instruction.opcode = view_of(message.get_view());
        break;
      case f::kShape:
        instruction.shape = view_of(message.get_view());
        break;
      case f::kFusionKind:
        instruction.fusion_kind = view_of(message.get_view());
        break;
      case f::kCustomCallTarget:
        instruction.custom_call_target = view_of(message.get_view());
        break;
      case f::kChannelId:
      case f::kAllReduceId:
        instruction.channel = std::max(instruction.channel, message.get_int64());
        break;
      case f::kId:
        instruction.id = message.get_int64();
        break;
      case f::kOperands:
        each_number(message, [&](int64_t id) {
          if (instruction.operands.size() < kMostOperands) instruction.operands.push_back(id);
        });
        break;
      case f::kUsesGlobalIds:
        instruction.uses_global_ids = message.get_bool();
        break;
      case f::kCalledComputations:
        each_number(message, [&](int64_t id) {
          if (instruction.calls.size() < 16) instruction.calls.push_back(id);
        });
        break;
      case f::kReplicaGroups:
        instruction.replica_groups.push_back(view_of(message.get_view()));
        break;
      case f::kSourceTargetPairs:
        instruction.pairs.push_back(view_of(message.get_view()));
        break;
      case f::kDeviceList:
        instruction.device_list = view_of(message.get_view());
        break;
      case f::kIotaList:
        instruction.iota = view_of(message.get_view());
        break;
      case f::kMeshAxes:
        instruction.mesh = view_of(message.get_view());
        break;
      default:
        message.skip();
    }
  }
  return instruction;
}

std::optional<DeviceGroups> pairs_of(const std::vector<std::string_view>& messages) {
  DeviceGroups pairs;
  for (const std::string_view bytes : messages) {
    if (std::ssize(pairs) > kMostHloDevices) return std::nullopt;
    protozero::pbf_reader message = message_of(bytes);
    DeviceGroup pair = {0, 0};
    while (message.next()) {
      const uint32_t tag = message.tag();
      if (tag == 1 || tag == 2) {
        pair[tag - 1] = message.get_int64();
      } else {
        message.skip();
      }
    }
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

std::optional<DeviceGroups> groups_of(const Instruction& instruction) {
  if (!instruction.mesh.empty()) return groups_of_mesh(instruction.mesh);
  if (!instruction.iota.empty()) return groups_of_count(instruction.iota);
  if (!instruction.device_list.empty()) return groups_of_device_list(instruction.device_list);
  return groups_of_lists(instruction.replica_groups);
}

// As XLA's tables call it: fusions by their kind, calls of libraries by what they call.
std::string category_of(const Instruction& instruction) {
  std::string category(instruction.opcode);
  if (instruction.opcode == "fusion" && instruction.fusion_kind.size() > 1 && instruction.fusion_kind[0] == 'k') {
    category = instruction.fusion_kind.substr(1);  // "kLoop"
    for (char& c : category) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    category += " fusion";
  }
  if (!instruction.custom_call_target.empty()) category.append(" ").append(instruction.custom_call_target);
  return category;
}

HloCollective collective_of(const Instruction& instruction, const HloOperation& operation) {
  HloCollective collective;
  collective.operation = operation.operation;
  collective.permutes = operation.opcode == "collective-permute";
  collective.ids = group_ids(operation, instruction.channel > 0, instruction.uses_global_ids);
  collective.groups = collective.permutes ? pairs_of(instruction.pairs) : groups_of(instruction);
  // What starts an all-gather or a permutation gives (what goes in, what comes out, ...).
  const bool in_and_out = is_start(instruction.opcode) && (collective.permutes || operation.opcode == "all-gather");
  ShapeSum sum;
  sum_shape(in_and_out ? part_of_shape(instruction.shape, 1) : instruction.shape, 0, sum);
  collective.dtype = dtype_of_number(sum.type);
  collective.elements = sum.type >= 0 ? sum.elements : -1;
  return collective;
}

class ModuleReader {
 public:
  explicit ModuleReader(HloModule& module) : module_(module) {}

  void read(std::string_view hlo_proto) {
    protozero::pbf_reader proto = message_of(hlo_proto);
    while (proto.next()) {
      if (proto.tag() == 1) {
        read_module(view_of(proto.get_view()));
      } else {
        proto.skip();
      }
    }
  }
  void finish() {
    // Computations come before those that call them, so that one pass reaches what is wrapped twice.
    for (const auto& [name, computations] : wrappers_) {
      for (const int64_t id : computations) {
        const auto inner = first_collective_.find(id);
        if (inner != first_collective_.end()) module_.collective_of.emplace(name, inner->second);
      }
    }
  }

 private:
  void read_module(std::string_view bytes) {
    protozero::pbf_reader message = message_of(bytes);
    while (message.next()) {
      switch (message.tag()) {
        case module_field::kName:
          module_.name = message.get_string();
          break;
        case module_field::kComputations:
          read_computation(view_of(message.get_view()));
          break;
        case module_field::kDeviceAssignment:
          read_devices(view_of(message.get_view()));
          break;
        default:
          message.skip();
      }
    }
  }

  void read_computation(std::string_view bytes) {
    const auto first = static_cast<int32_t>(module_.collectives.size());
    int64_t id = -1;
    bytes_of_.clear();
    protozero::pbf_reader message = message_of(bytes);
    while (message.next()) {
      if (message.tag() == computation_field::kInstructions) {
        add(read_instruction(view_of(message.get_view())));
      } else if (message.tag() == computation_field::kId) {
        id = message.get_int64();
      } else {
        message.skip();
      }
    }
    if (std::cmp_less(first, module_.collectives.size())) first_collective_.emplace(id, first);
  }

  void add(const Instruction& instruction) {
    const std::string name(instruction.name);
    module_.instructions.emplace(name, HloInstruction{category_of(instruction), input_bytes(instruction)});
    if (const HloOperation* operation = hlo_operation(instruction.opcode);
        operation != nullptr && !is_done(instruction.opcode)) {
      module_.collective_of.emplace(name, static_cast<int32_t>(module_.collectives.size()));
      module_.collectives.push_back(collective_of(instruction, *operation));
    } else if (instruction.opcode == "async-start" || instruction.opcode == "fusion") {
      wrappers_.emplace_back(name, instruction.calls);
    }
  }

  // Operands come before what takes them.
  int64_t input_bytes(const Instruction& instruction) {
    ShapeSum own;
    sum_shape(instruction.shape, 0, own);
    bytes_of_[instruction.id] = own.bytes;
    int64_t sum = 0;
    for (const int64_t operand : instruction.operands) {
      const auto found = bytes_of_.find(operand);
      if (found == bytes_of_.end() || found->second < 0 || sum > INT64_MAX - found->second) return -1;
      sum += found->second;
    }
    return sum;
  }

  // computation_devices[partition].replica_device_ids[replica]
  void read_devices(std::string_view bytes) {
    int64_t replicas = 1, partitions = 1;
    DeviceGroups of_partition;
    protozero::pbf_reader message = message_of(bytes);
    while (message.next()) {
      if (message.tag() == 1) {
        replicas = message.get_int64();
      } else if (message.tag() == 2) {
        partitions = message.get_int64();
      } else if (message.tag() == 3 && std::ssize(of_partition) <= kMostHloDevices) {
        of_partition.emplace_back();
        protozero::pbf_reader ids = message.get_message();
        while (ids.next()) {
          if (ids.tag() == 1) {
            each_number(ids, [&](int64_t device) { of_partition.back().push_back(device); });
          } else {
            ids.skip();
          }
        }
      } else {
        message.skip();
      }
    }
    const bool whole = replicas > 0 && partitions > 0 && replicas <= kMostHloDevices / partitions &&
                       std::cmp_equal(of_partition.size(), partitions) &&
                       std::all_of(of_partition.begin(), of_partition.end(),
                                   [&](const DeviceGroup& ids) { return std::cmp_equal(ids.size(), replicas); });
    if (!whole) return;
    module_.replicas = replicas;
    module_.partitions = partitions;
    for (int64_t replica = 0; replica < replicas; ++replica) {
      for (const DeviceGroup& ids : of_partition) module_.devices.push_back(ids[static_cast<size_t>(replica)]);
    }
  }

  HloModule& module_;
  std::vector<std::pair<std::string, std::vector<int64_t>>> wrappers_;
  std::map<int64_t, int32_t> first_collective_;    // of a computation
  std::unordered_map<int64_t, int64_t> bytes_of_;  // what instructions of the computation give, by their ids
};

}  // namespace

int32_t HloModule::collective(const std::string& instruction) const {
  const auto found = collective_of.find(instruction);
  return found == collective_of.end() ? -1 : found->second;
}

int64_t HloModule::bytes() const {
  constexpr int64_t kEntry = 96;
  int64_t bytes = static_cast<int64_t>(devices.size()) * 8;
  for (const auto& [own, instruction] : instructions) {
    bytes += kEntry + static_cast<int64_t>(own.size() + instruction.category.size());
  }
  for (const HloCollective& collective : collectives) {
    bytes += kEntry;
    if (!collective.groups) continue;
    for (const DeviceGroup& group : *collective.groups) bytes += 24 + static_cast<int64_t>(group.size()) * 8;
  }
  return bytes;
}

bool read_hlo_module(std::string_view hlo_proto, HloModule& module) {
  ModuleReader reader(module);
  bool whole = true;
  try {
    reader.read(hlo_proto);
  } catch (const protozero::exception&) {
    whole = false;
  }
  reader.finish();
  return whole;
}

}  // namespace skewscope::ingest
