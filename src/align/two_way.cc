#include "two_way.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

#include "collectives/open_end.h"
#include "skewscope/base/middle.h"

namespace skewscope::align {
namespace {

struct Transfer {
  size_t instance;
  int64_t bytes;
  int64_t at_ns;                   // end on the lower rank's clock
  int64_t difference_ns;           // receiver's end - sender's end
  int64_t sender_ns, receiver_ns;  // durations
};

struct Directions {
  std::vector<Transfer> up, down;  // low sends, high sends
};

using LinkKey = std::tuple<SessionId, CommunicatorId, Rank, Rank>;

std::map<LinkKey, Directions> transfers(const JobTrace& job, const InstanceTable& table) {
  std::map<LinkKey, Directions> links;
  for (size_t id = 0; id < table.instances.size(); ++id) {
    const CollectiveInstance& i = table.instances[id];
    if (i.kind != CollectiveKind::send || i.member_count != 2) continue;
    const CallRef &a = table.members[i.first_member], &b = table.members[i.first_member + 1];
    const CallSpan &x = table.spans[i.first_member], &y = table.spans[i.first_member + 1];
    if (lacks_end(x.duration_ns) || lacks_end(y.duration_ns)) continue;
    const Rank low = job[a.trace].rank, high = job[b.trace].rank;  // members are sorted by trace
    Directions& link = links[{i.session, i.communicator, low, high}];
    const bool up = i.special == 0;
    const CallSpan &sender = up ? x : y, &receiver = up ? y : x;
    (up ? link.up : link.down)
        .push_back(
            {id, i.bytes, x.end().ns, receiver.end().ns - sender.end().ns, sender.duration_ns, receiver.duration_ns});
  }
  return links;
}

// Without those that a buffer took: both of these are as short as a transfer, and their ends tell nothing. Where some
// sender of a size waited, none of it is buffered.
void drop_buffered(std::vector<Transfer>& transfers) {
  constexpr double kWaited = 10, kHeldOn = 5;  // times the shortest, the longest of the senders
  struct Senders {
    int64_t shortest_ns = INT64_MAX, longest_ns = 0;
  };
  std::map<int64_t, Senders> by_size;
  for (const Transfer& t : transfers) {
    Senders& senders = by_size[t.bytes];
    senders.shortest_ns = std::min(senders.shortest_ns, t.sender_ns);
    senders.longest_ns = std::max(senders.longest_ns, t.sender_ns);
  }
  std::erase_if(transfers, [&](const Transfer& t) {
    const auto shortest = static_cast<double>(by_size[t.bytes].shortest_ns);
    const auto longest = static_cast<double>(by_size[t.bytes].longest_ns);
    return longest <= kWaited * shortest && static_cast<double>(t.receiver_ns) < kHeldOn * longest;
  });
}

// Median over transfers of one direction of the half sum with the neighbour in time of the other.
int64_t bias_of(std::vector<Transfer> up, std::vector<Transfer> down) {
  const auto earlier = [](const Transfer& a, const Transfer& b) {
    return std::tie(a.at_ns, a.instance) < std::tie(b.at_ns, b.instance);
  };
  std::sort(up.begin(), up.end(), earlier);
  std::sort(down.begin(), down.end(), earlier);
  std::vector<int64_t> half_sums;
  size_t near = 0;
  for (const Transfer& t : up) {
    while (near + 1 < down.size() &&
           std::llabs(down[near + 1].at_ns - t.at_ns) <= std::llabs(down[near].at_ns - t.at_ns)) {
      ++near;
    }
    half_sums.push_back((t.difference_ns + down[near].difference_ns) / 2);
  }
  return take_middle(half_sums);
}

int64_t usual_ns(const std::vector<Transfer>& transfers) {
  std::vector<int64_t> shorter;
  for (const Transfer& t : transfers) shorter.push_back(std::min(t.sender_ns, t.receiver_ns));
  return usual_transfer_ns(std::move(shorter));
}

}  // namespace

int64_t usual_transfer_ns(std::vector<int64_t> shorter_ns) {
  std::erase_if(shorter_ns, [](int64_t ns) { return ns <= 0; });
  if (shorter_ns.empty()) return 0;
  return take_nth(shorter_ns, shorter_ns.size() / 10);
}

std::vector<TwoWayLink> two_way_links(const JobTrace& job, const InstanceTable& table) {
  std::vector<TwoWayLink> links;
  for (auto& [key, directions] : transfers(job, table)) {
    drop_buffered(directions.up);
    drop_buffered(directions.down);
    if (directions.up.empty() || directions.down.empty()) continue;
    const auto& [session, communicator, low, high] = key;
    TwoWayLink link{session, communicator, low, high, bias_of(directions.up, directions.down), {}};
    const int64_t usual = std::max(usual_ns(directions.up), usual_ns(directions.down));
    if (std::llabs(link.bias_ns) / kMostTransfers > usual) continue;
    for (const Transfer& t : directions.up) link.instances.push_back(t.instance);
    for (const Transfer& t : directions.down) link.instances.push_back(t.instance);
    std::sort(link.instances.begin(), link.instances.end());
    links.push_back(std::move(link));
  }
  return links;
}

}  // namespace skewscope::align
