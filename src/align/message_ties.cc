#include "message_ties.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "collectives/open_end.h"
#include "skewscope/base/disjoint_sets.h"
#include "skewscope/base/middle.h"

namespace skewscope::align {
namespace {

constexpr size_t kMostStrata = 16, kLeastPerStratum = 16;  // of time
constexpr int64_t kAsQuick = 2;                            // times the shortest round trip: those of other strata
constexpr int64_t kLongWait = 10;                          // times the usual transfer: a receiver that waited
constexpr int64_t kBuffered = 5;     // times it, where its sender leaves it to a buffer; wrong by twice as much
constexpr int64_t kAsSure = 2;       // times the largest doubt of a rank's ties
constexpr size_t kMostPartners = 4;  // that a rank is joined to beyond what joins all

struct TimedMessage {
  MessageTie tie;
  int64_t at_ns;      // on the lower rank's clock
  int64_t passed_ns;  // receiver's end - sender's start
  bool up;            // the lower rank sends
  bool waited;        // the receiver held on, in a kernel of this message alone
};
using Messages = std::vector<TimedMessage>;

using PairKey = std::tuple<SessionId, CommunicatorId, Rank, Rank>;

struct Pair {
  Messages messages;
  bool batches = false;
  std::array<int64_t, 2> usual_ns = {0, 0};  // what a message takes at least, down, up
};

class MessageSorter {
 public:
  MessageSorter(const JobTrace& job, const InstanceTable& table) : job_(job), table_(table) {}

  std::map<PairKey, Pair> collect() {
    for (size_t id = 0; id < table_.instances.size(); ++id) {
      const CollectiveInstance& i = table_.instances[id];
      if (i.kind == CollectiveKind::send && i.member_count == 2 && i.special >= 0) {
        const auto from = i.first_member + static_cast<uint32_t>(i.special), to = 2 * i.first_member + 1 - from;
        if (!lacks_end(table_.spans[to].duration_ns)) add(id, from, to, true);
      } else if (i.kind == CollectiveKind::coalesced) {
        for (uint32_t row = i.first_member; row < i.first_member + i.member_count; ++row) {
          const auto links = links_of(table_, row);
          if (lacks_end(table_.spans[row].duration_ns)) continue;
          for (const BatchLink& link : links) {
            if (link.receives) add(id, link.partner, row, links.size() == 1).batches = true;
          }
        }
      }
    }
    for (auto& [key, pair] : pairs_) finish(pair);
    return std::move(pairs_);
  }

 private:
  Pair& add(size_t id, uint32_t from, uint32_t to, bool alone) {
    const CollectiveInstance& instance = table_.instances[id];
    const Rank sender = job_[table_.members[from].trace].rank, receiver = job_[table_.members[to].trace].rank;
    const CallSpan &sent = table_.spans[from], &received = table_.spans[to];
    const bool up = sender < receiver;
    Pair& pair =
        pairs_[{instance.session, instance.communicator, std::min(sender, receiver), std::max(sender, receiver)}];
    pair.messages.push_back(
        {{id, from, to, 0}, up ? sent.start.ns : received.end().ns, received.end().ns - sent.start.ns, up, alone});
    return pair;
  }

  void finish(Pair& pair) const {
    const auto duration = [&](uint32_t row) { return table_.spans[row].duration_ns; };
    for (const bool up : {false, true}) {
      std::vector<int64_t> shorter;
      for (const TimedMessage& m : pair.messages) {
        if (m.up == up) shorter.push_back(std::min(duration(m.tie.from), duration(m.tie.to)));
      }
      pair.usual_ns[up] = usual_transfer_ns(std::move(shorter));
    }
    for (TimedMessage& m : pair.messages) {
      m.waited = m.waited && duration(m.tie.to) / kLongWait >= std::max<int64_t>(1, pair.usual_ns[m.up]);
    }
    std::sort(pair.messages.begin(), pair.messages.end(), [](const TimedMessage& a, const TimedMessage& b) {
      return std::tie(a.at_ns, a.tie.to, a.tie.from) < std::tie(b.at_ns, b.tie.to, b.tie.from);
    });
  }

