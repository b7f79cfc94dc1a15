#include "event_facts.h"

#include <algorithm>
#include <array>

#include "src/ingest/content/memory_budget.h"
#include "src/ingest/text/number_text.h"

namespace skewscope::ingest {
namespace {

struct NamedKey {
  std::string_view name;
  FactKey key = FactKey::none;
};

constexpr std::array kKeys = {
    NamedKey{"correlation", FactKey::correlation},
    NamedKey{"corr_id", FactKey::correlation},
    NamedKey{"External id", FactKey::external_id},
    NamedKey{"external id", FactKey::external_id},
    NamedKey{"device", FactKey::device},
    NamedKey{"device id", FactKey::device},
    NamedKey{"agent", FactKey::agent},
    NamedKey{"dst_agent", FactKey::destination_agent},
    NamedKey{"src_agent", FactKey::source_agent},
    NamedKey{"stream", FactKey::stream},
    NamedKey{"stream id", FactKey::stream},
    NamedKey{"stream_ID", FactKey::stream},
    NamedKey{"queue", FactKey::queue},
    NamedKey{"bytes", FactKey::bytes},
    NamedKey{"copy_bytes", FactKey::bytes},
    NamedKey{"cbid", FactKey::callback},
    NamedKey{"cuda_sync_kind", FactKey::sync_kind},
    NamedKey{"wait_on_stream", FactKey::wait_on_stream},
    NamedKey{"wait_on_cuda_event_record_corr_id", FactKey::recorded_by},
    NamedKey{"Collective name", FactKey::collective},
    NamedKey{"dtype", FactKey::dtype},
    NamedKey{"Process Group Name", FactKey::group_name},
    NamedKey{"Process Group Description", FactKey::group_description},
    NamedKey{"Process Group Ranks", FactKey::group_ranks},
    NamedKey{"In msg nelems", FactKey::in_elements},
    NamedKey{"Out msg nelems", FactKey::out_elements},
    NamedKey{"Group size", FactKey::group_size},
    NamedKey{"Rank", FactKey::rank},
    NamedKey{"Global rank start", FactKey::rank_start},
    NamedKey{"Global rank stride", FactKey::rank_stride},
    NamedKey{"Dst Rank", FactKey::destination},
    NamedKey{"Src Rank", FactKey::source},
    NamedKey{"Seq", FactKey::seq},
    NamedKey{"Comms Id", FactKey::comms_id},
    NamedKey{"In split size", FactKey::in_split},
    NamedKey{"Out split size", FactKey::out_split},
    NamedKey{"Python id", FactKey::python},
    NamedKey{"Sequence number", FactKey::sequence},
    NamedKey{"Input Dims", FactKey::input_dims},
    NamedKey{"Input type", FactKey::input_types},
    NamedKey{"Input Strides", FactKey::input_strides},
    NamedKey{"Concrete Inputs", FactKey::input_values},
};

constexpr size_t kLongestFactName = 33;

// Keys by length: there are one to five of each.
struct KeyIndex {
  std::array<NamedKey, kKeys.size()> keys{};
  std::array<uint8_t, kLongestFactName + 2> first{};

