#include "event_fields.h"

#include <algorithm>
#include <cstring>

#include "src/ingest/content/row_names.h"
#include "src/ingest/text/number_text.h"

namespace skewscope::ingest {
namespace {

using namespace std::string_view_literals;

struct CategoryName {
  std::string_view name;
  EventClass event_class;
};

constexpr std::array kCategories = {
    CategoryName{"kernel", EventClass::kernel},
    CategoryName{"gpu_memcpy", EventClass::gpu_memcpy},
    CategoryName{"gpu_memset", EventClass::gpu_memset},
    CategoryName{"cuda_runtime", EventClass::launch},
    CategoryName{"cuda_driver", EventClass::launch},
    CategoryName{"cpu_op", EventClass::cpu_op},
    CategoryName{"user_annotation", EventClass::user_annotation},
    CategoryName{"gpu_user_annotation", EventClass::gpu_annotation},
    CategoryName{"Kernel", EventClass::kernel},
    CategoryName{"Memcpy", EventClass::gpu_memcpy},
    CategoryName{"Memset", EventClass::gpu_memset},
    CategoryName{"Runtime", EventClass::launch},
    CategoryName{"Operator", EventClass::cpu_op},
    CategoryName{"mtia_ccp_events", EventClass::kernel},
    CategoryName{"hpu_op", EventClass::kernel},
    CategoryName{"mtia_runtime", EventClass::launch},
    CategoryName{"xpu_runtime", EventClass::launch},
    CategoryName{"xpu_driver", EventClass::launch},
    CategoryName{"privateuse1_runtime", EventClass::launch},
    CategoryName{"privateuse1_driver", EventClass::launch},
    CategoryName{"glow_runtime", EventClass::launch},
    CategoryName{"hip_runtime", EventClass::launch},
    CategoryName{"cuda_sync", EventClass::stream_wait},
    CategoryName{"python_function", EventClass::python_function},
    CategoryName{"fwdbwd", EventClass::pass_flow},
    CategoryName{"overhead", EventClass::overhead},
};

struct ArgName {
  std::string_view key;  // with its closing quote
  Arg arg;
};

// Those of ordinary rows first, then those of details.
constexpr std::array kArgNames = {
    ArgName{"correlation\"", Arg::correlation},
    ArgName{"External id\"", Arg::external_id},
    ArgName{"external id\"", Arg::external_id},
    ArgName{"device\"", Arg::device},
    ArgName{"stream\"", Arg::stream},
    ArgName{"Collective name\"", Arg::collective_name},
    ArgName{"In msg nelems\"", Arg::in_elements},
    ArgName{"Out msg nelems\"", Arg::out_elements},
    ArgName{"Group size\"", Arg::group_size},
    ArgName{"dtype\"", Arg::dtype},
    ArgName{"Process Group Name\"", Arg::group_name},
    ArgName{"Process Group Description\"", Arg::group_description},
    ArgName{"Process Group Ranks\"", Arg::group_ranks},
    ArgName{"Process Group ID\"", Arg::group_id},
    ArgName{"Rank\"", Arg::rank},
    ArgName{"Global rank start\"", Arg::rank_start},
    ArgName{"Global rank stride\"", Arg::rank_stride},
    ArgName{"Dst Rank\"", Arg::destination},
    ArgName{"Src Rank\"", Arg::source},
    ArgName{"Seq\"", Arg::seq},
    ArgName{"Comms Id\"", Arg::comms_id},
    ArgName{"Input Dims\"", Arg::input_dims},
    ArgName{"Input type\"", Arg::input_type},
    ArgName{"name\"", Arg::label},
    ArgName{"labels\"", Arg::label},
    ArgName{"Input Strides\"", Arg::input_strides},
    ArgName{"Concrete Inputs\"", Arg::input_values},
    ArgName{"Sequence number\"", Arg::sequence},
    ArgName{"Fwd thread id\"", Arg::forward_thread},
    ArgName{"kernel_file\"", Arg::kernel_file},
    ArgName{"kernel_backend\"", Arg::kernel_backend},
    ArgName{"Call stack\"", Arg::call_stack},
    ArgName{"In split size\"", Arg::in_split},
    ArgName{"Out split size\"", Arg::out_split},
    ArgName{"grid\"", Arg::grid},
    ArgName{"wait_on_stream\"", Arg::wait_on_stream},
    ArgName{"wait_on_cuda_event_record_corr_id\"", Arg::recorded_by},
    ArgName{"block\"", Arg::block},
    ArgName{"registers per thread\"", Arg::registers},
    ArgName{"shared memory\"", Arg::shared_memory},
    ArgName{"blocks per SM\"", Arg::blocks_per_sm},
    ArgName{"warps per SM\"", Arg::warps_per_sm},
    ArgName{"est. achieved occupancy %\"", Arg::occupancy},
    ArgName{"bytes\"", Arg::bytes},
    ArgName{"memory bandwidth (GB/s)\"", Arg::bandwidth},
    ArgName{"Addr\"", Arg::address},
    ArgName{"Bytes\"", Arg::memory_bytes},
    ArgName{"Total Allocated\"", Arg::total_allocated},
    ArgName{"Total Reserved\"", Arg::total_reserved},
    ArgName{"Device Id\"", Arg::memory_device},
    ArgName{"Device Type\"", Arg::memory_device_type},
};

// Rows of kArgNames by first character: [begin, end) in an order grouped at compile time. Without details, their names
// are not even compared.
struct ArgIndex {
  std::array<ArgName, kArgNames.size()> names{};
  std::array<uint8_t, 129> first{};

