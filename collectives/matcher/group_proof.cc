#include "group_proof.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace skewscope {
namespace {

constexpr size_t kMostProven = 16;
constexpr size_t kMostCalls = 256, kMostCallsOfMany = 64, kMany = 12;  // calls; members
constexpr double kStampScatter = 300;                                  // ns; finer scatter is the stamps' own
constexpr double kSureness = 6, kFewCalls = 40;                        // Student's t; more of few calls
constexpr int kDropped = 2;                                            // calls that may have made the slope
constexpr double kNear = 1.0 / 3;                                      // of 0 or 1

// A call as the halves are asked about it.
struct Arrivals {
  size_t signature;                // index among the signatures
  std::vector<size_t> latest;      // members, from the last to arrive to the first
  std::vector<double> start, end;  // per member, ns after the call's first start
};

// By how much one of two halves came later, and ended later on average.
struct Difference {
  double arrival, end;
  bool left_out = false;
};

// Sums over the differences of calls of one signature.
struct Sums {
  double calls = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
};

std::vector<Arrivals> sampled(const std::vector<JointCall>& calls, size_t members) {
  const size_t most = members > kMany ? kMostCallsOfMany : kMostCalls;
  const size_t stride = (calls.size() + most - 1) / most;
  std::map<uint64_t, size_t> signatures;
  std::vector<Arrivals> sample;
  for (size_t k = 0; k < calls.size(); k += stride) {
    const JointCall& call = calls[k];
    Arrivals& arrivals = sample.emplace_back();
    arrivals.signature = signatures.emplace(call.signature, signatures.size()).first->second;
    const int64_t first = *std::min_element(call.start_ns.begin(), call.start_ns.end());
    for (size_t m = 0; m < members; ++m) {
      arrivals.start.push_back(static_cast<double>(call.start_ns[m] - first));
      arrivals.end.push_back(static_cast<double>(call.end_ns[m] - first));
    }
    arrivals.latest.resize(members);
    std::iota(arrivals.latest.begin(), arrivals.latest.end(), size_t{0});
    std::sort(arrivals.latest.begin(), arrivals.latest.end(), [&](size_t a, size_t b) {
      return arrivals.start[a] > arrivals.start[b] || (arrivals.start[a] == arrivals.start[b] && a < b);
    });
  }
  return sample;
}

// A comparison's sides: members of the first are held against those of the second; the others do not count.
enum class Side : uint8_t { first, second, none };

// How much later the first side was than the second.
Difference difference(const Arrivals& call, const std::vector<Side>& sides) {
  size_t at = 0;
  while (sides[call.latest[at]] == Side::none) ++at;
  const size_t last = call.latest[at];
  const Side own = sides[last];
  while (sides[call.latest[at]] == own || sides[call.latest[at]] == Side::none) ++at;
  const double later = call.start[last] - call.start[call.latest[at]];
  double sum[2] = {0, 0}, count[2] = {0, 0};
  for (size_t m = 0; m < call.end.size(); ++m) {
    if (sides[m] == Side::none) continue;
    sum[sides[m] == Side::first ? 0 : 1] += call.end[m];
    count[sides[m] == Side::first ? 0 : 1] += 1;
  }
  return {own == Side::first ? later : -later, sum[0] / count[0] - sum[1] / count[1]};
}

void add(Sums& sums, const Difference& d, double weight) {
  sums.calls += weight;
  sums.x += weight * d.arrival;
  sums.y += weight * d.end;
  sums.xx += weight * d.arrival * d.arrival;
  sums.xy += weight * d.arrival * d.end;
  sums.yy += weight * d.end * d.end;
}

// Leaves out the calls that move the slope most: it must not hang on one or two.
void drop_heaviest(const std::vector<Arrivals>& calls, std::vector<Difference> differences, std::vector<Sums>& sums) {
  for (int dropped = 0; dropped < kDropped; ++dropped) {
    size_t heaviest = 0;
    double most = -1;
    for (size_t k = 0; k < calls.size(); ++k) {
      const Sums& s = sums[calls[k].signature];
      const double weight = std::fabs(differences[k].arrival - s.x / s.calls);
      if (!differences[k].left_out && weight > most) {
        most = weight;
        heaviest = k;
      }
    }
    add(sums[calls[heaviest].signature], differences[heaviest], -1);
    differences[heaviest].left_out = true;
  }
}

// What the ends of two sides follow of their last arrivals.
struct Follows {
  double xx = 0, xy = 0, yy = 0, freedom = 0;

