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

double dot(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

// Removes every component's mean of every term.
void project(const NormalEquations& s, std::vector<double>& v) {
  std::vector<double> sum(s.traces * s.terms, 0);
  std::vector<size_t> count(s.traces, 0);
  for (size_t t = 0; t < s.traces; ++t) {
    const auto c = static_cast<size_t>(s.component[t]);
    ++count[c];
    for (size_t p = 0; p < s.terms; ++p) sum[c * s.terms + p] += v[s.term(t, p)];
  }
  for (size_t t = 0; t < s.traces; ++t) {
    const auto c = static_cast<size_t>(s.component[t]);
    for (size_t p = 0; p < s.terms; ++p) v[s.term(t, p)] -= sum[c * s.terms + p] / static_cast<double>(count[c]);
  }
}

// Weight times the value's distance from its row's weighted mean, per observation in its place by trace.
template <class Value>
void centred(const NormalEquations& s, const Value& value, std::vector<double>& q) {
  q.resize(s.trace.size());
  tbb::parallel_for(tbb::blocked_range<size_t>(0, s.rows(), kRowsPerTask), [&](const tbb::blocked_range<size_t>& rows) {
    std::vector<double> values;
    for (size_t i = rows.begin(); i < rows.end(); ++i) {
      double sum = 0, weight = 0;
      const size_t begin = s.begin(i), end = s.end(i);
      values.resize(std::max(values.size(), end - begin));
      for (size_t k = begin; k < end; ++k) {
        const double v = values[k - begin] = value(i, k);
        sum += s.weight[k] * v;
        weight += s.weight[k];
      }
      const double mean = weight > 0 ? sum / weight : 0;
      for (size_t k = begin; k < end; ++k) {
        q[static_cast<size_t>(s.place[k])] = s.weight[k] * (values[k - begin] - mean);
      }
    }
  });
}

// Four sums side by side, put together at the end: one alone waits for its last addition.
template <size_t kTerms>
void sum_trace(const NormalEquations& s, const std::vector<double>& q, size_t t, std::vector<double>& out) {
  constexpr size_t kSums = 4;
  std::array<std::array<double, kTerms>, kSums> sums{};
  const auto add = [&](size_t i, std::array<double, kTerms>& sum) {
    const double* const phi = &s.basis[static_cast<size_t>(s.by_trace[i][0]) * kTerms];
    for (size_t p = 0; p < kTerms; ++p) sum[p] += q[i] * phi[p];
  };
  const auto begin = static_cast<size_t>(s.trace_begin[t]), end = static_cast<size_t>(s.trace_begin[t + 1]);
  size_t i = begin;
  for (; i + kSums <= end; i += kSums) {
    for (size_t k = 0; k < kSums; ++k) add(i + k, sums[k]);
  }
  for (; i < end; ++i) add(i, sums[0]);
  for (size_t p = 0; p < kTerms; ++p) {
    for (const auto& sum : sums) out[s.term(t, p)] += sum[p];
  }
  for (i = begin; i < end;) {
    const int32_t bias = s.by_trace[i][1];
    double sum = 0;
    for (; i < end && s.by_trace[i][1] == bias; ++i) sum += q[i];
    out[static_cast<size_t>(bias)] += sum;
  }
}

std::vector<double> sum_by_trace(const NormalEquations& s, const std::vector<double>& q) {
  std::vector<double> out(s.unknowns(), 0);
  for_terms(s.terms, [&](auto terms) {
    tbb::parallel_for(size_t{0}, s.traces, [&](size_t t) { sum_trace<decltype(terms)::value>(s, q, t, out); });
  });
  return out;
}

// `q`: memory for one value per observation.
std::vector<double> product(const NormalEquations& s, const std::vector<double>& z, std::vector<double>& q) {
  for_terms(s.terms, [&](auto terms) {
    constexpr size_t kTerms = decltype(terms)::value;
    const auto correction = [&](size_t row, size_t k) {
      const double* const phi = &s.basis[row * kTerms];
      const double* const of_trace = &z[s.term(static_cast<size_t>(s.trace[k]), 0)];
      double sum = z[static_cast<size_t>(s.bias[k])];
      for (size_t p = 0; p < kTerms; ++p) sum += phi[p] * of_trace[p];
      return sum;
    };
    centred(s, correction, q);
  });
  std::vector<double> out = sum_by_trace(s, q);
  for (size_t i = 0; i < out.size(); ++i) out[i] += s.ridge[i] * z[i];
  for (size_t t = 0; t < s.traces && s.terms > 2; ++t) {
    const auto bends = second_differences(&z[s.term(t, 2)]);
    s.add_second_differences(t, bends.data(), s.stiffness, out);
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

void precondition(const NormalEquations& s, const BlockFactors& factors, const std::vector<double>& r,
                  std::vector<double>& out) {
  out = r;
  for_traces(s, [&](size_t t) {
    const size_t n = s.term(t + 1, 0) - s.term(t, 0);
    const double* const m = &factors.values[factors.begin[t]];
    double* const x = &out[s.term(t, 0)];
    for (size_t p = 0; p < n; ++p) {
      for (size_t q = 0; q < p; ++q) x[p] -= m[p * n + q] * x[q];
      x[p] /= m[p * n + p];
    }
    for (size_t p = n; p-- > 0;) {
      for (size_t q = p + 1; q < n; ++q) x[p] -= m[q * n + p] * x[q];
      x[p] /= m[p * n + p];
    }
  });
  project(s, out);
}

}  // namespace

std::vector<double> NormalEquations::gather(const std::function<double(size_t, size_t)>& v) const {
  std::vector<double> q;
  centred(*this, v, q);
  return sum_by_trace(*this, q);
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
        m[p * n + q] = p == q ? std::sqrt(std::max(rest, 1e-30)) : rest / m[q * n + q];
      }
    }
  });
  return f;
}

std::vector<double> NormalEquations::solve(std::vector<double> rhs, const BlockFactors& factors,
                                           double tolerance) const {
  std::vector<double> z(rhs.size(), 0), m, of_observations;
  project(*this, rhs);
  std::vector<double>& r = rhs;
  precondition(*this, factors, r, m);
  std::vector<double> p = m;
  double rm = dot(r, m);
  const double enough = tolerance * tolerance * rm;
  for (int step = 0; step < kMostSteps && rm > enough && rm > 0; ++step) {
    const std::vector<double> q = product(*this, p, of_observations);
    const double pq = dot(p, q);
    if (pq <= 0) break;
    const double alpha = rm / pq;
    for (size_t i = 0; i < z.size(); ++i) {
      z[i] += alpha * p[i];
      r[i] -= alpha * q[i];
    }
    project(*this, r);
    precondition(*this, factors, r, m);
    const double next = dot(r, m);
    for (size_t i = 0; i < p.size(); ++i) p[i] = m[i] + next / rm * p[i];
    rm = next;
  }
  return z;
}

void NormalEquations::add_second_differences(size_t t, const double* v, double scale, std::vector<double>& out) const {
  const std::array<double, kKnots> second = second_differences(v);  // D is symmetric
  for (size_t k = 0; k < kKnots; ++k) out[term(t, 2 + k)] += scale * second[k];
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

}  // namespace skewscope::align
