#include "group_blocks.h"

#include <algorithm>
#include <boost/math/distributions/fisher_f.hpp>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>

#include "skewscope/base/middle.h"

namespace skewscope {
namespace {

constexpr size_t kMostSampled = 256;                // calls
constexpr double kStampScatterNs = 300;             // finer scatter is the stamps' own
constexpr double kCertain = 1e-9, kSuspect = 1e-3;  // that chance made the blocks
constexpr double kCertainOfNamed = 1e-6, kSuspectOfNamed = 1e-2, kUnlikely = 1e-3;

// Times by call and member, less what each member's calls of a signature, and each call, have in common.
struct Residuals {
  std::vector<std::vector<double>> times;
  size_t signatures = 0;

  // Degrees of freedom of so many members' times, once signatures have taken up their means.
  double freedom(size_t members) const {
    return static_cast<double>(members) * static_cast<double>(times.size() - signatures);
  }
};

// `times_of(call)`: of each member.
template <class TimesOf>
Residuals residuals_of(const std::vector<JointCall>& calls, const TimesOf& times_of) {
  const size_t stride = (calls.size() + kMostSampled - 1) / kMostSampled;
  Residuals found;
  std::map<uint64_t, std::vector<size_t>> by_signature;
  for (size_t k = 0; k < calls.size(); k += stride) {
    by_signature[calls[k].signature].push_back(found.times.size());
    const std::vector<int64_t> times = times_of(calls[k]);
    std::vector<double>& row = found.times.emplace_back();
    for (const int64_t time : times) row.push_back(static_cast<double>(time - times.front()));
    double mean = 0;
    for (const double time : row) mean += time / static_cast<double>(row.size());
    for (double& time : row) time -= mean;
  }
  found.signatures = by_signature.size();
  for (const auto& [signature, rows] : by_signature) {
    for (size_t m = 0; m < found.times.front().size(); ++m) {
      double mean = 0;
      for (const size_t k : rows) mean += found.times[k][m] / static_cast<double>(rows.size());
      for (const size_t k : rows) found.times[k][m] -= mean;
    }
  }
  return found;
}

Residuals ends_of(const std::vector<JointCall>& calls) {
  return residuals_of(calls, [](const JointCall& call) { return call.end_ns; });
}

// When the last member of each one's block arrived.
Residuals arrivals_of(const std::vector<JointCall>& calls, const Blocks& blocks) {
  return residuals_of(calls, [&](const JointCall& call) {
    std::vector<int64_t> last(call.start_ns.size(), INT64_MIN);
    for (const std::vector<size_t>& block : blocks) {
      int64_t latest = INT64_MIN;
      for (const size_t m : block) latest = std::max(latest, call.start_ns[m]);
      for (const size_t m : block) last[m] = latest;
    }
    return last;
  });
}

// ---- how members may be cut into blocks -----------------------------------------------------------------------------

// Mean distance of two members' ends.
std::vector<std::vector<double>> distances(const Residuals& residuals, const std::vector<size_t>& members) {
  std::vector<std::vector<double>> apart(members.size(), std::vector<double>(members.size(), 0));
  for (const std::vector<double>& row : residuals.times) {
    for (size_t i = 0; i < members.size(); ++i) {
      for (size_t j = 0; j < i; ++j) apart[i][j] = apart[j][i] += std::fabs(row[members[i]] - row[members[j]]);
    }
  }
  return apart;
}

// The cuts into blocks of one size, from large blocks to small, as average linkage joins the members.
std::vector<Blocks> cuts_of(const Residuals& residuals, const std::vector<size_t>& members, size_t size) {
  std::vector<std::vector<double>> apart = distances(residuals, members);
  Blocks blocks;
  for (const size_t m : members) blocks.push_back({m});
  std::vector<Blocks> cuts;
  while (blocks.size() > 2) {
    size_t a = 1, b = 0;
    for (size_t i = 1; i < blocks.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (apart[i][j] < apart[a][b]) a = i, b = j;
      }
    }
    const auto of_a = static_cast<double>(blocks[a].size()), of_b = static_cast<double>(blocks[b].size());
    for (size_t i = 0; i < blocks.size(); ++i) {
      apart[b][i] = apart[i][b] = (of_a * apart[a][i] + of_b * apart[b][i]) / (of_a + of_b);
    }
    blocks[b].insert(blocks[b].end(), blocks[a].begin(), blocks[a].end());
    blocks.erase(blocks.begin() + static_cast<int64_t>(a));
    apart.erase(apart.begin() + static_cast<int64_t>(a));
    for (std::vector<double>& row : apart) row.erase(row.begin() + static_cast<int64_t>(a));
    const size_t each = blocks.front().size();
    const bool even =
        std::all_of(blocks.begin(), blocks.end(), [&](const auto& block) { return block.size() == each; });
    if (even && each >= 2 && (size == 0 || each == size)) cuts.push_back(blocks);
  }
  std::reverse(cuts.begin(), cuts.end());
  for (Blocks& cut : cuts) {
    for (std::vector<size_t>& block : cut) std::sort(block.begin(), block.end());
  }
  return cuts;
}

// ---- whether a cut is one of groups ---------------------------------------------------------------------------------

// Logarithm of the number of ways to cut members into blocks of one size.
double log_cuts(size_t members, size_t blocks) {
  const auto of = [](double n) { return std::lgamma(n + 1); };
  const auto count = static_cast<double>(blocks), all = static_cast<double>(members);
  return of(all) - count * of(all / count) - of(count);
}

// Sums of squares: of blocks around the members' mean, of members around their block's.
struct Variance {
  double between = 0, within = 0;
};

Variance variance_of(const Residuals& residuals, const Blocks& blocks) {
  Variance v;
  const auto size = static_cast<double>(blocks.front().size()), count = static_cast<double>(blocks.size());
  for (const std::vector<double>& row : residuals.times) {
    double all = 0;
    for (const std::vector<size_t>& block : blocks) {
      double sum = 0, squares = 0;
      for (const size_t m : block) {
        sum += row[m];
        squares += row[m] * row[m];
      }
      v.within += squares - sum * sum / size;
      v.between += sum * sum / size;
      all += sum;
    }
    v.between -= all * all / (size * count);
  }
  return v;
}

// Variances per degree of freedom.
struct Ratio {
  double of_blocks = 0, of_members = 0;  // degrees of freedom
  double noise = 0;                      // of members around their block's mean
  double value = 0;                      // of blocks around the members' mean, over the noise

