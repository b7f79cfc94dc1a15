#include "normal_equations.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace skewscope::align {
namespace {

constexpr int kMostSteps = 200;
constexpr size_t kRowsPerTask = 256;

// Calls `with` with the number of terms as a constant, so that loops over them are unrolled.
template <class With>
void for_terms(size_t terms, const With& with) {
  switch (terms) {
    case terms_of(Freedom::offset):
      return with(std::integral_constant<size_t, terms_of(Freedom::offset)>());
    case terms_of(Freedom::line):
      return with(std::integral_constant<size_t, terms_of(Freedom::line)>());
    default:
      return with(std::integral_constant<size_t, kMostTerms>());
  }
}

// A trace is little work for most of what is done with it.
template <class Visit>
void for_traces(const NormalEquations& s, const Visit& visit) {
  constexpr size_t kTracesPerTask = 64;
  tbb::parallel_for(tbb::blocked_range<size_t>(0, s.traces, kTracesPerTask),
                    [&](const tbb::blocked_range<size_t>& traces) {
                      for (size_t t = traces.begin(); t < traces.end(); ++t) visit(t);
                    });
}

template <size_t kSides>
using Sides = std::array<double, kSides>;

template <size_t kSides>
Sides<kSides> dot(const std::vector<double>& x, const std::vector<double>& y) {
  Sides<kSides> sum{};
  for (size_t i = 0; i < x.size(); i += kSides) {
    for (size_t d = 0; d < kSides; ++d) sum[d] += x[i + d] * y[i + d];
  }
  return sum;
}

// Removes every component's mean of every term.
template <size_t kSides>
void project(const NormalEquations& s, std::vector<double>& v) {
  const size_t n = s.terms * kSides;
  std::vector<double> sum(s.traces * n, 0);
  std::vector<size_t> count(s.traces, 0);
  for (size_t t = 0; t < s.traces; ++t) {
    const auto c = static_cast<size_t>(s.component[t]);
    ++count[c];
    for (size_t p = 0; p < n; ++p) sum[c * n + p] += v[s.term(t, 0) * kSides + p];
  }
  for (size_t t = 0; t < s.traces; ++t) {
    const auto c = static_cast<size_t>(s.component[t]);
    for (size_t p = 0; p < n; ++p) v[s.term(t, 0) * kSides + p] -= sum[c * n + p] / static_cast<double>(count[c]);
  }
}

// Weight times the value's distance from its row's weighted mean, per observation in its place by trace.
template <size_t kSides, class Value>
void centred(const NormalEquations& s, const Value& value, std::vector<double>& q) {
  q.resize(s.trace.size() * kSides);
  tbb::parallel_for(tbb::blocked_range<size_t>(0, s.rows(), kRowsPerTask), [&](const tbb::blocked_range<size_t>& rows) {
    std::vector<Sides<kSides>> values;
    for (size_t i = rows.begin(); i < rows.end(); ++i) {
      Sides<kSides> mean{};
      double weight = 0;
      const size_t begin = s.begin(i), end = s.end(i);
      values.resize(std::max(values.size(), end - begin));
      for (size_t k = begin; k < end; ++k) {
        const Sides<kSides>& v = values[k - begin] = value(i, k);
        for (size_t d = 0; d < kSides; ++d) mean[d] += s.weight[k] * v[d];
        weight += s.weight[k];
      }
      for (double& of_side : mean) of_side = weight > 0 ? of_side / weight : 0;
      for (size_t k = begin; k < end; ++k) {
        double* const out = &q[static_cast<size_t>(s.place[k]) * kSides];
        for (size_t d = 0; d < kSides; ++d) out[d] = s.weight[k] * (values[k - begin][d] - mean[d]);
      }
    }
  });
}

// One sum alone waits for its last addition: of one side, four are kept and put together at the end.
template <size_t kTerms, size_t kSides>
void sum_trace(const NormalEquations& s, const std::vector<double>& q, size_t t, std::vector<double>& out) {
  constexpr size_t kSums = kSides == 1 ? 4 : 1;
  std::array<std::array<Sides<kSides>, kTerms>, kSums> sums{};
  const auto add = [&](size_t i, std::array<Sides<kSides>, kTerms>& sum) {
    const double* const phi = &s.basis[static_cast<size_t>(s.by_trace[i][0]) * kTerms];
    for (size_t p = 0; p < kTerms; ++p) {
      for (size_t d = 0; d < kSides; ++d) sum[p][d] += q[i * kSides + d] * phi[p];
    }
  };
  const auto begin = static_cast<size_t>(s.trace_begin[t]), end = static_cast<size_t>(s.trace_begin[t + 1]);
  size_t i = begin;
  for (; i + kSums <= end; i += kSums) {
    for (size_t k = 0; k < kSums; ++k) add(i + k, sums[k]);
  }
  for (; i < end; ++i) add(i, sums[0]);
  for (size_t p = 0; p < kTerms; ++p) {
    for (const auto& sum : sums) {
      for (size_t d = 0; d < kSides; ++d) out[s.term(t, p) * kSides + d] += sum[p][d];
    }
  }
  for (i = begin; i < end;) {
    const int32_t bias = s.by_trace[i][1];
    Sides<kSides> sum{};
    for (; i < end && s.by_trace[i][1] == bias; ++i) {
      for (size_t d = 0; d < kSides; ++d) sum[d] += q[i * kSides + d];
    }
    for (size_t d = 0; d < kSides; ++d) out[static_cast<size_t>(bias) * kSides + d] += sum[d];
  }
}

template <size_t kSides>
std::vector<double> sum_by_trace(const NormalEquations& s, const std::vector<double>& q) {
  std::vector<double> out(s.unknowns() * kSides, 0);
  for_terms(s.terms, [&](auto terms) {
    tbb::parallel_for(size_t{0}, s.traces, [&](size_t t) { sum_trace<decltype(terms)::value, kSides>(s, q, t, out); });
  });
  return out;
}

// `q`: memory for the values of every observation.
template <size_t kSides>
std::vector<double> product(const NormalEquations& s, const std::vector<double>& z, std::vector<double>& q) {
  for_terms(s.terms, [&](auto terms) {
    constexpr size_t kTerms = decltype(terms)::value;
    const auto correction = [&](size_t row, size_t k) {
      const double* const phi = &s.basis[row * kTerms];
      const double* const of_trace = &z[s.term(static_cast<size_t>(s.trace[k]), 0) * kSides];
      const double* const bias = &z[static_cast<size_t>(s.bias[k]) * kSides];
      Sides<kSides> sum;
      for (size_t d = 0; d < kSides; ++d) sum[d] = bias[d];
      for (size_t p = 0; p < kTerms; ++p) {
        for (size_t d = 0; d < kSides; ++d) sum[d] += phi[p] * of_trace[p * kSides + d];
      }
      return sum;
    };
    centred<kSides>(s, correction, q);
  });
  std::vector<double> out = sum_by_trace<kSides>(s, q);
  for (size_t i = 0; i < s.unknowns(); ++i) {
    for (size_t d = 0; d < kSides; ++d) out[i * kSides + d] += s.ridge[i] * z[i * kSides + d];
  }
  for (size_t t = 0; t < s.traces && s.terms > 2; ++t) {
    const size_t bend = s.term(t, 2) * kSides;
    for (size_t d = 0; d < kSides; ++d) {
      std::array<double, kKnots> heights;
      for (size_t k = 0; k < kKnots; ++k) heights[k] = z[bend + k * kSides + d];
      add_second_differences(second_differences(heights.data()).data(), s.stiffness, &out[bend + d], kSides);
    }
  }
  return out;
}

std::vector<double> weights_by_trace(const NormalEquations& s) {
  std::vector<double> weights(s.weight.size());
  tbb::parallel_for(tbb::blocked_range<size_t>(0, s.rows(), kRowsPerTask), [&](const tbb::blocked_range<size_t>& rows) {
    for (size_t k = s.begin(rows.begin()); k < s.begin(rows.end()); ++k) {
      weights[static_cast<size_t>(s.place[k])] = s.weight[k];
    }
  });
  return weights;
}

// Lower triangle of the block of trace t.
void fill_block(const NormalEquations& s, const std::vector<double>& weight_by_trace, size_t t, size_t n, double* m) {
  const size_t first = s.term(t, 0);
  for (auto i = static_cast<size_t>(s.trace_begin[t]); i < static_cast<size_t>(s.trace_begin[t + 1]); ++i) {
    const auto [row, bias] = s.by_trace[i];
    const double weight = weight_by_trace[i];
    const double* const phi = &s.basis[static_cast<size_t>(row) * s.terms];
    const size_t b = static_cast<size_t>(bias) - first;
    for (size_t p = 0; p < s.terms; ++p) {
      for (size_t q = 0; q <= p; ++q) m[p * n + q] += weight * phi[p] * phi[q];
      m[b * n + p] += weight * phi[p];
    }
    m[b * n + b] += weight;
  }
  for (size_t p = 0; p < n; ++p) m[p * n + p] += s.ridge[first + p] + 1e-30;
  constexpr std::array<double, 3> kSquared = {6, -4, 1};  // D^T D by distance from the diagonal; 5 at its ends
  for (size_t p = 2; p < s.terms; ++p) {
    for (size_t q = p > 4 ? p - 2 : 2; q <= p; ++q) m[p * n + q] += s.stiffness * kSquared[p - q];
    if (p == 2 || p + 1 == s.terms) m[p * n + p] -= s.stiffness;
  }
}

// Forwards and back through the factors, each solved value taken from all that are still to come.
template <size_t kSides>
void precondition(const NormalEquations& s, const BlockFactors& factors, const std::vector<double>& r,
                  std::vector<double>& out) {
  out = r;
  for_traces(s, [&](size_t t) {
    const size_t n = s.term(t + 1, 0) - s.term(t, 0);
    const double* const m = &factors.values[factors.begin[t]];
    double* const x = &out[s.term(t, 0) * kSides];
    const auto take = [&](size_t p, size_t begin, size_t end) {
      Sides<kSides> solved;
      for (size_t d = 0; d < kSides; ++d) solved[d] = x[p * kSides + d] *= m[p * n + p];
      for (size_t q = begin; q < end; ++q) {
        for (size_t d = 0; d < kSides; ++d) x[q * kSides + d] -= m[p * n + q] * solved[d];
      }
    };
    for (size_t p = 0; p < n; ++p) take(p, p + 1, n);
    for (size_t p = n; p-- > 0;) take(p, 0, p);
  });
  project<kSides>(s, out);
}

}  // namespace

