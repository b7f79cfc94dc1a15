#include "xplane_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <set>

#include "collectives/kind.h"
#include "profile_plane.h"

namespace skewscope::simulate {
namespace {

constexpr int64_t kBeforeProfileNs = 1'000'000'000;  // the profile begins this much before the first row
constexpr int64_t kProgram = 1;
constexpr const char* kProgramName = "jit_train_step";

int64_t element_type(DType type) {  // PrimitiveType of xla_data.proto
  switch (type) {
    case DType::float32:
      return 11;
    case DType::float16:
      return 10;
    case DType::bfloat16:
      return 16;
    case DType::int64:
      return 5;
    case DType::int32:
      return 4;
    default:
      return 6;
  }
}

const char* opcode_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_gather:
      return "all-gather";
    case CollectiveKind::reduce_scatter:
      return "reduce-scatter";
    case CollectiveKind::all_to_all:
      return "all-to-all";
    case CollectiveKind::send:
    case CollectiveKind::recv:
      return "collective-permute";
    default:  // all that a simulated job has besides
      return "all-reduce";
  }
}

// An instruction of the step's program, as far as the ranks of a node know it.
struct Instruction {
  CollectiveKind kind = CollectiveKind::unknown;
  DType dtype = DType::unknown;
  int64_t elements = 0;                   // of what it gives
  std::set<std::vector<int64_t>> groups;  // or pairs
};

class XplaneFile {
 public:
  bool write(const std::vector<SimulatedRank>& ranks, const std::string& path) {
    zero_ns_ = INT64_MAX;
    for (const SimulatedRank& rank : ranks) {
      const RankTrace& trace = rank.file.linked.trace;
      zero_ns_ = std::min(zero_ns_, trace.first_event.ns - kBeforeProfileNs);
      if (!trace.launches.start.empty()) {
        zero_ns_ = std::min(zero_ns_, trace.launches.start.front().ns - kBeforeProfileNs);
      }
    }
    std::string devices;
    for (const SimulatedRank& rank : ranks) protozero::pbf_writer(devices).add_message(1, device_plane(rank));
    std::string space;
    protozero::pbf_writer writer(space);
    ProfilePlane programs("/host:metadata");
    programs.program(kProgram, kProgramName, hlo(ranks.front().file.evidence.distributed.world_size));
    writer.add_message(1, programs.bytes());
    space += devices;
    writer.add_message(1, host_.bytes());
    ProfilePlane environment("Task Environment");
    environment.plane_number("profile_start_time", zero_ns_);
    writer.add_message(1, environment.bytes());
    writer.add_string(4, ranks.front().file.evidence.host);
    std::ofstream file(path, std::ios::binary);
    file.write(space.data(), static_cast<std::streamsize>(space.size()));
    file.close();
    return !file.fail();
  }

 private:
  int64_t since(LocalNs time) const { return time.ns - zero_ns_; }

