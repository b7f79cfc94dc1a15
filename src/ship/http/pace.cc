#include "pace.h"

#include <algorithm>

namespace skewscope::ship {

using std::chrono::nanoseconds;

nanoseconds Pace::book(uint64_t bytes, Moment now) {
  if (rate_ == 0) return nanoseconds(0);
  const std::lock_guard lock(mutex_);
  free_ = std::max(free_, now - std::chrono::milliseconds(100));
  const nanoseconds wait = std::max(nanoseconds(0), nanoseconds(free_ - now));
  free_ += nanoseconds(static_cast<int64_t>(static_cast<double>(bytes) * 1e9 / static_cast<double>(rate_)));
  return wait;
}

uint64_t Pace::portion() const { return rate_ == 0 ? UINT64_MAX : std::max<uint64_t>(1, rate_ / 4); }

}  // namespace skewscope::ship
