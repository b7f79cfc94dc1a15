// Problem: where experts live on ranks, a router decides how many tokens each of them gets. The one that gets most
// computes longest, and the others of its group wait for it in the all-to-all that brings the tokens back. A trace
// shows the waiting, and only the sizes of what was exchanged show why.
// Idea: every call tells what its rank sends in all and receives in all, and mostly (lists of up to 30 members) how
// much of it to whom and from whom. Sums of the lists over calls are a matrix of ranks. For the imbalance, the
// all-to-alls of a group are distinguished: one that gives every member what it had sent in an earlier one of the step,
// and takes what it had received there, returns that (in proportion: what goes back may be of another type); each other
// one is a dispatch. Compared is what members receive in dispatches: what comes back is as even as what they had. Who
// waits for it: the wait in the group's next collective after a dispatch, of which a part is charged to the members
// that had received most (Decomposition::caused_ns).
// Why right: matched calls are one collective, so the matrix needs no clock; sender and receiver each tell every pair,
// and where both do they agree. A recording that begins between a dispatch and its return takes one for the other, up
// to the end of that step.
// Cost: one look at each member of an all-to-all, one map of open dispatches per group. Each process looks at the calls
// that it holds; what it found is sent to all.
#include "all_to_all.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

namespace skewscope::attribute {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 43;  // of a call; what claims more is not known

// What one member's call exchanged in all.
struct Exchanged {
  uint32_t row = 0;  // of table.members
  int64_t step = -1;
  int64_t sent_bytes = -1, received_bytes = -1;  // -1: not known
};

// What the calls of one trace tell of a pair, as sender or as receiver.
struct SentPair {
  CommunicatorId communicator;
  int32_t sender = 0, receiver = 0;
  bool by_sender = false;
  int64_t bytes = 0, calls = 0;

  auto key() const { return std::tie(communicator, sender, receiver, by_sender); }
};

int64_t bytes_of(int64_t elements, DType type) {
  const int64_t each = element_bytes(type);
  return elements < 0 || each <= 0 || elements > kMostBytes / each ? -1 : elements * each;
}

// The position of the rank among the members; nullopt: members are not all known, or it is none of them.
std::optional<int32_t> position_of(Rank rank, const Communicator& group) {
  const auto at = std::lower_bound(group.members.begin(), group.members.end(), rank);
  if (!group.members_known() || at == group.members.end() || *at != rank) return std::nullopt;
  return static_cast<int32_t>(at - group.members.begin());
}

// What this process's calls tell.
class OwnExchanges {
 public:
  OwnExchanges(const JobTrace& job, const InstanceTable& table) : job_(job), table_(table) {}

  void add(const CollectiveInstance& i) {
    for (uint32_t row = i.first_member; row < i.first_member + i.member_count; ++row) {
      if (job_.holds(table_.members[row].trace)) add_member(i, row);
    }
  }

  std::vector<Exchanged> exchanged;
  std::vector<SentPair> pairs() const {
    std::vector<SentPair> out;
    for (const auto& [key, sum] : pairs_) {
      const auto& [communicator, sender, receiver, by_sender] = key;
      out.push_back({communicator, sender, receiver, by_sender, sum.first, sum.second});
    }
    return out;
  }

 private:
  void add_member(const CollectiveInstance& i, uint32_t row) {
    const CallRef& ref = table_.members[row];
    const RankTrace& trace = job_[ref.trace];
    const CollectiveCall& call = trace.calls[static_cast<size_t>(ref.call)];
    exchanged.push_back(
        {row, call.step, bytes_of(call.in_elements, call.dtype), bytes_of(call.out_elements, call.dtype)});
    const Communicator& group = table_.communicators[i.communicator];
    const auto parts = splits_of(trace, ref.call);
    const std::optional<int32_t> own = position_of(trace.rank, group);
    if (!own || std::ssize(parts) != group.size) return;
    for (int32_t other = 0; other < group.size; ++other) {
      const SplitPart& part = parts[static_cast<size_t>(other)];
      add_pair({i.communicator, *own, other, true}, bytes_of(part.sends, call.dtype));
      add_pair({i.communicator, other, *own, false}, bytes_of(part.receives, call.dtype));
    }
  }

