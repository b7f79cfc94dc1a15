#include "message_pairs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "causal_shift.h"
#include "skewscope/base/middle.h"

namespace skewscope {
namespace {

constexpr size_t kMostCells = 250'000;  // of 40 bytes
constexpr double kNever = -std::numeric_limits<double>::infinity();
// Logarithms of how likely: a message that the edge of a window cut off, one that was lost with the one before it, and
// by how much a pair must be likelier than all else.
constexpr double kCutOff = -3, kGoneToo = -0.1, kSure = 6;
constexpr double kLeastLikely = -1;                    // as a logarithm: of a pair that order alone tells
constexpr double kLeastLost = 0.002, kMostLost = 0.1;  // of messages
constexpr double kLeastSpread = 2000;                  // ns; what stamps and kernels scatter by
constexpr double kUsual = 0.999, kUsualOfBatch = 0.5;  // of receivers: leave a transfer after their own sender came
constexpr size_t kLeastAnchors = 4;

// How messages of one size behave: how long a receiver stays from when both are there, and how likely it is, as a
// logarithm, that the sender had left by then: large messages hold it, small ones are buffered.
struct Habit {
  double lag_ns = 0, shortest_ns = 0, spread_ns = kLeastSpread, left = 0;
};

double log_sum(double a, double b) {
  const auto [low, high] = std::minmax(a, b);
  return low == kNever ? high : high + std::log1p(std::exp(low - high));
}

// Sends and receives of one step; outside of steps: -1.
struct Block {
  std::vector<int32_t> sends, receives;  // in order

  bool too_long() const { return sends.size() * receives.size() > kMostCells; }
};

// All ways to align n sends with m receives in order, as logarithms of how likely they are. A cell (i, j) comes after
// i sends and j receives.
struct Alignments {
  Alignments(size_t sends, size_t receives) : n(sends), m(receives) {
    for (auto* const cells : {&pair, &send_left, &receive_left, &before_, &behind_}) {
      cells->assign((n + 1) * (m + 1), kNever);
    }
  }
  size_t at(size_t i, size_t j) const { return i * (m + 1) + j; }

  // From `pair` and what is left out: all that may lie before a cell, and behind it.
  void sum_up() {
    before_[at(0, 0)] = behind_[at(n, m)] = 0;
    for (size_t i = 0; i <= n; ++i) {
      for (size_t j = 0; j <= m; ++j) {
        double& all = before_[at(i, j)];
        if (i > 0) all = log_sum(all, before_[at(i - 1, j)] + send_left[at(i - 1, j)]);
        if (j > 0) all = log_sum(all, before_[at(i, j - 1)] + receive_left[at(i, j - 1)]);
        if (i > 0 && j > 0) all = log_sum(all, before_[at(i - 1, j - 1)] + pair[at(i - 1, j - 1)]);
      }
    }
    for (size_t i = n + 1; i-- > 0;) {
      for (size_t j = m + 1; j-- > 0;) {
        double& all = behind_[at(i, j)];
        if (i < n) all = log_sum(all, behind_[at(i + 1, j)] + send_left[at(i, j)]);
        if (j < m) all = log_sum(all, behind_[at(i, j + 1)] + receive_left[at(i, j)]);
        if (i < n && j < m) all = log_sum(all, behind_[at(i + 1, j + 1)] + pair[at(i, j)]);
      }
    }
  }

  bool are_one(size_t i, size_t j) const {
    return sure(before_[at(i, j)] + pair[at(i, j)] + behind_[at(i + 1, j + 1)]);
  }
  bool send_is_alone(size_t i) const {
    double alone = kNever;
    for (size_t j = 0; j <= m; ++j) {
      alone = log_sum(alone, before_[at(i, j)] + send_left[at(i, j)] + behind_[at(i + 1, j)]);
    }
    return sure(alone);
  }
  bool receive_is_alone(size_t j) const {
    double alone = kNever;
    for (size_t i = 0; i <= n; ++i) {
      alone = log_sum(alone, before_[at(i, j)] + receive_left[at(i, j)] + behind_[at(i, j + 1)]);
    }
    return sure(alone);
  }

