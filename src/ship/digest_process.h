// Makes a digest in a process of its own: what reads a whole trace may take memory and time, and must take neither from
// the job nor, when it fails, the agent with it.
#pragma once

#include <string>

#include "cpu_share.h"
#include "skewscope/base/result.h"

namespace skewscope::ship {

struct DigestProcess {
  std::string program;                             // skewscope
  int descriptor = -1;                             // of the trace; the process has it as kTraceDescriptor
  std::string source;                              // path of the trace, as the process sees it
  std::string folder;                              // gets the digest, named after the source
  uint64_t most_memory = 0;                        // address space
  uint64_t most_bytes = 0;                         // of the digest
  std::chrono::seconds most_cpu{};                 // time of a processor
  std::chrono::steady_clock::time_point deadline;  // of all
};
inline constexpr int kTraceDescriptor = 3;

// Until it has ended; `go_on` false ends it. It is idle while the agent has used up its share. Errors:
// resource_limit (it needed more than it may have), no_input (no digest can be made of this), internal (cannot be
// started).
Result<Done> run_digest_process(const DigestProcess& wanted, CpuShare& cpu, const std::function<bool()>& go_on);

}  // namespace skewscope::ship
