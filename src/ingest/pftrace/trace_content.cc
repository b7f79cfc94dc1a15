// The rows of a trace as contents, one for each rank.
#include <algorithm>
#include <set>
#include <utility>

#include "src/ingest/content/row_names.h"
#include "src/ingest/rocm/rccl_calls.h"
#include "trace_rows.h"

namespace skewscope::ingest {
namespace {

constexpr int32_t kMostGpusOfTrace = 1024;  // of a process; a larger number is no GPU

int32_t gpu_number(int32_t device) { return device < 0 || device >= kMostGpusOfTrace ? 0 : device; }

}  // namespace

// The rank of one GPU, or of all that a process used.
class TraceRows::Part {
 public:
  Part(const std::string& file, std::string name, const FactTables& tables, const ReaderSettings& settings,
       MemoryBudget& budget)
      : rows(file, std::move(name), settings, budget), tables_(tables) {}

  StringId name(StringId of_file) {
    if (!of_file.known()) return {};
    if (of_file.index() >= names_.size()) names_.resize(tables_.texts.size());
    StringId& known = names_[of_file.index()];
    if (!known.known()) known = rows.intern(tables_.texts.view(of_file));
    return known;
  }
  int32_t call(int32_t row) {
    if (row < 0) return -1;
    const CallFacts& facts = tables_.calls[static_cast<size_t>(row)];
    CommArgs args;
    args.collective_name = name(facts.collective);
    args.dtype = name(facts.dtype);
    args.group_name = name(facts.group_name);
    args.group_description = name(facts.group_description);
    args.group_ranks = name(facts.group_ranks);
    args.group_size = facts.group_size;
    args.rank = facts.rank;
    args.rank_start = facts.rank_start;
    args.rank_stride = facts.rank_stride;
    args.peer = facts.peer;
    args.in_elements = facts.in_elements;
    args.out_elements = facts.out_elements;
    args.seq = facts.seq;
    args.comms_id = static_cast<uint64_t>(facts.comms_id);
    const int32_t added = rows.add(args);
    if (facts.in_split.known() || facts.out_split.known())
      rows.content().splits.push_back({added, name(facts.in_split), name(facts.out_split)});
    return added;
  }
  void add(const Slice& slice, int32_t device);
  // Its row among the details; -1: none are wanted.
  int32_t add_host_row(const Slice& slice);

  RowCollector rows;