template <size_t kSides>
std::vector<double> NormalEquations::gather(const std::function<Sides<kSides>(size_t, size_t)>& v) const {
  std::vector<double> q;
  centred<kSides>(*this, v, q);
  return sum_by_trace<kSides>(*this, q);
}

BlockFactors NormalEquations::factors() const {
  const NormalEquations& s = *this;
  BlockFactors f;
  f.begin.push_back(0);
  for (size_t t = 0; t < s.traces; ++t) {
    const size_t n = s.term(t + 1, 0) - s.term(t, 0);
    f.begin.push_back(f.begin.back() + n * n);
  }
  f.values.assign(f.begin.back(), 0);
  const std::vector<double> weight_by_trace = weights_by_trace(s);
  tbb::parallel_for(size_t{0}, s.traces, [&](size_t t) {
    double* const m = &f.values[f.begin[t]];
    const size_t n = s.term(t + 1, 0) - s.term(t, 0);
    fill_block(s, weight_by_trace, t, n, m);
    for (size_t p = 0; p < n; ++p) {
      for (size_t q = 0; q <= p; ++q) {
        double rest = m[p * n + q];
        for (size_t r = 0; r < q; ++r) rest -= m[p * n + r] * m[q * n + r];
        m[p * n + q] = p == q ? 1 / std::sqrt(std::max(rest, 1e-30)) : rest * m[q * n + q];
        m[q * n + p] = m[p * n + q];
      }
    }
  });
  return f;
}

