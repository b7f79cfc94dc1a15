#include "causal_shift.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace skewscope {
namespace {

constexpr int64_t kLeastPairs = 5, kMostAligned = 4096;
constexpr int64_t kAnyOffset = INT64_MAX / 4;  // ns
constexpr size_t kMostShifts = 16;             // that steps name before they are called contradictory
constexpr double kTiedEnds = 50'000;           // ns; ends that scatter by more tie nothing

// A prior's error is one that 95 % keep to; a neighbour must be out of reach of all. Wall clocks err by half a second.
Prior cautious(const std::optional<Prior>& told) {
  if (!told) return {0, 500'000'000};
  const Prior& prior = *told;
  return {prior.offset_ns, std::max(prior.error_ns, std::min(3 * prior.error_ns, kLargestPriorError))};
}

// Offsets (hub minus member) that let all pairs overlap.
struct Feasible {
  int64_t low, high;

  bool within(int64_t slack_ns) const { return low <= high + slack_ns; }
};

struct Pairs {
  int64_t first = 0, count = 0;  // of the member's calls; the hub's lie `shift` further
};

Pairs pairs_of(const MemberCalls& hub, const MemberCalls& member, int64_t shift) {
  const int64_t first = std::max<int64_t>(0, -shift);
  const int64_t end = std::min(static_cast<int64_t>(member.size()), static_cast<int64_t>(hub.size()) - shift);
  return {first, end - first};
}

// What a pair allows: who waits for the other has not left before that one came.
void narrow(const MatchCall& own, const MatchCall& other, Feasible& offsets) {
  const bool both_wait = own.ends_together && other.ends_together;
  const bool hub_waits = both_wait || own.kind == CollectiveKind::send;
  const bool member_waits = both_wait || own.kind == CollectiveKind::recv;
  if (member_waits) offsets.low = std::max(offsets.low, other.start_ns - own.end_ns);
  if (hub_waits) offsets.high = std::min(offsets.high, other.end_ns - own.start_ns);
}

// nullopt: no offset does, or some pair is not alike.
std::optional<Feasible> feasible_offsets(const MemberCalls& hub, const MemberCalls& member, int64_t shift,
                                         const Prior& prior, int64_t slack_ns) {
  Feasible offsets{prior.offset_ns - prior.error_ns, prior.offset_ns + prior.error_ns};
  const Pairs pairs = pairs_of(hub, member, shift);
  for (int64_t j = pairs.first; j < pairs.first + pairs.count; ++j) {
    const MatchCall &own = member[static_cast<size_t>(j)], &other = hub[static_cast<size_t>(j + shift)];
    if (!alike(own, other)) return std::nullopt;
    narrow(own, other, offsets);
    if (!offsets.within(slack_ns)) return std::nullopt;
  }
  return offsets;
}

std::vector<StepSeat> seats_of(const MemberCalls& calls) {
  std::map<int64_t, int32_t> count;
  std::vector<StepSeat> seats;
  for (const MatchCall& call : calls) seats.push_back({call.step, count[call.step]++, 0});
  for (StepSeat& seat : seats) seat.of = count[seat.step];
  return seats;
}

// Whether two calls may have one place in one step. Of a member's first step the beginning may be cut off, of its last
// one the end: `first` and `last` are the later of the members' first and the earlier of their last.
bool one_seat(const StepSeat& a, const StepSeat& b, int64_t first, int64_t last) {
  if (a.step != b.step) return false;
  if (a.ordinal == b.ordinal && a.of == b.of) return true;
  return (a.step == first && a.of - a.ordinal == b.of - b.ordinal) || (a.step == last && a.ordinal == b.ordinal);
}

// The later of the first steps, the earlier of the last ones.
std::pair<int64_t, int64_t> shared_steps(const std::vector<StepSeat>& hub, const std::vector<StepSeat>& member) {
  const auto first_step = [](const std::vector<StepSeat>& seats) {
    const auto named = std::find_if(seats.begin(), seats.end(), [](const StepSeat& seat) { return seat.step >= 0; });
    return named == seats.end() ? -1 : named->step;
  };
  return {std::max(first_step(hub), first_step(member)), std::min(hub.back().step, member.back().step)};
}

// Whether all pairs do; calls outside every step may be any.
bool same_seats(const std::vector<StepSeat>& hub, const std::vector<StepSeat>& member, const Pairs& pairs,
                int64_t shift) {
  const auto [first, last] = shared_steps(hub, member);
  for (int64_t j = pairs.first; j < pairs.first + pairs.count; ++j) {
    const StepSeat &own = member[static_cast<size_t>(j)], &other = hub[static_cast<size_t>(j + shift)];
    if ((own.step >= 0 || other.step >= 0) && !one_seat(own, other, first, last)) return false;
  }
  return true;
}

struct Fit {
  int64_t shift;
  Feasible offsets;
};

double scatter_of(const std::vector<ClockTie>& ties, const ClockLine& line) {
  std::vector<double> distance;
  for (const ClockTie& tie : ties) {
    const int64_t hub_end = tie.member_end_ns + tie.offset_ns;
    distance.push_back(std::fabs(static_cast<double>(hub_end - line.apply(tie.member_end_ns))));
  }
  const auto middle = distance.begin() + static_cast<ptrdiff_t>(distance.size() / 2);
  std::nth_element(distance.begin(), middle, distance.end());
  return *middle;
}

// The member's clock by the ends of the pairs; where these scatter, within what causality allows.
ShiftResult clock_of(const std::vector<ClockTie>& ties, const Feasible& offsets, const Prior& near) {
  ShiftResult result{ShiftEvidence::fingerprint, resistant_line(ties), 0, 1, {}, {}};
  result.scatter_ns = scatter_of(ties, result.line);
  if (result.scatter_ns <= kTiedEnds) {  // whatever one pair too many allows
    const double off = std::fabs(result.line.offset_ns - static_cast<double>(near.offset_ns));
    return off <= static_cast<double>(near.error_ns) + kTiedEnds ? result : ShiftResult{};
  }
  const auto [low, high] = std::minmax(offsets.low, offsets.high);
  result.line.offset_ns = std::clamp(result.line.offset_ns, static_cast<double>(low), static_cast<double>(high));
  result.scatter_ns = scatter_of(ties, result.line);
  return result;
}

ShiftResult shift_of(const MemberCalls& hub, const MemberCalls& member, const Fit& fit, const Prior& near) {
  std::vector<ClockTie> ties;
  const Pairs pairs = pairs_of(hub, member, fit.shift);
  for (int64_t j = pairs.first; j < pairs.first + pairs.count; ++j) {
    const MatchCall& call = member[static_cast<size_t>(j)];
    ties.push_back({call.end_ns, hub[static_cast<size_t>(j + fit.shift)].end_ns - call.end_ns});
  }
  ShiftResult result = clock_of(ties, fit.offsets, near);
  if (result.found()) result.order = fit.shift;
  return result;
}

}  // namespace

