#include "stream_order.h"

#include <algorithm>

namespace skewscope::blame {
namespace {

constexpr int64_t kMostStreamWaits = 1024;  // that one question looks at
constexpr size_t kMostStreams = 32;         // that they lead to

}  // namespace

StreamOrder::StreamOrder(const RankTrace& trace) : waits_(trace.stream_waits) {
  if (waits_.empty()) return;
  for (size_t row = 0; row < trace.gpu.size(); ++row) {
    if (trace.gpu.launch[row] < 0) continue;
    const int32_t stream = trace.gpu.stream[row];
    const int64_t launch_ns = trace.launches.start[static_cast<size_t>(trace.gpu.launch[row])].ns;
    const auto at = std::lower_bound(first_launches_.begin(), first_launches_.end(), std::pair(stream, INT64_MIN));
    if (at == first_launches_.end() || at->first != stream) {
      first_launches_.emplace(at, stream, launch_ns);
    } else {
      at->second = std::min(at->second, launch_ns);
    }
  }
}

StreamOrder::Tie StreamOrder::tie(int32_t stream, int64_t launch_ns, int32_t other, int64_t earlier_ns) {
  if (stream == other) return Tie::waits;
  reached_.clear();
  bool open = reach(stream, launch_ns, earlier_ns);
  auto wait = std::lower_bound(waits_.begin(), waits_.end(), launch_ns,
                               [](const StreamWait& known, int64_t ns) { return known.start.ns < ns; });
  for (int64_t looked_at = 0; wait != waits_.begin() && std::prev(wait)->start.ns > earlier_ns; ++looked_at) {
    --wait;
    if (looked_at == kMostStreamWaits || reached_.size() > kMostStreams) return Tie::open;
    if (reached(wait->stream) < wait->start.ns || wait->recorded.ns < earlier_ns) continue;
    if (wait->source == other) return Tie::waits;
    open |= wait->source < 0 || reach(wait->source, wait->recorded.ns, earlier_ns);
  }
  return open ? Tie::open : Tie::none;
}

bool StreamOrder::reach(int32_t stream, int64_t until_ns, int64_t earlier_ns) {
  const auto known =
      std::find_if(reached_.begin(), reached_.end(), [&](const Reach& one) { return one.stream == stream; });
  if (known == reached_.end()) {
    reached_.push_back({stream, until_ns});
  } else {
    known->until_ns = std::max(known->until_ns, until_ns);
  }
  const auto at = std::lower_bound(first_launches_.begin(), first_launches_.end(), std::pair(stream, INT64_MIN));
  const bool ran = at != first_launches_.end() && at->first == stream;
  return !ran || earlier_ns < at->second;
}

int64_t StreamOrder::reached(int32_t stream) const {
  const auto known =
      std::find_if(reached_.begin(), reached_.end(), [&](const Reach& one) { return one.stream == stream; });
  return known == reached_.end() ? INT64_MIN : known->until_ns;
}

}  // namespace skewscope::blame