template <size_t kSides>
std::vector<double> NormalEquations::solve(std::vector<double> rhs, const BlockFactors& factors,
                                           double tolerance) const {
  std::vector<double> z(rhs.size(), 0), m, of_observations;
  project<kSides>(*this, rhs);
  std::vector<double>& r = rhs;
  precondition<kSides>(*this, factors, r, m);
  std::vector<double> p = m;
  Sides<kSides> rm = dot<kSides>(r, m), enough{};
  for (size_t d = 0; d < kSides; ++d) enough[d] = tolerance * tolerance * rm[d];
  std::array<bool, kSides> solved{};
  for (int step = 0; step < kMostSteps; ++step) {
    for (size_t d = 0; d < kSides; ++d) solved[d] = solved[d] || !(rm[d] > enough[d] && rm[d] > 0);
    if (std::all_of(solved.begin(), solved.end(), [](bool is) { return is; })) break;
    const std::vector<double> q = product<kSides>(*this, p, of_observations);
    const Sides<kSides> pq = dot<kSides>(p, q);
    Sides<kSides> alpha{}, beta{};
    for (size_t d = 0; d < kSides; ++d) {
      solved[d] = solved[d] || pq[d] <= 0;
      alpha[d] = solved[d] ? 0 : rm[d] / pq[d];
    }
    for (size_t i = 0; i < z.size(); i += kSides) {
      for (size_t d = 0; d < kSides; ++d) {
        z[i + d] += alpha[d] * p[i + d];
        r[i + d] -= alpha[d] * q[i + d];
      }
    }
    project<kSides>(*this, r);
    precondition<kSides>(*this, factors, r, m);
    const Sides<kSides> next = dot<kSides>(r, m);
    for (size_t d = 0; d < kSides; ++d) beta[d] = solved[d] ? 0 : next[d] / rm[d];
    for (size_t i = 0; i < p.size(); i += kSides) {
      for (size_t d = 0; d < kSides; ++d) p[i + d] = m[i + d] + beta[d] * p[i + d];
    }
    rm = next;
  }
  return z;
}

