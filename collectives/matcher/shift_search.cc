#include "shift_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>

#include "skewscope/base/middle.h"

namespace skewscope {
namespace {

constexpr size_t kEnoughVotes = 40'000, kLeastVoters = 64;

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
  return take_nth(spacing, static_cast<size_t>(share * static_cast<double>(spacing.size())));
}

}  // namespace

int64_t typical_spacing_ns(const MemberCalls& calls) { return spacing_quantile_ns(calls, 0.5); }

int64_t join_tolerance_ns(const MemberCalls& calls) {
  constexpr int64_t kLeast = 50'000, kMost = 5'000'000;
  const int64_t low = spacing_quantile_ns(calls, 0.02);
  return low == 0 ? kMost : std::clamp(low / 4, std::min(kLeast, low / 2), kMost);
}

std::vector<PlaceInStep> ShiftSearch::places_of(const MemberCalls& calls) {
  std::unordered_map<uint64_t, std::unordered_map<int64_t, int32_t>> count;  // per signature and step
  std::vector<PlaceInStep> places;
  places.reserve(calls.size());
  for (const MatchCall& call : calls) {
    places.push_back({call.step, call.step < 0 ? 0 : count[call.signature][call.step]++, 0});
  }
  for (size_t c = 0; c < calls.size(); ++c) {
    if (calls[c].step >= 0) places[c].of = count.at(calls[c].signature).at(calls[c].step);
  }
  return places;
}

VoteSteps ShiftSearch::steps_of(const PlaceInStep& a, const PlaceInStep& b) {
  if (a.step < 0 || b.step < 0) return VoteSteps::unnamed;
  if (a.step != b.step) return VoteSteps::different;
  return a.ordinal == b.ordinal && a.of == b.of ? VoteSteps::same_place : VoteSteps::same;
}

ShiftSearch::ShiftSearch(const MemberCalls& hub) : hub_(hub) {
  const std::vector<PlaceInStep> places = places_of(hub);
  for (size_t c = 0; c < hub.size(); ++c) {
    AlikeCalls& alike = by_signature_[hub[c].signature];
    alike.end_ns.push_back(hub[c].end_ns);
    alike.place.push_back(places[c]);
  }
  of_hub_.tolerance_ns = join_tolerance_ns(hub);
  if (hub.empty()) return;
  std::set<int64_t> steps;
  for (const MatchCall& call : hub) steps.insert(call.step);
  const auto count = static_cast<int64_t>(steps.size());
  of_hub_.step_ns = (hub.back().end_ns - hub.front().end_ns) / count;
  of_hub_.step_calls = (static_cast<int64_t>(hub.size()) + count - 1) / count;
}

VoteContext ShiftSearch::context_with(const MemberCalls& member) const {
  VoteContext context = of_hub_;
  context.common_calls = common_calls(member, ClockLine());
  return context;
}

// The fewer of those that either recorded while the other did.
int64_t ShiftSearch::common_calls(const MemberCalls& member, const ClockLine& line) const {
  const int64_t first = std::max(hub_.front().end_ns, line.apply(member.front().end_ns));
  const int64_t last = std::min(hub_.back().end_ns, line.apply(member.back().end_ns));
  const auto inside = [&](int64_t end_ns) { return end_ns >= first && end_ns <= last; };
  return std::min(std::count_if(hub_.begin(), hub_.end(), [&](const MatchCall& call) { return inside(call.end_ns); }),
                  std::count_if(member.begin(), member.end(),
                                [&](const MatchCall& call) { return inside(line.apply(call.end_ns)); }));
}

const ShiftSearch::AlikeCalls* ShiftSearch::alike(uint64_t signature) const {
  const auto found = by_signature_.find(signature);
  return found == by_signature_.end() ? nullptr : &found->second;
}