  using Key = std::tuple<CommunicatorId, int32_t, int32_t, bool>;
  void add_pair(const Key& key, int64_t bytes) {
    if (bytes < 0) return;
    auto& [sum, calls] = pairs_[key];
    sum += bytes;
    ++calls;
  }

  const JobTrace& job_;
  const InstanceTable& table_;
  std::map<Key, std::pair<int64_t, int64_t>> pairs_;  // bytes, calls
};

using Bytes = std::vector<int64_t>;  // by member

// The smallest whole numbers in these proportions.
std::pair<Bytes, Bytes> in_proportion(Bytes sent, Bytes received) {
  int64_t divisor = 0;
  for (const Bytes* all : {&sent, &received}) {
    for (const int64_t bytes : *all) divisor = std::gcd(divisor, bytes);
  }
  for (Bytes* all : {&sent, &received}) {
    for (int64_t& bytes : *all) bytes /= std::max<int64_t>(1, divisor);
  }
  return {std::move(sent), std::move(received)};
}

// The all-to-alls of one communicator in one session, in their order.
class GroupSums {
 public:
  GroupSums(const JobTrace& job, const InstanceTable& table, const Decomposition& d, AllToAllTotals& totals)
      : job_(job), table_(table), d_(d), totals_(totals), group_(table.communicators[totals.communicator]) {
    for (auto* column : {&totals.sent_bytes, &totals.received_bytes, &totals.dispatched_bytes}) {
      column->resize(static_cast<size_t>(group_.size));
    }
  }

  // Any collective of the group; `members`: what was exchanged in it, empty where it is no all-to-all.
  void pass(size_t id, const std::vector<Exchanged>& members) {
    const CollectiveInstance& i = table_.instances[id];
    if (!busiest_.empty()) {
      totals_.uneven.push_back({last_, static_cast<int32_t>(id)});
      if (d_.instances[id].reason == SplitReason::split) charge_wait(i);
    }
    busiest_.clear();
    last_ = static_cast<int32_t>(id);
    if (i.kind == CollectiveKind::all_to_all) add(i, members);
  }

 private:
  void charge_wait(const CollectiveInstance& i) {
    for (uint32_t row = i.first_member; row < i.first_member + i.member_count; ++row) {
      totals_.waited_ns += d_.members[row].wait_ns;
      const bool busy = std::binary_search(busiest_.begin(), busiest_.end(), table_.members[row].trace);
      if (busy) totals_.waited_for_busiest_ns += d_.caused_ns[row];
    }
  }

  void add(const CollectiveInstance& i, const std::vector<Exchanged>& members) {
    ++totals_.calls;
    if (!group_.members_known()) return;
    Bytes sent, received;
    bool sized = i.complete && std::cmp_equal(members.size(), group_.size);
    for (const Exchanged& one : members) {
      const std::optional<int32_t> place = position_of(job_[table_.members[one.row].trace].rank, group_);
      sized = sized && place && one.sent_bytes >= 0 && one.received_bytes >= 0;
      if (place) add_known(one, static_cast<size_t>(*place));
      sent.push_back(one.sent_bytes);
      received.push_back(one.received_bytes);
    }
    if (!sized) return;
    ++totals_.sized;
    const int64_t step = members.front().step;
    if (step != step_) open_.clear();
    step_ = step;
    if (!returns(sent, received)) add_dispatch(i, sent, received);
  }

  void add_known(const Exchanged& one, size_t place) {
    totals_.sent_bytes[place] += std::max<int64_t>(0, one.sent_bytes);
    totals_.received_bytes[place] += std::max<int64_t>(0, one.received_bytes);
  }

  // Whether it brings back what an open dispatch brought, which it closes.
  bool returns(const Bytes& sent, const Bytes& received) {
    const auto dispatch = open_.find(in_proportion(received, sent));
    if (dispatch == open_.end()) return false;
    if (--dispatch->second == 0) open_.erase(dispatch);
    return true;
  }

