// Problem: a curve through a few sizes tempts to read on beyond them.
// Idea: two parameters, least squares, and an interval that says how far the runs leave them open.
//   strong: step = a + b / P: a part that does not shrink and one that does (Amdahl 1967)
//   weak:   step = a + b log2 P: equal work and collectives over trees, whose depth grows (Gustafson 1988 with a log
//   term)
// Interval: Student's 95 % prediction interval of a straight line in x = 1/P or log2 P, from the residuals with n - 2
// degrees of freedom. Refused below four sizes; where more ranks make no step of equal work shorter; and where the
// interval is wider than the step. Source: Draper and Smith, "Applied Regression Analysis", 1.4.
#include "projection.h"

#include <algorithm>
#include <cmath>

#include "student.h"

namespace skewscope::scale {
namespace {

constexpr size_t kFewestSizes = 4;
constexpr double kChance = 0.05;

double regressor(Scaling scaling, int32_t world_size) {
  return scaling == Scaling::strong ? 1.0 / world_size : std::log2(world_size);
}

}  // namespace

ScaleReport::Projection project(const std::vector<ScaleReport::Run>& runs, Scaling scaling) {
  ScaleReport::Projection p;
  p.model = scaling == Scaling::strong ? "step = a + b / P" : "step = a + b log2 P";
  if (runs.size() < kFewestSizes) {
    p.refusal = std::to_string(runs.size()) + " sizes are too few for a fit: four are needed";
    return p;
  }
  const auto n = static_cast<double>(runs.size());
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0, residuals = 0;
  for (const ScaleReport::Run& run : runs) {
    mean_x += regressor(scaling, run.world_size) / n;
    mean_y += run.step_ns / n;
  }
  for (const ScaleReport::Run& run : runs) {
    const double x = regressor(scaling, run.world_size) - mean_x;
    xx += x * x;
    xy += x * (run.step_ns - mean_y);
  }
  p.b_ns = xy / xx;
  p.a_ns = mean_y - p.b_ns * mean_x;
  for (const ScaleReport::Run& run : runs) {
    residuals += std::pow(run.step_ns - p.a_ns - p.b_ns * regressor(scaling, run.world_size), 2);
  }
  p.residual_ns = std::sqrt(residuals / (n - 2));
  if (scaling == Scaling::strong && p.b_ns <= 0) {
    p.refusal = "steps do not get shorter with more ranks";
    return p;
  }
  const double t = quantile(complement(Student(n - 2), kChance / 2));
  for (const int32_t times : {2, 4}) {
    ScaleReport::Projection::Point point;
    point.world_size = times * runs.back().world_size;
    const double x = regressor(scaling, point.world_size) - mean_x;
    const double half = t * p.residual_ns * std::sqrt(1 + 1 / n + x * x / xx);
    point.step_ns = p.a_ns + p.b_ns * (x + mean_x);
    point.low_ns = point.step_ns - half;
    point.high_ns = point.step_ns + half;
    if (half > point.step_ns) {
      p.points.clear();
      p.refusal = "the fit is too poor: its uncertainty would be larger than the step";
      return p;
    }
    p.points.push_back(point);
  }
  return p;
}

}  // namespace skewscope::scale
