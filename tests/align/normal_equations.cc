// The linear algebra of the joint fit against the matrix that its header writes down, made here in full.
#include "../../src/align/normal_equations.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace skewscope::align;

namespace {

constexpr size_t kTraces = 3, kRows = 24;

// Values that repeat for nobody, between -1 and 1.
double some(size_t i) { return std::sin(static_cast<double>(i) * 12.9898 + 1); }

// Every row has an end of each trace; every trace has its terms and one bias.
NormalEquations equations_of(Freedom freedom) {
  NormalEquations s;
  s.terms = terms_of(freedom);
  s.traces = kTraces;
  s.component.assign(kTraces, 0);
  s.stiffness = s.terms > 2 ? 0.3 : 0;
  for (size_t t = 0; t <= kTraces; ++t) s.unknown_begin.push_back(static_cast<int32_t>(t * (s.terms + 1)));
  for (size_t i = 0; i < kTraces * (s.terms + 1); ++i) s.ridge.push_back(i % (s.terms + 1) == s.terms ? 2.5 : 0.01);
  for (size_t row = 0; row < kRows; ++row) {
    s.basis.resize((row + 1) * s.terms);
    terms_at(-1 + 2.0 * static_cast<double>(row) / (kRows - 1), s.terms, &s.basis[row * s.terms]);
    for (size_t t = 0; t < kTraces; ++t) {
      s.trace.push_back(static_cast<int32_t>(t));
      s.bias.push_back(static_cast<int32_t>(s.term(t, s.terms)));
      s.weight.push_back(1 + some(row * kTraces + t) / 2);
      s.place.push_back(static_cast<int32_t>(t * kRows + row));
    }
    s.row_begin.push_back(static_cast<int32_t>(s.trace.size()));
  }
  for (size_t t = 0; t <= kTraces; ++t) s.trace_begin.push_back(static_cast<int32_t>(t * kRows));
  for (size_t t = 0; t < kTraces; ++t) {
    for (size_t row = 0; row < kRows; ++row) {
      s.by_trace.push_back({static_cast<int32_t>(row), static_cast<int32_t>(s.term(t, s.terms))});
    }
  }
  return s;
}

// (Phi^T W C Phi + ridge + stiffness D^T D) z, one product after the other.
std::vector<double> times(const NormalEquations& s, const std::vector<double>& z) {
  std::vector<double> out(z.size(), 0);
  for (size_t i = 0; i < z.size(); ++i) out[i] = s.ridge[i] * z[i];
  for (size_t row = 0; row < kRows; ++row) {
    std::vector<double> value(kTraces);
    double sum = 0, weight = 0;
    for (size_t t = 0; t < kTraces; ++t) {
      value[t] = z[s.term(t, s.terms)];
      for (size_t p = 0; p < s.terms; ++p) value[t] += s.basis[row * s.terms + p] * z[s.term(t, p)];
      sum += s.weight[row * kTraces + t] * value[t];
      weight += s.weight[row * kTraces + t];
    }
    for (size_t t = 0; t < kTraces; ++t) {
      const double pull = s.weight[row * kTraces + t] * (value[t] - sum / weight);
      for (size_t p = 0; p < s.terms; ++p) out[s.term(t, p)] += pull * s.basis[row * s.terms + p];
      out[s.term(t, s.terms)] += pull;
    }
  }
  for (size_t t = 0; t < kTraces && s.terms > 2; ++t) {
    const auto bend = second_differences(second_differences(&z[s.term(t, 2)]).data());
    for (size_t k = 0; k < kKnots; ++k) out[s.term(t, 2 + k)] += s.stiffness * bend[k];
  }
  return out;
}

// Without the mean over traces of each term, which no tie determines.
std::vector<double> projected(const NormalEquations& s, std::vector<double> v) {
  for (size_t p = 0; p < s.terms; ++p) {
    double mean = 0;
    for (size_t t = 0; t < kTraces; ++t) mean += v[s.term(t, p)] / kTraces;
    for (size_t t = 0; t < kTraces; ++t) v[s.term(t, p)] -= mean;
  }
  return v;
}

double largest(const std::vector<double>& v) {
  double most = 0;
  for (const double value : v) most = std::max(most, std::fabs(value));
  return most;
}

}  // namespace

TEST_CASE("what solves the equations gives their right-hand side back, of one and of several at once") {
  // The second is 0, the others are of very different size.
  constexpr std::array<double, kSidesAtOnce> kSize = {1, 0, 1e-9, 1e9};
  for (const Freedom freedom : {Freedom::offset, Freedom::line, Freedom::bent}) {
    const NormalEquations s = equations_of(freedom);
    const BlockFactors factors = s.factors();
    std::vector<double> sides(s.unknowns() * kSidesAtOnce);
    for (size_t i = 0; i < sides.size(); ++i) sides[i] = some(i) * kSize[i % kSidesAtOnce];
    const std::vector<double> solved = s.solve<kSidesAtOnce>(sides, factors, 1e-10);
    for (size_t d = 0; d < kSidesAtOnce; ++d) {
      INFO("terms " << s.terms << ", side " << d);
      std::vector<double> side, z;
      for (size_t i = 0; i < s.unknowns(); ++i) {
        side.push_back(sides[i * kSidesAtOnce + d]);
        z.push_back(solved[i * kSidesAtOnce + d]);
      }
      const std::vector<double> alone = s.solve<1>(side, factors, 1e-10);
      for (const std::vector<double>& solution : {z, alone}) {
        std::vector<double> rest = times(s, solution);
        for (size_t i = 0; i < rest.size(); ++i) rest[i] -= side[i];
        CHECK(largest(projected(s, rest)) <= 1e-7 * kSize[d]);
      }
      CHECK(largest(alone) >= 0.01 * kSize[d]);
    }
  }
}

TEST_CASE("values of observations are gathered per unknown, of one and of several at once") {
  const NormalEquations s = equations_of(Freedom::line);
  const auto value = [](size_t k, size_t d) { return some(7 * k + d); };
  const std::vector<double> together = s.gather<kSidesAtOnce>([&](size_t, size_t k) {
    std::array<double, kSidesAtOnce> values;
    for (size_t d = 0; d < kSidesAtOnce; ++d) values[d] = value(k, d);
    return values;
  });
  for (size_t d = 0; d < kSidesAtOnce; ++d) {
    const std::vector<double> alone = s.gather<1>([&](size_t, size_t k) { return std::array{value(k, d)}; });
    // What is gathered are the values less their row's weighted mean, by the third trace's bias.
    double expected = 0;
    for (size_t row = 0; row < kRows; ++row) {
      double sum = 0, weight = 0;
      for (size_t k = row * kTraces; k < (row + 1) * kTraces; ++k) {
        sum += s.weight[k] * value(k, d);
        weight += s.weight[k];
      }
      const size_t k = row * kTraces + 2;
      expected += s.weight[k] * (value(k, d) - sum / weight);
    }
    const size_t unknown = s.term(2, s.terms);
    CHECK(alone[unknown] == Approx(expected));
    for (size_t i = 0; i < s.unknowns(); ++i) CHECK(together[i * kSidesAtOnce + d] == Approx(alone[i]));
  }
}
