// Who waits for whom in a batch of sends and receives, from when its calls ran.
//
// A receiver waits for its sender. A sender waits for its receiver where it was held until that came: small messages
// are buffered, larger ones take a rendezvous. And who stays on long after all its partners have come waits for those
// that these wait for: a kernel works through its messages in order, so that one that is held up holds up the next.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace skewscope {

struct BatchCall {
  int64_t start_ns = 0, end_ns = 0;  // on the common clock
};

// A message, of either end.
struct BatchEnd {
  size_t call, partner;
  bool receives = false;
};

struct Awaited {
  size_t waiter, partner;

  friend auto operator<=>(const Awaited&, const Awaited&) = default;
};

// Whether a sender was held until its receiver came: one who left before did not wait, one who was still there did.
constexpr bool is_held(int64_t sender_end_ns, int64_t receiver_start_ns) { return receiver_start_ns <= sender_end_ns; }

// By waiter, each pair once. O(n log n) in the messages.
std::vector<Awaited> awaited_in_batch(std::span<const BatchCall> calls, std::span<const BatchEnd> ends);

}  // namespace skewscope
