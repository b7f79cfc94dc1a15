#include "split_call.h"

#include <algorithm>

namespace skewscope::attribute {
namespace {

// Charges the waits of `waiters` to those who arrived later, gap by gap.
void charge(const std::vector<Arrival>& arrivals, const std::vector<size_t>& order, InstanceSplit& split) {
  // waited[g]: time that members waited in the gap before arrival order[g], all waiters together.
  std::vector<int64_t> waited(order.size(), 0);
  int64_t waiters = 0;
  std::vector<size_t> clipped;  // whose wait ends before the last arrival: they do not fill all later gaps
  for (size_t g = 0; g < order.size(); ++g) {
    const Arrival& now = arrivals[order[g]];
    if (g > 0) waited[g] = waiters * (now.start_ns - arrivals[order[g - 1]].start_ns);
    const int64_t full = split.last_arrival_ns - now.start_ns;
    if (split.wait_ns[order[g]] > 0) ++waiters;
    if (split.wait_ns[order[g]] > 0 && split.wait_ns[order[g]] < full) clipped.push_back(g);
  }
  for (const size_t c : clipped) {
    const int64_t until = arrivals[order[c]].start_ns + split.wait_ns[order[c]];
    for (size_t g = c + 1; g < order.size(); ++g) {
      const int64_t begin = std::max(until, arrivals[order[g - 1]].start_ns);
      waited[g] -= std::max<int64_t>(0, arrivals[order[g]].start_ns - begin);
    }
  }
  int64_t each = 0, remainder = 0;
  for (size_t g = 1; g < order.size(); ++g) {
    const auto awaited = static_cast<int64_t>(order.size() - g);
    each += waited[g] / awaited;
    remainder += waited[g] % awaited;
    split.caused_ns[order[g]] += each;
  }
  split.caused_ns[order.back()] += remainder;
}

std::vector<size_t> by_arrival(const std::vector<Arrival>& arrivals) {
  std::vector<size_t> order(arrivals.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return arrivals[a].start_ns < arrivals[b].start_ns; });
  return order;
}

int64_t clip(int64_t wait_ns, const Arrival& a) { return std::clamp<int64_t>(wait_ns, 0, a.duration_ns); }

void wait_for_everyone(const std::vector<Arrival>& arrivals, const std::vector<size_t>& order, InstanceSplit& split) {
  for (size_t i = 0; i < arrivals.size(); ++i) {
    split.wait_ns[i] = clip(split.last_arrival_ns - arrivals[i].start_ns, arrivals[i]);
  }
  charge(arrivals, order, split);
}

// Everyone else waits for `root` alone, who is charged.
void wait_for_root(const std::vector<Arrival>& arrivals, size_t root, InstanceSplit& split) {
  split.last_arrival_ns = arrivals[root].start_ns;
  split.last = root;
  split.lead_ns = 0;
  for (size_t i = 0; i < arrivals.size(); ++i) {
    if (i == root) continue;
    split.wait_ns[i] = clip(arrivals[root].start_ns - arrivals[i].start_ns, arrivals[i]);
    split.caused_ns[root] += split.wait_ns[i];
    split.lead_ns = std::max(split.lead_ns, split.wait_ns[i]);
  }
}

// The root alone waits, for those who arrive after it.
void root_waits(const std::vector<Arrival>& arrivals, const std::vector<size_t>& order, size_t root,
                InstanceSplit& split) {
  split.wait_ns[root] = clip(split.last_arrival_ns - arrivals[root].start_ns, arrivals[root]);
  std::vector<size_t> later;
  for (const size_t i : order) {
    if (i == root || (!later.empty() && arrivals[i].start_ns >= arrivals[root].start_ns)) later.push_back(i);
  }
  if (later.size() > 1) charge(arrivals, later, split);
}

// Each waits for the last of its partners; in each gap between two of them those still awaited are charged.
void wait_for_partners(const std::vector<Arrival>& arrivals, const std::vector<Awaited>& links, InstanceSplit& split) {
  split.lead_ns = 0;
  for (size_t low = 0, high = 0; low < links.size(); low = high) {
    std::vector<size_t> partners;
    for (high = low; high < links.size() && links[high].waiter == links[low].waiter; ++high) {
      partners.push_back(links[high].partner);
    }
    std::sort(partners.begin(), partners.end(),
              [&](size_t a, size_t b) { return arrivals[a].start_ns < arrivals[b].start_ns; });
    const Arrival& own = arrivals[links[low].waiter];
    const int64_t wait_ns = clip(arrivals[partners.back()].start_ns - own.start_ns, own);
    split.wait_ns[links[low].waiter] = wait_ns;
    split.lead_ns = std::max(split.lead_ns, wait_ns);
    int64_t waited_ns = 0, each = 0, remainder = 0;  // until the partner before came
    for (size_t k = 0; k < partners.size(); ++k) {
      const int64_t until_ns = std::clamp<int64_t>(arrivals[partners[k]].start_ns - own.start_ns, waited_ns, wait_ns);
      const auto awaited = static_cast<int64_t>(partners.size() - k);
      each += (until_ns - waited_ns) / awaited;
      remainder += (until_ns - waited_ns) % awaited;
      split.caused_ns[partners[k]] += each;
      waited_ns = until_ns;
    }
    split.caused_ns[partners.back()] += remainder;
  }
  for (size_t i = 0; i < arrivals.size(); ++i) {
    if (split.caused_ns[i] > split.caused_ns[split.last]) split.last = i;
  }
  split.last_arrival_ns = arrivals[split.last].start_ns;
}

bool is_known(Dependency dependency, std::optional<size_t> special, const std::vector<Awaited>& awaited) {
  switch (dependency) {
    case Dependency::everyone:
      return true;
    case Dependency::root:
    case Dependency::root_waits:
      return special.has_value();
    case Dependency::partners:
      return !awaited.empty();
    case Dependency::none:
      return false;
  }
  return false;
}

}  // namespace

std::optional<InstanceSplit> split_instance(Dependency dependency, const std::vector<Arrival>& arrivals,
                                            std::optional<size_t> special, const std::vector<Awaited>& awaited) {
  if (arrivals.size() < 2 || !is_known(dependency, special, awaited)) return std::nullopt;
  InstanceSplit split;
  split.wait_ns.assign(arrivals.size(), 0);
  split.caused_ns.assign(arrivals.size(), 0);
  const std::vector<size_t> order = by_arrival(arrivals);
  split.last = order.back();
  split.last_arrival_ns = arrivals[order.back()].start_ns;
  split.lead_ns = split.last_arrival_ns - arrivals[order[order.size() - 2]].start_ns;
  switch (dependency) {
    case Dependency::everyone:
      wait_for_everyone(arrivals, order, split);
      break;
    case Dependency::root:
      wait_for_root(arrivals, *special, split);
      break;
    case Dependency::root_waits:
      root_waits(arrivals, order, *special, split);
      break;
    case Dependency::partners:
      wait_for_partners(arrivals, awaited, split);
      break;
    case Dependency::none:
      break;
  }
  return split;
}

}  // namespace skewscope::attribute