  constexpr explicit ArgIndex(bool details) {
    size_t n = 0;
    for (size_t c = 0; c < 128; c++) {
      first[c] = static_cast<uint8_t>(n);
      for (const ArgName& name : kArgNames) {
        const bool known = details || name.arg < Arg::input_strides;
        if (known && static_cast<size_t>(name.key.front()) == c) names[n++] = name;
      }
    }
    first[128] = static_cast<uint8_t>(n);
  }
};
constexpr std::array kArgIndexes = {ArgIndex(false), ArgIndex(true)};

constexpr ArgMask kLinkArgs = mask_of(Arg::correlation) | mask_of(Arg::external_id);
constexpr ArgMask kDeviceArgs = mask_of(Arg::device) | mask_of(Arg::stream);
constexpr ArgMask kShapeArgs = mask_of(Arg::input_dims) | mask_of(Arg::input_type);
constexpr ArgMask kAllArgs = mask_of(Arg::input_strides) - 1;  // details aside
constexpr ArgMask kWaitArgs = mask_of(Arg::wait_on_stream) | mask_of(Arg::recorded_by);
constexpr ArgMask kSizeArgs = mask_of(Arg::grid) | mask_of(Arg::block);
constexpr ArgMask kCommArgs =
    kAllArgs & ~(kLinkArgs | kDeviceArgs | kShapeArgs | kWaitArgs | mask_of(Arg::grid) | mask_of(Arg::label));

constexpr ArgMask kOccupancyArgs = mask_of(Arg::registers) | mask_of(Arg::shared_memory) | mask_of(Arg::blocks_per_sm) |
                                   mask_of(Arg::warps_per_sm) | mask_of(Arg::occupancy);
constexpr ArgMask kOperatorArgs = mask_of(Arg::input_strides) | mask_of(Arg::input_values) | mask_of(Arg::sequence) |
                                  mask_of(Arg::forward_thread) | mask_of(Arg::kernel_file) |
                                  mask_of(Arg::kernel_backend) | mask_of(Arg::call_stack);

constexpr ArgMask kMemoryArgs = mask_of(Arg::address) | mask_of(Arg::memory_bytes) | mask_of(Arg::total_allocated) |
                                mask_of(Arg::total_reserved) | mask_of(Arg::memory_device) |
                                mask_of(Arg::memory_device_type);

// What details keep in addition to what all rows keep.
ArgMask detail_args(EventClass event_class) {
  switch (event_class) {
    case EventClass::kernel:
      return kSizeArgs | kOccupancyArgs;
    case EventClass::gpu_memcpy:
    case EventClass::gpu_memset:
      return mask_of(Arg::bytes) | mask_of(Arg::bandwidth);
    case EventClass::launch:
      return kSizeArgs;
    case EventClass::instant:
      return kMemoryArgs;
    case EventClass::cpu_op:
    case EventClass::user_annotation:
      return kOperatorArgs;
    case EventClass::skip:
      return kSizeArgs | kOccupancyArgs | kOperatorArgs | mask_of(Arg::bytes) | mask_of(Arg::bandwidth);
    default:
      return 0;
  }
}

ArgMask row_args(EventClass event_class) {
  switch (event_class) {
    case EventClass::kernel:
      return kLinkArgs | kDeviceArgs | kCommArgs | mask_of(Arg::grid);
    case EventClass::gpu_memcpy:
    case EventClass::gpu_memset:
      return kLinkArgs | kDeviceArgs;
    case EventClass::launch:
      return kLinkArgs;
    case EventClass::stream_wait:
      return kWaitArgs | mask_of(Arg::stream) | mask_of(Arg::correlation);
    case EventClass::cpu_op:
    case EventClass::user_annotation:
      return mask_of(Arg::external_id) | kCommArgs | kShapeArgs;
    case EventClass::process_label:
      return mask_of(Arg::label);
    case EventClass::gpu_annotation:
    case EventClass::python_function:
    case EventClass::overhead:
    case EventClass::instant:
    case EventClass::pass_flow:
    case EventClass::end:
      return 0;
    case EventClass::skip:
      break;
  }
  return kAllArgs;
}

constexpr std::string_view kModulePrefix = "nn.Module: ";

// A CPU op or a range of the host, modules aside.
bool is_kept_op(std::string_view name) {
  return is_collective_op(name) || is_collective_range(name) || is_sized_op(name) ||
         name.starts_with("ProfilerStep#"sv) || is_optimizer_step(name) || is_backward_op(name);
}

}  // namespace

EventClass class_of_category(std::string_view category) {
  if (category.empty()) return EventClass::skip;
  for (const CategoryName& known : kCategories) {
    if (known.name.front() != category.front() || known.name.size() != category.size()) continue;
    if (known.name == category) return known.event_class;
  }
  return EventClass::skip;
}

Arg arg_of_key(const char* key, bool details) {
  const ArgIndex& index = kArgIndexes[details];
  const unsigned char c = static_cast<unsigned char>(*key);
  if (c >= 128) return Arg::count_;
  for (size_t i = index.first[c]; i < index.first[c + 1U]; i++) {
    const ArgName& name = index.names[i];
    if (key[1] != name.key[1] || key[name.key.size() - 1] != '"') continue;
    if (std::memcmp(key, name.key.data(), name.key.size()) == 0) return name.arg;
  }
  return Arg::count_;
}

ArgMask wanted_args(EventClass event_class, bool details) {
  return details ? row_args(event_class) | detail_args(event_class) : row_args(event_class);
}

bool wants_name(EventClass event_class, std::string_view name) {
  switch (event_class) {
    case EventClass::user_annotation:
      return is_kept_op(name) || !module_of_range(event_class, name).empty();
    case EventClass::cpu_op:
      return is_kept_op(name) || has_operation_word(name);
    case EventClass::gpu_annotation:
      return is_collective_range(name);
    case EventClass::launch:
      return !never_launches(name) || synchronizes(name);
    case EventClass::stream_wait:
      return name.starts_with("Stream Wait Event"sv);
    case EventClass::process_label:
      return name.starts_with("process_"sv) || name.starts_with("thread_name"sv);
    case EventClass::python_function:
      return name.starts_with(kModulePrefix);
    case EventClass::overhead:
      return false;
    case EventClass::instant:
      return name == kRecordingEnd;
    default:
      return true;
  }
}

std::string_view module_of_range(EventClass event_class, std::string_view name) {
  if (event_class == EventClass::python_function) {
    return name.starts_with(kModulePrefix) ? name.substr(kModulePrefix.size()) : std::string_view();
  }
  if (event_class != EventClass::user_annotation) return {};
  return module_of_annotation(name);
}

}  // namespace skewscope::ingest
