#include "collectives/shift_search.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "skewscope/base/sort_runs.h"

namespace skewscope {
namespace {

constexpr size_t kEnoughVotes = 40'000, kLeastVoters = 64;

// A call's step, how many calls of its signature were made in it, and which of them it was.
struct CallPlace {
  int64_t step = -1;
  int32_t ordinal = 0, of = 0;
};

std::vector<CallPlace> places_of(const MemberCalls& calls) {
  std::map<std::pair<uint64_t, int64_t>, int32_t> count;
  std::vector<CallPlace> places;
  for (const MatchCall& call : calls) {
    places.push_back({call.step, call.step < 0 ? 0 : count[{call.signature, call.step}]++, 0});
  }
  for (size_t c = 0; c < calls.size(); ++c) {
    if (calls[c].step >= 0) places[c].of = count.at({calls[c].signature, calls[c].step});
  }
  return places;
}

VoteSteps steps_of(const CallPlace& a, const CallPlace& b) {
  if (a.step < 0 || b.step < 0) return VoteSteps::unnamed;
  if (a.step != b.step) return VoteSteps::different;
  return a.ordinal == b.ordinal && a.of == b.of ? VoteSteps::same_place : VoteSteps::same;
}

// Ends and places of calls of one signature, by end.
struct AlikeCalls {
  std::vector<int64_t> end_ns;
  std::vector<CallPlace> place;
};
using CallsBySignature = std::unordered_map<uint64_t, AlikeCalls>;

CallsBySignature by_signature(const MemberCalls& calls) {
  CallsBySignature index;
  const std::vector<CallPlace> places = places_of(calls);
  for (size_t c = 0; c < calls.size(); ++c) {
    AlikeCalls& alike = index[calls[c].signature];
    alike.end_ns.push_back(calls[c].end_ns);
    alike.place.push_back(places[c]);
  }
  return index;
}

// All pairs of equal signature, of a block of consecutive member calls around `center` that casts enough votes.
std::vector<Vote> collect_votes(const CallsBySignature& hub, const MemberCalls& member,
                                const std::vector<CallPlace>& places, size_t center) {
  std::vector<Vote> votes;
  const auto add = [&](size_t j) {
    const MatchCall& call = member[j];
    const auto found = hub.find(call.signature);
    if (found == hub.end()) return;
    const AlikeCalls& alike = found->second;
    const size_t before = votes.size();
    votes.resize(before + alike.end_ns.size());
    for (size_t i = 0; i < alike.end_ns.size(); ++i) {
      votes[before + i] = Vote(alike.end_ns[i] - call.end_ns, steps_of(alike.place[i], places[j]));
    }
  };
  const auto enough = [&](size_t distance) { return votes.size() >= kEnoughVotes && 2 * distance >= kLeastVoters; };
  for (size_t distance = 0; distance < member.size() && !enough(distance); ++distance) {
    if (center + distance < member.size()) add(center + distance);
    if (distance > 0 && distance <= center) add(center - distance);
  }
  sort_runs(votes, std::less<Vote>());  // the votes of one call come in order
  return votes;
}

// The end of the hub's call of equal signature that is nearest to `end`; none where none lies within `tolerance`.
std::optional<int64_t> nearest(const CallsBySignature& hub, uint64_t signature, int64_t end, int64_t tolerance) {
  const auto found = hub.find(signature);
  if (found == hub.end()) return std::nullopt;
  const std::vector<int64_t>& ends = found->second.end_ns;
  const auto at = std::lower_bound(ends.begin(), ends.end(), end);
  std::optional<int64_t> best;
  int64_t distance = tolerance + 1;
  for (const auto it : {at, at == ends.begin() ? ends.end() : at - 1}) {
    if (it == ends.end()) continue;
    const int64_t d = std::llabs(*it - end);
    if (d < distance) {
      distance = d;
      best = *it;
    }
  }
  return best;
}

// Joins calls outwards from the one nearest the vote's block, following the offset with the median of recent ties.
void track(const CallsBySignature& hub, const MemberCalls& member, size_t from, int step, int64_t offset_ns,
           int64_t tolerance, std::vector<ClockTie>& ties) {
  std::vector<int64_t> recent;
  constexpr size_t kRecent = 15;
  for (size_t n = 0, j = from; j < member.size(); ++n, j += static_cast<size_t>(step)) {
    const auto end = nearest(hub, member[j].signature, member[j].end_ns + offset_ns, tolerance);
    if (!end) continue;
    const int64_t seen = *end - member[j].end_ns;
    ties.push_back({member[j].end_ns, seen});
    if (recent.size() < kRecent) {
      recent.push_back(seen);
    } else {
      recent[n % kRecent] = seen;
    }
    if (recent.size() < 5) continue;
    std::vector<int64_t> sorted = recent;
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<int64_t>(sorted.size() / 2), sorted.end());
    offset_ns = sorted[sorted.size() / 2];
  }
}

// Quantile of the spacing between neighbours of equal signature; 0 without any.
int64_t spacing_quantile_ns(const MemberCalls& calls, double share) {
  std::unordered_map<uint64_t, int64_t> last;
  std::vector<int64_t> spacing;
  for (const MatchCall& call : calls) {
    const auto [at, first] = last.emplace(call.signature, call.end_ns);
    if (!first) spacing.push_back(call.end_ns - at->second);
    at->second = call.end_ns;
  }
  if (spacing.empty()) return 0;
  const auto at = spacing.begin() + static_cast<int64_t>(share * static_cast<double>(spacing.size()));
  std::nth_element(spacing.begin(), at, spacing.end());
  return *at;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace

int64_t ClockLine::apply(int64_t x) const {
  return x + std::llround(offset_ns + slope * static_cast<double>(x - center_ns));
}

ClockLine resistant_line(std::vector<ClockTie> ties) {
  std::sort(ties.begin(), ties.end(),
            [](const ClockTie& a, const ClockTie& b) { return a.member_end_ns < b.member_end_ns; });
  ClockLine line;
  line.center_ns = ties[ties.size() / 2].member_end_ns;
  const size_t bins = std::clamp<size_t>(ties.size() / 3, 1, 12);
  std::vector<double> at, offset;
  for (size_t b = 0; b < bins; ++b) {
    std::vector<double> xs, ys;
    for (size_t k = b * ties.size() / bins; k < (b + 1) * ties.size() / bins; ++k) {
      xs.push_back(static_cast<double>(ties[k].member_end_ns - line.center_ns));
      ys.push_back(static_cast<double>(ties[k].offset_ns));
    }
    at.push_back(median(xs));
    offset.push_back(median(ys));
  }
  std::vector<double> slopes;
  for (size_t i = 0; i < bins; ++i) {
    for (size_t j = i + 1; j < bins; ++j) {
      if (at[j] > at[i]) slopes.push_back((offset[j] - offset[i]) / (at[j] - at[i]));
    }
  }
  constexpr double kMostDrift = 120e-6;  // four times the 30 ppm of a crystal oscillator
  if (bins >= 4) line.slope = std::clamp(median(slopes), -kMostDrift, kMostDrift);
  std::vector<double> rest;
  for (size_t i = 0; i < bins; ++i) rest.push_back(offset[i] - line.slope * at[i]);
  line.offset_ns = median(rest);
  return line;
}

namespace {

// What the votes of two members are judged by.
VoteContext context_of(const MemberCalls& hub, const MemberCalls& member, std::optional<int64_t> prior_ns,
                       bool one_host) {
  VoteContext context;
  context.prior_ns = prior_ns;
  context.one_host = one_host;
  context.tolerance_ns = join_tolerance_ns(hub);
  const int64_t first = std::max(hub.front().end_ns, member.front().end_ns);
  const int64_t last = std::min(hub.back().end_ns, member.back().end_ns);
  const auto inside = [&](const MatchCall& call) { return call.end_ns >= first && call.end_ns <= last; };
  context.common_calls =
      std::min(std::count_if(hub.begin(), hub.end(), inside), std::count_if(member.begin(), member.end(), inside));
  std::set<int64_t> steps;
  for (const MatchCall& call : hub) steps.insert(call.step);
  const auto count = static_cast<int64_t>(steps.size());
  context.step_ns = (hub.back().end_ns - hub.front().end_ns) / count;
  context.step_calls = (static_cast<int64_t>(hub.size()) + count - 1) / count;
  return context;
}

}  // namespace

int64_t typical_spacing_ns(const MemberCalls& calls) { return spacing_quantile_ns(calls, 0.5); }

int64_t join_tolerance_ns(const MemberCalls& calls) {
  constexpr int64_t kLeast = 50'000, kMost = 5'000'000;
  const int64_t low = spacing_quantile_ns(calls, 0.02);
  return low == 0 ? kMost : std::clamp(low / 4, std::min(kLeast, low / 2), kMost);
}

ShiftResult find_shift(const MemberCalls& hub, const MemberCalls& member, std::optional<int64_t> prior_ns,
                       bool one_host) {
  if (hub.empty() || member.empty()) return {};
  const CallsBySignature index = by_signature(hub);
  const std::vector<CallPlace> places = places_of(member);
  const VoteContext context = context_of(hub, member, prior_ns, one_host);
  Winner winner;
  size_t center = 0;
  for (const size_t quarter : {2U, 1U, 3U}) {  // the middle is most likely inside the other's window
    center = member.size() * quarter / 4;
    winner = judge(collect_votes(index, member, places, center), context);
    if (winner.evidence != ShiftEvidence::none && winner.evidence != ShiftEvidence::ambiguous) break;
  }
  if (winner.evidence == ShiftEvidence::none || winner.evidence == ShiftEvidence::ambiguous) {
    return {winner.evidence, {}, 0};
  }
  std::vector<ClockTie> ties;
  track(index, member, center, 1, winner.offset_ns, context.tolerance_ns, ties);
  if (center > 0) track(index, member, center - 1, -1, winner.offset_ns, context.tolerance_ns, ties);
  if (ties.empty()) return {ShiftEvidence::ambiguous, {}, 0};
  ShiftResult result{winner.evidence, resistant_line(ties), 0};
  std::vector<double> distance;
  for (const ClockTie& tie : ties) {
    const int64_t hub_end = tie.member_end_ns + tie.offset_ns;
    distance.push_back(std::fabs(static_cast<double>(hub_end - result.line.apply(tie.member_end_ns))));
  }
  result.scatter_ns = median(std::move(distance));
  return result;
}

}  // namespace skewscope