  bool known() const { return of_blocks >= 1 && of_members >= 1; }
  // How likely chance makes a ratio as large as this, and one as small as this times `factor`.
  double upper() const { return boost::math::cdf(boost::math::complement(chance(), value)); }
  double lower(double factor) const { return boost::math::cdf(chance(), value * factor); }

 private:
  // A series that does not converge gives its best guess.
  using Policy =
      boost::math::policies::policy<boost::math::policies::evaluation_error<boost::math::policies::ignore_error>,
                                    boost::math::policies::overflow_error<boost::math::policies::ignore_error>>;
  boost::math::fisher_f_distribution<double, Policy> chance() const { return {of_blocks, of_members}; }
};

Ratio ratio_of(const Residuals& ends, const Blocks& blocks) {
  const size_t members = blocks.size() * blocks.front().size();
  Ratio ratio{ends.freedom(blocks.size() - 1), ends.freedom(members - blocks.size())};
  if (!ratio.known()) return ratio;
  const Variance v = variance_of(ends, blocks);
  ratio.noise = std::max(v.within / ratio.of_members, kStampScatterNs * kStampScatterNs);
  ratio.value = std::max(0.0, v.between) / ratio.of_blocks / ratio.noise;  // rounding may leave less than nothing
  return ratio;
}

// How likely chance makes such blocks, whichever they are.
double chance_of_any(const Residuals& ends, const Blocks& blocks) {
  const Ratio ratio = ratio_of(ends, blocks);
  if (!ratio.known()) return 1;
  const size_t members = blocks.size() * blocks.front().size();
  return std::min(1.0, ratio.upper() * std::exp(log_cuts(members, blocks.size())));
}

// Whether no exchange of two members explains the ends nearly as well.
bool each_in_its_own(const Residuals& residuals, const Blocks& blocks, double certain) {
  const auto size = static_cast<double>(blocks.front().size());
  const size_t members = blocks.size() * blocks.front().size();
  const double freedom = residuals.freedom(members - blocks.size());
  const double within = std::max(variance_of(residuals, blocks).within, freedom * kStampScatterNs * kStampScatterNs);
  std::vector<std::vector<double>> sums;  // by call and block
  for (const std::vector<double>& row : residuals.times) {
    for (std::vector<double>& of_call = sums.emplace_back(); const std::vector<size_t>& block : blocks) {
      of_call.push_back(0);
      for (const size_t m : block) of_call.back() += row[m];
    }
  }
  double least = INFINITY;  // that an exchange adds
  for (size_t a = 0; a < blocks.size(); ++a) {
    for (size_t b = 0; b < a; ++b) {
      for (const size_t i : blocks[a]) {
        for (const size_t j : blocks[b]) {
          double more = 0;
          for (size_t k = 0; k < sums.size(); ++k) {
            const double moved = residuals.times[k][j] - residuals.times[k][i];
            more -= 2 * moved * (sums[k][a] - sums[k][b] + moved) / size;
          }
          least = std::min(least, more);
        }
      }
    }
  }
  const double likelihood = freedom / 2 * std::log1p(std::max(0.0, least) / within);
  return likelihood > -std::log(certain) + 2 * std::log(static_cast<double>(members));
}

// These members' blocks; none where chance is as good a reason for blocks as groups are.
Blocks divide(const Residuals& residuals, const std::vector<size_t>& members, size_t size) {
  if (members.size() == size) return {members};
  bool suspect = false;
  for (const Blocks& cut : cuts_of(residuals, members, size)) {
    const double chance = chance_of_any(residuals, cut);
    suspect |= chance < kSuspect;
    if (chance >= kCertain || !each_in_its_own(residuals, cut, kCertain)) continue;
    Blocks found;
    bool even = true;
    for (const std::vector<size_t>& block : cut) {
      const Blocks parts = divide(residuals, block, size);
      even = even && !parts.empty() && (found.empty() || parts.front().size() == found.front().size());
      found.insert(found.end(), parts.begin(), parts.end());
    }
    if (even) return found;
  }
  if (suspect || size > 0) return {};
  return {members};
}

}  // namespace

