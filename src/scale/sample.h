// Numbers that repeat step by step: their mean, and how sure it is. See sample.cc.
#pragma once

#include <cstdint>
#include <vector>

namespace skewscope::scale {

// A deviation needs two.
struct Sample {
  int64_t count = 0;
  double mean = 0;
  double variance = 0;  // with count - 1 in the denominator; 0 below two
  double products = 0;  // sum over neighbours of the product of their deviations from the mean

  double error() const;  // standard error of the mean, by the steps' own autocorrelation; -1 below two
};
// In the order of the steps.
Sample sample_of(const std::vector<double>& values);

// Probability by chance of a difference of the means as large as this one (Welch's t); -1 below two values of either.
double welch_p(const Sample& a, const Sample& b);

}  // namespace skewscope::scale