  Follows& operator+=(const Follows& other) {
    xx += other.xx;
    xy += other.xy;
    yy += other.yy;
    freedom += other.freedom;
    return *this;
  }
};

Follows follows(const std::vector<Arrivals>& calls, size_t signatures, const std::vector<Side>& sides,
                std::vector<Difference>& differences) {
  std::vector<Sums> sums(signatures);
  differences.clear();
  for (const Arrivals& call : calls) {
    differences.push_back(difference(call, sides));
    add(sums[call.signature], differences.back(), 1);
  }
  drop_heaviest(calls, differences, sums);
  Follows found;
  for (const Sums& s : sums) {
    if (s.calls < 2) continue;
    found.xx += s.xx - s.x * s.x / s.calls;
    found.xy += s.xy - s.x * s.y / s.calls;
    found.yy += s.yy - s.y * s.y / s.calls;
    found.freedom += s.calls - 1;
  }
  return found;
}

// `freedom`: of the slope's error.
Bond judged(const Follows& f, double freedom) {
  if (freedom < 2 || f.xx <= 0) return Bond::undecided;
  const double slope = f.xy / f.xx;
  const double rest = std::max(f.yy - slope * f.xy, f.freedom * kStampScatter * kStampScatter);
  const double error = std::sqrt(rest / freedom / f.xx);
  const double enough = kSureness + kFewCalls / freedom;
  if (slope < kNear && 1 - slope > enough * error) return Bond::together;
  if (slope > 1 - kNear && slope > enough * error) return Bond::apart;
  return Bond::undecided;
}

size_t count_signatures(const std::vector<Arrivals>& calls) {
  size_t signatures = 0;
  for (const Arrivals& call : calls) signatures = std::max(signatures, call.signature + 1);
  return signatures;
}

}  // namespace

Bond bond_of(const std::vector<JointCall>& calls) {
  if (calls.empty()) return Bond::undecided;
  const size_t members = calls.front().start_ns.size();
  if (members < 2 || members > kMostProven) return Bond::undecided;
  const std::vector<Arrivals> sample = sampled(calls, members);
  if (sample.size() <= kDropped) return Bond::undecided;
  const size_t signatures = count_signatures(sample);
  std::vector<Difference> differences;
  Bond bond = Bond::together;
  std::vector<Side> sides(members, Side::second);
  // The last member is always on the second side.
  for (uint32_t half = 1; half < (1U << (members - 1)); ++half) {
    for (size_t m = 0; m < members; ++m) sides[m] = ((half >> m) & 1U) != 0 ? Side::first : Side::second;
    const Follows found = follows(sample, signatures, sides, differences);
    const Bond across = judged(found, found.freedom - 1);
    if (across == Bond::apart) return across;
    if (across == Bond::undecided) bond = across;
  }
  return bond;
}

Bond bond_between(const std::vector<JointCall>& calls, const std::vector<std::vector<size_t>>& blocks) {
  if (calls.empty() || blocks.size() < 2) return Bond::undecided;
  const size_t members = calls.front().start_ns.size();
  const std::vector<Arrivals> sample = sampled(calls, members);
  if (sample.size() <= kDropped) return Bond::undecided;
  const size_t signatures = count_signatures(sample);
  std::vector<Difference> differences;
  Follows all;
  for (size_t a = 0; a < blocks.size(); ++a) {
    for (size_t b = a + 1; b < blocks.size(); ++b) {
      std::vector<Side> sides(members, Side::none);
      for (const size_t m : blocks[a]) sides[m] = Side::first;
      for (const size_t m : blocks[b]) sides[m] = Side::second;
      all += follows(sample, signatures, sides, differences);
    }
  }
  // Pairs of blocks are not independent, blocks less one are.
  const auto pairs_of_each = static_cast<double>(blocks.size()) / 2;
  return judged(all, all.freedom / pairs_of_each - 1);
}

}  // namespace skewscope
