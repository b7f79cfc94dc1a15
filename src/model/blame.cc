#include "skewscope/model/blame.h"

#include <algorithm>
#include <numeric>

namespace skewscope {

const char* to_string(LateCause cause) {
  switch (cause) {
    case LateCause::slower_kernels:
      return "slower_kernels";
    case LateCause::other_kernels:
      return "other_kernels";
    case LateCause::other_shapes:
      return "other_shapes";
    case LateCause::copies:
      return "copies";
    case LateCause::transfer_elsewhere:
      return "transfer_elsewhere";
    case LateCause::wait_elsewhere:
      return "wait_elsewhere";
    case LateCause::host:
      return "host";
    case LateCause::idle:
      return "idle";
    case LateCause::program:
      return "program";
    case LateCause::unknown:
      return "unknown";
  }
  return "";
}

const char* to_string(BlockedBy by) {
  switch (by) {
    case BlockedBy::nothing:
      return "";
    case BlockedBy::transfer:
      return "transfer";
    case BlockedBy::arrival_skew:
      return "arrival_skew";
    case BlockedBy::mixed:
      return "mixed";
    case BlockedBy::inconclusive:
      return "inconclusive";
  }
  return "";
}

// Waiting is between what is left of it if uncertainties are right at their worst and calls that are not split all
// transfer, and what it is if these all wait.
BlockedBy blocked_by(const BlockedParts& parts) {
  const int64_t all = parts.sum_ns();
  if (all <= 0) return BlockedBy::nothing;
  const int64_t least = std::max<int64_t>(0, parts.wait_ns - parts.error_ns);
  const int64_t most = std::min(all, parts.wait_ns + parts.unattributed_ns + parts.error_ns);
  if (3 * (most - least) > all) return BlockedBy::inconclusive;
  const int64_t twice_wait = least + most;  // 2 x the middle
  if (3 * twice_wait <= 2 * all) return BlockedBy::transfer;
  return 3 * twice_wait >= 4 * all ? BlockedBy::arrival_skew : BlockedBy::mixed;
}

std::string check_invariants(const Blame& blame, const Decomposition& d) {
  if (blame.traces.size() != d.traces.size()) return "blame has another number of traces";
  int64_t direct = 0, origin = 0;
  for (size_t t = 0; t < blame.traces.size(); ++t) {
    const TraceBlame& own = blame.traces[t];
    const auto& books = own.origin_by_cause;
    if (own.direct_ns != d.traces[t].delay_caused_ns) return "a direct charge is not the decomposition's";
    if (std::accumulate(books.begin(), books.end(), int64_t{0}) != own.origin_ns)
      return "causes do not sum to an origin";
    if (own.origin_ns < 0) return "an origin is negative";
    direct += own.direct_ns;
    origin += own.origin_ns;
  }
  return direct == origin ? "" : "origins do not sum to the direct charges";
}

}  // namespace skewscope