  const JobTrace& job_;
  const InstanceTable& table_;
  std::map<PairKey, Pair> pairs_;
};

struct Stratum {
  Messages::const_iterator begin, end;
  std::array<int64_t, 2> least_ns = {INT64_MAX, INT64_MAX};  // that messages took down, up

  bool both_ways() const { return least_ns[0] < INT64_MAX && least_ns[1] < INT64_MAX; }
  int64_t round_trip_ns() const { return least_ns[0] + least_ns[1]; }
};

// Strata of equally many messages each. `counts` says which of them tell how long a message takes.
template <class Counts>
std::vector<Stratum> strata_of(const Messages& messages, const Counts& counts) {
  const size_t count = std::clamp<size_t>(messages.size() / kLeastPerStratum, 1, kMostStrata);
  std::vector<Stratum> strata;
  for (size_t s = 0; s < count; ++s) {
    Stratum& stratum = strata.emplace_back();
    stratum.begin = messages.begin() + static_cast<ptrdiff_t>(s * messages.size() / count);
    stratum.end = messages.begin() + static_cast<ptrdiff_t>((s + 1) * messages.size() / count);
    for (auto m = stratum.begin; m != stratum.end; ++m) {
      if (counts(*m)) stratum.least_ns[m->up] = std::min(stratum.least_ns[m->up], m->passed_ns);
    }
  }
  return strata;
}

// Keeps those of a stratum that took `longer_ns` more than the quickest at most.
template <class Counts>
void keep_quick(const Stratum& stratum, const Counts& counts, int64_t longer_ns, TiedPair& pair) {
  for (auto m = stratum.begin; m != stratum.end; ++m) {
    if (!counts(*m)) continue;
    const int64_t excess_ns = m->passed_ns - stratum.least_ns[m->up];
    if (excess_ns > longer_ns) continue;
    pair.ties.push_back(m->tie);
    pair.ties.back().excess_ns = static_cast<double>(excess_ns);
  }
}

// False where one of the two never waited for the other, or the stamps contradict cause and effect.
bool tie_by_round_trips(const Pair& own, TiedPair& pair) {
  const auto any = [](const TimedMessage&) { return true; };
  std::vector<Stratum> strata = strata_of(own.messages, any);
  std::erase_if(strata, [](const Stratum& stratum) { return !stratum.both_ways(); });
  if (strata.empty()) return false;
  int64_t round_trip_ns = INT64_MAX;
  for (const Stratum& stratum : strata) round_trip_ns = std::min(round_trip_ns, stratum.round_trip_ns());
  const int64_t usual_ns = std::max(own.usual_ns[0], own.usual_ns[1]);
  if (round_trip_ns < 0 || round_trip_ns / kMostTransfers > usual_ns) return false;
  pair.transfer_ns = pair.hop_ns = round_trip_ns / 2;
  for (const Stratum& stratum : strata) {
    if (stratum.round_trip_ns() / kAsQuick <= round_trip_ns) keep_quick(stratum, any, round_trip_ns, pair);
  }
  return true;
}

// `transfer_ns`: of the communicator's other pairs; 0: not known.
bool tie_one_way(const Pair& own, int64_t transfer_ns, TiedPair& pair) {
  std::array<int64_t, 2> waited = {0, 0};
  for (const TimedMessage& m : own.messages) waited[m.up] += m.waited ? 1 : 0;
  const bool up = waited[1] > waited[0];
  if (waited[up] == 0 || own.usual_ns[up] == 0) return false;
  pair.transfer_ns = std::max(transfer_ns, kBuffered * own.usual_ns[up]);
  pair.hop_ns = transfer_ns > 0 ? pair.transfer_ns : 2 * pair.transfer_ns;
  const auto counts = [up](const TimedMessage& m) { return m.waited && m.up == up; };
  int64_t least_ns = INT64_MAX;
  for (const TimedMessage& m : own.messages) least_ns = counts(m) ? std::min(least_ns, m.passed_ns) : least_ns;
  if (0 <= least_ns && least_ns <= pair.transfer_ns + pair.hop_ns) pair.transfer_ns = least_ns;
  for (const Stratum& stratum : strata_of(own.messages, counts)) keep_quick(stratum, counts, 2 * pair.hop_ns, pair);
  return true;
}

// The pairs that join all, the surest first; of the others those about as sure, no more than a few per rank: each has a
// bias of its own, and costs the fit as much.
std::vector<TiedPair> closest(const JobTrace& job, std::vector<TiedPair> pairs) {
  struct Partners {
    size_t count = 0;
    int64_t hop_ns = 0;  // the largest
  };
  std::sort(pairs.begin(), pairs.end(), [](const TiedPair& a, const TiedPair& b) {
    return std::tie(a.hop_ns, a.session, a.communicator, a.low, a.high) <
           std::tie(b.hop_ns, b.session, b.communicator, b.low, b.high);
  });
  std::map<std::pair<SessionId, Rank>, size_t> number;
  for (const RankTrace& trace : job.traces) number.emplace(std::pair(trace.session, trace.rank), number.size());
  DisjointSets sets(number.size());
  std::vector<Partners> partners(number.size());
  std::erase_if(pairs, [&](const TiedPair& pair) {
    const size_t ranks[] = {number.at({pair.session, pair.low}), number.at({pair.session, pair.high})};
    const bool joins = sets.unite(ranks[0], ranks[1]);
    for (const size_t rank : ranks) {
      const Partners& own = partners[rank];
      if (!joins && (own.count >= kMostPartners || pair.hop_ns > kAsSure * own.hop_ns)) return true;
    }
    for (const size_t rank : ranks) partners[rank] = {partners[rank].count + 1, pair.hop_ns};
    return false;
  });
  return pairs;
}

}  // namespace

std::vector<TiedPair> message_ties(const JobTrace& job, const InstanceTable& table,
                                   const std::vector<TwoWayLink>& by_ends) {
  std::set<PairKey> tied;
  for (const TwoWayLink& link : by_ends) tied.emplace(link.session, link.communicator, link.low, link.high);
  std::map<PairKey, Pair> pairs = MessageSorter(job, table).collect();
  std::erase_if(pairs, [&](const auto& pair) { return !pair.second.batches && tied.count(pair.first) > 0; });
  std::vector<TiedPair> found;
  std::map<std::pair<SessionId, CommunicatorId>, std::vector<int64_t>> transfers;
  std::map<PairKey, TiedPair> open;  // not by round trips
  for (const auto& [key, own] : pairs) {
    const auto& [session, communicator, low, high] = key;
    TiedPair pair{session, communicator, low, high, 0, 0, {}};
    if (tie_by_round_trips(own, pair)) {
      transfers[{session, communicator}].push_back(pair.transfer_ns);
      found.push_back(std::move(pair));
    } else if (tied.count(key) == 0) {
      open.emplace(key, std::move(pair));
    }
  }
  for (auto& [key, pair] : open) {
    const std::vector<int64_t>& known = transfers[{pair.session, pair.communicator}];
    const int64_t transfer_ns = known.empty() ? 0 : middle_of(known);
    if (tie_one_way(pairs.at(key), transfer_ns, pair)) found.push_back(std::move(pair));
  }
  found = closest(job, std::move(found));
  for (TiedPair& pair : found) {
    std::sort(pair.ties.begin(), pair.ties.end(), [](const MessageTie& a, const MessageTie& b) {
      return std::tie(a.instance, a.to, a.from) < std::tie(b.instance, b.to, b.from);
    });
  }
  std::sort(found.begin(), found.end(), [](const TiedPair& a, const TiedPair& b) {
    return std::tie(a.session, a.communicator, a.low, a.high) < std::tie(b.session, b.communicator, b.low, b.high);
  });
  return found;
}

}  // namespace skewscope::align
