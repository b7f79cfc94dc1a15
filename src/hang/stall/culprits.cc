// Problem: all ranks but one are in some call; which one?
// Idea: follow who waits for whom. A set of ranks that waits for nobody outside holds a culprit:
// - one rank in no call: its host did not come (missing, or late where it was last before, too);
// - one without a dump: nobody can say more than that others wait for it;
// - one whose GPU does not complete what others completed (stuck);
// - members that are all in one call: one that entered something else, that completed it alone, or whose GPU did not
//   start it where others did; else any of them;
// - a circle: calls of two groups in another order, or one left out. The one that entered fewer calls of a group than
//   members that made the same last call; else the one that did not enter a call in which another
//   of the circle is, where it is one alone; else the one that exchanges waits with most others; else the one whose
//   host was active last before all others; else any. One that waits for ranks without a dump, too, is looked at alike.
// Why certain is rare: what a rank does beyond its recorded calls is not seen. A rank is named for certain only where
// most members of a group came and it did not, or where most entered one operation and it another.
#include "src/hang/stall/culprits.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "src/hang/stall/reasons.h"

namespace skewscope::hang {
namespace {

constexpr size_t kMostCounted = 256;                // culprits whose waiting ranks are counted
constexpr int64_t kClearlyBefore_ns = 500'000'000;  // clocks of hosts agree better

int worth(const Culprit& culprit) { return 2 - static_cast<int>(culprit.certainty); }

class Search {
 public:
  explicit Search(const Evidence& evidence) : evidence_(evidence), table_(evidence.table), graph_(evidence.graph) {
    waited_for_.resize(static_cast<size_t>(table_.ranks()));
    for (int32_t rank = 0; rank < table_.ranks(); ++rank) {
      for (const int32_t other : graph_.waits_for[static_cast<size_t>(rank)])
        waited_for_[static_cast<size_t>(other)].push_back(rank);
    }
  }

  std::vector<Culprit> run() {
    for (const std::vector<int32_t>& set : graph_.last) judge(set);
    for (const std::vector<int32_t>& set : graph_.last_seen) judge_circle(set, true);
    judge_calls();
    name_mismatches();
    name_unread_messages();
    name_unwitnessed();
    return sorted();
  }

 private:
  const Standing& standing(int32_t rank) const { return graph_.standing[static_cast<size_t>(rank)]; }
  bool has_dump(int32_t rank) const { return table_.dump_of[static_cast<size_t>(rank)] != nullptr; }
  const Group& group_at(int32_t number) const { return table_.groups[static_cast<size_t>(number)]; }

  // The better founded of two reasons for one rank stays; of equal ones, the first.
  Culprit& add(Culprit culprit) {
    const auto [place, added] = found_.emplace(culprit.rank, culprit);
    if (!added && worth(culprit) > worth(place->second)) place->second = std::move(culprit);
    return place->second;
  }

  void judge(const std::vector<int32_t>& set) {
    if (set.size() > 1) return judge_circle(set, false);
    const int32_t rank = set.front();
    const Standing& at = standing(rank);
    if (at.stuck()) {
      add(describe_stuck(evidence_, rank));
    } else if (at.stands()) {
      stands_.emplace(at.group, at.seq);
    } else if (!waited_for_[static_cast<size_t>(rank)].empty()) {
      has_dump(rank) ? judge_missing(rank) : judge_without_dump(rank);
    }
  }

  // The call in which most members are, of those that this rank did not enter.
  void judge_missing(int32_t rank) {
    std::optional<int32_t> witness;
    double best = -1;
    std::map<std::pair<int32_t, int64_t>, double> share_of;  // of the group's members that did not come
    for (const int32_t other : waited_for_[static_cast<size_t>(rank)]) {
      const Standing& there = standing(other);
      const auto [place, added] = share_of.emplace(std::pair(there.group, there.seq), 0.0);
      if (added) place->second = came_share(there);
      if (place->second > best) {
        best = place->second;
        witness = other;
      }
    }
    const Standing& there = standing(*witness);
    Culprit culprit = describe_missing(evidence_, rank, *witness);
    // A send to a new partner is recorded only once that one comes.
    const bool sends = ends_with_message(rank);
    const bool entered_it =
        there.seq >= 0 && std::find(there.missing.begin(), there.missing.end(), rank) == there.missing.end();
    const bool clear = there.seq >= 0 && best > 0.5 && !sends && !entered_it;
    culprit.certainty = clear ? Certainty::certain : Certainty::likely;
    add(std::move(culprit));
  }

