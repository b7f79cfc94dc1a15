// Kernels of collectives that nothing joins to their launches, against jobs that were simulated with both.
#include "src/ingest/link/group_streams.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

constexpr int kJobs = 400;

struct SimulatedStreams {
  std::vector<GroupLaunch> launches;
  std::vector<StreamKernel> kernels;
  std::vector<int32_t> truth;  // per kernel: its launch; -1: before recording began
};

// Each step launches the same collectives in the same order. The host runs ahead of the GPU or is as fast as it; a
// collective is ready when the computation launched before it has ended, and waits for its stream.
SimulatedStreams simulated_streams(uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](int64_t most) { return static_cast<int64_t>(random() % static_cast<uint64_t>(most)); };
  const int64_t groups = 2 + below(3), steps = 4 + below(7);
  std::vector<int32_t> order;
  for (int32_t g = 0; g < groups; ++g) order.insert(order.end(), static_cast<size_t>(1 + below(4)), g);
  std::shuffle(order.begin(), order.end(), random);
  const bool host_bound = below(3) == 0;
  struct Pair {
    GroupLaunch launch;
    StreamKernel kernel;
  };
  std::vector<Pair> pairs;
  std::vector<int64_t> free_from(static_cast<size_t>(groups), 0);
  int64_t host_ns = 0, computed_ns = 0;
  for (int64_t k = 0; k < steps; ++k) {
    for (const int32_t group : order) {
      host_ns += 8'000 + below(20'000) + (host_bound ? 300'000 : 0);
      computed_ns = std::max(computed_ns, host_ns + 5'000) + 20'000 + below(200'000);
      int64_t& free = free_from[static_cast<size_t>(group)];
      const int64_t start_ns = std::max(computed_ns, free), end_ns = start_ns + 20'000 + below(700'000);
      free = end_ns + 2'000;
      pairs.push_back({{{host_ns}, group}, {{start_ns}, {end_ns}, static_cast<int32_t>(groups) - 1 - group}});
    }
  }
  const size_t head = below(2) == 0 ? 0 : static_cast<size_t>(below(std::ssize(order)));
  SimulatedStreams job;
  std::vector<std::pair<StreamKernel, int32_t>> kernels;
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (i >= head) job.launches.push_back(pairs[i].launch);
    kernels.emplace_back(pairs[i].kernel, i >= head ? static_cast<int32_t>(i - head) : -1);
  }
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const auto& a, const auto& b) { return a.first.start < b.first.start; });
  for (const auto& [kernel, launch] : kernels) {
    job.kernels.push_back(kernel);
    job.truth.push_back(launch);
  }
  return job;
}

}  // namespace

TEST_CASE("in simulated jobs of two to four groups no kernel is taken for another launch's, and most are joined") {
  int64_t joined = 0, wrong = 0, kernels = 0;
  for (int seed = 0; seed < kJobs; ++seed) {
    const SimulatedStreams job = simulated_streams(static_cast<uint32_t>(seed));
    const KernelLaunches told = launches_of_streams(job.launches, job.kernels);
    for (size_t i = 0; i < job.kernels.size(); ++i) {
      if (job.truth[i] < 0) continue;
      ++kernels;
      joined += told.launch[i] >= 0 ? 1 : 0;
      wrong += told.launch[i] >= 0 && told.launch[i] != job.truth[i] ? 1 : 0;
    }
  }
  INFO(joined << " of " << kernels << ", wrong " << wrong);
  CHECK(wrong == 0);
  CHECK(joined * 10 > kernels * 9);
}
