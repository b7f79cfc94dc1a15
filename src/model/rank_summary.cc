#include "skewscope/model/rank_summary.h"

#include <algorithm>

namespace skewscope {

std::string check_invariants(const RankSummary& s) {
  if (std::min({s.total_ns, s.compute_ns, s.communication_ns, s.memcpy_ns, s.exposed_communication_ns,
                s.exposed_memcpy_ns, s.busy_ns, s.idle_ns, s.orphan_rows, s.orphan_ns}) < 0) {
    return "a part is negative";
  }
  if (s.compute_ns + s.exposed_communication_ns + s.exposed_memcpy_ns + s.idle_ns != s.total_ns) {
    return "compute, exposed communication, exposed memcpy and idle do not sum to the window";
  }
  if (s.busy_ns + s.idle_ns != s.total_ns) return "busy and idle do not sum to the window";
  if (s.micro_idle_ns < 0 || s.micro_idle_ns > s.idle_ns) return "more idle in short gaps than there is";
  if (std::min(s.idle_host_wait_ns, s.idle_kernel_wait_ns) < 0 ||
      s.idle_host_wait_ns + s.idle_kernel_wait_ns > s.idle_ns) {
    return "more idle by cause than there is";
  }
  if (s.exposed_communication_ns > s.communication_ns) return "more communication exposed than there is";
  return "";
}

}  // namespace skewscope
