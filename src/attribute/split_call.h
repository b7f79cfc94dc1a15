// Wait, transfer and blame of one instance.
//
// Definitions (DEFINITIONS.md, section 3): for a collective that needs every member before any can finish,
//   last_arrival = max start;  wait_r = clip(last_arrival - start_r, 0, duration_r);  transfer_r = duration_r - wait_r.
// For one-to-all, all-to-one and point-to-point calls the arrival waited for is that of collectives/synchronization.h.
// A member that exchanges messages waits for the last of the partners that it has to wait for.
// Blame: in the gap between two consecutive arrivals, those who are there wait and those still awaited are charged in
// equal parts (airport game: Littlechild & Owen 1973). Charges sum to the waits exactly; the nanoseconds that do not
// divide go to the last.
// Cost: O(n log n) per instance of n members.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/batch_waits.h"
#include "collectives/synchronization.h"

namespace skewscope::attribute {

// One member's call on the common clock.
struct Arrival {
  int64_t start_ns = 0;
  int64_t duration_ns = 0;

  int64_t end_ns() const { return start_ns + duration_ns; }
};

struct InstanceSplit {
  std::vector<int64_t> wait_ns;    // per member
  std::vector<int64_t> caused_ns;  // per member: wait of others charged to it
  int64_t last_arrival_ns = 0;     // the arrival that completion waited for
  size_t last = 0;                 // the member charged most directly: the last to arrive, the root, the sender
  int64_t lead_ns = 0;             // how much later than the next one it was
};

// `special`: position of the root; none where not known. `awaited`: of messages, by waiter. nullopt: who waits for whom
// is not known.
std::optional<InstanceSplit> split_instance(Dependency dependency, const std::vector<Arrival>& arrivals,
                                            std::optional<size_t> special, const std::vector<Awaited>& awaited = {});

}  // namespace skewscope::attribute
