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
Prior cautious(const std::optional<Prior>& prior) {
  if (!prior) return {0, 500'000'000};
  return {prior->offset_ns, std::max(prior->error_ns, std::min(3 * prior->error_ns, kLargestPriorError))};
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

// Whether two calls may have one place in one step. A member's first step may lack its beginning, its last one its end:
// `first` and `last` are the later of the members' first and the earlier of their last.
bool is_one_place(const PlaceInStep& a, const PlaceInStep& b, int64_t first, int64_t last) {
  if (a.step != b.step) return false;
  if (a.ordinal == b.ordinal && a.of == b.of) return true;
  return (a.step == first && a.of - a.ordinal == b.of - b.ordinal) || (a.step == last && a.ordinal == b.ordinal);
}

// The later of the first steps, the earlier of the last ones.
std::pair<int64_t, int64_t> shared_steps(const std::vector<PlaceInStep>& hub, const std::vector<PlaceInStep>& member) {
  const auto first_step = [](const std::vector<PlaceInStep>& places) {
    const auto named =
        std::find_if(places.begin(), places.end(), [](const PlaceInStep& place) { return place.step >= 0; });
    return named == places.end() ? -1 : named->step;
  };
  return {std::max(first_step(hub), first_step(member)), std::min(hub.back().step, member.back().step)};
}

// Whether all pairs do; calls outside every step may be any.
bool have_one_place_each(const std::vector<PlaceInStep>& hub, const std::vector<PlaceInStep>& member,
                         const Pairs& pairs, int64_t shift) {
  const auto [first, last] = shared_steps(hub, member);
  for (int64_t j = pairs.first; j < pairs.first + pairs.count; ++j) {
    const PlaceInStep &own = member[static_cast<size_t>(j)], &other = hub[static_cast<size_t>(j + shift)];
    if ((own.step >= 0 || other.step >= 0) && !is_one_place(own, other, first, last)) return false;
  }
  return true;
}

struct Fit {
  int64_t shift;
  Feasible offsets;
};

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

std::vector<bool> at_one_place_in_step(const MemberCalls& hub, const MemberCalls& member, int64_t order) {
  const std::vector<PlaceInStep> hub_places = places_in_steps(hub), member_places = places_in_steps(member);
  std::vector<bool> same;
  for (int64_t j = 0; j < std::ssize(member); ++j) {
    const PlaceInStep& own = member_places[static_cast<size_t>(j)];
    const bool both = own.step >= 0 && j + order >= 0 && j + order < std::ssize(hub);
    same.push_back(both && own == hub_places[static_cast<size_t>(j + order)]);
  }
  return same;
}

CausalSearch::CausalSearch(const MemberCalls& hub) : hub_(hub), places_(places_in_steps(hub)) {
  for (size_t i = 0; i < hub.size(); ++i) {
    const PlaceInStep& place = places_[i];
    if (place.step < 0) continue;
    call_at_.emplace(std::pair(place.step, place.ordinal), static_cast<int64_t>(i));
    call_at_.emplace(std::pair(place.step, place.ordinal - place.of), static_cast<int64_t>(i));
  }
}

// The one shift at which all pairs have the same place in the same step; nullopt: none, or several.
std::optional<int64_t> CausalSearch::shift_by_places(const MemberCalls& member) const {
  const std::vector<PlaceInStep> places = places_in_steps(member);
  std::set<int64_t> tried, fitting;
  for (size_t j = 0; j < member.size(); ++j) {
    if (places[j].step < 0) continue;
    for (const int32_t at : {places[j].ordinal, places[j].ordinal - places[j].of}) {
      const auto found = call_at_.find({places[j].step, at});
      if (found == call_at_.end()) continue;
      const int64_t shift = found->second - static_cast<int64_t>(j);
      if (!tried.insert(shift).second) continue;
      if (have_one_place_each(places_, places, pairs_of(hub_, member, shift), shift)) fitting.insert(shift);
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
  // Steps tell which messages are one, whatever the clocks.
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
    if (const auto shift = shift_by_places(member)) try_shift(*shift);
  }
  return fits.size() == 1 ? shift_of(hub_, member, fits.front(), near) : ShiftResult{};
}

// Per call of the member the hub's call at the same position of the same step, where both made equally many calls in
// it; -1: none. Steps may be cut: the first one is counted from its end, the last one from its front.
std::vector<int32_t> CausalSearch::partners_by_step(const MemberCalls& member) const {
  const std::vector<PlaceInStep> places = places_in_steps(member);
  const auto [first, last] = shared_steps(places_, places);
  std::vector<int32_t> partners(member.size(), -1);
  for (size_t j = 0; j < member.size(); ++j) {
    const PlaceInStep& place = places[j];
    if (place.step < 0) continue;
    const bool from_end = place.step == first && first != last;
    const auto found = call_at_.find({place.step, from_end ? place.ordinal - place.of : place.ordinal});
    if (found == call_at_.end()) continue;
    const auto at = static_cast<size_t>(found->second);
    if (is_one_place(places_[at], place, first, last) && alike(hub_[at], member[j])) {
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
