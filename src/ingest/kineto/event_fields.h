// The vocabulary of Kineto events: categories, keys of arguments, which names leave a row. Reference: KINETO.md,
// sections 3 to 6.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace skewscope::ingest {

enum class EventClass : uint8_t {
  skip,  // nothing a report needs
  kernel,
  gpu_memcpy,
  gpu_memset,
  launch,
  stream_wait,  // of one stream for an event of another
  cpu_op,
  user_annotation,
  gpu_annotation,
  process_label,    // ph "M": names and labels of processes and threads
  python_function,  // but for modules, rows of details only (ReadSettings::details)
  overhead,         // rows of details only
  instant,          // ph "i": the end of recording; with details, allocations and frees
  pass_flow,        // ph "s", "f": from an operator of the forward pass to its backward one
  end,              // ph "E": of the event that began last on its thread
};

// Whether the phase of an event says its class, whatever its category.
constexpr bool is_told_by_phase(EventClass event_class) {
  return event_class == EventClass::process_label || event_class == EventClass::instant ||
         event_class == EventClass::end;
}

// From a `cat`, all spellings since 2020.
EventClass class_of_category(std::string_view category);

enum class Arg : uint8_t {
  correlation,
  external_id,
  device,
  stream,
  collective_name,
  in_elements,
  out_elements,
  group_size,
  dtype,
  group_name,
  group_description,
  group_ranks,
  group_id,
  rank,
  rank_start,
  rank_stride,
  destination,
  source,
  seq,
  comms_id,
  input_dims,
  input_type,
  label,
  in_split,
  out_split,
  grid,
  wait_on_stream,
  recorded_by,  // correlation of the call that recorded the event
  // Only rows of details have these.
  input_strides,
  input_values,
  sequence,
  forward_thread,
  kernel_file,
  kernel_backend,
  call_stack,
  block,
  registers,
  shared_memory,
  blocks_per_sm,
  warps_per_sm,
  occupancy,
  bandwidth,
  bytes,
  address,
  memory_bytes,
  total_allocated,
  total_reserved,
  memory_device,
  memory_device_type,
  count_,  // none of these
};

constexpr size_t kArgCount = static_cast<size_t>(Arg::count_);
using ArgMask = uint64_t;

constexpr ArgMask mask_of(Arg arg) { return ArgMask{1} << static_cast<unsigned>(arg); }

// `key`: the characters behind its opening quote, in text with at least 32 bytes behind it. Names of details
// only where these are kept.
Arg arg_of_key(const char* key, bool details);
// The arguments that rows of a class keep; for `skip`: of any class.
ArgMask wanted_args(EventClass event_class, bool details);

// Whether an event of this class and name leaves a row, details aside. `name` without its quotes.
bool wants_name(EventClass event_class, std::string_view name);
// Whether events of a class leave rows of details only.
constexpr bool is_detail(EventClass event_class) { return event_class == EventClass::overhead; }
// What a range of the host says of the part of the model that runs in it; "": nothing. "Linear_3" of a python_function
// "nn.Module: Linear_3", "layers.3" of an annotation "FSDP::all_gather (layers.3)"; of an annotation that a program
// puts around a layer the whole: its name holds "layer" or "block", or a path with a number, "model.h.3.mlp".
std::string_view module_of_range(EventClass event_class, std::string_view name);
}  // namespace skewscope::ingest
