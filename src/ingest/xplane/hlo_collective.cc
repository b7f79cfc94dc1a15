#include "hlo_collective.h"

#include <algorithm>
#include <array>

namespace skewscope::ingest {
namespace {

constexpr std::array kOperations = {
    HloOperation{"all-reduce", "allreduce", true},
    HloOperation{"all-gather", "_allgather_base", true},
    HloOperation{"reduce-scatter", "_reduce_scatter_base", true},
    HloOperation{"all-to-all", "all_to_all", false},
    HloOperation{"ragged-all-to-all", "all_to_allv", false},
    HloOperation{"collective-broadcast", "broadcast", false},
    HloOperation{"collective-permute", "send_recv", false},
};

struct ElementType {
  int64_t number;         // PrimitiveType of xla_data.proto
  std::string_view word;  // in the text of an instruction
  std::string_view dtype;
  int64_t bits;
};

constexpr std::array kElementTypes = {
    ElementType{1, "pred", "Bool", 8},
    ElementType{2, "s8", "Char", 8},
    ElementType{3, "s16", "Short", 16},
    ElementType{4, "s32", "Int", 32},
    ElementType{5, "s64", "Long", 64},
    ElementType{6, "u8", "Byte", 8},
    ElementType{7, "u16", "UInt16", 16},
    ElementType{8, "u32", "UInt32", 32},
    ElementType{9, "u64", "UInt64", 64},
    ElementType{10, "f16", "Half", 16},
    ElementType{11, "f32", "Float", 32},
    ElementType{12, "f64", "Double", 64},
    ElementType{15, "c64", "ComplexFloat", 64},
    ElementType{16, "bf16", "BFloat16", 16},
    ElementType{18, "c128", "ComplexDouble", 128},
    ElementType{19, "f8e5m2", "Float8_e5m2", 8},
    ElementType{20, "f8e4m3fn", "Float8_e4m3fn", 8},
    ElementType{21, "s4", "", 4},
    ElementType{22, "u4", "", 4},
    ElementType{23, "f8e4m3b11fnuz", "Float8_e4m3fnuz", 8},
    ElementType{24, "f8e5m2fnuz", "Float8_e5m2fnuz", 8},
    ElementType{25, "f8e4m3fnuz", "Float8_e4m3fnuz", 8},
    ElementType{28, "f8e4m3", "Float8_e4m3fn", 8},
    ElementType{29, "f8e3m4", "Float8_e4m3fn", 8},
};

}  // namespace

const HloOperation* hlo_operation(std::string_view opcode) {
  if (is_start(opcode)) opcode.remove_suffix(std::string_view("-start").size());
  if (is_done(opcode)) opcode.remove_suffix(std::string_view("-done").size());
  const auto* const found =
      std::find_if(kOperations.begin(), kOperations.end(), [&](const HloOperation& o) { return o.opcode == opcode; });
  return found == kOperations.end() ? nullptr : found;
}

bool is_start(std::string_view opcode) { return opcode.ends_with("-start"); }
bool is_done(std::string_view opcode) { return opcode.ends_with("-done"); }

// As XLA reads a collective (GetCollectiveOpGroupMode): one without a channel stays inside a partition.
GroupIds group_ids(const HloOperation& operation, bool has_channel, bool uses_global_ids) {
  if (!has_channel) return GroupIds::replicas;
  if (!operation.has_global_ids) return GroupIds::partitions;
  return uses_global_ids ? GroupIds::flat : GroupIds::replicas_everywhere;
}

std::string_view dtype_of_number(int64_t element_type) {
  const auto* const found = std::find_if(kElementTypes.begin(), kElementTypes.end(),
                                         [&](const ElementType& type) { return type.number == element_type; });
  return found == kElementTypes.end() ? std::string_view() : found->dtype;
}

int64_t bytes_of_elements(int64_t element_type, int64_t elements) {
  const auto* const found = std::find_if(kElementTypes.begin(), kElementTypes.end(),
                                         [&](const ElementType& type) { return type.number == element_type; });
  if (found == kElementTypes.end() || elements < 0 || elements > INT64_MAX / found->bits - 8) return -1;
  return (elements * found->bits + 7) / 8;
}

std::string_view dtype_of_word(std::string_view element_type) {
  const auto* const found = std::find_if(kElementTypes.begin(), kElementTypes.end(),
                                         [&](const ElementType& type) { return type.word == element_type; });
  return found == kElementTypes.end() ? std::string_view() : found->dtype;
}

}  // namespace skewscope::ingest
