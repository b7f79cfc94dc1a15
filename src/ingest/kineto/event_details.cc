// What RowBuilder keeps in addition to the ordinary rows where details are asked for. The ordinary rows are those of a
// reading without details: they alone say what stamps and labels tell of the file.
#include <charconv>
#include <limits>

#include "row_builder.h"
#include "src/ingest/content/row_names.h"
#include "src/ingest/text/number_text.h"

namespace skewscope::ingest {
namespace {

using namespace std::string_view_literals;

constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();

HostKind kind_of(EventClass event_class) {
  switch (event_class) {
    case EventClass::launch:
      return HostKind::call;
    case EventClass::python_function:
      return HostKind::python;
    case EventClass::user_annotation:
      return HostKind::annotation;
    case EventClass::overhead:
      return HostKind::overhead;
    default:
      return HostKind::op;
  }
}

// "[11, 1, 1]": as far as it has numbers.
void read_sizes(std::string_view token, int64_t (&sizes)[3]) {
  size_t at = 0;
  for (int64_t& size : sizes) {
    at = token.find_first_of("0123456789"sv, at);
    if (at == std::string_view::npos) return;
    const auto [rest, error] = std::from_chars(token.data() + at, token.data() + token.size(), size);
    if (error != std::errc()) size = -1;
    at = static_cast<size_t>(rest - token.data());
  }
}

// Where the next " at 0x7f…" begins, and its end; npos: there is none.
size_t find_address(std::string_view name, size_t from, size_t& end) {
  constexpr std::string_view kMark = " at 0x";
  const size_t at = name.find(kMark, from);
  if (at == std::string_view::npos) return at;
  end = std::min(name.find_first_not_of("0123456789abcdefABCDEF"sv, at + kMark.size()), name.size());
  return at;
}

}  // namespace

void RowBuilder::keep_with_details(const RawEvent& event) {
  const auto host_rows = [&] {
    return rows_->launches.size() + rows_->comm_ops.size() + rows_->steps.size() + rows_->optimizer_steps.size() +
           rows_->modules.size() + rows_->syncs.size();
  };
  const size_t before = host_rows(), launches = rows_->launches.size();
  const int64_t dropped = rows_->defects.count(Defect::dropped_event);
  if (wants_name(event.event_class, bare(event.name))) keep_row(event);
  if (rows_->defects.count(Defect::dropped_event) > dropped) return;
  switch (event.event_class) {
    case EventClass::kernel:
    case EventClass::gpu_memcpy:
    case EventClass::gpu_memset:
    case EventClass::stream_wait:
    case EventClass::pass_flow:
    case EventClass::skip:
      return;  // keep_gpu_row() kept the details
    case EventClass::gpu_annotation:
      return keep_gpu_annotation(event, rows_->details.gpu_annotations);
    case EventClass::process_label:
      return keep_track_name(event);
    case EventClass::instant:
      return bare(event.name) == kMemoryEvent ? keep_memory_event(event) : void();
    default:
      break;
  }
  LocalNs start;
  int64_t duration_ns = 0;
  StampForms not_told;
  DefectCounts counted_before;
  DefectCounts& defects = host_rows() > before ? counted_before : rows_->defects;
  if (!read_times(event, not_told, defects, start, duration_ns)) return;
  if (rows_->launches.size() > launches) {
    rows_->details.launches.push_back({static_cast<int32_t>(rows_->details.host.size()), kernel_shape(event)});
  }
  keep_host_row(event, start, duration_ns);
}

void RowBuilder::keep_host_row(const RawEvent& event, LocalNs start, int64_t duration_ns) {
  HostEvents& host = rows_->details.host;
  const int64_t sequence = integer(event, Arg::sequence), forward_thread = integer(event, Arg::forward_thread);
  host.start.push_back(start);
  host.duration_ns.push_back(duration_ns);
  host.name.push_back(host_name(event));
  host.kind.push_back(kind_of(event.event_class));
  host.thread.push_back(rows_->details.threads.number_of({process_of(event), thread_of(event)}));
  host.place.push_back(static_cast<int32_t>(rows_->events - 1));
  host.arguments.push_back(argument_set(event));
  host.sequence.push_back(sequence >= 0 && sequence <= kLargest ? static_cast<int32_t>(sequence) : -1);
  const bool fits = forward_thread >= 0 && forward_thread <= kLargest;
  host.forward_thread.push_back(fits ? static_cast<int32_t>(forward_thread) : 0);
}

void RowBuilder::keep_memory_event(const RawEvent& event) {
  constexpr ArgMask kTold = mask_of(Arg::memory_bytes) | mask_of(Arg::total_allocated);
  LocalNs at;
  int64_t none = 0;
  StampForms not_told;
  if ((event.present & kTold) != kTold || !read_times(event, not_told, rows_->defects, at, none)) return;
  const int64_t type = integer(event, Arg::memory_device_type);
  MemoryEvents& memory = rows_->details.memory;
  memory.at.push_back(at);
  memory.bytes.push_back(integer(event, Arg::memory_bytes));
  memory.address.push_back(integer(event, Arg::address));
  memory.allocated.push_back(integer(event, Arg::total_allocated));
  memory.reserved.push_back(std::max<int64_t>(integer(event, Arg::total_reserved), 0));
  memory.device.push_back(type == 0 ? -1 : static_cast<int32_t>(integer(event, Arg::memory_device)));
  memory.thread.push_back(rows_->details.threads.number_of({process_of(event), thread_of(event)}));
}

void RowBuilder::keep_gpu_detail(const RawEvent& event) {
  GpuDetailRow row;
  row.place = static_cast<int32_t>(rows_->events - 1);
  row.bytes = std::max<int64_t>(integer(event, Arg::bytes), -1);
  if (event.present & mask_of(Arg::bandwidth)) {
    read_decimal(event.args[static_cast<size_t>(Arg::bandwidth)], row.gb_per_s);
  }
  row.shape = kernel_shape(event);
  rows_->details.gpu.push_back(row);
}

void RowBuilder::keep_track_name(const RawEvent& event) {
  const std::string_view what = bare(event.name);
  TrackName name;
  if (what == "process_labels"sv) {
    name.of = TrackName::Of::label;
  } else if (what == "thread_name"sv) {
    name.of = TrackName::Of::thread;
  } else if (what != "process_name"sv) {
    return;
  }
  name.ids = {process_of(event), thread_of(event)};
  name.text = text(event, Arg::label);
  if (name.text.known()) rows_->details.names.push_back(name);
}

// Leaves the addresses of objects out of names of python functions: "<built-in method items of dict object at 0x7f…>"
// is another name in every call, and there are millions.
StringId RowBuilder::host_name(const RawEvent& event) {
  if (event.event_class != EventClass::python_function) return intern_name(event);
  const std::string_view name = bare(event.name);
  size_t end = 0;
  size_t address = find_address(name, 0, end);
  if (address == std::string_view::npos) return intern_name(event);
  shortened_name_.clear();
  size_t from = 0;
  for (; address != std::string_view::npos; address = find_address(name, from, end)) {
    shortened_name_ += name.substr(from, address - from);
    from = end;
  }
  shortened_name_ += name.substr(from);
  return rows_->strings.intern(shortened_name_, false);
}

StringId RowBuilder::json_text(const RawEvent& event, Arg arg) {
  if ((event.present & mask_of(arg)) == 0) return {};
  return rows_->strings.intern_json(trimmed(event.args[static_cast<size_t>(arg)]), tokens_.live_on);
}

int32_t RowBuilder::argument_set(const RawEvent& event) {
  constexpr ArgMask kArguments = mask_of(Arg::input_dims) | mask_of(Arg::input_type) | mask_of(Arg::input_strides) |
                                 mask_of(Arg::input_values) | mask_of(Arg::kernel_file) | mask_of(Arg::kernel_backend) |
                                 mask_of(Arg::call_stack);
  if ((event.present & kArguments) == 0) return -1;
  ArgumentSet set;
  set.dims = json_text(event, Arg::input_dims);
  set.types = json_text(event, Arg::input_type);
  set.strides = json_text(event, Arg::input_strides);
  set.values = json_text(event, Arg::input_values);
  set.kernel_file = text(event, Arg::kernel_file);
  set.kernel_backend = text(event, Arg::kernel_backend);
  const bool has_stack = (event.present & mask_of(Arg::call_stack)) != 0 &&
                         !bare(event.args[static_cast<size_t>(Arg::call_stack)]).empty();
  if (has_stack) set.call_stack = text(event, Arg::call_stack);
  if (set == ArgumentSet()) return -1;  // nothing but an empty stack
  return rows_->details.arguments.number_of(set);
}

int32_t RowBuilder::kernel_shape(const RawEvent& event) {
  const auto has = [&](Arg arg) { return (event.present & mask_of(arg)) != 0; };
  const auto token = [&](Arg arg) { return event.args[static_cast<size_t>(arg)]; };
  const auto count = [&](Arg arg) {
    const int64_t value = integer(event, arg);
    return value >= 0 && value <= kLargest ? static_cast<int32_t>(value) : -1;
  };
  const auto decimal = [&](Arg arg, double& value) {
    if (has(arg)) read_decimal(token(arg), value);
  };
  KernelShape shape;
  if (has(Arg::grid)) read_sizes(token(Arg::grid), shape.grid);
  if (has(Arg::block)) read_sizes(token(Arg::block), shape.block);
  shape.registers = count(Arg::registers);
  shape.shared_memory = count(Arg::shared_memory);
  decimal(Arg::blocks_per_sm, shape.blocks_per_sm);
  decimal(Arg::warps_per_sm, shape.warps_per_sm);
  decimal(Arg::occupancy, shape.occupancy_percent);
  return shape == KernelShape() ? -1 : rows_->details.shapes.number_of(shape);
}

}  // namespace skewscope::ingest
