#include "collectives/kind.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

#include "collectives/backend_prefix.h"

namespace skewscope {
namespace {

// Lower case, without leading underscores: "_allgather_base" and "ALLGATHER_BASE" are one spelling.
std::string folded(std::string_view name) {
  while (!name.empty() && name.front() == '_') name.remove_prefix(1);
  std::string text(name);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

struct Spelling {
  std::string_view text;
  CollectiveKind kind;
};

// What c10d, its backends, torch.distributed's functional layer and torchcomms write as an operation's name, folded.
constexpr std::array kOperationNames = {
    Spelling{"allreduce", CollectiveKind::all_reduce},
    Spelling{"all_reduce", CollectiveKind::all_reduce},
    Spelling{"all_reduce_barrier", CollectiveKind::barrier},
    Spelling{"allreduce_coalesced", CollectiveKind::all_reduce},
    Spelling{"all_reduce_coalesced", CollectiveKind::all_reduce},
    Spelling{"allreduce_sparse", CollectiveKind::all_reduce},
    Spelling{"all_reduce_sparse", CollectiveKind::all_reduce},
    Spelling{"sparse_all_reduce", CollectiveKind::all_reduce},
    Spelling{"allgather", CollectiveKind::all_gather},
    Spelling{"all_gather", CollectiveKind::all_gather},
    Spelling{"allgather_base", CollectiveKind::all_gather},
    Spelling{"all_gather_base", CollectiveKind::all_gather},
    Spelling{"allgather_coalesced", CollectiveKind::all_gather},
    Spelling{"all_gather_into_tensor", CollectiveKind::all_gather},
    Spelling{"all_gather_into_tensor_coalesced", CollectiveKind::all_gather},
    Spelling{"allgather_into_tensor_coalesced", CollectiveKind::all_gather},
    Spelling{"all_gather_single", CollectiveKind::all_gather},
    Spelling{"all_gather_v", CollectiveKind::all_gather},
    Spelling{"reduce_scatter", CollectiveKind::reduce_scatter},
    Spelling{"reducescatter", CollectiveKind::reduce_scatter},
    Spelling{"reduce_scatter_base", CollectiveKind::reduce_scatter},
    Spelling{"reduce_scatter_tensor", CollectiveKind::reduce_scatter},
    Spelling{"reduce_scatter_tensor_coalesced", CollectiveKind::reduce_scatter},
    Spelling{"reduce_scatter_coalesced", CollectiveKind::reduce_scatter},
    Spelling{"reduce_scatter_single", CollectiveKind::reduce_scatter},
    Spelling{"reduce_scatter_v", CollectiveKind::reduce_scatter},
    Spelling{"all_to_all", CollectiveKind::all_to_all},
    Spelling{"alltoall", CollectiveKind::all_to_all},
    Spelling{"alltoall_base", CollectiveKind::all_to_all},
    Spelling{"all_to_all_base", CollectiveKind::all_to_all},
    Spelling{"all_to_all_single", CollectiveKind::all_to_all},
    Spelling{"all_to_all_v_single", CollectiveKind::all_to_all},
    Spelling{"all_to_allv", CollectiveKind::all_to_all},
    Spelling{"all_to_all(v)", CollectiveKind::all_to_all},
    Spelling{"alltoallv", CollectiveKind::all_to_all},
    Spelling{"broadcast", CollectiveKind::broadcast},
    Spelling{"reduce", CollectiveKind::reduce},
    Spelling{"gather", CollectiveKind::gather},
    Spelling{"scatter", CollectiveKind::scatter},
    Spelling{"barrier", CollectiveKind::barrier},
    Spelling{"monitoredbarrier", CollectiveKind::barrier},
    Spelling{"monitored_barrier", CollectiveKind::barrier},
    Spelling{"send", CollectiveKind::send},
    Spelling{"isend", CollectiveKind::send},
    Spelling{"recv", CollectiveKind::recv},
    Spelling{"irecv", CollectiveKind::recv},
    Spelling{"recvanysource", CollectiveKind::recv},
    Spelling{"recv_any_source", CollectiveKind::recv},
    Spelling{"send_recv", CollectiveKind::send_recv},
    Spelling{"coalesced", CollectiveKind::coalesced},
    Spelling{"nccl:coalesced", CollectiveKind::coalesced},
    Spelling{"batch_isend_irecv", CollectiveKind::coalesced},
    Spelling{"batch_op_issue", CollectiveKind::coalesced},  // torchcomms
};

// What the same layers record besides: nothing that runs on a GPU.
constexpr std::array<std::string_view, 6> kNoOperations = {"", "wait", "init", "finalize", "reconfigure", "split"};

struct TypeSpelling {
  std::string_view text;
  DType type;
};

// c10's names, then C++ names as record_function writes them (with and without "c10::").
constexpr std::array kTypeNames = {
    TypeSpelling{"Float", DType::float32},
    TypeSpelling{"Half", DType::float16},
    TypeSpelling{"BFloat16", DType::bfloat16},
    TypeSpelling{"Double", DType::float64},
    TypeSpelling{"Long", DType::int64},
    TypeSpelling{"Int", DType::int32},
    TypeSpelling{"Short", DType::int16},
    TypeSpelling{"Char", DType::int8},
    TypeSpelling{"Byte", DType::uint8},
    TypeSpelling{"bytes", DType::bytes},
    TypeSpelling{"Bool", DType::boolean},
    TypeSpelling{"ComplexFloat", DType::complex64},
    TypeSpelling{"ComplexDouble", DType::complex128},
    TypeSpelling{"UInt16", DType::uint16},
    TypeSpelling{"UInt32", DType::uint32},
    TypeSpelling{"UInt64", DType::uint64},
    TypeSpelling{"float", DType::float32},
    TypeSpelling{"double", DType::float64},
    TypeSpelling{"long int", DType::int64},
    TypeSpelling{"long", DType::int64},
    TypeSpelling{"int", DType::int32},
    TypeSpelling{"short int", DType::int16},
    TypeSpelling{"short", DType::int16},
    TypeSpelling{"signed char", DType::int8},
    TypeSpelling{"char", DType::int8},
    TypeSpelling{"unsigned char", DType::uint8},
    TypeSpelling{"bool", DType::boolean},
    TypeSpelling{"c10::complex<float>", DType::complex64},
    TypeSpelling{"c10::complex<double>", DType::complex128},
    TypeSpelling{"unsigned short", DType::uint16},
    TypeSpelling{"unsigned int", DType::uint32},
    TypeSpelling{"unsigned long", DType::uint64},
};

// Null where the number is that of no kind. A kind that is added is asked for here by the compiler, as in traffic.cc
// and synchronization.cc.
const char* name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::unknown:
      return "unknown";
    case CollectiveKind::all_reduce:
      return "all_reduce";
    case CollectiveKind::all_gather:
      return "all_gather";
    case CollectiveKind::reduce_scatter:
      return "reduce_scatter";
    case CollectiveKind::all_to_all:
      return "all_to_all";
    case CollectiveKind::broadcast:
      return "broadcast";
    case CollectiveKind::reduce:
      return "reduce";
    case CollectiveKind::gather:
      return "gather";
    case CollectiveKind::scatter:
      return "scatter";
    case CollectiveKind::barrier:
      return "barrier";
    case CollectiveKind::send:
      return "send";
    case CollectiveKind::recv:
      return "recv";
    case CollectiveKind::coalesced:
      return "coalesced";
    case CollectiveKind::send_recv:
      return "send_recv";
  }
  return nullptr;
}

struct ElementType {
  const char* name;  // null: the number is that of no type
  int64_t bytes;
};

ElementType element_type(DType type) {
  switch (type) {
    case DType::unknown:
      return {"unknown", 0};
    case DType::float64:
      return {"float64", 8};
    case DType::float32:
      return {"float32", 4};
    case DType::float16:
      return {"float16", 2};
    case DType::bfloat16:
      return {"bfloat16", 2};
    case DType::float8:
      return {"float8", 1};
    case DType::int64:
      return {"int64", 8};
    case DType::int32:
      return {"int32", 4};
    case DType::int16:
      return {"int16", 2};
    case DType::int8:
      return {"int8", 1};
    case DType::uint8:
      return {"uint8", 1};
    case DType::boolean:
      return {"bool", 1};
    case DType::complex64:
      return {"complex64", 8};
    case DType::complex128:
      return {"complex128", 16};
    case DType::uint16:
      return {"uint16", 2};
    case DType::uint32:
      return {"uint32", 4};
    case DType::uint64:
      return {"uint64", 8};
    case DType::bytes:
      return {"bytes", 1};
  }
  return {nullptr, 0};
}

}  // namespace

