// A collective as a program of HLO writes it, before anybody asks which device runs it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "replica_groups.h"

namespace skewscope::ingest {

// What the numbers of its groups mean (CollectiveOpGroupMode of xla_data.proto).
enum class GroupIds : uint8_t {
  replicas,             // of the own partition
  partitions,           // of the own replica
  replicas_everywhere,  // of all partitions
  flat,                 // replica * partitions + partition
};

struct HloCollective {
  std::string_view operation;  // as PyTorch calls it: "allreduce"
  std::string_view dtype;      // as PyTorch calls it: "Float"; "" for one that it has not
  int64_t elements = -1;       // of what it gives this device; -1: not known, or of several types
  GroupIds ids = GroupIds::replicas;
  std::optional<DeviceGroups>
      groups;  // none written: all devices; of a permutation, pairs (from, to); nullopt: unreadable
  bool permutes = false;
};

// What opcodes of collectives have in common with or without "-start", "-done".
struct HloOperation {
  std::string_view opcode;      // "all-reduce"
  std::string_view operation;   // "allreduce"
  bool has_global_ids = false;  // its groups are of replicas or flat; else of replicas or partitions
};
// nullptr: no collective.
const HloOperation* hlo_operation(std::string_view opcode);
bool is_start(std::string_view opcode);
bool is_done(std::string_view opcode);

GroupIds group_ids(const HloOperation& operation, bool has_channel, bool uses_global_ids);

// What so many elements of a type of xla_data.proto take; -1: not known.
int64_t bytes_of_elements(int64_t element_type, int64_t elements);

// An element type of xla_data.proto as PyTorch calls it; "": it has no such.
std::string_view dtype_of_number(int64_t element_type);
std::string_view dtype_of_word(std::string_view element_type);  // "bf16"

}  // namespace skewscope::ingest
