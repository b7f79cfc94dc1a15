// One row does not decide how long a trace is: stamps that are none, ends of another clock, clocks that count from
// different moments.
#include <catch2/catch.hpp>

#include "content_builder.h"
#include "src/ingest/link_calls.h"
#include "tests/cpu_time.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

constexpr const char* kLongAllReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";
constexpr int64_t kSteadySteps = 8, kStep_us = 1000;
constexpr int64_t kSecond_us = 1'000'000;
constexpr int64_t kLastGemm_us = (kSteadySteps - 1) * kStep_us + 820;

// In each step of 1 ms: a GEMM of 500 us, an all-reduce of 300 us behind it, an optimizer's kernel of 100 us, and the
// host waits for the device until 950 us.
ContentBuilder steady_steps(bool syncs = true, bool ends = true) {
  ContentBuilder b;
  for (int64_t i = 0; i < kSteadySteps; ++i) {
    const int64_t at = i * kStep_us;
    b.step(10 + i, at, kStep_us - 10);
    b.launch(at + 5, 10 * i + 1);
    b.kernel("gemm", at + 10, 500, 10 * i + 1);
    b.launch(at + 15, 10 * i + 2);
    b.kernel(kLongAllReduce, at + 515, 300, 10 * i + 2, 20);
    b.launch(at + 25, 10 * i + 3);
    b.kernel("adam", at + 820, 100, 10 * i + 3);
    if (syncs) b.sync(at + 40, 910);
  }
  if (ends) b.recording_ends(kSteadySteps * kStep_us + 20);
  return b;
}

int64_t counted(const LinkedTrace& linked, const std::string& code) {
  int64_t n = 0;
  for (const Finding& finding : linked.findings) n += finding.code == code ? finding.count : 0;
  return n;
}

int64_t window_us(const LinkedTrace& linked) { return (linked.trace.last_event - linked.trace.first_event) / 1000; }

int64_t gpu_time_us(const LinkedTrace& linked) {
  int64_t ns = 0;
  for (const int64_t duration_ns : linked.trace.gpu.duration_ns) ns += duration_ns;
  return ns / 1000;
}

constexpr int64_t kWindow_us = kSteadySteps * kStep_us - 10, kGpuTime_us = kSteadySteps * 900;

}  // namespace

TEST_CASE("a clean trace is as long as its rows, and nothing is said") {
  const LinkedTrace linked = link_calls(std::move(steady_steps().content()));
  CHECK(window_us(linked) == kWindow_us);
  CHECK(gpu_time_us(linked) == kGpuTime_us);
  CHECK(linked.findings.empty());
}

