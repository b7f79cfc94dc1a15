// A program of XLA, as its HloProto in a profile tells it: its devices, and what its instructions are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hlo_collective.h"

namespace skewscope::ingest {

// What is kept of each instruction.
struct HloInstruction {
  std::string category;      // "loop fusion", "custom-call __cublas$gemm", "dot"
  int64_t input_bytes = -1;  // of its operands, by their shapes; -1: not known
};

struct HloModule {
  std::string name;  // "jit_step"
  int64_t replicas = 1, partitions = 1;
  std::vector<int64_t> devices;  // replica * partitions + partition -> global id of the device; empty: not told
  std::vector<HloCollective> collectives;
  std::unordered_map<std::string, int32_t> collective_of;        // row in collectives, by name of the instruction
  std::unordered_map<std::string, HloInstruction> instructions;  // by name

  // Row in collectives; -1: none.
  int32_t collective(const std::string& instruction) const;
  int64_t bytes() const;
};

// Of the bytes of an HloProto; false: they are damaged, and what is whole is in `module`. Instructions that only run
// another computation (an asynchronous start, a fusion) are the collective in it.
bool read_hlo_module(std::string_view hlo_proto, HloModule& module);

// The members of a collective's group that holds `device`, as global ids, in the order of the group; empty: none does,
// or the groups are not known. `device` below 0: not known; then the only group, if there is but one.
DeviceGroup group_of_device(const HloModule& module, const HloCollective& collective, int64_t device);

// From whom a device receives in a permutation, and to whom it sends; global ids, -1: nobody.
struct PermutePeers {
  int64_t source = -1, target = -1;
};
PermutePeers permute_peers(const HloModule& module, const HloCollective& collective, int64_t device);

}  // namespace skewscope::ingest