std::vector<bool> told_by_steps(const MemberCalls& hub, const MemberCalls& member, int64_t order) {
  const std::vector<StepSeat> hub_seats = seats_of(hub), member_seats = seats_of(member);
  std::vector<bool> told;
  for (int64_t j = 0; j < std::ssize(member); ++j) {
    const StepSeat& own = member_seats[static_cast<size_t>(j)];
    const bool both = own.step >= 0 && j + order >= 0 && j + order < std::ssize(hub);
    told.push_back(both && own == hub_seats[static_cast<size_t>(j + order)]);
  }
  return told;
}

bool sends_or_receives(const MemberCalls& calls) {
  return std::any_of(calls.begin(), calls.end(), [](const MatchCall& call) { return call.is_message(); });
}

bool any_of_batch(const MemberCalls& calls) {
  return std::any_of(calls.begin(), calls.end(), [](const MatchCall& call) { return call.of_batch; });
}

bool alike(const MatchCall& a, const MatchCall& b) {
  return a.signature == b.signature || ((a.bare || b.bare) && a.kind == b.kind);
}

CausalSearch::CausalSearch(const MemberCalls& hub) : hub_(hub), seats_(seats_of(hub)) {
  for (size_t i = 0; i < hub.size(); ++i) {
    const StepSeat& seat = seats_[i];
    if (seat.step < 0) continue;
    place_.emplace(std::pair(seat.step, seat.ordinal), static_cast<int64_t>(i));
    place_.emplace(std::pair(seat.step, seat.ordinal - seat.of), static_cast<int64_t>(i));
  }
}

// The one shift at which all pairs have the same place in the same step; nullopt: none, or several.
std::optional<int64_t> CausalSearch::shift_by_seats(const MemberCalls& member) const {
  const std::vector<StepSeat> seats = seats_of(member);
  std::set<int64_t> tried, fitting;
  for (size_t j = 0; j < member.size(); ++j) {
    if (seats[j].step < 0) continue;
    for (const int32_t at : {seats[j].ordinal, seats[j].ordinal - seats[j].of}) {
      const auto found = place_.find({seats[j].step, at});
      if (found == place_.end()) continue;
      const int64_t shift = found->second - static_cast<int64_t>(j);
      if (!tried.insert(shift).second) continue;
      if (same_seats(seats_, seats, pairs_of(hub_, member, shift), shift)) fitting.insert(shift);
      if (tried.size() > kMostShifts || fitting.size() > 1) return std::nullopt;
    }
  }
  return fitting.size() == 1 ? std::optional(*fitting.begin()) : std::nullopt;
}