TEST_CASE("a kernel stamped with the base, before it, or far from all others is left out, and said where it stands") {
  for (const int64_t at_s : {-1'700'000'000, -4000, -20, 20, 5000}) {
    INFO(at_s);
    ContentBuilder b = steady_steps();
    b.kernel("fill", at_s * kSecond_us, 1, 999);
    const LinkedTrace linked = link_calls(std::move(b.content()));
    CHECK(window_us(linked) == kWindow_us);
    CHECK(linked.trace.gpu.size() == 3 * kSteadySteps);
    CHECK(counted(linked, "time-out-of-range") == 1);
    CHECK(linked.trace.calls.size() == kSteadySteps);
  }
}

TEST_CASE("a step, a launch and a kernel with its launch at the base are left out, too") {
  const int64_t base_us = -3600 * kSecond_us;
  ContentBuilder with_step = steady_steps();
  with_step.step(9, base_us, 990);
  const LinkedTrace step = link_calls(std::move(with_step.content()));
  CHECK(window_us(step) == kWindow_us);
  CHECK(step.trace.steps.size() == kSteadySteps);
  CHECK(counted(step, "step-out-of-range") == 1);

  ContentBuilder with_launch = steady_steps();
  with_launch.content().launches.events.start[4] = at_us(base_us);
  const LinkedTrace launch = link_calls(std::move(with_launch.content()));
  CHECK(window_us(launch) == kWindow_us);
  CHECK(launch.trace.gpu.size() == 3 * kSteadySteps);
  CHECK(counted(launch, "launch-out-of-range") == 1);
  CHECK(counted(launch, "orphan-kernels") == 1);

  ContentBuilder with_both = steady_steps();
  with_both.content().has_base_time = true;
  with_both.content().base_time_ns = at_us(base_us).ns;
  with_both.launch(base_us, 999);
  with_both.kernel("fill", base_us, 1, 999);
  CHECK(window_us(link_calls(std::move(with_both.content()))) == kWindow_us);
}

TEST_CASE("pauses are no damage: launches with their rows stand on both sides") {
  ContentBuilder b = steady_steps();
  b.launch(-100 * kSecond_us, 998);
  b.kernel("warm_up", -100 * kSecond_us + 20, 10, 998);
  b.launch(300 * kSecond_us, 999);
  b.kernel("evaluation", 300 * kSecond_us + 20, 10, 999);
  const LinkedTrace linked = link_calls(std::move(b.content()));
  CHECK(linked.trace.gpu.size() == 3 * kSteadySteps + 2);
  CHECK(window_us(linked) == 400 * kSecond_us + 30);
  CHECK(linked.findings.empty());
}

TEST_CASE("a step that loads data for half a minute before its first launch is a step") {
  ContentBuilder b = steady_steps();
  b.step(9, -30 * kSecond_us, 30 * kSecond_us - 10);
  const LinkedTrace linked = link_calls(std::move(b.content()));
  CHECK(linked.trace.steps.size() == kSteadySteps + 1);
  CHECK(linked.findings.empty());
}

TEST_CASE("a last kernel that ends seconds late takes as long as others of its name, whatever bounds it") {
  for (const auto& [syncs, ends] : {std::pair(true, true), {true, false}, {false, true}, {false, false}}) {
    INFO(syncs << ends);
    ContentBuilder b = steady_steps(syncs, ends);
    b.content().gpu.events.duration_ns.back() = 4'812'345'678;
    const LinkedTrace linked = link_calls(std::move(b.content()));
    CHECK(window_us(linked) == kWindow_us);
    CHECK(counted(linked, "end-out-of-range") == 1);
    CHECK(linked.trace.gpu.duration_ns.back() == 100'000);
  }
}

TEST_CASE("a last kernel of a name of its own is cut where the host had waited for it") {
  ContentBuilder b = steady_steps();
  b.launch(7960, 999);
  b.kernel("checkpoint", 7965, 4 * kSecond_us, 999, 30);
  b.sync(7970, 15);
  const LinkedTrace linked = link_calls(std::move(b.content()));
  CHECK(linked.trace.gpu.duration_ns.back() == 20'000);
  CHECK(window_us(linked) == kWindow_us);
}

TEST_CASE("a last collective that ends seconds late ended when the kernel went on that had waited for it") {
  for (const bool bounded : {true, false}) {
    ContentBuilder b = steady_steps(bounded, bounded);
    const auto last = static_cast<size_t>(3 * kSteadySteps - 2);
    b.content().gpu.events.duration_ns[last] = 4'812'345'678;
    const LinkedTrace linked = link_calls(std::move(b.content()));
    CHECK(linked.trace.calls.back().end() == at_us(kLastGemm_us));
    CHECK(counted(linked, "end-out-of-range") == 1);
    CHECK(window_us(linked) == kWindow_us);
  }
}

TEST_CASE("a last collective that waits for seconds is believed, and so is a long kernel that the host waits for") {
  ContentBuilder waits = steady_steps(false, false);
  waits.launch(7930, 999);
  waits.kernel(kLongAllReduce, 7960, 5 * kSecond_us, 999, 20);
  const LinkedTrace waiting = link_calls(std::move(waits.content()));
  CHECK(waiting.trace.calls.back().duration_ns == 5'000'000'000);
  CHECK(waiting.findings.empty());

  ContentBuilder slow = steady_steps(true, false);
  slow.launch(7960, 999);
  slow.kernel("gemm", 7965, 5 * kSecond_us, 999);
  slow.sync(7970, 5 * kSecond_us);
  slow.recording_ends(6 * kSecond_us);
  const LinkedTrace long_kernel = link_calls(std::move(slow.content()));
  CHECK(long_kernel.trace.gpu.duration_ns.back() == 5'000'000'000);
  CHECK(long_kernel.findings.empty());
}

TEST_CASE("steps, launches and ranges of the host that end seconds late are cut, first and last") {
  for (const size_t damaged : {size_t{3}, static_cast<size_t>(kSteadySteps - 1)}) {
    ContentBuilder b = steady_steps();
    b.content().steps[damaged].duration_ns = 4'812'345'678;
    const LinkedTrace linked = link_calls(std::move(b.content()));
    CHECK(window_us(linked) <= kWindow_us);
    CHECK(window_us(linked) >= kWindow_us - 50);
    CHECK(counted(linked, "step-end-out-of-range") == 1);
  }
  ContentBuilder b = steady_steps();
  b.content().launches.events.duration_ns.back() = 4'812'345'678;
  const LinkedTrace launch = link_calls(std::move(b.content()));
  CHECK(window_us(launch) == kWindow_us);
  CHECK(counted(launch, "launch-end-out-of-range") == 1);
}

TEST_CASE("a duration cut in the middle of a stream is no longer than others of its name") {
  ContentBuilder b = steady_steps();
  b.content().gpu.events.duration_ns[2] = 3'600'000'000'000;
  const LinkedTrace linked = link_calls(std::move(b.content()));
  CHECK(counted(linked, "overlapping-duration") == 1);
  CHECK(gpu_time_us(linked) == kGpuTime_us);
}

TEST_CASE("GPU rows whose clock counts from boot are moved to their launches: steps hold them, the window is theirs") {
  for (const int64_t apart_s : {-1'700'000'000, -30, 7 * 86'400}) {
    INFO(apart_s);
    ContentBuilder b = steady_steps();
    for (LocalNs& start : b.content().gpu.events.start) start = start + apart_s * 1'000'000'000;
    const LinkedTrace linked = link_calls(std::move(b.content()));
    CHECK(counted(linked, "gpu-clock-apart") == 3 * kSteadySteps);
    CHECK(window_us(linked) >= kWindow_us);
    CHECK(window_us(linked) <= kWindow_us + 30);  // a launch takes 5 us, to see that the device is done 30
    CHECK(gpu_time_us(linked) == kGpuTime_us);
    for (size_t i = 0; i < linked.trace.calls.size(); ++i)
      CHECK(linked.trace.calls[i].step == 10 + static_cast<int64_t>(i));
  }
}

TEST_CASE("a kernel that starts before its launch, and before all others, is left out however near it lies") {
  for (const int64_t early_us : {60'000, 200'000}) {
    INFO(early_us);
    ContentBuilder b = steady_steps();
    Column<LocalNs>& starts = b.content().gpu.events.start;
    starts[12] = starts[12] + -1000 * early_us;  // the fifth step's GEMM
    const LinkedTrace linked = link_calls(std::move(b.content()));
    CHECK(window_us(linked) == kWindow_us);
    CHECK(linked.trace.gpu.size() == 3 * kSteadySteps - 1);
    CHECK(counted(linked, "time-out-of-range") == 1);
    CHECK(linked.trace.calls.size() == kSteadySteps);
  }
}

TEST_CASE("where all kernels start before their launches the clock is off, and none is left out") {
  ContentBuilder b = steady_steps();
  for (LocalNs& start : b.content().gpu.events.start) start = start + -20'000'000;
  const LinkedTrace linked = link_calls(std::move(b.content()));
  CHECK(linked.trace.gpu.size() == 3 * kSteadySteps);
  CHECK(counted(linked, "time-out-of-range") == 0);
}

TEST_CASE("a single kernel of another clock moves nothing") {
  ContentBuilder b = steady_steps();
  b.content().gpu.events.start[0] = at_us(-1'700'000'000 * kSecond_us);
  const LinkedTrace linked = link_calls(std::move(b.content()));
  CHECK(counted(linked, "gpu-clock-apart") == 0);
  CHECK(counted(linked, "time-out-of-range") == 1);
  CHECK(window_us(linked) == kWindow_us);
}

TEST_CASE("a hundred thousand rows that all end late are looked at in seconds") {
  ContentBuilder b;
  constexpr int64_t kRows = 100'000;
  for (int64_t i = 0; i < kRows; ++i) {
    b.launch(i, i);
    b.kernel(i % 2 == 0 ? "gemm" : kLongAllReduce, i + 10, 20 * kSecond_us, i, static_cast<int32_t>(i));
  }
  b.sync(kRows + 20, 10);
  const double begin = test::cpu_seconds();
  const LinkedTrace linked = link_calls(std::move(b.content()));
  CHECK(test::cpu_seconds() - begin < 6);
  CHECK(linked.trace.gpu.size() == kRows);
}