  double came_share(const Standing& there) const {
    const double members = static_cast<double>(group_at(there.group).members.size());
    return there.seq < 0 ? 0 : 1 - static_cast<double>(there.missing.size() + there.without_dump.size()) / members;
  }

  bool ends_with_message(int32_t rank) const {
    const FlightDump& dump = *table_.dump_of[static_cast<size_t>(rank)];
    return !dump.calls.empty() && dump.calls.back().p2p;
  }

  void judge_without_dump(int32_t rank) {
    Culprit culprit = describe_without_dump(evidence_, rank, waited_for_[static_cast<size_t>(rank)].front());
    const auto by_it_alone = [&](int32_t other) {
      const Standing& there = standing(other);
      return there.missing.empty() && there.elsewhere.empty();
    };
    const auto& waiting = waited_for_[static_cast<size_t>(rank)];
    culprit.certainty =
        std::any_of(waiting.begin(), waiting.end(), by_it_alone) ? Certainty::likely : Certainty::possible;
    add(std::move(culprit));
  }

  // Calls in which all members are, each once.
  void judge_calls() {
    for (const auto& [number, seq] : stands_) {
      const Group& group = group_at(number);
      if (seq < 0) {
        judge_messages(number);
        continue;
      }
      std::vector<int32_t> in, through, started, scheduled;
      for (const Member& member : group.members) {
        if (member.dump == nullptr || member.entered < seq) continue;
        (member.completed(seq) ? through : in).push_back(member.rank);
        const DumpedCall* call = member.call(seq);
        if (call == nullptr || member.completed(seq)) continue;
        (call->state == CallState::started ? started : scheduled).push_back(member.rank);
      }
      if (mismatch_before(number, seq)) continue;
      if (!through.empty() && through.size() < in.size()) {
        for (const int32_t rank : through) add(describe_through(evidence_, rank, number, seq));
      } else if (!scheduled.empty() && scheduled.size() <= started.size()) {
        for (const int32_t rank : scheduled) add(describe_not_started(evidence_, rank, started.front(), number, seq));
      } else {
        for (const int32_t rank : in) add(describe_any(evidence_, rank, number, seq));
      }
    }
  }

  void judge_messages(int32_t number) {
    for (const Member& member : group_at(number).members) {
      const Standing& at = standing(member.rank);
      const bool stands_here =
          at.group == number && at.seq < 0 && graph_.waits_for[static_cast<size_t>(member.rank)].empty();
      if (!stands_here) continue;
      const int32_t peer = at.call->peer >= 0 && at.call->peer < std::ssize(group_at(number).members)
                               ? group_at(number).members[static_cast<size_t>(at.call->peer)].rank
                               : member.rank;
      const DumpedCall* theirs = standing(peer).call;
      const bool here = at.call->state == CallState::started,
                 there = theirs != nullptr && theirs->state == CallState::started;
      if (!here && there) {
        add(describe_not_started(evidence_, member.rank, peer, number, -1));
      } else if (here == there) {
        add(describe_any(evidence_, member.rank, number, -1));
      }
    }
  }

  int32_t waits_for_it_in(int32_t rank, const std::vector<int32_t>& circle) const {
    for (const int32_t other : waited_for_[static_cast<size_t>(rank)]) {
      if (std::binary_search(circle.begin(), circle.end(), other) && standing(other).seq >= 0) return other;
    }
    return waited_for_[static_cast<size_t>(rank)].front();
  }

  // The last call of a rank's host: its group here, and its number.
  std::pair<int32_t, int64_t> last_call(int32_t rank) const {
    const FlightDump& dump = *table_.dump_of[static_cast<size_t>(rank)];
    if (dump.calls.empty() || dump.calls.back().p2p) return {-1, -1};
    const DumpedCall& call = dump.calls.back();
    return {table_.group_of[static_cast<size_t>(rank)][static_cast<size_t>(call.group)], call.collective_seq};
  }