std::vector<double> NormalEquations::diagonal() const {
  std::vector<double> d(unknowns(), 0);
  const std::vector<double> weight_by_trace = weights_by_trace(*this);
  tbb::parallel_for(size_t{0}, traces, [&](size_t t) {
    for (auto i = static_cast<size_t>(trace_begin[t]); i < static_cast<size_t>(trace_begin[t + 1]); ++i) {
      const auto [row, of_bias] = by_trace[i];
      const double* const phi = &basis[static_cast<size_t>(row) * terms];
      for (size_t p = 0; p < terms; ++p) d[term(t, p)] += weight_by_trace[i] * phi[p] * phi[p];
      d[static_cast<size_t>(of_bias)] += weight_by_trace[i];
    }
  });
  return d;
}

template std::vector<double> NormalEquations::gather<1>(const std::function<Sides<1>(size_t, size_t)>&) const;
template std::vector<double> NormalEquations::gather<kSidesAtOnce>(
    const std::function<Sides<kSidesAtOnce>(size_t, size_t)>&) const;
template std::vector<double> NormalEquations::solve<1>(std::vector<double>, const BlockFactors&, double) const;
template std::vector<double> NormalEquations::solve<kSidesAtOnce>(std::vector<double>, const BlockFactors&,
                                                                  double) const;

}  // namespace skewscope::align
