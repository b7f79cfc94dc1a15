#include "collectives/batch_waits.h"

#include <algorithm>
#include <queue>

namespace skewscope {
namespace {

constexpr int64_t kLong = 2;  // times the shortest call: no transfer takes so long that all partners are there for

}  // namespace

std::vector<Awaited> awaited_in_batch(std::span<const BatchCall> calls, std::span<const BatchEnd> ends) {
  std::vector<Awaited> awaited;
  for (const BatchEnd& end : ends) {
    if (end.receives || is_held(calls[end.call].end_ns, calls[end.partner].start_ns)) {
      awaited.push_back({end.call, end.partner});
    }
  }
  std::sort(awaited.begin(), awaited.end());
  awaited.erase(std::unique(awaited.begin(), awaited.end()), awaited.end());

  // Per call: the arrival that held it up, and whose that was.
  std::vector<int64_t> held_until_ns;
  std::vector<size_t> by;
  int64_t shortest_ns = INT64_MAX;
  for (size_t c = 0; c < calls.size(); ++c) {
    held_until_ns.push_back(calls[c].start_ns);
    by.push_back(c);
    shortest_ns = std::min(shortest_ns, calls[c].end_ns - calls[c].start_ns);
  }
  const auto hold = [&](size_t call, int64_t until_ns, size_t whose) {
    held_until_ns[call] = until_ns;
    by[call] = whose;
  };
  for (const Awaited& a : awaited) {
    if (calls[a.partner].start_ns > held_until_ns[a.waiter]) hold(a.waiter, calls[a.partner].start_ns, a.partner);
  }
  std::vector<std::vector<size_t>> waiters(calls.size());
  for (const Awaited& a : awaited) waiters[a.partner].push_back(a.waiter);
  std::priority_queue<std::pair<int64_t, size_t>> open;  // the longest held first: each is settled when it comes up
  for (size_t c = 0; c < calls.size(); ++c) open.emplace(held_until_ns[c], c);
  std::vector<Awaited> further;
  while (!open.empty()) {
    const auto [until_ns, partner] = open.top();
    open.pop();
    if (until_ns != held_until_ns[partner]) continue;
    for (const size_t waiter : waiters[partner]) {
      const bool stays_long = until_ns - held_until_ns[waiter] > kLong * shortest_ns;
      if (!stays_long || until_ns > calls[waiter].end_ns || by[partner] == waiter) continue;
      hold(waiter, until_ns, by[partner]);
      further.push_back({waiter, by[partner]});
      open.emplace(until_ns, waiter);
    }
  }
  awaited.insert(awaited.end(), further.begin(), further.end());
  std::sort(awaited.begin(), awaited.end());
  awaited.erase(std::unique(awaited.begin(), awaited.end()), awaited.end());
  return awaited;
}

}  // namespace skewscope
