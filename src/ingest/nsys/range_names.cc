// Sources: PyTorch (getNvtxStr, of emit_nvtx); the ranges of NCCL; TraceMe names of XLA and its thunks.
#include "range_names.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "src/ingest/content/row_names.h"

namespace skewscope::ingest {
namespace {

using namespace std::string_view_literals;

struct KindWord {
  std::string_view text;
  CollectiveKind kind;
};

// Behind "nccl".
constexpr std::array kNcclCalls = {
    KindWord{"AllReduce"sv, CollectiveKind::all_reduce},
    KindWord{"AllGather"sv, CollectiveKind::all_gather},
    KindWord{"ReduceScatter"sv, CollectiveKind::reduce_scatter},
    KindWord{"AlltoAll"sv, CollectiveKind::all_to_all},
    KindWord{"AllToAll"sv, CollectiveKind::all_to_all},
    KindWord{"AllToAllv"sv, CollectiveKind::all_to_all},
    KindWord{"Broadcast"sv, CollectiveKind::broadcast},
    KindWord{"Bcast"sv, CollectiveKind::broadcast},
    KindWord{"Reduce"sv, CollectiveKind::reduce},
    KindWord{"Gather"sv, CollectiveKind::gather},
    KindWord{"Scatter"sv, CollectiveKind::scatter},
    KindWord{"Send"sv, CollectiveKind::send},
    KindWord{"Recv"sv, CollectiveKind::recv},
};

// How names of HLO operations begin.
constexpr std::array kXlaOperations = {
    KindWord{"all-reduce"sv, CollectiveKind::all_reduce},
    KindWord{"all-gather"sv, CollectiveKind::all_gather},
    KindWord{"reduce-scatter"sv, CollectiveKind::reduce_scatter},
    KindWord{"all-to-all"sv, CollectiveKind::all_to_all},
    KindWord{"ragged-all-to-all"sv, CollectiveKind::all_to_all},
    KindWord{"collective-permute"sv, CollectiveKind::send_recv},
    KindWord{"collective-broadcast"sv, CollectiveKind::broadcast},
};

// The value of "key=" in "#a=b,key=value#"; "": none. Values may hold commas inside brackets, keys stand last.
std::string_view value_of(std::string_view text, std::string_view key) {
  const size_t at = text.rfind(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + key.size());
  return rest.substr(0, rest.find_first_of(",#"));
}

RangeName xla_range(std::string_view text) {
  RangeName range;
  range.of = RangeName::Of::xla_other;
  range.name = text;
  if (text.starts_with("TSL:XlaModule:"sv)) {
    const std::string_view module = value_of(text, "hlo_module="sv);
    if (module.empty()) return range;
    range.of = RangeName::Of::xla_module;
    range.name = module;
  } else if (text.starts_with("TSL:Thunk:"sv)) {
    const std::string_view operation = value_of(text, "hlo_op="sv);
    if (operation.empty()) return range;
    range.of = RangeName::Of::xla_operation;
    range.name = operation;
    if (operation.find("-done"sv) != std::string_view::npos) return range;
    for (const KindWord& word : kXlaOperations) {
      if (operation.starts_with(word.text)) range.kind = word.kind;
    }
  }
  return range;
}

RangeName nccl_range(std::string_view text) {
  RangeName range;
  range.of = RangeName::Of::nccl_other;
  range.name = text;
  const std::string_view name = text.substr(4);
  if (name == "GroupStart"sv) range.of = RangeName::Of::nccl_group_start;
  if (name == "GroupEnd"sv || name == "GroupSimulateEnd"sv) range.of = RangeName::Of::nccl_group_end;
  for (const KindWord& word : kNcclCalls) {
    if (name != word.text) continue;
    range.of = RangeName::Of::nccl_call;
    range.kind = word.kind;
  }
  return range;
}

void read_arguments(std::string_view arguments, RangeName& range) {
  constexpr std::string_view kSequence = "seq = ", kSizes = "sizes = ";
  if (const size_t at = arguments.find(kSequence); at != std::string_view::npos) {
    std::from_chars(arguments.data() + at + kSequence.size(), arguments.data() + arguments.size(), range.sequence);
  }
  if (const size_t at = arguments.find(kSizes); at != std::string_view::npos) {
    const std::string_view rest = arguments.substr(at + kSizes.size());
    const size_t end = rest.find("]]"sv);
    if (rest.starts_with("[["sv) && end != std::string_view::npos) range.sizes = rest.substr(0, end + 2);
  }
}

}  // namespace

RangeName read_range_name(std::string_view text) {
  if (text.starts_with("TSL:"sv)) return xla_range(text);
  if (text.starts_with("nccl"sv) && text.size() > 4 && text[4] >= 'A' && text[4] <= 'Z') return nccl_range(text);
  RangeName range;
  size_t end = text.size();
  for (const std::string_view mark : {", seq = "sv, ", op_id = "sv, ", sizes = "sv})
    end = std::min(end, text.find(mark));
  range.name = text.substr(0, end);
  if (end < text.size()) {
    range.of = RangeName::Of::operation;
    read_arguments(text.substr(end), range);
  }
  if (range.name == "record_param_comms"sv) range.of = RangeName::Of::record;
  if (const auto kind = kind_from_annotation(range.name)) {
    range.of = RangeName::Of::annotation;
    range.kind = *kind;
  }
  return range;
}

}  // namespace skewscope::ingest
