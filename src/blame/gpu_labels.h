// What one GPU did at each instant, under one label, and how much of any span each label takes.
//
// Labels by rank: computing hides copies, copies hide transfer, transfer hides waiting; what is left is idle. An idle
// span belongs to the host from its start until the launch of the row that ends it returned, all of it where that was
// less than 10 us before the row started (a launch takes that long); the rest is idle otherwise: the row waited for
// something on the GPU. Cost: one sort of the rows' edges; O(log n) per span.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "skewscope/model/decomposition.h"

namespace skewscope::blame {

// What a launch takes until its row starts.
constexpr int64_t kLaunchDelay_ns = 10'000;

enum class Label : uint8_t { computing, copying, transfer, waiting, host, idle };
constexpr size_t kLabels = 6;
using LabelTimes = std::array<int64_t, kLabels>;  // ns by Label

class GpuLabels {
 public:
  // `waits`: per call of the trace the first part of it that was waiting.
  GpuLabels(const RankTrace& trace, const std::vector<int64_t>& waits);

  // Times of the labels in [from, to): they sum to its length. All 0 for an empty span.
  LabelTimes between(LocalNs from, LocalNs to) const;

 private:
  void add_span(int64_t begin, Label label);
  LabelTimes up_to(int64_t ns) const;

  std::vector<int64_t> begin_;  // of spans that follow one another
  std::vector<Label> label_;
  std::vector<LabelTimes> before_;
};

}  // namespace skewscope::blame
