#include "node_prior.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "skewscope/base/middle.h"

namespace skewscope::align {
namespace {

constexpr size_t kLeastMembers = 3, kLeastRows = 3;

// Mean over draws of the variance of a term among members.
double noise_of(const SimulatedErrors& errors, const std::vector<size_t>& members, size_t term) {
  double squares = 0;
  for (const std::vector<double>& draw : errors.draws) {
    double sum = 0, sum_squares = 0;
    for (const size_t t : members) {
      const double e = draw[t * errors.terms + term];
      sum += e;
      sum_squares += e * e;
    }
    squares +=
        (sum_squares - sum * sum / static_cast<double>(members.size())) / static_cast<double>(members.size() - 1);
  }
  return errors.likely * squares / static_cast<double>(errors.draws.size());
}

void pool(const std::vector<size_t>& members, const std::vector<size_t>& rows, double noise, size_t term, Fit& fit) {
  const int64_t base = fit.base_ns[members.front()];
  const auto whole = [&](size_t t) { return term == 0 ? static_cast<double>(fit.base_ns[t] - base) : 0; };
  std::vector<double> values, distances;
  for (const size_t t : members) values.push_back(whole(t) + fit.terms_ns[t][term]);
  const double mu = median_of(values);
  for (const double v : values) distances.push_back(std::fabs(v - mu));
  const double scale = 1.4826 * median_of(distances), spread = scale * scale;
  if (spread <= 0) return;
  const double keep = std::max(0.0, spread - noise) / spread;
  for (size_t i = 0; i < members.size(); ++i) {
    if (distances[i] > 5 * std::sqrt(spread + noise)) continue;
    const double own = rows[members[i]] < kLeastRows ? 0 : keep;
    fit.terms_ns[members[i]][term] = mu + own * (values[i] - mu) - whole(members[i]);
  }
}

}  // namespace

void pool_nodes(const std::vector<std::string>& host, const std::vector<size_t>& rows, const SimulatedErrors& errors,
                Fit& fit) {
  std::map<std::pair<int32_t, std::string>, std::vector<size_t>> nodes;
  for (size_t t = 0; t < host.size(); ++t) {
    if (!host[t].empty()) nodes[{fit.component[t], host[t]}].push_back(t);
  }
  for (const auto& [node, members] : nodes) {
    if (members.size() < kLeastMembers) continue;
    for (size_t term = 0; term < std::min<size_t>(2, terms_of(fit.freedom)); ++term) {
      pool(members, rows, noise_of(errors, members, term), term, fit);
    }
  }
  const auto terms = fit.terms_ns;
  for (size_t t = 0; t < terms.size(); ++t) {
    for (size_t p = 0; p < kMostTerms; ++p) {
      fit.terms_ns[t][p] -= terms[static_cast<size_t>(fit.component[t])][p];
    }
  }
}

}  // namespace skewscope::align
