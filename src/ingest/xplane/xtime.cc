#include <algorithm>

#include "xplane_rows.h"

namespace skewscope::ingest {
namespace {

constexpr int64_t kPsPerNs = 1000;
constexpr int64_t kUnixTime = 500'000'000'000'000'000;  // ns: a line that counts from 1970 is later than this
constexpr int64_t kFurthest = 4'000'000'000'000'000'000;

}  // namespace

// Lines count from the beginning of the profile, or, in old ones, from 1970.
LocalNs XTime::at(int64_t timestamp_ns, int64_t offset_ps) const {
  const int64_t down = offset_ps >= 0 ? offset_ps / kPsPerNs : -((-(offset_ps + 1)) / kPsPerNs) - 1;
  const int64_t line = std::clamp<int64_t>(timestamp_ns, -kUnixTime, kFurthest);
  const int64_t base = line >= kUnixTime ? 0 : std::clamp<int64_t>(profile_start_ns, 0, kFurthest);
  return LocalNs{std::min(base + line, kFurthest) + down};
}

}  // namespace skewscope::ingest