  size_t n, m;
  // Cell (i, j): send i and receive j are one; either has no partner.
  std::vector<double> pair, send_left, receive_left;

 private:
  bool sure(double some) const { return some - before_[at(n, m)] > -std::exp(-kSure); }

  std::vector<double> before_, behind_;
};

class Pairing {
 public:
  Pairing(const MemberCalls& sends, const MemberCalls& receives, int64_t error_ns, double lost)
      : sends_(sends),
        receives_(receives),
        error_ns_(error_ns),
        lost_(std::log(std::clamp(lost, kLeastLost, kMostLost))) {
    for (size_t i = 0; i < sends.size(); ++i) blocks_[sends[i].step].sends.push_back(static_cast<int32_t>(i));
    for (size_t j = 0; j < receives.size(); ++j) blocks_[receives[j].step].receives.push_back(static_cast<int32_t>(j));
    if (!receives.empty()) {
      spacing_ns_ = static_cast<double>(receives.back().end_ns - receives.front().start_ns) /
                    static_cast<double>(receives.size());
    }
    learn_habits();
  }

  // Per send its receive; -1: none is known. `..._alone`: per call whether it surely has none.
  struct Found {
    std::vector<int32_t> receive_of;
    std::vector<bool> send_alone, receive_alone;
  };
  Found pair(const MatchOutcome& in_order, size_t from, OrderTells order) {
    told_ = {std::vector<int32_t>(sends_.size(), -1), std::vector<bool>(sends_.size(), false),
             std::vector<bool>(receives_.size(), false)};
    for (const auto& [step, block] : blocks_) {
      if (!block.too_long()) align(block, gaps_of(step));
    }
    keep_order(in_order, from, order);
    return std::move(told_);
  }

 private:
  struct Gaps {
    double front, inside, back;
  };

  const MatchCall& send(int32_t i) const { return sends_[static_cast<size_t>(i)]; }
  const MatchCall& receive(int32_t j) const { return receives_[static_cast<size_t>(j)]; }

  double lag_ns(int32_t i, int32_t j) const {
    return static_cast<double>(receive(j).end_ns - std::max(send(i).start_ns, receive(j).start_ns));
  }

  bool sender_left(int32_t i, int32_t j) const { return send(i).end_ns < receive(j).start_ns - error_ns_; }

  // By pairs of steps in which both made equally many; where these are few, by the shortest receive: it came late.
  void learn_habits() {
    struct Anchors {
      std::vector<double> lags;
      int64_t left = 0;
    };
    std::unordered_map<uint64_t, Anchors> anchors;
    for (const auto& [step, block] : blocks_) {
      if (step < 0 || block.sends.size() != block.receives.size()) continue;
      for (size_t k = 0; k < block.sends.size(); ++k) {
        const int32_t i = block.sends[k], j = block.receives[k];
        if (!possible(i, j)) continue;
        Anchors& alike = anchors[receive(j).signature];
        alike.lags.push_back(lag_ns(i, j));
        alike.left += sender_left(i, j) ? 1 : 0;
      }
    }
    for (const MatchCall& call : receives_) {
      const auto duration = static_cast<double>(call.end_ns - call.start_ns);
      const auto error = static_cast<double>(error_ns_);
      const auto [at, first] = habits_.try_emplace(call.signature, Habit{duration, duration, 0, 0});
      at->second.lag_ns = at->second.shortest_ns = std::min(at->second.lag_ns, duration);
      at->second.spread_ns = std::max({kLeastSpread, at->second.lag_ns, error});
    }
    for (auto& [signature, alike] : anchors) {
      if (alike.lags.size() < kLeastAnchors) continue;
      Habit& habit = habits_[signature];
      habit.lag_ns = take_middle(alike.lags);
      habit.shortest_ns = take_nth(alike.lags, alike.lags.size() / 10);
      std::vector<double> off;
      for (const double one : alike.lags) off.push_back(std::fabs(one - habit.lag_ns));
      habit.spread_ns = std::max({kLeastSpread, 1.5 * take_middle(off), static_cast<double>(error_ns_) / 2});
      habit.left = std::log(static_cast<double>(alike.left + 1) / static_cast<double>(std::ssize(alike.lags) + 1));
    }
  }