  std::string device_plane(const SimulatedRank& rank) {
    const LinkedTrace& linked = rank.file.linked;
    const RankTrace& trace = linked.trace;
    const int64_t line = rank.main_thread;
    ProfilePlane plane(fmt::format("/device:GPU:{}", trace.device));
    plane.plane_text("device_vendor", "Nvidia");
    plane.plane_text("gpu_device_name", linked.device_names.empty() ? "" : linked.device_names.front());
    plane.plane_number("process_id", rank.process);
    host_.name_line(line, fmt::format("py_xla_execute/{}", line));
    add_clique(rank);
    for (const StepRange& step : trace.steps) add_step(step, line);
    first_id_ = next_id_;
    next_id_ += static_cast<int64_t>(trace.launches.size()) + static_cast<int64_t>(rank.lost_launches.size());
    std::vector<int32_t> call_of(trace.gpu.size(), -1);
    for (size_t call = 0; call < trace.calls.size(); ++call) {
      if (trace.calls[call].gpu_row >= 0)
        call_of[static_cast<size_t>(trace.calls[call].gpu_row)] = static_cast<int32_t>(call);
    }
    std::vector<std::string> launched(trace.launches.size());
    for (size_t row = 0; row < trace.gpu.size(); ++row) {
      const std::string name(linked.strings.view(trace.gpu.name[row]));
      const int32_t launch = trace.gpu.launch[row];
      if (launch >= 0) {
        launched[static_cast<size_t>(launch)] = name;
        plane.number("correlation_id", first_id_ + launch);
      }
      add_row_stats(rank, row, call_of[row], plane);
      plane.name_line(trace.gpu.stream[row], fmt::format("Stream #{}(Compute)", trace.gpu.stream[row]));
      plane.event(trace.gpu.stream[row], name, since(trace.gpu.start[row]), trace.gpu.duration_ns[row]);
    }
    for (size_t launch = 0; launch < trace.launches.size(); ++launch) {
      add_launch(trace, launched[launch], first_id_ + static_cast<int64_t>(launch), line, trace.launches.start[launch],
                 trace.launches.duration_ns[launch]);
    }
    for (size_t lost = 0; lost < rank.lost_launches.size(); ++lost) {
      add_launch(trace, "lost", first_id_ + static_cast<int64_t>(trace.launches.size() + lost), line,
                 rank.lost_launches[lost].at, 5000);
    }
    for (const SynchronizingCall& call : trace.synchronizing) {
      host_.event(line, "cuCtxSynchronize", since(call.start), call.duration_ns);
    }
    return plane.bytes();
  }

  void add_row_stats(const SimulatedRank& rank, size_t row, int32_t call, ProfilePlane& plane) {
    const GpuEvents& gpu = rank.file.linked.trace.gpu;
    if (gpu.work[row] == GpuWork::memcpy) return plane.text("memcpy_details", "kind:memcpy size:4096 dest:0 async:1");
    if (gpu.work[row] == GpuWork::memset) return plane.text("memset_details", "kind:device size:4096 async:1");
    const std::string name(rank.file.linked.strings.view(gpu.name[row]));
    plane.text("hlo_op", call < 0 ? "fusion." + name : instruction_of(rank, static_cast<size_t>(call)));
    plane.text("hlo_module", kProgramName);
    plane.number("program_id", kProgram);
    if (rank.blocks[row] <= 0) return;
    plane.text("kernel_details",
               fmt::format("regs:64 static_shared:0 dynamic_shared:0 grid:{},1,1 block:256,1,1", rank.blocks[row]));
  }

  void add_launch(const RankTrace& trace, const std::string& name, int64_t id, int64_t line, LocalNs start,
                  int64_t duration_ns) {
    host_.number("device_id", trace.device);
    host_.number("correlation_id", id);
    if (name.starts_with("Mem")) host_.text("memcpy_details", "kind:memcpy size:4096 dest:0 async:1");
    host_.event(line, name, since(start), duration_ns);
  }

  // The clique of all devices says which of them the rank is.
  void add_clique(const SimulatedRank& rank) {
    std::vector<int64_t> all;
    for (int64_t i = 0; i < rank.file.evidence.distributed.world_size; ++i) all.push_back(i);
    host_.number("device", rank.file.linked.trace.device);
    host_.number("rank", rank.rank);
    host_.text("clique_key", fmt::format("devices={}:[{}]; local_participants=1", all.size(), fmt::join(all, ",")));
    host_.event(rank.main_thread, "AcquireGpuClique", kBeforeProfileNs / 2, 1000);
  }

  void add_step(const StepRange& step, int64_t line) {
    host_.number("step_num", step.number);
    host_.event(line, "train", since(step.start), step.duration_ns);
    host_.number("run_id", step.number);
    host_.event(line, fmt::format("CommonPjRtLoadedExecutable::Execute ({})", kProgramName), since(step.start),
                step.duration_ns);
    host_.event(line, fmt::format("{}:XLA GPU module", kProgramName), since(step.start), step.duration_ns);
  }