bool is_point_to_point(CollectiveKind kind) {
  return kind == CollectiveKind::send || kind == CollectiveKind::recv || kind == CollectiveKind::send_recv;
}

bool carries_messages(CollectiveKind kind) { return is_point_to_point(kind) || kind == CollectiveKind::coalesced; }

bool is_valid(CollectiveKind kind) { return name_of(kind) != nullptr; }

const char* to_string(CollectiveKind kind) {
  const char* name = name_of(kind);
  return name != nullptr ? name : "unknown";
}

std::optional<CollectiveKind> kind_called(std::string_view name) {
  for (uint8_t number = 0; is_valid(static_cast<CollectiveKind>(number)); ++number) {
    const auto kind = static_cast<CollectiveKind>(number);
    if (name == to_string(kind)) return kind;
  }
  return std::nullopt;
}

std::optional<CollectiveKind> kind_from_operation_name(std::string_view name) {
  std::string text = folded(name);
  if (const size_t end = text.find(' '); end != std::string::npos) text.resize(end);  // "send 0->1"
  if (text.size() > 4 && text.compare(text.size() - 4, 4, "_oop") == 0) text.resize(text.size() - 4);
  for (const Spelling& known : kOperationNames) {
    if (text == known.text) return known.kind;
  }
  for (const std::string_view other : kNoOperations) {
    if (text == other) return std::nullopt;
  }
  return CollectiveKind::unknown;
}

std::optional<CollectiveKind> kind_from_annotation(std::string_view name) {
  const size_t prefix = backend_prefix(name);
  if (prefix == 0) return std::nullopt;
  const std::optional<CollectiveKind> kind = kind_from_operation_name(name.substr(prefix));
  return kind == CollectiveKind::unknown ? std::nullopt : kind;
}

const char* to_string(GpuWork work) {
  constexpr const char* kWorks[] = {"compute", "communication", "memcpy", "memset"};
  return kWorks[static_cast<size_t>(work)];
}

bool is_valid(DType type) { return element_type(type).name != nullptr; }

const char* to_string(DType type) {
  const char* name = element_type(type).name;
  return name != nullptr ? name : "unknown";
}

DType dtype_from_name(std::string_view name) {
  for (const TypeSpelling& known : kTypeNames) {
    if (name == known.text) return known.type;
  }
  if (name.substr(0, 5) == "c10::") return dtype_from_name(name.substr(5));
  if (name.substr(0, 6) == "Float8") return DType::float8;
  return DType::unknown;
}

int64_t element_bytes(DType type) { return element_type(type).bytes; }

}  // namespace skewscope