  // Whether it is of the same call as the message before it: what happened to the call, happened once.
  static bool goes_on(const MemberCalls& calls, int32_t k) {
    if (k == 0) return false;
    const MatchCall &one = calls[static_cast<size_t>(k)], &before = calls[static_cast<size_t>(k) - 1];
    return one.of_batch && one.start_ns == before.start_ns && one.end_ns == before.end_ns;
  }

  bool possible(int32_t i, int32_t j) const {
    return alike(send(i), receive(j)) && receive(j).end_ns >= send(i).start_ns - error_ns_;
  }

  // `from`: the member that sends.
  void keep_order(const MatchOutcome& in_order, size_t from, OrderTells order) {
    std::vector<bool> taken(receives_.size(), false);
    for (const int32_t j : told_.receive_of) {
      if (j >= 0) taken[static_cast<size_t>(j)] = true;
    }
    for (size_t k = 0; k + 1 < in_order.parts.size(); k += 2) {
      const int32_t i = in_order.parts[k + from].call, j = in_order.parts[k + 1 - from].call;
      const auto own = static_cast<size_t>(i), other = static_cast<size_t>(j);
      const bool undecided =
          told_.receive_of[own] < 0 && !taken[other] && !told_.send_alone[own] && !told_.receive_alone[other];
      const bool too_long = blocks_.at(send(i).step).too_long();
      const bool kept =
          too_long ? possible(i, j) : order == OrderTells::what_time_does_not && likely(i, j) > kLeastLikely;
      if (undecided && kept) told_.receive_of[own] = j;
    }
  }

  // Against what messages do that have nothing to do with each other. A receiver that waited leaves a transfer after
  // its sender came, or, of a batch, after another one did; one that came late says only that it did not wait.
  double likely(int32_t i, int32_t j) const {
    if (!possible(i, j)) return kNever;
    if (goes_on(sends_, i) && goes_on(receives_, j)) return 0;  // said already
    const MatchCall& to = receive(j);
    const Habit& habit = habits_.at(to.signature);
    const double usual = to.of_batch ? kUsualOfBatch : kUsual;
    const double off = (lag_ns(i, j) - habit.lag_ns) / habit.spread_ns;
    const double early = (habit.shortest_ns - lag_ns(i, j)) / habit.spread_ns;
    if (early > 1) return -std::log1p(early * early);  // no transfer is so short, whatever else the batch did
    const double told = std::log(usual * std::max(1.0, spacing_ns_ / habit.spread_ns) / (1 + off * off) + 1 - usual);
    const bool waited = to.start_ns < send(i).start_ns - error_ns_;
    return (sender_left(i, j) ? habit.left : 0) + (waited ? told : std::min(told, 0.0));
  }

  // The first step's front and the last one's back may be cut off, and both of what is in no step.
  Gaps gaps_of(int64_t step) const {
    int64_t first = -1, last = -1;  // of the steps that both made calls in
    for (const auto& [number, block] : blocks_) {
      if (number < 0 || block.sends.empty() || block.receives.empty()) continue;
      if (first < 0) first = number;
      last = number;
    }
    return {step <= first ? kCutOff : lost_, lost_, step < 0 || step >= last ? kCutOff : lost_};
  }