  void add_dispatch(const CollectiveInstance& i, const Bytes& sent, const Bytes& received) {
    ++totals_.dispatches;
    const auto [least, most] = std::minmax_element(received.begin(), received.end());
    totals_.most_dispatched_bytes += *most;
    for (size_t m = 0; m < received.size(); ++m) {
      totals_.dispatched_bytes[m] += received[m];
      if (*least < *most && received[m] == *most) busiest_.push_back(table_.members[i.first_member + m].trace);
    }
    ++open_[in_proportion(sent, received)];
  }

  const JobTrace& job_;
  const InstanceTable& table_;
  const Decomposition& d_;
  AllToAllTotals& totals_;
  const Communicator& group_;
  int64_t step_ = -1;
  std::map<std::pair<Bytes, Bytes>, int64_t> open_;  // dispatches of this step, by in_proportion()
  int32_t last_ = -1;                                // the call before: its instance
  std::vector<TraceIndex> busiest_;                  // of it, where it was an uneven dispatch; sorted
};

// Both ends tell of a pair: the one that tells of more calls, the sender where they tell of as many.
void set_pairs(std::vector<SentPair> seen, std::map<CommunicatorId, AllToAllTotals>& totals) {
  std::sort(seen.begin(), seen.end(), [](const SentPair& a, const SentPair& b) {
    return std::tuple(a.communicator, a.sender, a.receiver, !a.by_sender) <
           std::tuple(b.communicator, b.sender, b.receiver, !b.by_sender);
  });
  // Several sessions of one rank are several traces.
  std::vector<SentPair> sums;
  for (const SentPair& one : seen) {
    if (!sums.empty() && sums.back().key() == one.key()) {
      sums.back().bytes += one.bytes;
      sums.back().calls += one.calls;
    } else {
      sums.push_back(one);
    }
  }
  for (const SentPair& sum : sums) {
    std::vector<AllToAllPair>& pairs = totals.at(sum.communicator).pairs;
    const bool same = !pairs.empty() && pairs.back().sender == sum.sender && pairs.back().receiver == sum.receiver;
    if (!same) pairs.push_back({sum.sender, sum.receiver, 0, 0});
    if (sum.calls > pairs.back().calls) pairs.back() = {sum.sender, sum.receiver, sum.bytes, sum.calls};
  }
}

}  // namespace

std::vector<AllToAllTotals> all_to_all_totals(const JobTrace& job, const InstanceTable& table, const Decomposition& d,
                                              Exchange& exchange) {
  const auto is_one = [](const CollectiveInstance& i) { return i.kind == CollectiveKind::all_to_all; };
  if (std::none_of(table.instances.begin(), table.instances.end(), is_one)) return {};
  OwnExchanges own(job, table);
  std::map<CommunicatorId, AllToAllTotals> totals;
  for (const CollectiveInstance& i : table.instances) {
    if (!is_one(i) || !i.communicator.known()) continue;
    totals[i.communicator].communicator = i.communicator;
    own.add(i);
  }
  std::vector<Exchanged> exchanged = all_rows(exchange, std::move(own.exchanged));
  std::sort(exchanged.begin(), exchanged.end(), [](const Exchanged& a, const Exchanged& b) { return a.row < b.row; });
  set_pairs(all_rows(exchange, own.pairs()), totals);

  auto next = exchanged.begin();
  std::optional<GroupSums> sums;
  std::tuple<SessionId, CommunicatorId> of;
  for (size_t id = 0; id < table.instances.size(); ++id) {
    const CollectiveInstance& i = table.instances[id];
    const auto group = totals.find(i.communicator);
    if (group == totals.end()) continue;
    if (const std::tuple now(i.session, i.communicator); !sums || now != of) {
      sums.emplace(job, table, d, group->second);
      of = now;
    }
    std::vector<Exchanged> members;
    while (next != exchanged.end() && next->row < i.first_member + i.member_count) members.push_back(*next++);
    sums->pass(id, members);
  }
  std::vector<AllToAllTotals> out;
  for (auto& [communicator, sum] : totals) out.push_back(std::move(sum));
  return out;
}

}  // namespace skewscope::attribute
