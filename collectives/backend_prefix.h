// Backends of torch.distributed, as ranges around one collective name them: "nccl:all_reduce".
#pragma once

#include <cstddef>
#include <string_view>

namespace skewscope {

// The length of the backend's name and colon that a range begins with; 0: none.
constexpr size_t backend_prefix(std::string_view name) {
  constexpr std::string_view kPrefixes[] = {
      "nccl:", "gloo:", "rccl:", "hccl:", "xccl:", "mccl:", "cncl:", "ucc:", "mpi:"};
  for (const std::string_view prefix : kPrefixes) {
    if (name.substr(0, prefix.size()) == prefix) return prefix.size();
  }
  return 0;
}

// Whether its collectives run on the host: a range of theirs lasts from the call to its end.
constexpr bool is_host_backend(std::string_view name) {
  return name.starts_with("gloo:") || name.starts_with("mpi:") || name.starts_with("ucc:");
}

}  // namespace skewscope