ShiftResult CausalSearch::find(const MemberCalls& member, std::optional<Prior> prior) const {
  const auto of_hub = static_cast<int64_t>(hub_.size()), own = static_cast<int64_t>(member.size());
  const int64_t shorter = std::min(of_hub, own);
  const bool few = shorter < kLeastPairs;
  if (shorter == 0 || (few && !any_of_batch(member) && !any_of_batch(hub_))) return {};
  const int64_t least = few ? shorter : std::max(kLeastPairs, shorter / 2);
  const double window = static_cast<double>(hub_.back().end_ns - hub_.front().start_ns);
  const auto slack_ns = static_cast<int64_t>(kMostDrift * window);
  // Messages are told by their steps, whatever the clocks.
  const bool messages = sends_or_receives(member) || sends_or_receives(hub_);
  const Prior near = messages && !prior ? Prior{0, kAnyOffset} : cautious(prior);
  std::vector<Fit> fits;
  const auto try_shift = [&](int64_t shift) {
    if (pairs_of(hub_, member, shift).count < least) return;
    const auto offsets = feasible_offsets(hub_, member, shift, near, slack_ns);
    if (offsets) fits.push_back({shift, *offsets});
  };
  bool by_steps = !prior || few || messages;
  if (!by_steps && std::max(of_hub, own) <= kMostAligned) {
    for (int64_t shift = least - own; shift <= of_hub - least && fits.size() < 2; ++shift) try_shift(shift);
    // Where only one was to be tried, it proves nothing.
    by_steps = fits.size() > 1 || of_hub + own - 2 * least < 1;
  }
  if (by_steps) {
    fits.clear();
    if (const auto shift = shift_by_seats(member)) try_shift(*shift);
  }
  return fits.size() == 1 ? shift_of(hub_, member, fits.front(), near) : ShiftResult{};
}

// Of a step that both recorded whole, where they made equally many calls in it; of the first one from its end, of the
// last one from its front. -1: none.
std::vector<int32_t> CausalSearch::partners_by_step(const MemberCalls& member) const {
  const std::vector<StepSeat> seats = seats_of(member);
  const auto [first, last] = shared_steps(seats_, seats);
  std::vector<int32_t> partners(member.size(), -1);
  for (size_t j = 0; j < member.size(); ++j) {
    const StepSeat& seat = seats[j];
    if (seat.step < 0) continue;
    const bool from_end = seat.step == first && first != last;
    const auto found = place_.find({seat.step, from_end ? seat.ordinal - seat.of : seat.ordinal});
    if (found == place_.end()) continue;
    const auto at = static_cast<size_t>(found->second);
    if (one_seat(seats_[at], seat, first, last) && alike(hub_[at], member[j])) {
      partners[j] = static_cast<int32_t>(found->second);
    }
  }
  return partners;
}

ShiftResult CausalSearch::find_by_step(const MemberCalls& member, std::optional<Prior> prior) const {
  std::vector<int32_t> partners = member.empty() || hub_.empty() ? std::vector<int32_t>() : partners_by_step(member);
  const Prior near = prior ? cautious(prior) : Prior{0, kAnyOffset};
  Feasible offsets{near.offset_ns - near.error_ns, near.offset_ns + near.error_ns};
  std::vector<ClockTie> ties;
  for (size_t j = 0; j < partners.size(); ++j) {
    if (partners[j] < 0) continue;
    const MatchCall& other = hub_[static_cast<size_t>(partners[j])];
    narrow(member[j], other, offsets);
    ties.push_back({member[j].end_ns, other.end_ns - member[j].end_ns});
  }
  const int64_t shorter = std::min(std::ssize(hub_), std::ssize(member));
  const double window = ties.empty() ? 0 : static_cast<double>(hub_.back().end_ns - hub_.front().start_ns);
  const bool enough = std::ssize(ties) >= kLeastPairs && 2 * std::ssize(ties) >= shorter;
  if (!enough || !offsets.within(static_cast<int64_t>(kMostDrift * window))) return {};
  ShiftResult result = clock_of(ties, offsets, near);
  if (result.found()) result.by_step = std::move(partners);
  return result;
}

}  // namespace skewscope