  constexpr KeyIndex() {
    size_t at = 0;
    for (size_t length = 0; length <= kLongestFactName; ++length) {
      first[length] = static_cast<uint8_t>(at);
      for (const NamedKey& key : kKeys) {
        if (key.name.size() == length) keys[at++] = key;
      }
    }
    first[kLongestFactName + 1] = static_cast<uint8_t>(at);
  }
};
constexpr KeyIndex kIndex;
static_assert(kIndex.first[kLongestFactName + 1] == kKeys.size());

struct NamedClass {
  std::string_view name;
  SliceClass slice_class;
};
// Kineto's, then rocprofv3's.
constexpr std::array kClassesByCategory = {
    NamedClass{"kernel", SliceClass::kernel},
    NamedClass{"gpu_memcpy", SliceClass::copy},
    NamedClass{"gpu_memset", SliceClass::fill},
    NamedClass{"gpu_user_annotation", SliceClass::gpu_annotation},
    NamedClass{"cuda_runtime", SliceClass::call},
    NamedClass{"cuda_driver", SliceClass::call},
    NamedClass{"hip_runtime", SliceClass::call},
    NamedClass{"cuda_sync", SliceClass::sync},
    NamedClass{"user_annotation", SliceClass::annotation},
    NamedClass{"cpu_op", SliceClass::op},
    NamedClass{"python_function", SliceClass::python},
    NamedClass{"kernel_dispatch", SliceClass::kernel},
    NamedClass{"memory_copy", SliceClass::copy},
    NamedClass{"hip_api", SliceClass::call},
    NamedClass{"rccl_api", SliceClass::rccl},
    NamedClass{"marker_api", SliceClass::annotation},
};

template <class Row, class Member>
struct FactOf {
  FactKey key;
  Member Row::*member;
};
constexpr std::array kCallTexts = {
    FactOf<CallFacts, StringId>{FactKey::collective, &CallFacts::collective},
    FactOf<CallFacts, StringId>{FactKey::dtype, &CallFacts::dtype},
    FactOf<CallFacts, StringId>{FactKey::group_name, &CallFacts::group_name},
    FactOf<CallFacts, StringId>{FactKey::group_description, &CallFacts::group_description},
    FactOf<CallFacts, StringId>{FactKey::group_ranks, &CallFacts::group_ranks},
    FactOf<CallFacts, StringId>{FactKey::in_split, &CallFacts::in_split},
    FactOf<CallFacts, StringId>{FactKey::out_split, &CallFacts::out_split},
};
constexpr std::array kCallNumbers = {
    FactOf<CallFacts, int64_t>{FactKey::in_elements, &CallFacts::in_elements},
    FactOf<CallFacts, int64_t>{FactKey::out_elements, &CallFacts::out_elements},
    FactOf<CallFacts, int64_t>{FactKey::group_size, &CallFacts::group_size},
    FactOf<CallFacts, int64_t>{FactKey::rank, &CallFacts::rank},
    FactOf<CallFacts, int64_t>{FactKey::rank_start, &CallFacts::rank_start},
    FactOf<CallFacts, int64_t>{FactKey::rank_stride, &CallFacts::rank_stride},
    FactOf<CallFacts, int64_t>{FactKey::destination, &CallFacts::peer},
    FactOf<CallFacts, int64_t>{FactKey::source, &CallFacts::peer},
    FactOf<CallFacts, int64_t>{FactKey::seq, &CallFacts::seq},
    FactOf<CallFacts, int64_t>{FactKey::comms_id, &CallFacts::comms_id},
};
constexpr std::array kOperandTexts = {
    FactOf<OperatorFacts, StringId>{FactKey::input_dims, &OperatorFacts::dims},
    FactOf<OperatorFacts, StringId>{FactKey::input_types, &OperatorFacts::types},
    FactOf<OperatorFacts, StringId>{FactKey::input_strides, &OperatorFacts::strides},
    FactOf<OperatorFacts, StringId>{FactKey::input_values, &OperatorFacts::values},
};

int32_t narrow_fact(int64_t number) { return static_cast<int32_t>(std::clamp<int64_t>(number, -1, INT32_MAX)); }

// "Agent-4" -> 4
int32_t number_behind_text(std::string_view text) {
  constexpr size_t kMostDigits = 9;
  const size_t last = text.find_last_not_of("0123456789");
  const std::string_view digits = text.substr(last == std::string_view::npos ? 0 : last + 1);
  int64_t number = -1;
  return digits.size() <= kMostDigits && read_integer(digits, number) ? static_cast<int32_t>(number) : -1;
}

int32_t agent_of(const FactValue& value) {
  return value.is_text ? number_behind_text(value.text) : narrow_fact(value.number);
}

}  // namespace

FactKey fact_key(std::string_view name) {
  if (name.size() > kLongestFactName) return FactKey::none;
  for (size_t i = kIndex.first[name.size()]; i < kIndex.first[name.size() + 1]; ++i) {
    if (kIndex.keys[i].name == name) return kIndex.keys[i].key;
  }
  return FactKey::none;
}

SliceClass slice_class_of_category(std::string_view category) {
  const auto* const known = std::find_if(kClassesByCategory.begin(), kClassesByCategory.end(),
                                         [&](const NamedClass& c) { return c.name == category; });
  return known == kClassesByCategory.end() ? SliceClass::nothing : known->slice_class;
}

StringId FactTables::intern(std::string_view text) {
  const size_t known = texts.size();
  const StringId id = texts.intern(text);
  if (texts.size() > known) bytes += bytes_of_string(text);
  return id;
}

int64_t FactValue::integer() const {
  int64_t value = -1;
  if (is_number) return number;
  uint64_t bits = 0;
  if (!is_text || read_integer(text, value)) return value;
  return read_unsigned(text, bits) ? static_cast<int64_t>(bits) : -1;
}

void FactGatherer::begin() {
  facts_ = {};
  if (has_call_) call_ = {};
  if (has_operands_) operands_ = {};
  has_call_ = has_operands_ = false;
}

bool FactGatherer::wants_list(FactKey key) {
  switch (key) {
    case FactKey::group_ranks:
    case FactKey::in_split:
    case FactKey::out_split:
    case FactKey::input_dims:
    case FactKey::input_types:
    case FactKey::input_strides:
    case FactKey::input_values:
      return true;
    default:
      return false;
  }
}

void FactGatherer::add(FactKey key, const FactValue& value) {
  if (key < FactKey::collective) return add_plain(key, value);
  for (const auto& [of, member] : kCallTexts) {
    if (of != key) continue;
    const bool none = FactGatherer::wants_list(key) && value.text == "[]";
    if (!none) call_.*member = tables_.intern(value.text);
    has_call_ = true;
    return;
  }
  for (const auto& [of, member] : kCallNumbers) {
    if (of != key) continue;
    call_.*member = value.integer();
    has_call_ = true;
    return;
  }
  for (const auto& [of, member] : kOperandTexts) {
    if (of != key) continue;
    facts_.is_operator = true;
    if (!tables_.details) return;
    operands_.*member = tables_.intern(value.text);
    has_operands_ = true;
    return;
  }
  add_plain(key, value);
}

void FactGatherer::add_plain(FactKey key, const FactValue& value) {
  const auto is = [&](SliceClass slice_class) {
    if (facts_.slice_class == SliceClass::open) facts_.slice_class = slice_class;
  };
  switch (key) {
    case FactKey::correlation:
      facts_.correlation = value.integer();
      return;
    case FactKey::external_id:
      facts_.external_id = value.integer();
      return;
    case FactKey::device:
      facts_.device = narrow_fact(value.integer());
      return;
    case FactKey::agent:
    case FactKey::destination_agent:
      facts_.of_rocm = true;
      facts_.device = agent_of(value);
      return;
    case FactKey::source_agent:
      facts_.source_device = agent_of(value);
      return;
    case FactKey::stream:
      facts_.stream = narrow_fact(value.integer());
      return;
    case FactKey::queue:
      if (facts_.stream < 0) facts_.stream = narrow_fact(value.integer());
      return;
    case FactKey::bytes:
      facts_.bytes = std::max<int64_t>(value.integer(), -1);
      return;
    case FactKey::callback:
      return is(SliceClass::call);
    case FactKey::sync_kind:
      return is(SliceClass::sync);
    case FactKey::python:
      return is(SliceClass::python);
    case FactKey::wait_on_stream:
      facts_.waits_on_stream = narrow_fact(value.integer());
      return;
    case FactKey::recorded_by:
      facts_.recorded_by = value.integer();
      return;
    case FactKey::sequence:
      facts_.sequence = narrow_fact(value.integer());
      facts_.is_operator = true;
      return;
    default:
      return;
  }
}

// A type alone, or a rank, is no collective.
const EventFacts& FactGatherer::take() {
  if (has_call_ && (call_.collective.known() || call_.group_name.known())) {
    facts_.call = static_cast<int32_t>(tables_.calls.size());
    tables_.calls.push_back(call_);
  }
  if (has_operands_) {
    facts_.operands = static_cast<int32_t>(tables_.operands.size());
    tables_.operands.push_back(operands_);
  }
  return facts_;
}

}  // namespace skewscope::ingest
