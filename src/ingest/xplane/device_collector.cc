#include "device_collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "hlo_text.h"
#include "kernel_details.h"
#include "protobuf.h"
#include "tpu_rows.h"

namespace skewscope::ingest {
namespace {

std::optional<int32_t> ordinal_behind(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && (end == text.data() + text.size() || *end == '(');
  return whole && number >= 0 ? std::optional(number) : std::nullopt;
}

// "kind:MemcpyD2D size:655360 dest:0 async:1" -> 655360
int64_t size_in(std::string_view details) {
  const size_t at = details.find("size:");
  int64_t bytes = -1;
  if (at != std::string_view::npos) {
    std::from_chars(details.data() + at + 5, details.data() + details.size(), bytes);
  }
  return bytes;
}

}  // namespace

std::optional<DeviceName> device_of_plane(std::string_view name) {
  constexpr int32_t kMost = 1024;  // on a host
  for (const bool tpu : {false, true}) {
    const std::optional<int32_t> ordinal = ordinal_behind(name, tpu ? "/device:TPU:" : "/device:GPU:");
    if (ordinal && *ordinal < kMost && !name.ends_with(')')) return DeviceName{tpu, *ordinal};
  }
  return std::nullopt;
}

struct DeviceCollector::Stats {
  int64_t correlation = -1, program = 0;
  std::string_view hlo_op, module, kernel, copy, fill;
  int64_t flow = 0, flow_type = 0;
  bool has_flow = false;
};

// Rows of a TPU wait until all are there: a start and its end are one, what holds others is none.
struct DeviceCollector::TpuRows : ingest::TpuRows {};

DeviceCollector::DeviceCollector(const Plane& plane, const Space& space, const XTime& time)
    : plane_(plane), space_(space), time_(time), roles_(plane), tpu_(std::make_unique<TpuRows>()) {
  const DeviceName name = device_of_plane(plane.name).value_or(DeviceName());
  device_.tpu = name.tpu;
  device_.ordinal = name.ordinal;
  device_.part = (name.tpu ? "tpu" : "gpu") + std::to_string(name.ordinal);
  try {
    read_plane_stats();
  } catch (const protozero::exception&) {  // what could be read was
  }
}

DeviceCollector::~DeviceCollector() = default;

void DeviceCollector::read_plane_stats() {
  bool two_cores = false;
  int64_t chip = -1, core = -1;
  plane_.each_stat([&](std::string_view name, const XStat& stat) {
    if (name == "gpu_device_name" || name == "device_type_string") device_.properties.name = stat.text;
    if (name == "device_vendor" && stat.text == "AMD") device_.amd = true;
    if (name == "memory_size") device_.properties.memory_bytes = stat.integer;
    if (name == "core_count") device_.properties.sms = static_cast<int32_t>(stat.integer);
    if (name == "compute_cap_major") device_.properties.compute_major = static_cast<int32_t>(stat.integer);
    if (name == "compute_cap_minor") device_.properties.compute_minor = static_cast<int32_t>(stat.integer);
    if (name == "has_megacore") two_cores = stat.integer != 0;
    if (name == "process_id") device_.process_id = stat.integer;
    if (name != "core_details") return;
    // CoreDetails of xprof's hardware_types: global_chip_id = 5, global_core_id = 6, zero where not written.
    chip = core = 0;
    protozero::pbf_reader details(protozero::data_view(stat.text.data(), stat.text.size()));
    while (details.next()) {
      if (details.tag() == 5) {
        chip = details.get_int64();
      } else if (details.tag() == 6) {
        core = details.get_int64();
      } else {
        details.skip();
      }
    }
  });
  if (device_.properties.name.empty() && device_.amd) device_.properties.name = "AMD GPU";
  device_.global_id = two_cores ? chip : core;
}

bool DeviceCollector::begin_line(const XLine& line) {
  line_ = line;
  line_kind_ = LineKind::other;
  if (device_.tpu) {
    if (line.name == "XLA Modules") line_kind_ = LineKind::modules;
    if (line.name == "XLA Ops") line_kind_ = LineKind::ops;
    if (line.name == "Async XLA Ops") line_kind_ = LineKind::async_ops;
    stream_ = static_cast<int32_t>(std::clamp<int64_t>(line.id, 0, 99));
  } else if (const std::optional<int32_t> stream = ordinal_behind(line.name, "Stream #")) {
    line_kind_ = LineKind::stream;
    stream_ = *stream;
  }
  return line_kind_ != LineKind::other;
}

void DeviceCollector::add(const XEvent& event) {
  ++device_.events;
  switch (line_kind_) {
    case LineKind::stream:
      return add_gpu_row(event);
    case LineKind::modules:
      return add_run(event);
    case LineKind::ops:
    case LineKind::async_ops:
      return add_tpu_row(event);
    case LineKind::other:
      return;
  }
}

void DeviceCollector::read_stats(const XEvent& event, Stats& stats) const {
  for (const std::string_view message : event.stats) {
    const XStat stat = plane_.stat(message);
    switch (roles_.of(stat.id)) {
      case StatRole::correlation_id:
        stats.correlation = stat.integer;
        break;
      case StatRole::program_id:
        stats.program = stat.integer;
        break;
      case StatRole::hlo_op:
        stats.hlo_op = stat.text;
        break;
      case StatRole::hlo_module:
        stats.module = stat.text;
        break;
      case StatRole::kernel_details:
        stats.kernel = stat.text;
        break;
      case StatRole::memcpy_details:
        stats.copy = stat.text;
        break;
      case StatRole::memset_details:
        stats.fill = stat.text;
        break;
      case StatRole::consumer:
        stats.flow = stat.integer;
        stats.has_flow = true;
        break;
      default:
        break;
    }
  }
}

DeviceCollector::Kind& DeviceCollector::kind_of(int64_t id) {
  static const std::string kUnnamed = "unknown";
  const auto [known, added] = kinds_.try_emplace(id);
  if (!added) return known->second;
  const auto found = plane_.events.find(id);
  if (found == plane_.events.end()) {
    known->second.name = &kUnnamed;
    return known->second;
  }
  if (device_.tpu) return known->second = tpu_kind(found->second);
  std::string_view name = found->second.name;
  known->second.name = &found->second.name;
  if (name.ends_with(".kd")) {  // AMD's kernel descriptor of the kernel
    name.remove_suffix(3);
    known->second.name = &device_.own_names.emplace(id, name).first->second;
  }
  return known->second;
}

// What the row does stands in the text of the instruction that is its name; costs and place in the program next to it.
DeviceCollector::Kind DeviceCollector::tpu_kind(const Plane::EventKind& event) {
  Kind kind;
  DeviceOp op;
  const std::optional<HloText> text = read_hlo_text(event.name);
  op.name = text ? std::string(text->name) : event.display_name.empty() ? event.name : event.display_name;
  if (text) {
    kind.opcode = text->opcode;
    op.category = text->opcode;
    op.in_text = text->collective;
  }
  plane_.each_stat_of(event, [&](std::string_view name, const XStat& stat) {
    switch (StatRoles::of_name(name)) {
      case StatRole::hlo_category:
        op.category = stat.text;
        break;
      case StatRole::program_id:
        op.program = stat.integer;
        break;
      case StatRole::flops:
        op.flops = std::max<int64_t>(stat.integer, -1);
        break;
      case StatRole::bytes_accessed:
        op.bytes = std::max<int64_t>(stat.integer, -1);
        break;
      default:
        break;
    }
  });
  if (const auto program = space_.programs.find(op.program); program != space_.programs.end()) {
    op.module = &program->second;
    op.program_name = program->second.name;
    op.collective = is_done(kind.opcode) ? -1 : program->second.collective(op.name);
    const auto instruction = program->second.instructions.find(op.name);
    if (instruction != program->second.instructions.end()) op.input_bytes = instruction->second.input_bytes;
  }
  kind.op = static_cast<int32_t>(device_.ops.size());
  device_.ops.push_back(std::move(op));
  kind.name =
      &device_.own_names.emplace(static_cast<int64_t>(device_.own_names.size()), device_.ops.back().name).first->second;
  return kind;
}

void DeviceCollector::add_run(const XEvent& event) {
  Stats stats;
  read_stats(event, stats);
  ProgramRun run;
  run.start = time_.at(line_.timestamp_ns, event.offset_ps);
  run.duration_ns = time_.at(line_.timestamp_ns, event.offset_ps + event.duration_ps) - run.start;
  const auto found = plane_.events.find(event.kind);
  if (found != plane_.events.end()) run.program = found->second.name;
  if (stats.has_flow) run.flow = stats.flow;
  device_.runs.push_back(run);
}

void DeviceCollector::add_tpu_row(const XEvent& event) {
  const Kind& kind = kind_of(event.kind);
  DeviceRow row;
  row.start = time_.at(line_.timestamp_ns, event.offset_ps);
  row.duration_ns = std::max<int64_t>(time_.at(line_.timestamp_ns, event.offset_ps + event.duration_ps) - row.start, 0);
  row.name = kind.name;
  row.op = kind.op;
  row.stream = stream_;
  const bool asynchronous = line_kind_ == LineKind::async_ops;
  tpu_->add(row, kind.opcode, asynchronous);
}

int32_t DeviceCollector::gpu_op(const Stats& stats) {
  if (stats.hlo_op.empty()) return -1;
  key_.assign(reinterpret_cast<const char*>(&stats.program), sizeof(stats.program));
  key_.append(stats.module).append(1, '\0').append(stats.hlo_op);
  const auto [known, added] = gpu_ops_.try_emplace(key_, static_cast<int32_t>(device_.ops.size()));
  if (!added) return known->second;
  DeviceOp op;
  op.name = stats.hlo_op;
  op.program = stats.program;
  op.program_name = stats.module;
  if (const auto program = space_.programs.find(stats.program); program != space_.programs.end()) {
    op.module = &program->second;
    op.collective = program->second.collective(op.name);
    const auto instruction = program->second.instructions.find(op.name);
    if (instruction != program->second.instructions.end()) {
      op.category = instruction->second.category;
      op.input_bytes = instruction->second.input_bytes;
    }
  }
  device_.ops.push_back(std::move(op));
  return known->second;
}

void DeviceCollector::add_gpu_row(const XEvent& event) {
  Stats stats;
  read_stats(event, stats);
  const Kind& kind = kind_of(event.kind);
  DeviceRow row;
  row.start = time_.at(line_.timestamp_ns, event.offset_ps);
  row.duration_ns = std::max<int64_t>(time_.at(line_.timestamp_ns, event.offset_ps + event.duration_ps) - row.start, 0);
  row.correlation = stats.correlation;
  row.name = kind.name;
  row.stream = stream_;
  row.op = gpu_op(stats);
  if (!stats.copy.empty()) {
    row.work = GpuWork::memcpy;
    row.bytes = size_in(stats.copy);
  } else if (!stats.fill.empty()) {
    row.work = GpuWork::memset;
    row.bytes = size_in(stats.fill);
  } else if (!stats.kernel.empty()) {
    key_ = stats.kernel;
    const auto [known, added] = looks_.try_emplace(key_);
    if (added) {
      known->second.shape = static_cast<int32_t>(device_.shapes.size());
      device_.shapes.push_back(read_kernel_details(stats.kernel));
      const auto& grid = device_.shapes.back().grid;
      if (grid[0] > 0) known->second.grid = grid_number(fmt::format("[{}, {}, {}]", grid[0], grid[1], grid[2]));
    }
    row.shape = known->second.shape;
    row.grid = known->second.grid;
  }
  device_.rows.push_back(row);
}

size_t DeviceCollector::rows() const { return device_.rows.size() + tpu_->size(); }

void DeviceCollector::keep_one_row() {
  tpu_->keep_one();
  if (device_.rows.size() > 1) device_.rows.resize(1);
  if (device_.runs.size() > 1) device_.runs.resize(1);
}

DevicePlane DeviceCollector::take() {
  if (device_.tpu) device_.rows = tpu_->take(device_.ops, device_.runs);
  return std::move(device_);
}

}  // namespace skewscope::ingest
