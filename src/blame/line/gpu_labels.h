// What one GPU did at each instant, under one label, and how much each label takes up to any instant.
//
// Labels by rank: computing hides copies, copies hide transfer, transfer hides waiting, waiting hides calls whose time
// is not split; what is left is idle. An idle
// span belongs to the host from its start until the launch of the row that ends it returned, all of it where that was
// less than 10 us before the row started (a launch takes that long); the rest is idle otherwise: the row waited for
// something on the GPU. Cost: one sort of the rows' edges; O(log n) per instant, of those in between where instants
// come in order.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "skewscope/model/decomposition.h"

namespace skewscope::blame {

// What a launch takes until its row starts.
constexpr int64_t kLaunchDelay_ns = 10'000;

enum class Label : uint8_t { computing, copying, transfer, waiting, unsplit, host, idle };
constexpr size_t kLabels = 7;
using LabelTimes = std::array<int64_t, kLabels>;  // ns by Label
LabelTimes operator-(const LabelTimes& a, const LabelTimes& b);

// What is known of a call: its first part was waiting, what is behind it transfer, or not split.
struct CallSplit {
  int64_t wait_ns = 0;
  Label rest = Label::transfer;
};

class GpuLabels {
 public:
  // `splits`: per call of the trace.
  GpuLabels(const RankTrace& trace, const std::vector<CallSplit>& splits);

  // One instant after the other, quickest where they come in order of time.
  class Walk {
   public:
    explicit Walk(const GpuLabels& labels) : labels_(labels) {}
    // What the labels have taken by then. Between two instants they took the difference: it sums to the time between.
    LabelTimes up_to(LocalNs instant);

   private:
    const GpuLabels& labels_;
    size_t near_ = 0;
  };

 private:
  void add_span(int64_t begin, Label label);

  static constexpr size_t kStride = 16;

  std::vector<int64_t> begin_;  // of spans that follow one another
  std::vector<Label> label_;
  LabelTimes sum_{};                // up to the begin of the last span
  std::vector<LabelTimes> before_;  // up to the begin of every kStride-th span
};

}  // namespace skewscope::blame