Blocks blocks_of(const std::vector<JointCall>& calls, size_t size) {
  if (calls.empty()) return {};
  std::vector<size_t> members;
  for (size_t m = 0; m < calls.front().end_ns.size(); ++m) members.push_back(m);
  return divide(ends_of(calls), members, size);
}

Division division_of(const std::vector<JointCall>& calls, const Blocks& blocks) {
  if (calls.empty() || blocks.size() < 2 || blocks.front().size() < 2) return Division::undecided;
  const Residuals ends = ends_of(calls);
  const Ratio ratio = ratio_of(ends, blocks);
  if (!ratio.known()) return Division::undecided;
  if (ratio.upper() < kCertainOfNamed && each_in_its_own(ends, blocks, kCertainOfNamed)) return Division::blocks;
  // Ends of groups vary at least as their last arrivals do.
  const double arrivals = variance_of(arrivals_of(calls, blocks), blocks).between / ratio.of_blocks;
  const bool too_little = ratio.lower(ratio.noise / (ratio.noise + arrivals)) < kUnlikely;
  return too_little && ratio.upper() > kSuspectOfNamed ? Division::one_group : Division::undecided;
}

bool may_be_shifted(const std::vector<JointCall>& calls, const Blocks& blocks) {
  constexpr size_t kLeastCalls = 16, kMostBlocks = 32;
  constexpr double kNearly = 3;
  if (blocks.size() < 2) return false;
  if (calls.size() < kLeastCalls) return true;
  const std::vector<JointCall> some(calls.begin(),
                                    calls.begin() + static_cast<int64_t>(std::min(calls.size(), kMostSampled)));
  const double members = static_cast<double>(blocks.size() * blocks.front().size());
  const Residuals ends = ends_of(some);
  const double within = std::sqrt(variance_of(ends, blocks).within / ends.freedom(1) / members);
  std::vector<std::vector<double>> of_block;  // mean ends by block and call
  for (const std::vector<size_t>& block : blocks) {
    std::vector<double>& row = of_block.emplace_back();
    for (const JointCall& call : some) {
      double mean = 0;
      for (const size_t m : block) {
        mean += static_cast<double>(call.end_ns[m] - some.front().end_ns[m]) / static_cast<double>(block.size());
      }
      row.push_back(mean);
    }
  }
  const auto shift = [&](size_t a, size_t b, size_t by) {  // of b's calls against a's: how closely they lie then
    std::vector<double> apart;
    for (size_t k = 0; k + by < some.size(); ++k) {
      if (some[k].signature == some[k + by].signature) apart.push_back(of_block[b][k + by] - of_block[a][k]);
    }
    if (apart.size() < kLeastCalls / 2) return static_cast<double>(INFINITY);
    const double center = take_middle(apart);
    double sum = 0;
    for (const double one : apart) sum += std::fabs(one - center);
    return sum / static_cast<double>(apart.size());
  };
  for (size_t a = 0; a < blocks.size(); ++a) {
    for (size_t b = 0; b < blocks.size(); ++b) {
      if (a == b || (blocks.size() > kMostBlocks && a + 1 != b && b + 1 != a)) continue;
      for (size_t by = 1; by < some.size(); ++by) {
        if (shift(a, b, by) < kNearly * std::max(within, kStampScatterNs)) return true;
      }
    }
  }
  return false;
}

}  // namespace skewscope
