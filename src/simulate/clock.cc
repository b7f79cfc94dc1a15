#include "clock.h"

#include <cmath>

#include "random.h"

namespace skewscope::simulate {
namespace {

// The time of writing of each style's builds.
int64_t reference_time(TraceStyle style) {
  switch (style) {
    case TraceStyle::era_a:
      return 1'694'128'201'000'000'000;
    case TraceStyle::era_c:
      return 1'716'398'122'000'000'000;
    case TraceStyle::era_d:
      return 1'752'000'000'000'000'000;
    case TraceStyle::era_e:
      return 1'775'000'000'000'000'000;
  }
  return 0;
}

constexpr uint64_t kNodeClockStream = 101, kGpuClockStream = 102;
constexpr double kGpuJitterNs = 1000;

}  // namespace

int64_t RankClock::to_local(int64_t true_ns) const {
  return reference_ns + true_ns + offset_ns + std::llround(drift * static_cast<double>(true_ns));
}

std::vector<RankClock> make_clocks(const SimulateOptions& options, const Topology& topology) {
  std::vector<RankClock> clocks(static_cast<size_t>(topology.ranks));
  for (int32_t rank = 0; rank < topology.ranks; ++rank) {
    Random node(mix(mix(options.seed, kNodeClockStream), static_cast<uint64_t>(topology.node(rank))));
    Random gpu(mix(mix(options.seed, kGpuClockStream), static_cast<uint64_t>(rank)));
    RankClock& clock = clocks[static_cast<size_t>(rank)];
    clock.reference_ns = reference_time(options.style);
    clock.offset_ns = std::llround((2 * node.uniform() - 1) * options.clock_offset_ms * 1e6);
    clock.drift = (2 * node.uniform() - 1) * options.clock_drift_ppm * 1e-6;
    clock.offset_ns += std::llround(gpu.normal() * kGpuJitterNs);
  }
  return clocks;
}

}  // namespace skewscope::simulate
