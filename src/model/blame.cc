#include "skewscope/model/blame.h"

#include <numeric>

namespace skewscope {

const char* to_string(LateCause cause) {
  switch (cause) {
    case LateCause::slower_kernels:
      return "slower_kernels";
    case LateCause::other_kernels:
      return "other_kernels";
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
