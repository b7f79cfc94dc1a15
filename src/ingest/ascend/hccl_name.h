// What the name of a collective of HCCL tells: "hcom_allReduce__612_4_1@5862276093215481612" is the fourth call in the
// group whose name has that hash, of which 612 are the last digits. The count runs over all operations of the group and
// is the same on its members: it is the sequence number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace skewscope::ingest {

struct HcclName {
  std::string_view operation;     // "hcom_allReduce_", what calls of one kind have in common
  std::string_view call;          // without the group: "hcom_allReduce__612_4_1"
  std::string_view group_digits;  // "612"; "": the name has none
  std::string_view group;         // behind "@"; "": not told
  int64_t sequence = -1;          // -1: not told
};
HcclName read_hccl_name(std::string_view name);

// As PyTorch calls it, for CommOperation::collective_name; "": no operation that is known.
std::string_view collective_name_of(std::string_view hccl_operation);
// "FP32", "BFP16" as PyTorch calls them; "": not known.
std::string_view dtype_of_hccl(std::string_view type);

// The number by which the profiler's text calls a group that its database calls by name: two sums over the letters.
std::string hash_of_group(std::string_view name);

}  // namespace skewscope::ingest