 private:
  const FactTables& tables_;
  std::vector<StringId> names_;
};

void TraceRows::Part::add(const Slice& slice, int32_t device) {
  const EventFacts& facts = slice.facts;
  if (facts.slice_class == SliceClass::gpu_annotation) {
    const GpuAnnotationRow row{slice.start, slice.duration_ns, name(facts.name), device, facts.stream};
    if (is_collective_range(tables_.texts.view(facts.name))) rows.content().gpu_annotations.push_back(row);
    if (rows.content().details) rows.content().details->gpu_annotations.push_back(row);
    return;
  }
  GpuRow row;
  row.start = slice.start;
  row.duration_ns = slice.duration_ns;
  row.correlation = facts.correlation > 0 && facts.correlation < INT64_MAX / 2 ? facts.correlation : -1;
  row.external_id = facts.external_id;
  row.name = name(facts.name);
  row.stream = facts.stream;
  row.device = static_cast<int16_t>(device);
  row.work = facts.slice_class == SliceClass::copy   ? GpuWork::memcpy
             : facts.slice_class == SliceClass::fill ? GpuWork::memset
                                                     : GpuWork::compute;
  row.args = call(facts.call);
  row.grid = row.args < 0 ? facts.grid : 0;
  GpuDetailRow detail;
  detail.bytes = facts.bytes;
  rows.add(row, detail);
}

int32_t TraceRows::Part::add_host_row(const Slice& slice) {
  if (!rows.content().details) return -1;
  DetailRows& details = *rows.content().details;
  HostEvents& host = details.host;
  const EventFacts& facts = slice.facts;
  const auto place = static_cast<int32_t>(host.size());
  host.start.push_back(slice.start);
  host.duration_ns.push_back(slice.duration_ns);
  host.name.push_back(name(facts.name));
  host.kind.push_back(facts.slice_class == SliceClass::call         ? HostKind::call
                      : facts.slice_class == SliceClass::python     ? HostKind::python
                      : facts.slice_class == SliceClass::annotation ? HostKind::annotation
                                                                    : HostKind::op);
  host.thread.push_back(details.threads.number_of({slice.track->process, slice.track->thread}));
  host.place.push_back(place);
  int32_t arguments = -1;
  if (facts.operands >= 0) {
    const OperatorFacts& operands = tables_.operands[static_cast<size_t>(facts.operands)];
    ArgumentSet set;
    set.dims = name(operands.dims);
    set.types = name(operands.types);
    set.strides = name(operands.strides);
    set.values = name(operands.values);
    arguments = details.arguments.number_of(set);
  }
  host.arguments.push_back(arguments);
  host.sequence.push_back(facts.sequence);
  host.forward_thread.push_back(0);
  return place;
}

void TraceRows::add_host_rows(Part& part) {
  FileContent& content = part.rows.content();
  for (const Slice& slice : host_) {
    const EventFacts& facts = slice.facts;
    const NameFacts& name = name_facts(facts.name);
    const int64_t thread = slice.track->thread;
    if (facts.slice_class == SliceClass::sync) {
      content.stream_waits.push_back(
          {slice.start, facts.correlation, facts.stream, facts.waits_on_stream, facts.recorded_by});
      continue;
    }
    const int32_t host_row = part.add_host_row(slice);
    if (facts.slice_class == SliceClass::call) {
      const std::string_view text = tables_.texts.view(facts.name);
      content.hip_launches |= text.starts_with("hip");
      content.cuda_launches |= text.starts_with("cu");
      if (name.synchronizes) {
        content.syncs.push_back({slice.start, slice.duration_ns, false, name.waits_for_device, thread});
      } else if (name.launches && facts.correlation >= 0) {
        LaunchDetailRow detail;
        detail.host = host_row;
        part.rows.add(LaunchRow{slice.start, slice.duration_ns, facts.correlation, thread, name.role}, detail);
      }
      continue;
    }
    content.has_cpu_ops |= facts.slice_class == SliceClass::op;
    if (name.step >= 0) content.steps.push_back({slice.start, slice.duration_ns, name.step, thread});
    if (name.optimizer) content.optimizer_steps.push_back({slice.start, slice.duration_ns, thread});
    if (name.backward) content.backward_ops.push_back({slice.start, slice.duration_ns, thread});
    if (name.of_collective || facts.call >= 0 || facts.slice_class == SliceClass::rccl) {
      add_call(slice, part);
    } else if (!name.module.empty() && facts.slice_class != SliceClass::op) {
      content.modules.push_back({slice.start, slice.duration_ns, thread, part.rows.intern(name.module)});
    }
  }
}

void TraceRows::add_call(const Slice& slice, Part& part) {
  if (slice.facts.slice_class == SliceClass::rccl) {
    const std::string_view collective = collective_of_rccl(tables_.texts.view(slice.facts.name));
    if (!collective.empty()) add_rccl_call(collective, slice.start, slice.duration_ns, slice.track->thread, part.rows);
    return;
  }
  CommOpRow row;
  row.start = slice.start;
  row.duration_ns = slice.duration_ns;
  row.external_id = slice.facts.external_id;
  row.thread = slice.track->thread;
  row.name = part.name(slice.facts.name);
  row.args = part.call(slice.facts.call);
  part.rows.content().comm_ops.push_back(row);
}

void TraceRows::add_threads(Part& part) const {
  FileContent& content = part.rows.content();
  std::set<int64_t> backward;
  for (const auto& [uuid, track] : tracks_) {
    if (track->is_process || track->thread < 0 || track->stream >= 0) continue;
    if (names_backward_thread(track->name)) backward.insert(track->thread);
    if (content.details && !track->name.empty()) {
      content.details->names.push_back(
          {TrackName::Of::thread, {track->process, track->thread}, part.rows.intern(track->name)});
    }
  }
  for (const BackwardRow& row : content.backward_ops) backward.insert(row.thread);
  content.backward_threads.assign(backward.begin(), backward.end());
}

// A copy of rocprofv3 names two agents, one of which may be a host: that is a GPU which runs kernels.
Result<std::vector<FileContent>> TraceRows::contents(const std::string& file, const ReaderSettings& settings,
                                                     MemoryBudget& budget, bool wall_time) {
  std::set<int32_t> gpus;
  for (const Slice& slice : gpu_) {
    if (slice.facts.slice_class == SliceClass::kernel) gpus.insert(gpu_number(slice.facts.device));
  }
  std::map<int32_t, std::unique_ptr<Part>> parts;
  const auto part_of = [&](int32_t device) -> Part& {
    std::unique_ptr<Part>& part = parts[rocm_ ? device : 0];
    const bool several = rocm_ && gpus.size() > 1;
    if (part == nullptr)
      part = std::make_unique<Part>(file, several ? "gpu" + std::to_string(device) : "", tables_, settings, budget);
    return *part;
  };
  for (const Slice& slice : gpu_) {
    int32_t device = gpu_number(slice.facts.device);
    if (slice.facts.source_device >= 0 && gpus.count(device) == 0) {
      const int32_t source = gpu_number(slice.facts.source_device);
      device = gpus.count(source) > 0 || gpus.empty() ? source : *gpus.begin();
    }
    Part& part = part_of(device);
    part.add(slice, device);
    if (part.rows.over_budget()) return part.rows.error();
  }
  if (parts.empty()) part_of(0);
  std::vector<FileContent> contents;
  for (auto& [device, part] : parts) {
    add_host_rows(*part);
    add_threads(*part);
    if (part->rows.over_budget()) return part->rows.error();
    const bool any = part->rows.gpu_rows() > 0;
    FileContent& content = part->rows.content();
    content.format = rocm_ ? "rocprofv3 pftrace" : "perfetto pftrace";
    content.process_id = process_;
    content.has_base_time = wall_time;
    content.hip_properties = rocm_;
    content.events = std::ssize(gpu_) + std::ssize(host_);
    contents.push_back(part->rows.take(any ? ContentKind::rank_trace : ContentKind::front_end));
  }
  return contents;
}

}  // namespace skewscope::ingest
