#include "retry.h"

#include <algorithm>

namespace skewscope::ship {
namespace {

constexpr int kNotKnown = 401, kForbidden = 403, kNotFound = 404, kNoSpace = 507;
constexpr int kLargestDoubling = 7;  // 0.5 s * 2^7 > 60 s

}  // namespace

bool is_about_token(int status, About about) {
  return status == kNotKnown || status == kForbidden || (status == kNotFound && about == About::creation);
}

Advice advise(int status, About about) {
  if (status >= 200 && status < 300) return Advice::go_on;
  if (status == 0 || status == 408 || status == 425 || status == 429) return Advice::wait;
  if (status >= 500 && status != 501 && status != 505) return Advice::wait;
  if (is_about_token(status, about)) return Advice::wait;
  if (about == About::creation) return Advice::refuse;
  if (status == 409 || status == 460) return Advice::resync;
  return status == kNotFound || status == 410 ? Advice::start_over : Advice::refuse;
}

std::chrono::milliseconds Backoff::failed(int status, std::optional<std::chrono::seconds> retry_after) {
  const int64_t most = std::min(kLongestWait.count(), kFirstWait.count() << failures_);
  failures_ = std::min(failures_ + 1, kLargestDoubling);
  const std::chrono::milliseconds random(static_cast<int64_t>(random_() * static_cast<double>(most)));
  if (retry_after) return random + std::min(*retry_after, kLongestRetryAfter);
  return status == kNoSpace ? random + kNoSpaceWait : random;
}

}  // namespace skewscope::ship
