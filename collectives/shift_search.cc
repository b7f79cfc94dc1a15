#include "collectives/shift_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <unordered_map>

#include "skewscope/base/sort_runs.h"

namespace skewscope {
namespace {

constexpr size_t kEnoughVotes = 40'000, kLeastVoters = 64;
constexpr std::array<int64_t, 4> kWindows = {400'000, 100'000, 25'000,
                                             10'000};  // ns; widths in which votes count as equal
constexpr int kLeastVotes = 3;                         // fewer prove nothing without a prior
constexpr int64_t kPriorSlack = 1'000'000;             // ns; what other communicators' offsets are good for
constexpr int64_t kWallClockGood = 5'000'000;          // ns; offsets that NTP keeps
constexpr int64_t kWallClockBad = 20'000'000;          // ns; offsets that NTP does not leave
constexpr int64_t kLonelyWallClock = 500'000;          // ns; believed for one or two votes: one host, or PTP

// An offset, and in the lowest bit whether the two calls name the same step: votes sort as plain numbers.
class Vote {
 public:
  Vote() = default;
  Vote(int64_t offset_ns, bool same_step) : bits_(offset_ns * 2 + static_cast<int64_t>(same_step)) {}
  int64_t offset_ns() const { return bits_ >> 1; }
  bool same_step() const { return (bits_ & 1) != 0; }
  bool operator<(const Vote& other) const { return bits_ < other.bits_; }

 private:
  int64_t bits_ = 0;
};

struct Peak {
  int64_t offset_ns = 0;  // median of the window's votes
  int votes = 0;
};

// Ends and steps of calls of one signature, by end.
struct AlikeCalls {
  std::vector<int64_t> end_ns, step;
};
using CallsBySignature = std::unordered_map<uint64_t, AlikeCalls>;

CallsBySignature by_signature(const MemberCalls& calls) {
  CallsBySignature index;
  for (const MatchCall& call : calls) {
    AlikeCalls& alike = index[call.signature];
    alike.end_ns.push_back(call.end_ns);
    alike.step.push_back(call.step);
  }
  return index;
}

// All pairs of equal signature, of a block of consecutive member calls around `center` that casts enough votes.
std::vector<Vote> collect_votes(const CallsBySignature& hub, const MemberCalls& member, size_t center) {
  std::vector<Vote> votes;
  const auto add = [&](size_t j) {
    const MatchCall& call = member[j];
    const auto found = hub.find(call.signature);
    if (found == hub.end()) return;
    const AlikeCalls& alike = found->second;
    const size_t before = votes.size();
    votes.resize(before + alike.end_ns.size());
    for (size_t i = 0; i < alike.end_ns.size(); ++i) {
      votes[before + i] = Vote(alike.end_ns[i] - call.end_ns, call.step >= 0 && call.step == alike.step[i]);
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

// The densest window of `width`, leaving out votes within 4 widths of `not_near`.
Peak densest(const std::vector<int64_t>& offsets, int64_t width, std::optional<int64_t> not_near) {
  Peak best;
  size_t low = 0, votes = 0;
  for (size_t high = 0; high < offsets.size(); ++high) {
    if (high < votes || offsets[high] - offsets[high - votes] > width) continue;  // not more than the best so far
    while (offsets[high] - offsets[low] > width) ++low;
    const int64_t middle = offsets[low + (high - low) / 2];
    if (not_near && std::llabs(middle - *not_near) <= 4 * width) continue;
    votes = high - low + 1;
    best = {middle, static_cast<int>(votes)};
  }
  return best;
}

struct Winner {
  Peak peak;
  ShiftEvidence evidence = ShiftEvidence::none;
};

// The densest window at `width`, and then narrower ones inside it as far as the votes follow: calls may stand closer
// together than the width, and then it holds several shifts. Nothing where narrower windows inside tie.
std::optional<Peak> narrowed(const std::vector<int64_t>& all, Peak peak, int64_t width, int64_t tolerance_ns) {
  if (tolerance_ns >= width) return peak;  // calls stand four widths apart: the window holds one shift
  for (const int64_t narrow : kWindows) {
    if (narrow >= width) continue;
    const auto low = std::lower_bound(all.begin(), all.end(), peak.offset_ns - 2 * width);
    const auto high = std::upper_bound(all.begin(), all.end(), peak.offset_ns + 2 * width);
    const std::vector<int64_t> inside(low, high);
    const Peak best = densest(inside, narrow, std::nullopt);
    if (2 * best.votes < peak.votes) return peak;  // ends scatter more than this width
    const Peak second = densest(inside, narrow, best.offset_ns);
    if (10 * best.votes < 11 * second.votes) return std::nullopt;
    peak = best;
    width = narrow;
  }
  return peak;
}

// Among offsets that a synchronised host may show, one that none of the others comes near.
std::optional<Peak> wall_clock_peak(const std::vector<int64_t>& all, int64_t width, int64_t tolerance_ns) {
  const auto low = std::lower_bound(all.begin(), all.end(), -kWallClockBad);
  const auto high = std::upper_bound(all.begin(), all.end(), kWallClockBad);
  const std::vector<int64_t> near(low, high);
  const Peak best = densest(near, width, std::nullopt);
  if (best.votes < kLeastVotes || std::llabs(best.offset_ns) > kWallClockGood) return std::nullopt;
  if (best.votes < 2 * densest(near, width, best.offset_ns).votes) return std::nullopt;
  return narrowed(near, best, width, tolerance_ns);
}

// Offsets of the votes near the prior.
std::vector<int64_t> offsets_of(const std::vector<Vote>& votes, std::optional<int64_t> prior_ns, bool same_step_only) {
  std::vector<int64_t> offsets;
  if (!same_step_only) offsets.reserve(votes.size());
  for (const Vote& vote : votes) {
    if (prior_ns && std::llabs(vote.offset_ns() - *prior_ns) > kPriorSlack) continue;
    if (vote.same_step() || !same_step_only) offsets.push_back(vote.offset_ns());
  }
  return offsets;
}

Winner judge(const std::vector<Vote>& votes, std::optional<int64_t> prior_ns, int64_t tolerance_ns) {
  const std::vector<int64_t> all = offsets_of(votes, prior_ns, false);
  if (all.empty()) return {};
  std::array<Peak, kWindows.size()> peaks;
  for (size_t i = 0; i < kWindows.size(); ++i) {
    const int64_t width = kWindows[i];
    const Peak best = peaks[i] = densest(all, width, std::nullopt);
    if (best.votes < 2 * densest(all, width, best.offset_ns).votes) continue;
    const std::optional<Peak> peak = narrowed(all, best, width, tolerance_ns);
    if (!peak) continue;
    if (prior_ns) return {*peak, ShiftEvidence::prior};
    const bool proven = peak->votes >= kLeastVotes || std::llabs(peak->offset_ns) <= kLonelyWallClock;
    return {*peak, proven ? ShiftEvidence::fingerprint : ShiftEvidence::ambiguous};
  }
  // Several windows are about equally dense: the job is periodic.
  const std::vector<int64_t> same_step = offsets_of(votes, prior_ns, true);
  for (size_t i = 0; i < kWindows.size(); ++i) {
    const int64_t width = kWindows[i];
    const Peak steps = densest(same_step, width, std::nullopt);
    if (steps.votes >= kLeastVotes && 10 * steps.votes >= 9 * peaks[i].votes) {
      if (const auto peak = narrowed(same_step, steps, width, tolerance_ns)) return {*peak, ShiftEvidence::step};
    }
    if (const auto peak = wall_clock_peak(all, width, tolerance_ns)) return {*peak, ShiftEvidence::fingerprint};
  }
  return {{}, ShiftEvidence::ambiguous};
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

int64_t typical_spacing_ns(const MemberCalls& calls) { return spacing_quantile_ns(calls, 0.5); }

int64_t join_tolerance_ns(const MemberCalls& calls) {
  constexpr int64_t kLeast = 50'000, kMost = 5'000'000;
  const int64_t low = spacing_quantile_ns(calls, 0.02);
  return low == 0 ? kMost : std::clamp(low / 4, kLeast, kMost);
}

ShiftResult find_shift(const MemberCalls& hub, const MemberCalls& member, std::optional<int64_t> prior_ns) {
  if (hub.empty() || member.empty()) return {};
  const CallsBySignature index = by_signature(hub);
  const int64_t tolerance = join_tolerance_ns(hub);
  Winner winner;
  size_t center = 0;
  for (const size_t quarter : {2U, 1U, 3U}) {  // the middle is most likely inside the other's window
    center = member.size() * quarter / 4;
    winner = judge(collect_votes(index, member, center), prior_ns, tolerance);
    if (winner.evidence != ShiftEvidence::none && winner.evidence != ShiftEvidence::ambiguous) break;
  }
  if (winner.evidence == ShiftEvidence::none || winner.evidence == ShiftEvidence::ambiguous) {
    return {winner.evidence, {}, 0};
  }
  std::vector<ClockTie> ties;
  track(index, member, center, 1, winner.peak.offset_ns, tolerance, ties);
  if (center > 0) track(index, member, center - 1, -1, winner.peak.offset_ns, tolerance, ties);
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
