// How a library moves the bytes of a collective: what NCCL and RCCL choose by size and topology, and their tuning sets.
// Source: NCCL's names of NCCL_ALGO and NCCL_PROTO.
#pragma once

#include <cstdint>
#include <string_view>

namespace skewscope {

enum class Algorithm : uint8_t { unknown, tree, ring, collnet_direct, collnet_chain, nvls, nvls_tree, pat };
enum class Protocol : uint8_t { unknown, ll, ll128, simple };

// "" for unknown.
const char* to_string(Algorithm algorithm);
const char* to_string(Protocol protocol);

// Whatever the case of its letters; unknown: none of these names.
Algorithm algorithm_called(std::string_view name);
Protocol protocol_called(std::string_view name);

}  // namespace skewscope
