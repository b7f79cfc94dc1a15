// Data: one trace's window, cut into its steps and the rest. See src/model/step_spans.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "skewscope/model/rank_trace.h"

namespace skewscope {

// What a stretch of a GPU's window is. What is in no step: from the first row until the first step begins, between
// steps that do not follow one another or whose hosts launched something in between, and from the end of the last step
// on.
enum class StepPlace : uint8_t { step, before, between, after };
const char* to_string(StepPlace place);

// A step is what was launched in it, as it ran on the GPU; of a job without a GPU, what its hosts ran.
enum class StepBasis : uint8_t { none, gpu, host };
const char* to_string(StepBasis basis);  // "" for none

struct StepSpan {
  StepPlace place = StepPlace::step;
  int64_t number = -1;  // N of ProfilerStep#N; -1: no step
  LocalNs begin, end;
  int64_t rows = 0;    // GPU rows launched in it
  int64_t calls = 0;   // collective calls launched in it
  LocalNs host_start;  // of the step on the host; of no step, nothing
  int64_t host_ns = 0;
  // Parts of host_ns: while any of the host's calls launched, while any waited for the GPU. -1: of no step, or the
  // trace has no launches.
  int64_t host_launch_ns = -1, host_wait_ns = -1;
};

// Steps as they ran on the GPU, and the rest of the window, end to end in the order of time: they sum to the time from
// the first start of a GPU row, or of a call of the host next to them, to the last end. A step in which nothing was
// launched is not there; a trace without steps or without GPU rows has none.
std::vector<StepSpan> step_spans(const RankTrace& trace);

// Steps as the host ran them, each cut at the end of the one before: of a job without a GPU.
std::vector<StepSpan> host_step_spans(const RankTrace& trace);

}  // namespace skewscope
