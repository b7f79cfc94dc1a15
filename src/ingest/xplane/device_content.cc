#include "device_content.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "hlo_calls.h"
#include "program_runs.h"
#include "src/ingest/content/row_collector.h"

namespace skewscope::ingest {
namespace {

class DeviceContent {
 public:
  DeviceContent(DevicePlane& device, const DeviceId& id, const HostPlane& host, const ProfileFacts& facts,
                const ReaderSettings& settings, MemoryBudget& budget)
      : device_(device),
        id_(id),
        host_(host),
        facts_(facts),
        rows_(facts.file, facts.devices > 1 ? device.part : "", settings, budget),
        calls_(device, id.id, rows_) {}

  Result<FileContent> make() {
    describe();
    find_launches();
    rows_.content().steps = steps_of_runs(device_, launch_of_row_, host_);
    add_syncs();
    if (rows_.content().details) add_host_rows();
    add_launches();
    add_rows();
    if (rows_.over_budget()) return rows_.error();
    return rows_.take(rows_.gpu_rows() > 0 ? ContentKind::rank_trace : ContentKind::empty);
  }

 private:
  static bool is_run(const HostRange& range) { return range.number >= 0; }

  void describe() {
    FileContent& content = rows_.content();
    content.format = facts_.format;
    content.host_name = facts_.host_name;
    content.process_id = device_.process_id >= 0 ? device_.process_id : host_.process_id;
    content.has_base_time = facts_.base_time_ns > 0;
    content.base_time_ns = facts_.base_time_ns;
    content.has_cpu_ops = host_.events > 0;
    content.events = device_.events;
    content.devices.resize(static_cast<size_t>(device_.ordinal) + 1, device_.properties);
    content.cuda_launches = !device_.tpu && !device_.amd;
    content.hip_launches = content.hip_properties = device_.amd;
    content.distributed.present = true;
    content.distributed.backend = device_.tpu ? "tpu" : "nccl";
    content.distributed.rank = id_.id;
    content.distributed.rank_from = id_.from;
    content.distributed.world_size = facts_.world_size;
    if (id_.id < 0) content.distributed.place_in_file = device_.ordinal;
  }

  // Of the rows of a TPU the enqueueing of their program; the clocks of host and device may differ, and no row begins
  // before its launch. Where the host does not tell, a program counts as enqueued when it began.
  void find_launches() {
    launch_of_row_.resize(device_.rows.size());
    if (device_.tpu) {
      for (const ProgramRun& run : device_.runs) {
        const auto enqueued = run.flow ? host_.enqueued.find(*run.flow) : host_.enqueued.end();
        HostLaunch launch;
        launch.thread = -1;
        launch.start = run.start;
        if (enqueued != host_.enqueued.end()) launch = enqueued->second;
        launch.start = std::min(launch.start, run.start);
        launch.correlation = std::ssize(launches_);
        launches_.push_back(launch);
      }
    } else {
      std::unordered_map<int64_t, int32_t> of_correlation;
      for (const DeviceRow& row : device_.rows) {
        if (row.correlation >= 0) of_correlation.emplace(row.correlation, -1);
      }
      for (const HostLaunch& launch : host_.launches) {
        const auto wanted = of_correlation.find(launch.correlation);
        if (wanted == of_correlation.end() && !launch.copies) lost_.push_back(&launch);
        if (wanted == of_correlation.end() && facts_.devices > 1) continue;
        if (wanted != of_correlation.end()) wanted->second = static_cast<int32_t>(launches_.size());
        launches_.push_back(launch);
      }
      for (size_t i = 0; i < device_.rows.size(); ++i) {
        const auto launch = of_correlation.find(device_.rows[i].correlation);
        launch_row_.push_back(launch == of_correlation.end() ? -1 : launch->second);
      }
    }
    for (size_t i = 0; i < device_.rows.size(); ++i) {
      const int64_t launch = device_.tpu ? device_.rows[i].correlation : launch_row_[i];
      launch_of_row_[i] = launch < 0 ? RowLaunch{device_.rows[i].start, -1}
                                     : RowLaunch{launches_[static_cast<size_t>(launch)].start,
                                                 launches_[static_cast<size_t>(launch)].thread};
    }
    for (const HostLaunch& launch : launches_) threads_.insert(launch.thread);
  }

  void add_syncs() {
    for (const HostRange& sync : host_.syncs) {
      if (threads_.count(sync.thread) == 0) continue;
      rows_.content().syncs.push_back({sync.start, sync.duration_ns, false, true, sync.thread});
    }
  }

  // Of threads that launch to this device, where the file has several.
  void add_host_rows() {
    FileContent& content = rows_.content();
    DetailRows& details = *content.details;
    host_row_.assign(host_.rows.size(), -1);
    std::set<int32_t> named;
    std::set<std::pair<LocalNs, int32_t>> steps;
    for (const HostRange& step : host_.steps) steps.emplace(step.start, step.thread);
    std::vector<bool> launches(host_.rows.size(), false);
    for (const HostLaunch& launch : host_.launches) launches[static_cast<size_t>(launch.row)] = true;
    for (const HostLaunch& launch : launches_) {
      if (launch.row >= 0) launches[static_cast<size_t>(launch.row)] = true;
    }
    for (size_t i = 0; i < host_.rows.size(); ++i) {
      const HostRange& row = host_.rows[i];
      if (facts_.devices > 1 && threads_.count(row.thread) == 0) continue;
      const HostPlane::Thread& thread = host_.threads[static_cast<size_t>(row.thread)];
      const ThreadIds ids{content.process_id, thread.id};
      if (named.insert(row.thread).second) {
        details.names.push_back({TrackName::Of::thread, ids, rows_.intern(thread.name)});
      }
      host_row_[i] = static_cast<int32_t>(details.host.size());
      const bool python = row.name->starts_with('$');
      details.host.start.push_back(row.start);
      details.host.duration_ns.push_back(row.duration_ns);
      details.host.name.push_back(rows_.intern(*row.name));
      details.host.kind.push_back(launches[i]                                ? HostKind::call
                                  : python                                   ? HostKind::python
                                  : steps.count({row.start, row.thread}) > 0 ? HostKind::annotation
                                                                             : HostKind::op);
      details.host.thread.push_back(details.threads.number_of(ids));
      details.host.place.push_back(static_cast<int32_t>(i));
      details.host.arguments.push_back(-1);
      details.host.sequence.push_back(-1);
      details.host.forward_thread.push_back(0);
    }
    for (const KernelShape& shape : device_.shapes) shape_of_.push_back(details.shapes.number_of(shape));
    for (const DeviceOp& op : device_.ops) details.operations.push_back(operation_of(op));
  }

