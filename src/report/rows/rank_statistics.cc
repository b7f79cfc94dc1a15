// Which rank differs from its peers, figure by figure: from ranks of its own component, of which those of others say
// nothing.
//
// A rank is apart when its value is farther from the median than 3.5 robust standard deviations (1.4826 x the median
// distance from the median: Iglewicz and Hoaglin, "How to Detect and Handle Outliers", 1993) and than 5 % of the
// median: where nearly all ranks agree to the nanosecond, the first alone would name every other. Below four ranks
// nobody is apart. Times closer than two steps of the traces' clocks are equal. What at most half of the ranks have at
// all (a kernel that only one of them runs) sets those apart that have it. Cost: one sort of all figures.
#include "rank_statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace skewscope::report {
namespace {

constexpr double kRobustDeviations = 3.5 * 1.4826, kLeastShare = 0.05;
constexpr size_t kFewestRanks = 4;

struct TraceValue {
  const RankFigure* figure;
  int32_t rank, session;
  int32_t component;  // of the rank
};

auto name_of(const TraceValue& v) { return std::tie(v.component, v.figure->table, v.figure->key, v.figure->metric); }

// Sorts the values; the one in the middle, the mean of both where there are two.
double median_of(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// `values` of one figure, sorted by (session, rank).
JobReport::RankStatistic statistic_of(const std::vector<TraceValue>& values, size_t traces, int64_t resolution_ns) {
  const RankFigure& first = *values.front().figure;
  JobReport::RankStatistic s;
  s.component = values.front().component;
  s.table = first.table;
  s.key = first.key;
  s.metric = first.metric;
  s.ranks = static_cast<int64_t>(values.size());
  std::vector<double> sorted;
  for (const TraceValue& v : values) sorted.push_back(static_cast<double>(v.figure->value));
  s.median = median_of(sorted);
  s.min = s.max = first.value;
  s.min_rank = s.max_rank = values.front().rank;
  std::vector<double> distances;
  for (const TraceValue& v : values) {
    const int64_t value = v.figure->value;
    if (value < s.min) std::tie(s.min, s.min_rank) = std::make_tuple(value, v.rank);
    if (value > s.max) std::tie(s.max, s.max_rank) = std::make_tuple(value, v.rank);
    distances.push_back(std::abs(static_cast<double>(value) - s.median));
  }
  if (traces < kFewestRanks) return s;
  const bool rare = 2 * values.size() <= traces;
  const double step = s.metric.ends_with("_ns") ? 2 * static_cast<double>(resolution_ns) : 0;
  const double limit = std::max({kRobustDeviations * median_of(distances), kLeastShare * std::abs(s.median), step});
  for (const TraceValue& v : values) {
    const bool apart = rare || std::abs(static_cast<double>(v.figure->value) - s.median) > limit;
    if (apart && (s.outliers.empty() || s.outliers.back() != v.rank)) s.outliers.push_back(v.rank);
  }
  std::sort(s.outliers.begin(), s.outliers.end());
  s.outliers.erase(std::unique(s.outliers.begin(), s.outliers.end()), s.outliers.end());
  return s;
}

}  // namespace

std::vector<JobReport::RankStatistic> rank_statistics(const JobTrace& job, const std::vector<RankFigures>& figures,
                                                      const std::vector<JobReport::Component>& components) {
  std::map<int32_t, int32_t> component_of;  // by rank
  for (size_t c = 0; c < components.size(); ++c) {
    for (const int32_t rank : components[c].ranks) component_of.emplace(rank, static_cast<int32_t>(c));
  }
  std::map<int32_t, size_t> traces;  // by component
  for (size_t t = 0; t < figures.size(); ++t) ++traces[component_of[job.traces[t].rank.value]];
  std::vector<TraceValue> values;
  for (size_t t = 0; t < figures.size(); ++t) {
    for (const RankFigure& figure : figures[t]) {
      const int32_t rank = job.traces[t].rank.value;
      values.push_back({&figure, rank, job.traces[t].session.value, component_of[rank]});
    }
  }
  std::sort(values.begin(), values.end(), [](const TraceValue& a, const TraceValue& b) {
    const auto name_a = name_of(a), name_b = name_of(b);
    if (name_a != name_b) return name_a < name_b;
    return std::tie(a.session, a.rank) < std::tie(b.session, b.rank);
  });
  int64_t resolution_ns = 1;
  for (const RankTrace& trace : job.traces) resolution_ns = std::max(resolution_ns, trace.resolution_ns);
  std::vector<JobReport::RankStatistic> statistics;
  for (size_t begin = 0; begin < values.size();) {
    size_t end = begin;
    std::vector<TraceValue> same;
    while (end < values.size() && name_of(values[end]) == name_of(values[begin])) same.push_back(values[end++]);
    statistics.push_back(statistic_of(same, traces[same.front().component], resolution_ns));
    begin = end;
  }
  return statistics;
}

}  // namespace skewscope::report
