// What the process that reads strangers' traces may still do: compute, read the traces, write its output.
#pragma once

#include <cstdint>
#include <string>

#include "skewscope/base/result.h"

namespace skewscope::gather {

struct Sandbox {
  std::string readable, writable;  // folders, with all below them
  uint64_t memory = 0;             // bytes of address space
  uint64_t cpu_seconds = 0;
  uint64_t room = 0;  // largest file in bytes; 0: a bound against accidents alone
};

// Binds this process and its children for good: limits of memory, processor time, file size and descriptors; no new
// program or process, no socket, no signal to another process and no look into it (seccomp); no file but those below
// the two folders and what the system tells about itself (Landlock). Call with one thread. Returns what the kernel
// could not give, as text for the log ("" if nothing); an error where a layer that it has refuses.
Result<std::string> enter_sandbox(const Sandbox& sandbox);

}  // namespace skewscope::gather