  // How many calls members entered in a group, of those that made `last` after; and in groups like it, where two
  // disagree. 0: not one number for most.
  int64_t usual_count(const Group& group, std::pair<int32_t, int64_t> last) const {
    std::map<int64_t, int> count;
    int all = 0;
    const auto look = [&](const Group& one) {
      for (const Member& member : one.members) {
        if (member.dump == nullptr || last_call(member.rank) != last) continue;
        ++count[member.entered];
        ++all;
      }
    };
    if (group.members.size() > 2) {
      look(group);
    } else {
      for (const Group& one : table_.groups) {
        if (one.description == group.description && one.members.size() == group.members.size()) look(one);
      }
    }
    for (const auto& [entered, number] : count) {
      if (number > 2 && number + 1 >= all) return entered;  // all but one
    }
    return 0;
  }

  // Of a circle: who entered fewer calls of the group in which others wait for it than most that made the same last
  // call.
  std::vector<int32_t> behind_in(const std::vector<int32_t>& circle) const {
    std::vector<int32_t> behind;
    for (const int32_t rank : circle) {
      if (!has_dump(rank)) continue;
      const Group& group = group_at(standing(waits_for_it_in(rank, circle)).group);
      const Member* own = group.member(rank);
      const auto last = last_call(rank);
      if (own == nullptr || group.messages || last.first < 0 || &group_at(last.first) == &group) continue;
      if (own->entered < usual_count(group, last)) behind.push_back(rank);
    }
    return behind;
  }

  // Of a circle: who did not enter a call in which another of it is.
  std::vector<int32_t> absent_from(const std::vector<int32_t>& circle) const {
    std::set<int32_t> absent;
    for (const int32_t rank : circle) {
      for (const int32_t other : standing(rank).missing) {
        if (std::binary_search(circle.begin(), circle.end(), other)) absent.insert(other);
      }
    }
    return {absent.begin(), absent.end()};
  }

  bool mismatch_before(int32_t group, int64_t seq) const {
    return std::any_of(evidence_.mismatches.begin(), evidence_.mismatches.end(),
                       [&](const Mismatch& one) { return one.group == group && one.seq <= seq; });
  }

  // `in_part`: it waits for ranks without a dump, too; where nothing in it speaks against one of it, these are named
  // alone.
  void judge_circle(const std::vector<int32_t>& set, bool in_part) {
    const auto in_set = [&](int32_t rank) { return std::binary_search(set.begin(), set.end(), rank); };
    std::vector<int> exchanges(set.size(), 0);
    for (size_t i = 0; i < set.size(); ++i) {
      const auto& waits = graph_.waits_for[static_cast<size_t>(set[i])];
      for (const int32_t other : waits) {
        if (!in_set(other)) continue;
        const auto& back = graph_.waits_for[static_cast<size_t>(other)];
        exchanges[i] += std::find(back.begin(), back.end(), set[i]) != back.end() ? 1 : 0;
      }
    }
    for (const int32_t rank : set) {
      if (standing(rank).stands() && standing(rank).seq >= 0 &&
          mismatch_before(standing(rank).group, standing(rank).seq))
        return;
    }
    const std::vector<int32_t> behind = behind_in(set);
    for (const int32_t rank : behind)
      add(describe_left_out(evidence_, rank, standing(waits_for_it_in(rank, set)).group));
    if (!behind.empty()) return;
    const std::vector<int32_t> absent = absent_from(set);
    if (absent.size() == 1) {
      add(describe_order(evidence_, absent.front(), Certainty::likely));
      return;
    }
    const auto most = std::max_element(exchanges.begin(), exchanges.end());
    const auto alike = std::count(exchanges.begin(), exchanges.end(), *most);
    if (*most > 1 && alike == 1) {
      const int32_t rank = set[static_cast<size_t>(most - exchanges.begin())];
      add(describe_order(evidence_, rank, Certainty::likely));
      return;
    }
    if (const auto first = active_last_before(set)) {
      add(describe_silent(evidence_, *first));
      return;
    }
    for (size_t i = 0; i < set.size() && !in_part; ++i) add(describe_order(evidence_, set[i], Certainty::possible));
  }

