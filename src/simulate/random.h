// Random numbers that are the same on every platform: std::distributions differ between standard libraries. Only
// additions, multiplications and comparisons, so no libm either.
#pragma once

#include <cstdint>

namespace skewscope::simulate {

// One well-mixed number of two; for independent streams: Random(mix(mix(seed, step), rank)).
uint64_t mix(uint64_t a, uint64_t b);

// splitmix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  double uniform();             // [0, 1)
  double normal();              // mean 0, deviation 1, within +-6 (sum of 12 uniforms)
  double exponential();         // mean 1 (von Neumann 1951: comparisons only)
  double lognormal(double cv);  // mean 1, deviation cv; cv <= 0.1

 private:
  uint64_t state_;
};

}  // namespace skewscope::simulate
