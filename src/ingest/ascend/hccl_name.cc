// Sources: the names in profiles of torch_npu 2.1 to 2.7; the hash is that of Ascend's mstt
// (msprof_analyze, communication groups), which a test holds against groups that are told both ways.
#include "hccl_name.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "src/ingest/text/number_text.h"

namespace skewscope::ingest {
namespace {

struct HcclWord {
  std::string_view hccl, torch;
};

// Folded: lower case, without "hcom_" before and underscores behind.
constexpr std::array kHcclOperations = {
    HcclWord{"allreduce", "allreduce"},
    HcclWord{"allgather", "_allgather_base"},
    HcclWord{"allgatherv", "allgather"},
    HcclWord{"reducescatter", "_reduce_scatter_base"},
    HcclWord{"reducescatterv", "reduce_scatter"},
    HcclWord{"broadcast", "broadcast"},
    HcclWord{"reduce", "reduce"},
    HcclWord{"scatter", "scatter"},
    HcclWord{"gather", "gather"},
    HcclWord{"alltoall", "all_to_all"},
    HcclWord{"alltoallv", "all_to_allv"},
    HcclWord{"alltoallvc", "all_to_allv"},
    HcclWord{"barrier", "barrier"},
    HcclWord{"send", "send"},
    HcclWord{"receive", "recv"},
    HcclWord{"recv", "recv"},
    HcclWord{"batchsendrecv", "coalesced"},
};

constexpr std::array kHcclTypes = {
    HcclWord{"INT8", "Char"},
    HcclWord{"INT16", "Short"},
    HcclWord{"INT32", "Int"},
    HcclWord{"INT64", "Long"},
    HcclWord{"UINT8", "Byte"},
    HcclWord{"UINT16", "UInt16"},
    HcclWord{"UINT32", "UInt32"},
    HcclWord{"UINT64", "UInt64"},
    HcclWord{"FP16", "Half"},
    HcclWord{"FP32", "Float"},
    HcclWord{"FP64", "Double"},
    HcclWord{"BFP16", "BFloat16"},
    HcclWord{"FP8E4M3", "Float8_e4m3fn"},
    HcclWord{"FP8E5M2", "Float8_e5m2"},
};

// The digits behind the last underscore, which are cut off; empty, and nothing is cut off: there are none.
std::string_view cut_number(std::string_view& name) {
  const size_t mark = name.rfind('_');
  if (mark == std::string_view::npos || mark + 1 == name.size()) return {};
  const std::string_view digits = name.substr(mark + 1);
  if (!std::all_of(digits.begin(), digits.end(), is_digit)) return {};
  name = name.substr(0, mark);
  return digits;
}

}  // namespace

HcclName read_hccl_name(std::string_view name) {
  HcclName result;
  const size_t at = name.find('@');
  result.call = name.substr(0, at);
  if (at != std::string_view::npos) result.group = name.substr(at + 1);
  std::string_view rest = result.operation = result.call;
  const std::string_view part = cut_number(rest), sequence = cut_number(rest), group = cut_number(rest);
  if (part.empty() || sequence.empty() || group.empty()) return result;
  if (!read_integer(sequence, result.sequence)) result.sequence = -1;
  result.group_digits = group;
  result.operation = rest;
  return result;
}

std::string_view collective_name_of(std::string_view hccl_operation) {
  std::string word(hccl_operation);
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const std::string_view prefix : {std::string_view("hcom_"), std::string_view("hccl")}) {
    if (word.starts_with(prefix)) word.erase(0, prefix.size());
  }
  std::erase(word, '_');
  const auto* const known = std::find_if(kHcclOperations.begin(), kHcclOperations.end(),
                                         [&](const HcclWord& each) { return each.hccl == word; });
  return known == kHcclOperations.end() ? std::string_view() : known->torch;
}

std::string_view dtype_of_hccl(std::string_view type) {
  const auto* const known =
      std::find_if(kHcclTypes.begin(), kHcclTypes.end(), [&](const HcclWord& each) { return each.hccl == type; });
  return known == kHcclTypes.end() ? std::string_view() : known->torch;
}

std::string hash_of_group(std::string_view name) {
  uint32_t high = 0, low = 0;
  for (const char c : name) {
    high = high * 29 + static_cast<unsigned char>(c);
    low = low * 131 + static_cast<unsigned char>(c);
  }
  return std::to_string((uint64_t{high} << 32) | low);
}

}  // namespace skewscope::ingest
