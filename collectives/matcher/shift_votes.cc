#include "shift_votes.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <utility>

namespace skewscope {
namespace {

// ns; widths in which votes count as equal. In those finer than kScatter, ends of one collective may scatter out.
constexpr std::array<int64_t, 6> kWindows = {400'000, 100'000, 25'000, 10'000, 3'000, 1'000};
constexpr int64_t kScatter = 10'000;
constexpr int kLeastVotes = 3;                  // fewer prove nothing without a prior
constexpr int kLeastFineVotes = 30;             // fewer may meet in a fine window by chance
constexpr int kFewVotes = 10;                   // fewer settle little where other offsets have some
constexpr int64_t kChanceWidth = 25'000;        // ns; in it few ends that scatter by more may meet by chance
constexpr int64_t kWallClockGood = 5'000'000;   // ns; offsets that NTP keeps
constexpr int64_t kWallClockBad = 20'000'000;   // ns; offsets that NTP does not leave
constexpr int64_t kNoClockErr = 2'000'000'000;  // ns; hosts' clocks are not further apart
constexpr int64_t kLonelyWallClock = 500'000;   // ns; believed for one or two votes: one host, or PTP
constexpr int64_t kOneHost = 1'000'000;         // ns; more than any tracer's clocks of one host were seen to differ
constexpr int64_t kOneHostWidth = 25'000;       // ns; ends of one collective scatter less on one host
constexpr int64_t kOneHostUsually = 10'000;     // ns; what nearly all keep
constexpr int64_t kFewCommonCalls = 10;         // fewer may miss each other although the clocks are one
constexpr int64_t kByChance = 50'000;           // ns; clocks of synchronised hosts agree to this, others rarely
constexpr int64_t kStepsProven = 4;             // whole steps that fit nowhere else by chance

struct Peak {
  int64_t offset_ns = 0;  // median of the window's votes
  int votes = 0;
};

using Votes = std::span<const Vote>;  // sorted

// The densest window of `width`, leaving out votes within 4 widths of `not_near`.
Peak densest(Votes all, int64_t width, std::optional<int64_t> not_near) {
  const auto offset = [&](size_t v) { return all[v].offset_ns(); };
  Peak best;
  size_t low = 0, votes = 0;
  for (size_t high = 0; high < all.size(); ++high) {
    if (high < votes || offset(high) - offset(high - votes) > width) continue;  // not more than the best so far
    while (offset(high) - offset(low) > width) ++low;
    const int64_t middle = offset(low + (high - low) / 2);
    if (not_near && std::llabs(middle - *not_near) <= 4 * width) continue;
    votes = high - low + 1;
    best = {middle, static_cast<int>(votes)};
  }
  return best;
}

// The votes below and above a limit.
std::pair<Votes, Votes> parted(Votes all, int64_t limit_ns) {
  const auto at =
      std::partition_point(all.begin(), all.end(), [&](const Vote& vote) { return vote.offset_ns() < limit_ns; });
  return {{all.begin(), at}, {at, all.end()}};
}

Votes within(Votes all, int64_t center_ns, int64_t distance_ns) {
  return parted(parted(all, center_ns - distance_ns).second, center_ns + distance_ns + 1).first;
}

// Whether a window finer than ends may scatter still holds at least half of what lies around it, of enough votes.
bool keeps_votes(Votes all, const Peak& peak, int64_t width, int least) {
  if (width >= kScatter) return true;
  if (peak.votes < least) return false;
  return 2 * peak.votes >= densest(within(all, peak.offset_ns, kScatter), kScatter, std::nullopt).votes;
}

// The densest window at `width`, and then narrower ones inside it as far as the votes follow: calls may be closer
// together than the width, and then it holds several shifts. Nothing where narrower windows inside tie.
std::optional<Peak> narrowed(Votes all, Peak peak, int64_t width, int64_t tolerance_ns) {
  if (tolerance_ns >= width) return peak;  // calls are four widths apart: the window holds one shift
  for (const int64_t narrow : kWindows) {
    if (narrow >= width || narrow < kScatter) continue;
    const Votes inside = within(all, peak.offset_ns, 2 * width);
    const Peak best = densest(inside, narrow, std::nullopt);
    const Peak second = densest(inside, narrow, best.offset_ns);
    if (10 * best.votes < 11 * second.votes) return std::nullopt;
    peak = best;
    width = narrow;
  }
  return peak;
}

// Whether few votes meet in a window by chance: the widest window elsewhere holds about as many as the one around it.
bool rivalled(Votes all, const Peak& peak, int64_t width) {
  if (width > kChanceWidth || peak.votes >= kLeastFineVotes) return false;
  const Peak wide = densest(within(all, peak.offset_ns, kWindows[0]), kWindows[0], std::nullopt);
  return 4 * densest(all, kWindows[0], wide.offset_ns).votes > 3 * wide.votes;
}

// The window that beats all others twice at `width`.
std::optional<Peak> clear_peak(Votes all, int64_t width, int64_t tolerance_ns) {
  const Peak best = densest(all, width, std::nullopt);
  if (best.votes == 0 || !keeps_votes(all, best, width, kLeastFineVotes)) return std::nullopt;
  if (best.votes < 2 * densest(all, width, best.offset_ns).votes) return std::nullopt;
  return narrowed(all, best, width, tolerance_ns);
}

// Among offsets that a synchronised host may show, one that none of the others comes near.
std::optional<Peak> wall_clock_peak(Votes all, int64_t width, int64_t tolerance_ns) {
  const Votes near = within(all, 0, kWallClockBad);
  const Peak best = densest(near, width, std::nullopt);
  if (best.votes < kLeastVotes || std::llabs(best.offset_ns) > kWallClockGood) return std::nullopt;
  if (best.votes < 2 * densest(near, width, best.offset_ns).votes) return std::nullopt;
  return narrowed(near, best, width, tolerance_ns);
}

// Whether an offset that one host's clocks cannot have holds at least `share` as many votes as the peak, in the finest
// window in which either keeps together.
bool far_as_dense(Votes all, const Peak& peak, double share) {
  const Votes near = within(all, 0, kOneHost);
  const Votes sooner = parted(all, -kOneHost).first, later = parted(all, kOneHost + 1).second;
  for (auto width = kWindows.rbegin(); width != kWindows.rend(); ++width) {
    const Peak here = densest(within(near, peak.offset_ns, *width), *width, std::nullopt);
    const Peak before = densest(sooner, *width, std::nullopt), after = densest(later, *width, std::nullopt);
    const Peak& there = before.votes < after.votes ? after : before;
    const Votes far = before.votes < after.votes ? later : sooner;
    if (!keeps_votes(near, here, *width, 1) && !keeps_votes(far, there, *width, 1)) continue;
    return there.votes >= share * here.votes;
  }
  return false;
}

// The offset that beats all others within what the clocks of one host differ by, clearly or, where it is next to
// nothing, visibly.
std::optional<Peak> one_host_peak(Votes all, int64_t tolerance_ns) {
  const Votes near = within(all, 0, kOneHost);
  std::optional<Peak> peak;
  for (size_t i = 0; i < kWindows.size() && !peak; ++i) {
    const int64_t width = kWindows[i];
    // Wider ones leave nothing of a millisecond to compare with, or hold several shifts.
    if (width > std::min(kOneHostWidth, tolerance_ns)) continue;
    peak = clear_peak(near, width, tolerance_ns);
    const Peak best = densest(near, width, std::nullopt), second = densest(near, width, best.offset_ns);
    const bool usual = std::llabs(best.offset_ns) <= kOneHostUsually &&
                       (second.votes == 0 || std::llabs(second.offset_ns) >= 4 * kOneHostUsually);
    if (!peak && usual && best.votes >= kLeastVotes && keeps_votes(near, best, width, kLeastVotes) &&
        10 * best.votes >= 11 * second.votes) {
      peak = best;
    }
  }
  if (!peak || (peak->votes < kLeastVotes && std::llabs(peak->offset_ns) > kLonelyWallClock)) return std::nullopt;
  const bool usual = std::llabs(peak->offset_ns) <= kOneHostUsually;
  return far_as_dense(all, *peak, usual ? 2 : 0.9) ? std::nullopt : peak;
}

// The votes as near to the prior as it errs, where they are one shift, no other lies within twice the error, and none
// within the slack is denser by more than what loses calls at the windows' edges: of calls that follow each other
// closely and evenly, clocks alone tell which are one.
std::optional<Peak> peak_within_error(Votes all, const Prior& prior) {
  const int64_t error = prior.error_ns + kScatter;
  if (error >= kLargestPriorError) return std::nullopt;
  const Peak peak = densest(within(all, prior.offset_ns, error), kScatter, std::nullopt);
  if (peak.votes < kLeastVotes || 10 * peak.votes < 9 * densest(all, kScatter, std::nullopt).votes) return std::nullopt;
  const Votes around = within(all, prior.offset_ns, 2 * error);
  const auto beside = [&](const Vote& vote) { return std::llabs(vote.offset_ns() - peak.offset_ns) > kScatter; };
  if (4 * std::count_if(around.begin(), around.end(), beside) > peak.votes) return std::nullopt;
  return peak;
}

// Whether calls at equal places in their steps lie together, within what ends of one collective scatter between nodes,
// and are at least `share` as many as the votes around the peak.
bool places_explain(Votes all, const Peak& peak, double share) {
  constexpr int64_t kBetweenNodes = 100'000;  // ns
  std::vector<Vote> placed;
  std::copy_if(all.begin(), all.end(), std::back_inserter(placed),
               [](const Vote& vote) { return vote.steps() == VoteSteps::same_place; });
  const Peak own = densest(placed, kBetweenNodes, std::nullopt);
  const Peak other = densest(within(all, peak.offset_ns, kBetweenNodes), kBetweenNodes, std::nullopt);
  return own.votes >= kLeastVotes && 2 * static_cast<size_t>(own.votes) >= placed.size() &&
         own.votes >= share * other.votes;
}

// Whether what the traces say of steps and hosts allows an offset that intervals between ends name.
bool credible(Votes all, const Peak& peak, const VoteContext& context) {
  const int64_t offset = std::llabs(peak.offset_ns);
  if (context.named && offset > kLonelyWallClock && peak.votes < kFewVotes) {
    // Where some calls are lost, few votes may be the neighbours'. Clocks that agree have a say in it.
    const int equal_clocks = densest(within(all, 0, kLonelyWallClock), kWindows[0], std::nullopt).votes;
    if (equal_clocks >= 2 && 3 * equal_clocks >= peak.votes) return false;
  }
  int64_t of_steps[4] = {0, 0, 0, 0};
  for (const Vote& vote : within(all, peak.offset_ns, kScatter)) ++of_steps[static_cast<size_t>(vote.steps())];
  const auto unnamed = of_steps[0], different = of_steps[1], same = of_steps[2] + of_steps[3];
  if (different > same + unnamed) {
    if (context.one_host || places_explain(all, peak, offset > kByChance ? 0.9 : 2)) return false;
    if (offset <= kWallClockGood && 4 * offset <= context.step_ns) return true;
    constexpr int64_t kWidth = 25'000;
    const Peak fine = densest(within(all, peak.offset_ns, kWidth), kWidth, std::nullopt);
    return fine.votes >= kStepsProven * context.step_calls &&
           fine.votes >= 2 * densest(all, kWidth, fine.offset_ns).votes;
  }
  return !context.one_host || same > unnamed || context.common_calls >= kFewCommonCalls;
}

// Whether the clocks as recorded speak against equal numbers of steps at an offset that has so many votes. Captures
// that were taken at other times share no step: every profiler counts from 0. Else clocks that agree explain as many
// votes, be it on one host, or where calls lie so far apart that they hardly would by chance: then one rank counts
// otherwise.
bool clocks_contradict(Votes all, int64_t offset_ns, int votes, int64_t width, const VoteContext& context) {
  const int64_t offset = std::llabs(offset_ns);
  if (offset > kNoClockErr && context.common_calls == 0) return true;
  if (offset <= kOneHost || context.common_calls < kFewCommonCalls) return false;
  const bool sparse = context.tolerance_ns >= 10 * kByChance;  // a quarter of the distance between calls
  if (!context.one_host && !sparse) return false;
  return 10 * densest(within(all, 0, context.one_host ? kOneHost : kByChance), width, std::nullopt).votes >= 9 * votes;
}

// The window of calls at equal places in their steps, where most of these lie in one and few others are denser. Numbers
// of steps that clocks contradict settle nothing.
std::optional<Peak> step_peak(Votes all, Votes placed, int64_t width, const VoteContext& context) {
  if (width > context.tolerance_ns) return std::nullopt;  // could hold several shifts
  const Peak peak = densest(placed, width, std::nullopt);
  if (peak.votes < kLeastVotes || 2 * static_cast<size_t>(peak.votes) < placed.size()) return std::nullopt;
  const Peak here = densest(within(all, peak.offset_ns, width), width, std::nullopt);
  if (10 * here.votes < 9 * densest(all, width, std::nullopt).votes) return std::nullopt;
  if (clocks_contradict(all, peak.offset_ns, here.votes, width, context)) return std::nullopt;
  return peak;
}

}  // namespace

void sort_votes(std::vector<Vote>& votes, std::vector<Vote>& spare) {
  constexpr int kDigitBits = 12;  // three digits: 17 s
  constexpr uint64_t kDigits = uint64_t{1} << kDigitBits;
  const auto by_bits = [](const Vote& a, const Vote& b) { return a.bits() < b.bits(); };
  if (votes.size() < kDigits) return std::sort(votes.begin(), votes.end(), by_bits);
  const auto [least, most] = std::minmax_element(votes.begin(), votes.end(), by_bits);
  const auto above_least = [low = least->bits()](const Vote& vote) { return static_cast<uint64_t>(vote.bits() - low); };
  const uint64_t range = above_least(*most);
  spare.resize(votes.size());
  for (int shift = 0; shift < 64 && range >> shift != 0; shift += kDigitBits) {
    std::array<uint32_t, kDigits> place{};
    for (const Vote& vote : votes) ++place[(above_least(vote) >> shift) % kDigits];
    std::exclusive_scan(place.begin(), place.end(), place.begin(), 0U);
    for (const Vote& vote : votes) spare[place[(above_least(vote) >> shift) % kDigits]++] = vote;
    votes.swap(spare);
  }
}

Winner judge(Votes votes, const VoteContext& context) {
  const Votes all = context.prior ? within(votes, context.prior->offset_ns, kLargestPriorError) : votes;
  if (all.empty()) return {};
  if (context.prior) {
    if (const auto peak = peak_within_error(all, *context.prior)) return {peak->offset_ns, ShiftEvidence::prior};
  }
  if (context.one_host && !context.prior) {
    if (const auto peak = one_host_peak(all, context.tolerance_ns)) {
      return {peak->offset_ns, ShiftEvidence::fingerprint};
    }
  }
  for (const int64_t width : kWindows) {
    const std::optional<Peak> peak = clear_peak(all, width, context.tolerance_ns);
    if (!peak || (context.named && rivalled(all, *peak, width))) continue;
    if (context.prior) return {peak->offset_ns, ShiftEvidence::prior};
    if (!credible(all, *peak, context)) continue;
    const bool proven = peak->votes >= kLeastVotes || std::llabs(peak->offset_ns) <= kLonelyWallClock;
    return {peak->offset_ns, proven ? ShiftEvidence::fingerprint : ShiftEvidence::ambiguous};
  }
  // Several windows are about equally dense, or the densest is another step: the job is periodic.
  std::vector<Vote> placed;
  std::copy_if(all.begin(), all.end(), std::back_inserter(placed),
               [](const Vote& vote) { return vote.steps() == VoteSteps::same_place; });
  for (const int64_t width : kWindows) {
    if (const auto peak = step_peak(all, placed, width, context)) {
      return {peak->offset_ns, ShiftEvidence::step};
    }
    if (width < kScatter) continue;
    const auto peak = wall_clock_peak(all, width, context.tolerance_ns);
    if (peak && credible(all, *peak, context)) return {peak->offset_ns, ShiftEvidence::fingerprint};
  }
  return {0, ShiftEvidence::ambiguous};
}

}  // namespace skewscope
