#include "row_builder.h"

#include <algorithm>

#include "operand_shape.h"
#include "src/ingest/content/row_names.h"
#include "src/ingest/text/number_text.h"

namespace skewscope::ingest {
namespace {

using namespace std::string_view_literals;

// Stored in 16 bits; a number that does not fit counts as the last or the first: no machine has so many devices.
int16_t device_id(int64_t number) { return static_cast<int16_t>(std::clamp<int64_t>(number, INT16_MIN, INT16_MAX)); }

// -1: none; builds of 2023 write it without its sign.
int32_t stream_number(int64_t number) {
  return number < 0 || number >= UINT32_MAX ? -1 : static_cast<int32_t>(std::min<int64_t>(number, INT32_MAX));
}

uint16_t grid_of(const RawEvent& event) {
  if ((event.present & mask_of(Arg::grid)) == 0) return 0;
  const std::string_view grid = event.args[static_cast<size_t>(Arg::grid)];
  return grid_number(event.layout == nullptr ? trimmed(grid) : grid);
}

}  // namespace

void RowBuilder::keep(const RawEvent& event) {
  if (event.is_half) return keep_half(event);
  keep_complete(event);
}

void RowBuilder::keep_complete(const RawEvent& event) {
  if (details_) return keep_with_details(event);
  keep_row(event);
}

void RowBuilder::keep_row(const RawEvent& event) {
  switch (event.event_class) {
    case EventClass::kernel:
    case EventClass::gpu_memcpy:
    case EventClass::gpu_memset:
      return keep_gpu_row(event);
    case EventClass::launch:
      return keep_launch(event);
    case EventClass::stream_wait:
      return keep_stream_wait(event);
    case EventClass::cpu_op:
    case EventClass::user_annotation:
      return keep_host_op(event);
    case EventClass::python_function:
      return keep_module(event);
    case EventClass::gpu_annotation:
      return keep_gpu_annotation(event, rows_->gpu_annotations);
    case EventClass::pass_flow:
      return keep_pass_flow(event);
    case EventClass::process_label:
      return keep_label(event);
    case EventClass::instant:
      return keep_sync(event);
    default:
      return;
  }
}

void RowBuilder::keep_host_op(const RawEvent& event) {
  const std::string_view name = bare(event.name);
  if (is_backward_op(name)) return keep_backward_op(event);
  if (is_optimizer_step(name)) {
    OptimizerRow row;
    row.thread = thread_of(event);
    if (read_times(event, row.start, row.duration_ns)) rows_->optimizer_steps.push_back(row);
    return;
  }
  StepRow row;
  row.number = profiler_step(name);
  if (row.number < 0) return keep_comm_op(event);
  row.thread = thread_of(event);
  if (read_times(event, row.start, row.duration_ns)) rows_->steps.push_back(row);
}

// Their stamps, most of which the sieve reads, do not tell how stamps are written.
void RowBuilder::keep_backward_op(const RawEvent& event) {
  BackwardRow row;
  StampForms not_told;
  row.thread = thread_of(event);
  add_once(rows_->backward_threads, row.thread);
  if (read_times(event, not_told, rows_->defects, row.start, row.duration_ns)) rows_->backward_ops.push_back(row);
}

void RowBuilder::keep_pass_flow(const RawEvent& event) {
  PassFlowRow row;
  StampForms not_told;
  int64_t none = 0;
  const bool tells = event.flow != 0 && read_integer(event.id, row.id);
  if (!tells || !read_times(event, not_told, rows_->defects, row.start, none)) return;
  row.thread = thread_of(event);
  row.backward = event.flow == 'f';
  rows_->pass_flows.push_back(row);
}

void RowBuilder::keep_module(const RawEvent& event) {
  const std::string_view module = module_of_range(event.event_class, bare(event.name));
  ModuleRow row;
  if (module.empty() || !read_times(event, row.start, row.duration_ns)) return;
  row.thread = thread_of(event);
  row.name = intern(module);
  rows_->modules.push_back(row);
}

void RowBuilder::keep_label(const RawEvent& event) {
  if ((event.present & mask_of(Arg::label)) == 0) return;
  const std::string_view label = bare(event.args[static_cast<size_t>(Arg::label)]);
  if (bare(event.name) == "thread_name"sv) {
    if (names_backward_thread(label)) add_once(rows_->backward_threads, thread_of(event));
  } else if (const int64_t rank = rank_in_label(label); rank >= 0) {
    add_once(rows_->labelled_ranks, rank);
  }
}

void RowBuilder::keep_gpu_annotation(const RawEvent& event, std::vector<GpuAnnotationRow>& annotations) {
  GpuAnnotationRow row;
  if (!read_times(event, row.start, row.duration_ns)) return;
  row.name = intern_name(event);
  row.device = static_cast<int32_t>(trailing_number(bare(event.pid)));
  row.stream = static_cast<int32_t>(trailing_number(bare(event.tid)));
  annotations.push_back(row);
}

void RowBuilder::keep_gpu_row(const RawEvent& event) {
  if (bare(event.name) == "event_wait") return;  // MTIA: a stream that waits for another, as cuda_sync
  GpuRow row;
  if (!read_times(event, row.start, row.duration_ns)) return;
  if (row.start.ns == 0 && row.duration_ns == 0 && !event.is_half) {
    rows_->defects.add(Defect::zero_stamp, tokens_.offset_of(event.stamp));
    return;
  }
  row.name = intern_name(event);
  row.correlation = integer(event, Arg::correlation);
  row.external_id = integer(event, Arg::external_id);
  row.device =
      device_id(event.present & mask_of(Arg::device) ? integer(event, Arg::device) : trailing_number(bare(event.pid)));
  row.stream = static_cast<int32_t>(event.present & mask_of(Arg::stream) ? integer(event, Arg::stream)
                                                                         : trailing_number(bare(event.tid)));
  row.work = event.event_class == EventClass::gpu_memcpy   ? GpuWork::memcpy
             : event.event_class == EventClass::gpu_memset ? GpuWork::memset
                                                           : GpuWork::compute;
  row.args = keep_comm_args(event);
  if (event.event_class == EventClass::kernel && row.args < 0) row.grid = grid_of(event);
  rows_->gpu.push_back(row);
  if (details_) keep_gpu_detail(event);
}

void RowBuilder::keep_half(const RawEvent& event) {
  event.event_class == EventClass::end ? keep_end(event) : keep_begin(event);
}

// Whether or not it leaves a row: an end without a name is of whatever is open.
void RowBuilder::keep_begin(const RawEvent& event) {
  PhaseRow phase;
  StampForms not_told;
  DefectCounts told_by_row;
  int64_t none = 0;
  if (!read_times(event, not_told, event.kept ? told_by_row : rows_->defects, phase.start, none) && !event.kept) return;
  const ListSizes before = sizes_of(*rows_);
  if (event.kept) keep_complete(event);
  const ListSizes after = sizes_of(*rows_);
  for (size_t list = 0; list < after.size(); ++list) {
    phase.rows[list] = after[list] > before[list] ? static_cast<int32_t>(before[list]) : -1;
  }
  phase.begins = true;
  add_phase(event, phase);
}

void RowBuilder::keep_end(const RawEvent& event) {
  PhaseRow phase;
  int64_t none = 0;
  if (read_times(event, phase.start, none)) add_phase(event, phase);
}

void RowBuilder::add_phase(const RawEvent& event, PhaseRow phase) {
  phase.process = process_of(event);
  phase.thread = thread_of(event);
  if (!event.name.empty()) phase.name = intern(event.name);
  rows_->phases.push_back(phase);
}

void RowBuilder::keep_sync(const RawEvent& event) {
  SyncRow row;
  if (!read_times(event, row.start, row.duration_ns)) return;
  row.ends_recording = event.event_class == EventClass::instant;
  row.of_device = row.ends_recording || waits_for_device(bare(event.name));
  row.thread = thread_of(event);
  rows_->syncs.push_back(row);
}

void RowBuilder::keep_stream_wait(const RawEvent& event) {
  StreamWaitRow row;
  int64_t on_the_host_ns = 0;
  if (!read_times(event, row.start, on_the_host_ns)) return;
  row.correlation = integer(event, Arg::correlation);
  row.stream = stream_number(integer(event, Arg::stream));
  row.source = stream_number(integer(event, Arg::wait_on_stream));
  row.recorded_by = integer(event, Arg::recorded_by);
  rows_->stream_waits.push_back(row);
}

void RowBuilder::keep_launch(const RawEvent& event) {
  const std::string_view name = bare(event.name);
  if (synchronizes(name)) return keep_sync(event);
  LaunchRow row;
  row.correlation = integer(event, Arg::correlation);
  if (row.correlation < 0) return;
  if (!read_times(event, row.start, row.duration_ns)) return;
  row.thread = thread_of(event);
  rows_->hip_launches |= name.starts_with("hip"sv);
  rows_->intel_launches |= name.starts_with("ur"sv) || name.starts_with("ze"sv);
  rows_->cuda_launches |= name.starts_with("cu"sv);
  rows_->kernel_launches += name.find("Launch") != std::string_view::npos;
  row.role = role_of_launch(name);
  rows_->process(process_of(event)).launches++;
  rows_->launches.push_back(row);
}

void RowBuilder::keep_comm_op(const RawEvent& event) {
  const std::string_view name = bare(event.name);
  const bool sized = is_sized_op(name);
  const bool worded = event.event_class == EventClass::cpu_op && has_operation_word(name);
  if (!sized && !worded && !is_collective_op(name) && !is_collective_range(name)) return keep_module(event);
  if (sized && (event.present & mask_of(Arg::input_dims)) == 0) return;
  CommOpRow row;
  if (!read_times(event, row.start, row.duration_ns)) return;
  row.name = intern_name(event);
  row.external_id = integer(event, Arg::external_id);
  row.thread = thread_of(event);
  row.args = keep_comm_args(event);
  size_t operand = 0;
  const bool has_dims = event.present & mask_of(Arg::input_dims);
  row.input_elements =
      has_dims ? elements_of_first_operand(event.args[static_cast<size_t>(Arg::input_dims)], operand) : -1;
  if (sized) row.other_elements = elements_of_operand(event.args[static_cast<size_t>(Arg::input_dims)], 1);
  if (event.present & mask_of(Arg::input_type)) {
    const std::string_view types = event.args[static_cast<size_t>(Arg::input_type)];
    const std::string_view type = row.input_elements >= 0 ? type_of_operand(types, operand) : first_type(types);
    if (!type.empty()) row.input_type = intern_arg(type, Arg::input_type, event);
  }
  rows_->process(process_of(event)).collectives++;
  rows_->comm_ops.push_back(row);
}

// Keeps the split sizes of the next row of comm_args. Most operations have none, and write "[]".
void RowBuilder::keep_splits(const RawEvent& event) {
  const auto list = [&](Arg arg) {
    const bool any = event.present & mask_of(arg) && bare(event.args[static_cast<size_t>(arg)]) != "[]"sv;
    return any ? text(event, arg) : StringId();
  };
  const SplitLists lists{static_cast<int32_t>(rows_->comm_args.size()), list(Arg::in_split), list(Arg::out_split)};
  if (lists.in.known() || lists.out.known()) rows_->splits.push_back(lists);
}

int32_t RowBuilder::keep_comm_args(const RawEvent& event) {
  if ((event.present & (mask_of(Arg::collective_name) | mask_of(Arg::group_name))) == 0) return -1;
  CommArgs args;
  args.collective_name = text(event, Arg::collective_name);
  args.dtype = text(event, Arg::dtype);
  args.group_name = text(event, event.present & mask_of(Arg::group_name) ? Arg::group_name : Arg::group_id);
  args.group_description = text(event, Arg::group_description);
  args.group_ranks = text(event, Arg::group_ranks);
  args.in_elements = integer(event, Arg::in_elements);
  args.out_elements = integer(event, Arg::out_elements);
  args.group_size = integer(event, Arg::group_size);
  args.rank = integer(event, Arg::rank);
  args.rank_start = integer(event, Arg::rank_start);
  args.rank_stride = integer(event, Arg::rank_stride);
  args.peer = integer(event, event.present & mask_of(Arg::destination) ? Arg::destination : Arg::source);
  args.seq = integer(event, Arg::seq);
  if (event.present & mask_of(Arg::comms_id)) {
    const std::string_view token = event.args[static_cast<size_t>(Arg::comms_id)];
    int64_t negative = 0;  // a writer that prints the 64 bits as signed
    if (!read_unsigned(token, args.comms_id) && read_integer(token, negative)) {
      args.comms_id = static_cast<uint64_t>(negative);
    }
  }
  keep_splits(event);
  rows_->comm_args.push_back(args);
  if (details_) {
    rows_->details.splits.push_back({text(event, Arg::in_split), text(event, Arg::out_split)});
  }
  return static_cast<int32_t>(rows_->comm_args.size() - 1);
}

}  // namespace skewscope::ingest
