#include "random.h"

#include <cassert>

namespace skewscope::simulate {
namespace {

uint64_t scramble(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

constexpr uint64_t kGolden = 0x9E3779B97F4A7C15ULL;

}  // namespace

uint64_t mix(uint64_t a, uint64_t b) { return scramble(scramble(a + kGolden) ^ (b * kGolden + 1)); }

uint64_t Random::next() { return scramble(state_ += kGolden); }

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

double Random::normal() {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += uniform();
  return sum;
}

double Random::exponential() {
  for (double whole = 0;; whole += 1) {
    const double first = uniform();
    double last = first;
    int falling = 1;  // length of the run first > second > ...; odd with probability e^-first
    for (double following = uniform(); following < last; following = uniform()) {
      last = following;
      ++falling;
    }
    if (falling % 2 == 1) return whole + first;
  }
}

double Random::lognormal(double cv) {
  assert(cv <= 0.1);  // keeps |x| < 0.61, where eight terms of the series are exact to 1e-7
  const double x = cv * normal() - cv * cv / 2;
  double term = 1, sum = 1;
  for (int k = 1; k <= 8; ++k) sum += term *= x / k;
  return sum;
}

}  // namespace skewscope::simulate