  // What the call runs, called alike on all members.
  std::string instruction_of(const SimulatedRank& rank, size_t call) {
    const CollectiveCall& of = rank.file.linked.trace.calls[call];
    const OpenCall& open = rank.file.linked.open_calls[call];
    const std::vector<int64_t> members = members_of(rank, open.group);
    std::vector<int64_t> group = members;
    std::string of_group = open.group < 0 ? "" : description_of(rank, open.group);
    const int64_t elements = of.kind == CollectiveKind::recv ? std::max(of.in_elements, of.out_elements)
                             : of.out_elements >= 0          ? of.out_elements
                                                             : of.in_elements;
    if (is_point_to_point(of.kind) && open.peer_in_group >= 0) {
      const int64_t peer = members[static_cast<size_t>(open.peer_in_group)];
      group = of.kind == CollectiveKind::send ? std::vector<int64_t>{rank.rank, peer}
                                              : std::vector<int64_t>{peer, rank.rank};
      of_group = fmt::format("{}-{}", group[0], group[1]);
    }
    std::string name = fmt::format("{}.{}.{}.{}", opcode_of(of.kind), of_group, static_cast<int>(of.dtype), elements);
    Instruction& instruction = instructions_[name];
    instruction.kind = of.kind;
    instruction.dtype = of.dtype;
    instruction.elements = elements;
    instruction.groups.insert(group);
    return name;
  }

  static const ProcessGroup* config_of(const SimulatedRank& rank, int32_t group) {
    for (const ProcessGroup& config : rank.file.evidence.distributed.groups) {
      if (group >= 0 && config.name == rank.file.linked.groups[static_cast<size_t>(group)].name) return &config;
    }
    return nullptr;
  }
  static std::vector<int64_t> members_of(const SimulatedRank& rank, int32_t group) {
    const ProcessGroup* config = config_of(rank, group);
    return config == nullptr ? std::vector<int64_t>() : config->ranks.ranks();
  }
  static std::string description_of(const SimulatedRank& rank, int32_t group) {
    const ProcessGroup* config = config_of(rank, group);
    return config == nullptr ? "" : config->description;
  }

  std::string hlo(int64_t devices) const {
    std::string proto;
    protozero::pbf_writer writer(proto);
    protozero::pbf_writer module(writer, 1);
    module.add_string(1, kProgramName);
    {
      protozero::pbf_writer computation(module, 3);
      for (const auto& [name, instruction] : instructions_) {
        protozero::pbf_writer of(computation, 2);
        add_instruction(name, instruction, of);
      }
      computation.add_int64(5, 1);
    }
    protozero::pbf_writer assignment(module, 15);
    assignment.add_int64(1, 1);
    assignment.add_int64(2, devices);
    for (int64_t device = 0; device < devices; ++device) {
      protozero::pbf_writer partition(assignment, 3);
      partition.add_packed_int64(1, &device, &device + 1);
    }
    assignment.commit();
    module.commit();
    return proto;
  }

  static void add_instruction(const std::string& name, const Instruction& instruction, protozero::pbf_writer& of) {
    of.add_string(1, name);
    of.add_string(2, opcode_of(instruction.kind));
    {
      protozero::pbf_writer shape(of, 3);
      shape.add_int64(2, element_type(instruction.dtype));
      shape.add_packed_int64(3, &instruction.elements, &instruction.elements + 1);
    }
    of.add_int64(26, 1);
    of.add_bool(71, true);
    for (const std::vector<int64_t>& group : instruction.groups) {
      if (is_point_to_point(instruction.kind)) {
        protozero::pbf_writer pair(of, 52);
        pair.add_int64(1, group[0]);
        pair.add_int64(2, group[1]);
      } else {
        protozero::pbf_writer members(of, 49);
        members.add_packed_int64(1, group.begin(), group.end());
      }
    }
  }

  int64_t zero_ns_ = 0, first_id_ = 0, next_id_ = 1;
  ProfilePlane host_{"/host:CPU"};
  std::map<std::string, Instruction> instructions_;
};

}  // namespace

bool write_xplane_file(const std::vector<SimulatedRank>& ranks, const std::string& path) {
  return XplaneFile().write(ranks, path);
}

std::string xplane_part(const SimulatedRank& rank) { return fmt::format("gpu{}", rank.file.linked.trace.device); }

}  // namespace skewscope::simulate