  void align(const Block& block, const Gaps& gaps) {
    Alignments all(block.sends.size(), block.receives.size());
    // A message left out where the other side has none yet, or none any more, may have been cut off.
    const auto left_out = [&gaps](const MemberCalls& calls, int32_t own, size_t other, size_t of_other) {
      if (goes_on(calls, own)) return kGoneToo;
      return other == 0 ? gaps.front : other == of_other ? gaps.back : gaps.inside;
    };
    for (size_t i = 0; i <= all.n; ++i) {
      for (size_t j = 0; j <= all.m; ++j) {
        if (i < all.n && j < all.m) all.pair[all.at(i, j)] = likely(block.sends[i], block.receives[j]);
        if (i < all.n) all.send_left[all.at(i, j)] = left_out(sends_, block.sends[i], j, all.m);
        if (j < all.m) all.receive_left[all.at(i, j)] = left_out(receives_, block.receives[j], i, all.n);
      }
    }
    all.sum_up();
    for (size_t i = 0; i < all.n; ++i) {
      const auto own = static_cast<size_t>(block.sends[i]);
      told_.send_alone[own] = all.send_is_alone(i);
      for (size_t j = 0; j < all.m; ++j) {
        if (all.are_one(i, j)) told_.receive_of[own] = block.receives[j];
      }
    }
    for (size_t j = 0; j < all.m; ++j) {
      told_.receive_alone[static_cast<size_t>(block.receives[j])] = all.receive_is_alone(j);
    }
  }

  const MemberCalls &sends_, &receives_;
  const int64_t error_ns_;
  const double lost_;                           // logarithm of how likely a message is lost
  double spacing_ns_ = 0;                       // of receives
  std::map<int64_t, Block> blocks_;             // by step
  std::unordered_map<uint64_t, Habit> habits_;  // per signature of receives
  Found told_;
};

// Which member sends.
size_t sender_of(const std::vector<MemberCalls>& members) {
  const bool second = !members[1].empty() && members[1].front().kind == CollectiveKind::send;
  return second || (!members[0].empty() && members[0].front().kind == CollectiveKind::recv) ? 1 : 0;
}

}  // namespace

MatchOutcome pair_messages(const std::vector<MemberCalls>& members, int64_t error_ns, double lost,
                           const MatchOutcome& in_order, OrderTells order) {
  const size_t from = sender_of(members), to = 1 - from;
  Pairing pairing(members[from], members[to], error_ns, lost);
  const Pairing::Found found = pairing.pair(in_order, from, order);
  MatchOutcome outcome;
  outcome.cluster = {0, 0};
  std::vector<bool> received(members[to].size(), false);
  for (size_t i = 0; i < found.receive_of.size(); ++i) {
    if (found.receive_of[i] < 0) continue;
    const auto instance = static_cast<int32_t>(outcome.method.size());
    MatchOutcome::Part parts[2];
    parts[from] = {instance, static_cast<int32_t>(from), static_cast<int32_t>(i)};
    parts[to] = {instance, static_cast<int32_t>(to), found.receive_of[i]};
    outcome.parts.insert(outcome.parts.end(), {parts[0], parts[1]});
    outcome.method.push_back(MatchMethod::fingerprint);
    received[static_cast<size_t>(found.receive_of[i])] = true;
  }
  const auto leave = [&](size_t member, size_t call, bool alone) {
    const UnmatchedReason reason = members[member][call].bare ? UnmatchedReason::no_metadata
                                   : alone                    ? UnmatchedReason::alone
                                                              : UnmatchedReason::ambiguous;
    outcome.left.push_back({static_cast<int32_t>(member), static_cast<int32_t>(call), reason});
  };
  for (const size_t member : {size_t{0}, size_t{1}}) {
    for (size_t c = 0; c < members[member].size(); ++c) {
      if (member == from ? found.receive_of[c] >= 0 : received[c]) continue;
      leave(member, c, member == from ? found.send_alone[c] : found.receive_alone[c]);
    }
  }
  return outcome;
}

bool receives_unsent(const std::vector<MemberCalls>& members, const MatchOutcome& outcome, int64_t error_ns) {
  const size_t from = sender_of(members);
  for (size_t k = 0; k + 1 < outcome.parts.size(); k += 2) {
    const auto call = [&](size_t p) -> const MatchCall& {
      const MatchOutcome::Part& part = outcome.parts[k + p];
      return members[static_cast<size_t>(part.member)][static_cast<size_t>(part.call)];
    };
    if (call(1 - from).end_ns < call(from).start_ns - error_ns) return true;
  }
  return false;
}

}  // namespace skewscope