// All pairs of equal signature, of a block of consecutive member calls around `center` that casts enough votes.
void ShiftSearch::collect_votes(const MemberCalls& member, const std::vector<PlaceInStep>& places, size_t center,
                                VoteRoom& room) const {
  std::vector<Vote>& votes = room.votes;
  votes.clear();
  const auto add = [&](size_t j) {
    const AlikeCalls* of_hub = alike(member[j].signature);
    if (!of_hub) return;
    const size_t before = votes.size();
    votes.resize(before + of_hub->end_ns.size());
    for (size_t i = 0; i < of_hub->end_ns.size(); ++i) {
      votes[before + i] = Vote(of_hub->end_ns[i] - member[j].end_ns, steps_of(of_hub->place[i], places[j]));
    }
  };
  const auto enough = [&](size_t distance) { return votes.size() >= kEnoughVotes && 2 * distance >= kLeastVoters; };
  for (size_t distance = 0; distance < member.size() && !enough(distance); ++distance) {
    if (center + distance < member.size()) add(center + distance);
    if (distance > 0 && distance <= center) add(center - distance);
  }
  sort_votes(votes, room.spare);
}

// The end of the hub's call of equal signature that is nearest; none where none lies within the tolerance.
std::optional<int64_t> ShiftSearch::nearest(uint64_t signature, int64_t end_ns) const {
  const AlikeCalls* of_hub = alike(signature);
  if (!of_hub) return std::nullopt;
  const std::vector<int64_t>& ends = of_hub->end_ns;
  const auto at = std::lower_bound(ends.begin(), ends.end(), end_ns);
  std::optional<int64_t> best;
  int64_t distance = of_hub_.tolerance_ns + 1;
  for (const auto it : {at, at == ends.begin() ? ends.end() : at - 1}) {
    if (it == ends.end()) continue;
    const int64_t d = std::llabs(*it - end_ns);
    if (d < distance) {
      distance = d;
      best = *it;
    }
  }
  return best;
}

// Joins calls outwards from the one nearest the vote's block, following the offset with the median of recent ties.
void ShiftSearch::track(const MemberCalls& member, size_t from, int step, int64_t offset_ns,
                        std::vector<ClockTie>& ties) const {
  constexpr size_t kRecent = 15, kLeastRecent = 5;
  std::array<int64_t, kRecent> recent{};
  size_t filled = 0;
  for (size_t n = 0, j = from; j < member.size(); ++n, j += static_cast<size_t>(step)) {
    const auto end = nearest(member[j].signature, member[j].end_ns + offset_ns);
    if (!end) continue;
    const int64_t seen = *end - member[j].end_ns;
    ties.push_back({member[j].end_ns, seen});
    recent[filled < kRecent ? filled++ : n % kRecent] = seen;
    if (filled < kLeastRecent) continue;
    std::array<int64_t, kRecent> sorted = recent;
    const auto middle = sorted.begin() + filled / 2;
    std::nth_element(sorted.begin(), middle, sorted.begin() + filled);
    offset_ns = *middle;
  }
}

ShiftResult ShiftSearch::find(const MemberCalls& member, std::optional<Prior> prior, bool one_host, bool named,
                              VoteRoom& room) const {
  if (hub_.empty() || member.empty()) return {};
  const std::vector<PlaceInStep> places = places_of(member);
  VoteContext context = context_with(member);
  context.prior = prior;
  context.one_host = one_host;
  context.named = named;
  Winner winner;
  size_t center = 0;
  for (const size_t quarter : {2U, 1U, 3U}) {  // the middle is most likely inside the other's window
    center = member.size() * quarter / 4;
    collect_votes(member, places, center, room);
    winner = judge(room.votes, context);
    if (winner.evidence != ShiftEvidence::none && winner.evidence != ShiftEvidence::ambiguous) break;
  }
  if (winner.evidence == ShiftEvidence::none || winner.evidence == ShiftEvidence::ambiguous) {
    return {winner.evidence, {}, 0, 0, {}};
  }
  std::vector<ClockTie> ties;
  track(member, center, 1, winner.offset_ns, ties);
  if (center > 0) track(member, center - 1, -1, winner.offset_ns, ties);
  if (ties.empty()) return {ShiftEvidence::ambiguous, {}, 0, 0, {}, {}};
  ShiftResult result{winner.evidence, resistant_line(ties), 0, 1, {}};
  std::vector<double> distance;
  for (const ClockTie& tie : ties) {
    const int64_t hub_end = tie.member_end_ns + tie.offset_ns;
    distance.push_back(std::fabs(static_cast<double>(hub_end - result.line.apply(tie.member_end_ns))));
  }
  result.scatter_ns = take_median(distance);
  const int64_t common = std::max<int64_t>(1, common_calls(member, result.line));
  result.joined = static_cast<double>(ties.size()) / static_cast<double>(common);
  return result;
}

}  // namespace skewscope
