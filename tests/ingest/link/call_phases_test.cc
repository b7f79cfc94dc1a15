#include "src/ingest/link/call_phases.h"

#include <catch2/catch.hpp>

#include "src/ingest/link/link_calls.h"
#include "tests/ingest/content_builder.h"
#include "tests/ingest/reader_support.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

constexpr int64_t kMain = 1, kAutograd = 2, kOther = 3;

// A step of 1000 us: the forward pass, the backward pass until 600, an optimizer from 700 to 800.
struct TracedStep {
  ContentBuilder b;
  int64_t correlation = 0;

  explicit TracedStep(bool trains = true) {
    b.step(7, 0, 1000);
    b.content().steps[0].thread = kMain;
    if (!trains) return;
    b.content().backward_threads = {kAutograd};
    b.content().optimizer_steps = {{at_us(700), 100'000, kMain}};
    kernel("gemm", 600, kAutograd);
  }

  void kernel(const std::string& name, int64_t launch_us, int64_t thread) {
    b.kernel(name, launch_us + 20, 5, ++correlation);
    b.launch(launch_us, correlation, thread);
  }

  // The phase of a collective launched then, and there.
  CallPhase phase(int64_t launch_us, int64_t thread, const char* name = "ncclDevKernel_AllGather_RING_LL(x)") {
    kernel(name, launch_us, thread);
    const LinkedTrace linked = link_calls(std::move(b.content()));
    REQUIRE(linked.trace.calls.size() == 1);
    return linked.trace.calls[0].phase;
  }
};

}  // namespace

TEST_CASE("what a thread of the backward pass launches is of the backward pass") {
  CHECK(TracedStep().phase(300, kAutograd) == CallPhase::backward);
  CHECK(TracedStep().phase(300, kAutograd, "ncclDevKernel_SendRecv(x)") == CallPhase::backward);
  CHECK(TracedStep().phase(1500, kAutograd) == CallPhase::backward);  // outside of every step
}

TEST_CASE("what is launched within an optimizer's range is the optimizer's") {
  CHECK(TracedStep().phase(700, kMain) == CallPhase::optimizer);
  CHECK(TracedStep().phase(799, kMain) == CallPhase::optimizer);
  CHECK(TracedStep().phase(750, kOther) == CallPhase::unknown);
}

TEST_CASE("what the thread of the steps launches before the backward pass is done is of the forward pass") {
  CHECK(TracedStep().phase(100, kMain) == CallPhase::forward);
  CHECK(TracedStep().phase(599, kMain) == CallPhase::forward);
  CHECK(TracedStep().phase(100, kOther) == CallPhase::unknown);
}

TEST_CASE("what is launched behind the backward pass and outside of the optimizer is of no known phase") {
  CHECK(TracedStep().phase(650, kMain) == CallPhase::unknown);
  CHECK(TracedStep().phase(900, kMain) == CallPhase::unknown);
  CHECK(TracedStep().phase(1500, kMain) == CallPhase::unknown);
}

TEST_CASE("messages that the thread of the steps sends may carry activations or gradients") {
  CHECK(TracedStep().phase(100, kMain, "ncclDevKernel_SendRecv(x)") == CallPhase::unknown);
}

TEST_CASE("where no thread of a backward pass is seen, it may be inference, or not: no phase is told") {
  CHECK(TracedStep(false).phase(100, kMain) == CallPhase::unknown);
  TracedStep optimizes(false);
  optimizes.b.content().optimizer_steps = {{at_us(700), 100'000, kMain}};
  CHECK(optimizes.phase(100, kMain) == CallPhase::unknown);
}

TEST_CASE("a backward pass on the thread of the steps tells nothing of what that thread launches") {
  TracedStep step;
  step.b.content().backward_threads = {kMain};
  CHECK(step.phase(100, kMain) == CallPhase::unknown);
}

TEST_CASE("an optimizer that calls another lasts as long as both") {
  TracedStep step;
  step.b.content().optimizer_steps = {{at_us(700), 200'000, kMain}, {at_us(720), 10'000, kMain}};
  CHECK(step.phase(850, kMain) == CallPhase::optimizer);
}

TEST_CASE("threads of the backward pass are told by their names and by what runs on them, optimizers by their range") {
  const std::string events = R"json(
  {
    "ph": "X", "cat": "cpu_op", "name": "autograd::engine::evaluate_function: MmBackward0", "pid": 9, "tid": 77,
    "ts": 5, "dur": 3,
    "args": {
      "External id": 3
    }
  },
  {
    "ph": "X", "cat": "cpu_op", "name": "autograd::engine::evaluate_function: AddBackward0", "pid": 9, "tid": "odd 78",
    "ts": 6, "dur": 3,
    "args": {
      "External id": 4
    }
  },
  {
    "ph": "X", "cat": "user_annotation", "name": "Optimizer.step#AdamW.step", "pid": 9, "tid": 11,
    "ts": 20, "dur": 4,
    "args": {
      "External id": 5
    }
  },
  {
    "name": "thread_name", "ph": "M", "ts": 1, "pid": 9, "tid": 79,
    "args": {
      "name": "thread 79 (pt_autograd_0)"
}
},
  {
    "name": "thread_name", "ph": "M", "ts": 1, "pid": 9, "tid": 80,
    "args": {
      "name": "thread 80 (pt_main_thread)"
    }
  },
  {
    "ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 11,
    "ts": 30, "dur": 4,
    "args": {
      "External id": 6
    }
  }
)json";
  const FileContent content = read_text(trace_of(events));
  CHECK(content.backward_threads.size() == 3);
  CHECK(std::count(content.backward_threads.begin(), content.backward_threads.end(), 77) == 1);
  CHECK(std::count(content.backward_threads.begin(), content.backward_threads.end(), 79) == 1);
  REQUIRE(content.optimizer_steps.size() == 1);
  CHECK(content.optimizer_steps[0].start.ns == 20'000);
  CHECK(content.optimizer_steps[0].duration_ns == 4'000);
  CHECK(content.optimizer_steps[0].thread == 11);
  CHECK(content.events == 6);
}