  DeviceOperation operation_of(const DeviceOp& op) {
    DeviceOperation operation;
    operation.name = rows_.intern(op.name);
    if (!op.program_name.empty()) operation.module = rows_.intern(op.program_name);
    if (op.program != 0) operation.program = rows_.intern(std::to_string(static_cast<uint64_t>(op.program)));
    if (!op.category.empty()) operation.category = rows_.intern(op.category);
    operation.flops = op.flops;
    operation.bytes = op.bytes;
    operation.input_bytes = op.input_bytes;
    return operation;
  }

  void add_launches() {
    for (const HostLaunch& launch : launches_) {
      LaunchDetailRow detail;
      if (launch.row >= 0 && static_cast<size_t>(launch.row) < host_row_.size()) {
        detail.host = host_row_[static_cast<size_t>(launch.row)];
      }
      // Where the rows of the host are kept, a launch is one of them.
      if (detail.host < 0 && rows_.content().details) continue;
      const bool kernel = !device_.tpu && !launch.copies;
      rows_.add(LaunchRow{launch.start, launch.duration_ns, launch.correlation, launch.thread,
                          kernel ? LaunchRole::kernel : LaunchRole::other},
                detail);
    }
  }

  // By run of a program, when the first kernel was launched in it whose row was lost: how often an operation ran before
  // is not known from then on.
  std::unordered_map<const HostRange*, LocalNs> losses(const RangesByThread& executions) const {
    std::unordered_map<const HostRange*, LocalNs> first;
    for (const HostLaunch* launch : lost_) {
      if (launch->device >= 0 && launch->device != device_.ordinal) continue;
      const HostRange* run = executions.around(launch->thread, launch->start, is_run);
      if (run == nullptr) continue;
      const auto [known, added] = first.emplace(run, launch->start);
      known->second = std::min(known->second, launch->start);
    }
    return first;
  }

  void add_rows() {
    const RangesByThread executions(host_.executions);
    const std::unordered_map<const HostRange*, LocalNs> lost_from = losses(executions);
    std::unordered_map<const std::string*, StringId> names;
    for (size_t i = 0; i < device_.rows.size() && !rows_.over_budget(); ++i) {
      const DeviceRow& one = device_.rows[i];
      GpuRow row;
      row.start = one.start;
      row.duration_ns = one.duration_ns;
      row.correlation = one.correlation;
      const auto [name, fresh] = names.try_emplace(one.name);
      if (fresh) name->second = rows_.intern(*one.name);
      row.name = name->second;
      row.device = static_cast<int16_t>(device_.ordinal);
      row.stream = one.stream;
      row.work = one.work;
      row.grid = one.grid;
      const bool kernel = one.work == GpuWork::compute || one.work == GpuWork::communication;
      if (kernel && calls_.is_collective(one.op)) {
        const RowLaunch& launch = launch_of_row_[i];
        const HostRange* run = executions.around(launch.thread, launch.start, is_run);
        const auto lost = lost_from.find(run);
        const bool counted = run != nullptr && (lost == lost_from.end() || launch.start < lost->second);
        row.args = calls_.add(one.op, counted ? run->number : -1);
        row.work = GpuWork::communication;
      }
      GpuDetailRow detail;
      detail.bytes = one.bytes;
      detail.place = static_cast<int32_t>(i);
      detail.operation = one.op;
      if (one.shape >= 0 && !shape_of_.empty()) detail.shape = shape_of_[static_cast<size_t>(one.shape)];
      rows_.add(row, detail);
    }
    std::vector<DeviceRow>().swap(device_.rows);
  }

  DevicePlane& device_;
  const DeviceId& id_;
  const HostPlane& host_;
  const ProfileFacts& facts_;
  RowCollector rows_;
  HloCalls calls_;
  std::vector<HostLaunch> launches_;
  std::vector<const HostLaunch*> lost_;  // of kernels that have no row here; of other devices, too
  std::vector<int32_t> launch_row_;      // in launches_, by row of a GPU
  std::vector<RowLaunch> launch_of_row_;
  std::set<int32_t> threads_;
  std::vector<int32_t> host_row_;  // in the details, by HostPlane::rows
  std::vector<int32_t> shape_of_;  // in the details, by DevicePlane::shapes
};

}  // namespace

Result<FileContent> content_of_device(DevicePlane& device, const DeviceId& id, const HostPlane& host,
                                      const ProfileFacts& facts, const ReaderSettings& settings, MemoryBudget& budget) {
  return DeviceContent(device, id, host, facts, settings, budget).make();
}

}  // namespace skewscope::ingest