  // The rank whose host made its last call clearly before all others made theirs.
  std::optional<int32_t> active_last_before(const std::vector<int32_t>& set) const {
    int64_t first_ns = -1, second_ns = -1;
    int32_t first = -1;
    for (const int32_t rank : set) {
      if (!has_dump(rank) || table_.dump_of[static_cast<size_t>(rank)]->calls.empty()) return std::nullopt;
      const int64_t at_ns = table_.dump_of[static_cast<size_t>(rank)]->calls.back().created_ns;
      if (at_ns <= 0) return std::nullopt;
      if (first < 0 || at_ns < first_ns) {
        second_ns = first < 0 ? -1 : first_ns;
        first_ns = at_ns;
        first = rank;
      } else if (second_ns < 0 || at_ns < second_ns) {
        second_ns = at_ns;
      }
    }
    if (second_ns < 0 || second_ns - first_ns < kClearlyBefore_ns) return std::nullopt;
    return first;
  }

  void name_mismatches() {
    for (const Mismatch& one : evidence_.mismatches) {
      const bool clear =
          !one.undecided && one.like_others >= 2 * std::ssize(one.odd) && one.difference == Difference::operation;
      for (const int32_t rank : one.odd) {
        Culprit culprit = describe_mismatch(evidence_, rank, one);
        culprit.certainty = one.undecided ? Certainty::possible : clear ? Certainty::certain : Certainty::likely;
        const auto known = found_.find(rank);
        if (known != found_.end() && worth(known->second) <= worth(culprit)) found_.erase(known);
        add(std::move(culprit));
      }
    }
  }

  // What a rank sends to another that went on to a collective which the sender can reach only behind its send.
  void name_unread_messages() {
    for (int32_t rank = 0; rank < table_.ranks(); ++rank) {
      const Standing& at = standing(rank);
      if (at.call == nullptr || at.call->op != DumpedOp::send) continue;
      for (const int32_t other : at.missing) {
        const Standing& there = standing(other);
        if (there.seq < 0 || !there.stands()) continue;
        const auto& back = graph_.waits_for[static_cast<size_t>(other)];
        if (std::find(back.begin(), back.end(), rank) == back.end()) continue;
        add(describe_unread(evidence_, rank, other, true));
        add(describe_unread(evidence_, other, rank, false));
      }
    }
  }

  // A call in which one rank is and no other member left a dump: it may be either side.
  void name_unwitnessed() {
    for (int32_t rank = 0; rank < table_.ranks(); ++rank) {
      const Standing& at = standing(rank);
      if (at.seq < 0 || at.without_dump.empty() || !at.missing.empty() || !at.elsewhere.empty()) continue;
      if (at.without_dump.size() + 1 == group_at(at.group).members.size()) add(describe_unwitnessed(evidence_, rank));
    }
  }

  // Ranks that wait because of it.
  int32_t waiting_for(int32_t culprit) const {
    std::vector<char> seen(waited_for_.size(), 0);
    std::vector<int32_t> open = {culprit};
    seen[static_cast<size_t>(culprit)] = 1;
    int32_t count = 0;
    while (!open.empty()) {
      const int32_t at = open.back();
      open.pop_back();
      for (const int32_t other : waited_for_[static_cast<size_t>(at)]) {
        if (seen[static_cast<size_t>(other)] != 0) continue;
        seen[static_cast<size_t>(other)] = 1;
        ++count;
        open.push_back(other);
      }
    }
    return count;
  }

  std::vector<Culprit> sorted() {
    std::vector<Culprit> out;
    for (auto& [rank, culprit] : found_) out.push_back(std::move(culprit));
    std::stable_sort(out.begin(), out.end(), [](const Culprit& a, const Culprit& b) { return worth(a) > worth(b); });
    for (size_t i = 0; i < std::min(out.size(), kMostCounted); ++i) out[i].waiting = waiting_for(out[i].rank);
    std::stable_sort(out.begin(), out.end(), [](const Culprit& a, const Culprit& b) {
      return worth(a) != worth(b) ? worth(a) > worth(b) : a.waiting > b.waiting;
    });
    return out;
  }

  const Evidence& evidence_;
  const GroupTable& table_;
  const WaitGraph& graph_;
  std::vector<std::vector<int32_t>> waited_for_;  // by rank: who waits for it
  std::set<std::pair<int32_t, int64_t>> stands_;  // calls in which ranks stand that wait for nobody
  std::map<int32_t, Culprit> found_;
};

}  // namespace

std::vector<Culprit> find_culprits(const Evidence& evidence) { return Search(evidence).run(); }

}  // namespace skewscope::hang
