#include "simulated_errors.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>

namespace skewscope::align {
namespace {

constexpr size_t kDraws = 32;
constexpr size_t kLarge = 1 << 18;  // observations; 8 MB of values in draws made together
// Least bias, as a share of the scatter of ends. With only an offset fitted, a bias looks like an offset, so the share
// is larger.
constexpr double kLeastEndBias = 0.5, kLeastLoneEndBias = 1;

// What noise represents. Its signs are fixed by that: bit d of the hash (splitmix64; Steele, Lea, Flood 2014) is
// the sign in draw d.
enum class Noise : uint8_t { end, of_class, of_group, drift, curve };
static_assert(kDraws <= 64);

uint64_t sign_bits(Noise of, uint64_t index) {
  uint64_t x = (static_cast<uint64_t>(of) + 1) * 0x9e3779b97f4a7c15ULL + index * 0xd1342543de82ef95ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

double sign(uint64_t bits, size_t draw) { return (bits >> draw & 1) != 0 ? 1 : -1; }

// Biases of one communicator alone cannot be distinguished from its members' clocks: they are taken to be as large as
// the ends' scatter, or half of it, more than the fit itself assumes.
std::vector<double> bias_deviations(const Beacons& beacons, const FitResult& result, double least_of_scatter) {
  std::vector<double> deviation = result.fit.group_tau_ns, least(deviation.size(), INFINITY);
  for (const int32_t c : result.row) {
    const auto row = static_cast<size_t>(c);
    double& of_group = least[static_cast<size_t>(beacons.group_of(row))];
    of_group =
        std::min(of_group, least_of_scatter * result.fit.sigma_ns[static_cast<size_t>(beacons.scale_class[row])]);
  }
  for (size_t g = 0; g < deviation.size(); ++g) {
    if (std::isfinite(least[g])) deviation[g] = std::max({deviation[g], least[g], beacons.groups[g].hop_ns / 2});
  }
  return deviation;
}

// Draws that are made together.
using Draws = std::array<double, kSidesAtOnce>;
static_assert(kDraws % kSidesAtOnce == 0);

// The noise of observation k, in row i.
Draws noise(const Beacons& beacons, const FitResult& result, const std::vector<double>& bias, size_t first_draw,
            size_t i, size_t k) {
  const NormalEquations& s = result.equations;
  const auto scale_class = static_cast<size_t>(beacons.scale_class[static_cast<size_t>(result.row[i])]);
  const auto group = static_cast<size_t>(beacons.classes[scale_class].group);
  const auto trace = static_cast<uint64_t>(s.trace[k]);
  const uint64_t of_end = sign_bits(Noise::end, k);
  const uint64_t of_class = sign_bits(Noise::of_class, scale_class * s.traces + trace);
  const uint64_t of_group = sign_bits(Noise::of_group, group * s.traces + trace);
  Draws sum;
  for (size_t d = 0; d < kSidesAtOnce; ++d) {
    sum[d] = result.fit.cautious_sigma_ns[scale_class] * sign(of_end, first_draw + d) +
             result.fit.tau_ns[scale_class] * sign(of_class, first_draw + d) +
             bias[group] * sign(of_group, first_draw + d);
  }
  return sum;
}

// Per kind of group: sum of squares of the biases found, `found(unknown)`.
template <class Found>
std::vector<double> bias_squares(const Beacons& beacons, const FitResult& result, const Found& found) {
  std::vector<double> squares(static_cast<size_t>(beacons.kinds), 0);
  for (size_t i = 0; i < result.group_of_bias.size(); ++i) {
    if (result.group_of_bias[i] < 0) continue;
    const double bias = found(i);
    squares[static_cast<size_t>(beacons.groups[static_cast<size_t>(result.group_of_bias[i])].kind)] += bias * bias;
  }
  return squares;
}

// The unknowns that the fit finds in the noise of draws, kSidesAtOnce each.
std::vector<double> found_in_draws(const Beacons& beacons, const FitResult& result, const std::vector<double>& bias,
                                   const BlockFactors& factors, double tolerance, size_t first_draw) {
  const NormalEquations& s = result.equations;
  std::vector<double> rhs =
      s.gather<kSidesAtOnce>([&](size_t i, size_t k) { return noise(beacons, result, bias, first_draw, i, k); });
  for (double& value : rhs) value = -value;
  for (size_t t = 0; t < s.traces; ++t) {
    for (size_t d = 0; d < kSidesAtOnce; ++d) {
      const size_t draw = first_draw + d;
      if (s.terms > 1) {
        rhs[s.term(t, 1) * kSidesAtOnce + d] +=
            std::sqrt(s.ridge[s.term(t, 1)]) * sign(sign_bits(Noise::drift, t), draw);
      }
      if (s.terms <= 2) continue;
      std::array<double, kKnots> curve{};
      for (size_t k = 0; k < kKnots; ++k) curve[k] = sign(sign_bits(Noise::curve, t * kKnots + k), draw);
      add_second_differences(curve.data(), std::sqrt(s.stiffness), &rhs[s.term(t, 2) * kSidesAtOnce + d], kSidesAtOnce);
    }
  }
  return s.solve<kSidesAtOnce>(std::move(rhs), factors, tolerance);
}

// Biases far above the ends' scatter make most of what is solved for, and the clocks the rest: that must be met, too.
double tolerance_for(const FitResult& result, const std::vector<double>& bias) {
  constexpr double kUsual = 1e-2, kLargeBias = 100;  // times the scatter
  double largest = 0, least = INFINITY;
  for (const double deviation : bias) largest = std::isfinite(deviation) ? std::max(largest, deviation) : largest;
  for (const double sigma : result.fit.cautious_sigma_ns) least = sigma > 0 ? std::min(least, sigma) : least;
  return largest > kLargeBias * least ? kUsual * least / largest : kUsual;
}

}  // namespace

SimulatedErrors simulate_errors(const Beacons& beacons, const FitResult& result, Freedom applied, double alike,
                                Exchange& exchange) {
  const NormalEquations& s = result.equations;
  SimulatedErrors errors;
  errors.terms = s.terms;
  const std::vector<double> bias =
      bias_deviations(beacons, result, applied > Freedom::offset ? kLeastEndBias : kLeastLoneEndBias);
  double found_squares = 0, bias_square = 0;
  for (size_t g = 0; g < bias.size(); ++g) {
    found_squares += result.fit.group_tau_ns[g] * result.fit.group_tau_ns[g];
    bias_square += bias[g] * bias[g];
  }
  if (std::isfinite(found_squares) && bias_square > 0) errors.likely = found_squares / bias_square;
  // Per draw: the terms of all traces, then the squares of the biases.
  const size_t terms = s.traces * s.terms, kinds = static_cast<size_t>(beacons.kinds), slots = terms + kinds;
  std::vector<double> found(kDraws * slots);
  const BlockFactors factors = s.factors();
  const double tolerance = tolerance_for(result, bias);
  const auto maker_of = [&](size_t slot) {
    return static_cast<int32_t>(slot / slots / kSidesAtOnce) % exchange.processes();
  };
  const auto draw = [&](size_t first_draw) {
    if (maker_of(first_draw * slots) != exchange.process()) return;
    const std::vector<double> unknowns = found_in_draws(beacons, result, bias, factors, tolerance, first_draw);
    for (size_t d = 0; d < kSidesAtOnce; ++d) {
      double* const of_draw = &found[(first_draw + d) * slots];
      const auto unknown = [&](size_t i) { return unknowns[i * kSidesAtOnce + d]; };
      for (size_t t = 0; t < s.traces; ++t) {
        for (size_t p = 0; p < s.terms; ++p) of_draw[t * s.terms + p] = unknown(s.term(t, p));
      }
      const std::vector<double> squares = bias_squares(beacons, result, unknown);
      std::copy(squares.begin(), squares.end(), of_draw + terms);
    }
  };
  // Each needs memory of its own: those of a large job are made one after another, each by all threads.
  if (s.trace.size() > kLarge) {
    for (size_t d = 0; d < kDraws; d += kSidesAtOnce) draw(d);
  } else {
    tbb::parallel_for(size_t{0}, kDraws, kSidesAtOnce, draw);
  }
  share(exchange, maker_of, found);
  std::vector<double> drawn(kinds, 0);
  for (size_t d = 0; d < kDraws; ++d) {
    const auto begin = found.begin() + static_cast<ptrdiff_t>(d * slots);
    errors.draws.emplace_back(begin, begin + static_cast<ptrdiff_t>(terms));
    for (size_t kind = 0; kind < kinds; ++kind) {
      drawn[kind] += found[d * slots + terms + kind] / static_cast<double>(kDraws);
    }
  }
  const std::vector<double> seen = bias_squares(beacons, result, [&](size_t i) { return result.bias_ns[i]; });
  double excess = 1;
  for (size_t kind = 0; kind < seen.size(); ++kind) {
    if (drawn[kind] > 0) excess = std::max(excess, seen[kind] / drawn[kind]);
  }
  errors.excess = std::sqrt(excess * alike);
  return errors;
}

}  // namespace skewscope::align
