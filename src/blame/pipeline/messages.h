// The messages of an island, from either end.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "src/blame/replay/replay.h"

namespace skewscope::blame {

struct Message {
  uint32_t from = 0, to = 0;            // traces
  uint32_t sent_row = 0, come_row = 0;  // of table.members

  auto operator<=>(const Message&) const = default;
};

// A message as one rank sees it.
struct MessageEvent {
  uint32_t row = 0;   // of table.members
  uint32_t peer = 0;  // trace
  bool sends = false;
};

// Sorted.
std::vector<Message> all_messages(const ReplayPlan& plan, int32_t island);

// Messages per trace whose other end is not there. Where steps were recorded, what was launched in front of them is cut
// off by the recording.
std::vector<int64_t> lone_messages(const JobView& view);

// Events of each trace in the order of its program; what one batch sends comes first.
std::vector<std::vector<MessageEvent>> events_by_trace(const JobView& view, const std::vector<Message>& messages);

}  // namespace skewscope::blame
