#include "event_skeleton.h"

namespace skewscope::ingest {

const SkeletonMethods* fastest_skeletons() {
  const SkeletonMethods* avx512 = avx512_skeletons();
  return avx512 != nullptr ? avx512 : avx2_skeletons();
}

bool EventSkeleton::take(std::string_view event) {
  if (event.size() > kLargestEvent) return false;
  behind_[0] = 0;
  const TakenSkeleton taken = methods_->take(event, text_.data(), behind_.data() + 1);
  size_ = taken.size;
  runs_ = taken.runs;
  hash_ = taken.hash;
  return true;
}

bool EventSkeleton::take_expected(std::string_view event, std::string_view expected) {
  if (event.size() > kLargestEvent) return false;
  behind_[0] = 0;
  runs_ = methods_->take_expected(event, expected, behind_.data() + 1);
  return runs_ != SkeletonMethods::kOther;
}

}  // namespace skewscope::ingest
