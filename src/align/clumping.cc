#include "clumping.h"

#include <algorithm>
#include <cmath>

#include "joint_fit.h"
#include "skewscope/base/middle.h"

namespace skewscope::align {
namespace {

constexpr size_t kLeastBlocks = 4, kMostBlocks = 16;
constexpr double kLineTerms = 2;
constexpr double kRounding = 50;  // ns; what hangs together by less is rounding

struct Squares {
  double between = 0, within = 0, between_freedom = 0, within_freedom = 0;
};

double mean_of(const double* begin, const double* end) {
  double sum = 0;
  for (const double* x = begin; x < end; ++x) sum += *x;
  return sum / static_cast<double>(end - begin);
}

// Single late exits are no clump: distances beyond three deviations count as three.
void clip(std::vector<double>& distances) {
  std::vector<double> sizes;
  for (const double d : distances) sizes.push_back(std::fabs(d));
  const double most = 3 * 1.4826 * take_middle(sizes);
  for (double& d : distances) d = std::clamp(d, -most, most);
}

// `distances` of one member in one class, by time; each class in units of its own scatter.
void add(std::vector<double>& distances, double unit, Squares& squares) {
  const size_t n = distances.size();
  const size_t blocks = std::min(kMostBlocks, n >= 3 * kLeastBlocks ? n / 3 : n / 2);
  if (blocks < kLeastBlocks) return;
  clip(distances);
  const double mean = mean_of(distances.data(), distances.data() + n);
  for (size_t b = 0; b < blocks; ++b) {
    const double *begin = distances.data() + b * n / blocks, *end = distances.data() + (b + 1) * n / blocks;
    const double of_block = mean_of(begin, end), off = (of_block - mean) / unit;
    squares.between += static_cast<double>(end - begin) * off * off;
    for (const double* x = begin; x < end; ++x) squares.within += (*x - of_block) * (*x - of_block) / (unit * unit);
  }
  squares.between_freedom += static_cast<double>(blocks) - kLineTerms;
  squares.within_freedom += static_cast<double>(n - blocks);
  squares.within += static_cast<double>(n - blocks) * kRounding * kRounding / (unit * unit);
}

}  // namespace

double clumping(const Beacons& beacons, const std::vector<bool>& use, const Fit& fit) {
  std::vector<std::vector<size_t>> rows(beacons.classes.size());
  for (size_t c = 0; c < beacons.rows(); ++c) {
    if (use[c]) rows[static_cast<size_t>(beacons.scale_class[c])].push_back(c);
  }
  Squares squares;
  std::vector<std::vector<double>> of_trace(beacons.traces.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    std::vector<size_t> seen;  // traces of the class
    for (const size_t c : rows[i]) {
      const std::vector<double> residuals = end_residuals_ns(beacons, fit, c);
      for (size_t k = 0; k < residuals.size(); ++k) {
        const auto t = static_cast<size_t>(beacons.trace[beacons.begin(c) + k]);
        if (of_trace[t].empty()) seen.push_back(t);
        of_trace[t].push_back(residuals[k]);
      }
    }
    for (const size_t t : seen) {
      add(of_trace[t], std::max(1.0, fit.sigma_ns[i]), squares);
      of_trace[t].clear();
    }
  }
  if (squares.between_freedom < 1 || squares.within <= 0) return 1;
  const double ratio =
      squares.between / squares.between_freedom / (squares.within / std::max(1.0, squares.within_freedom));
  return ratio > 1 + 4 * std::sqrt(2 / squares.between_freedom) ? ratio : 1;
}

}  // namespace skewscope::align
