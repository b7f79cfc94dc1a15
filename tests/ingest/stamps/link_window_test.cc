// One row does not decide how long a trace is: stamps that are none, ends of another clock, clocks that count from
// different moments.
#include <catch2/catch.hpp>

#include "src/ingest/link/link_calls.h"
#include "tests/cpu_time.h"
#include "tests/ingest/content_builder.h"

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

int64_t counted(const LinkedTrace& linked, FindingCode code) {
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
  for (const int64_t apart_s : {-1'700'000'000, -30, -2, 2, 100, 700, 7 * 86'400}) {
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

TEST_CASE(
    "a clock that is 20 ms off is told where calls wait for the GPU, and where rows begin before their launches") {
  for (const int64_t apart_us : {-20'000, 20'000}) {
    INFO(apart_us);
    ContentBuilder b = steady_steps();
    for (LocalNs& start : b.content().gpu.events.start) start = start + apart_us * 1000;
    const LinkedTrace linked = link_calls(std::move(b.content()));
    CHECK(counted(linked, "gpu-clock-apart") == 3 * kSteadySteps);
    CHECK(linked.trace.gpu.size() == 3 * kSteadySteps);
    CHECK(window_us(linked) <= kWindow_us + 30);
  }
}

TEST_CASE(
    "where no call waits for the GPU its clock is told by an idle GPU whose rows all lie far from their launches") {
  for (const bool ends : {true, false}) {
    for (const int64_t apart_s : {-700, -2, 2, 100, 700}) {
      INFO(apart_s << ends);
      ContentBuilder b = steady_steps(false, ends);
      for (LocalNs& start : b.content().gpu.events.start) start = start + apart_s * 1'000'000'000;
      const LinkedTrace linked = link_calls(std::move(b.content()));
      CHECK(counted(linked, "gpu-clock-apart") == 3 * kSteadySteps);
      CHECK(window_us(linked) == kWindow_us);
      CHECK(linked.trace.gpu.start[0] == at_us(5));  // where it was launched
    }
  }
}

TEST_CASE("a single broken stamp does not decide how far clocks are apart") {
  for (const int64_t apart_s : {-100, 100}) {
    INFO(apart_s);
    ContentBuilder b = steady_steps();
    Column<LocalNs>& starts = b.content().gpu.events.start;
    for (LocalNs& start : starts) start = start + apart_s * 1'000'000'000;
    starts[12] = starts[12] + -400'000'000;
    const LinkedTrace linked = link_calls(std::move(b.content()));
    CHECK(counted(linked, "gpu-clock-apart") == 3 * kSteadySteps);
    CHECK(counted(linked, "time-out-of-range") == 1);
    CHECK(window_us(linked) <= kWindow_us + 30);
  }
}

TEST_CASE("a queue that runs seconds behind the host, pauses and long steps are no clock") {
  for (const auto& [syncs, ends] : {std::pair(true, true), {true, false}, {false, true}, {false, false}}) {
    INFO(syncs << ends);
    ContentBuilder queue;
    for (int64_t i = 0; i < 8; ++i) {
      queue.launch(10 * i, i);
      queue.kernel("gemm", 40 + i * (5 * kSecond_us + 3), 5 * kSecond_us, i);
    }
    const int64_t all_us = 40 + 8 * (5 * kSecond_us + 3);
    if (syncs) queue.sync(100, all_us - 100 + 20);
    if (ends) queue.recording_ends(all_us + 100);
    CHECK(link_calls(std::move(queue.content())).findings.empty());

    ContentBuilder later = steady_steps(syncs, false);
    for (const int64_t pause_s : {20, 80}) {
      const int64_t at = pause_s * kSecond_us;
      later.launch(at + 5, at);
      later.kernel("gemm", at + 10, 500, at);
      later.step(30 + pause_s, at, 600);
    }
    if (ends) later.recording_ends(80 * kSecond_us + 1000);
    CHECK(link_calls(std::move(later.content())).findings.empty());
  }
}

TEST_CASE("a queue of which the first kernels were launched before recording began is no clock") {
  ContentBuilder queue;
  for (int64_t i = -2; i < 4; ++i) {
    if (i >= 0) queue.launch(10 * i, i);
    queue.kernel("gemm", 40 + (i + 2) * (5 * kSecond_us + 3), 5 * kSecond_us, i >= 0 ? i : 1000 + i);
  }
  const LinkedTrace linked = link_calls(std::move(queue.content()));
  CHECK(counted(linked, "gpu-clock-apart") == 0);
  CHECK(linked.trace.gpu.start[5] == at_us(40 + 5 * (5 * kSecond_us + 3)));
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

TEST_CASE("a single kernel of another clock moves nothing") {
  ContentBuilder b = steady_steps();
  b.content().gpu.events.start[0] = at_us(-1'700'000'000 * kSecond_us);
  const LinkedTrace linked = link_calls(std::move(b.content()));
  CHECK(counted(linked, "gpu-clock-apart") == 0);
  CHECK(counted(linked, "time-out-of-range") == 1);
  CHECK(window_us(linked) == kWindow_us);
}

TEST_CASE("a kernel that starts behind what waited for it, or behind what was launched after it, is left out") {
  for (const bool syncs : {true, false}) {
    for (const int64_t late_us : {20'000, 200'000}) {
      for (const size_t row : {size_t{0}, size_t{10}, size_t{11}, size_t{18}}) {
        INFO(syncs << " " << late_us << " " << row);
        ContentBuilder b = steady_steps(syncs);
        LocalNs& start = b.content().gpu.events.start[row];
        start = start + 1000 * late_us;
        const LinkedTrace linked = link_calls(std::move(b.content()));
        CHECK(linked.trace.gpu.size() == 3 * kSteadySteps - 1);
        CHECK(counted(linked, "time-out-of-range") == 1);
        CHECK(linked.findings.size() == 1);
        CHECK(window_us(linked) == kWindow_us);
      }
    }
  }
}

TEST_CASE("of two rows in the wrong order that one is left out that lies unusually far from its launch") {
  ContentBuilder b = steady_steps(false);
  LocalNs& start = b.content().gpu.events.start[3 * kSteadySteps - 3];  // a GEMM; behind it adam, the last
  start = start + 200'000'000;
  const LinkedTrace linked = link_calls(std::move(b.content()));
  CHECK(counted(linked, "time-out-of-range") == 1);
  CHECK(linked.trace.gpu.start.back() == at_us(kLastGemm_us));
}

TEST_CASE("late collectives, graphs, copies and other streams are in no wrong order") {
  ContentBuilder b = steady_steps(true, false);
  b.launch(8000, 899);
  b.kernel(kLongAllReduce, 8010, 300'000, 899, 20);  // another GPU is late
  b.launch(8005, 900);                               // a graph: its last node runs beside what was launched later
  b.kernel("node", 8015, 10, 900, 30);
  b.kernel("node", 308'100, 10, 900, 30);
  b.launch(8050, 901);
  b.kernel("beside", 8060, 10, 901, 30);
  b.launch(8070, 902);  // waits until the collective has ended
  b.kernel("behind", 308'050, 10, 902, 31);
  b.launch(8080, 903);
  b.kernel("Memcpy HtoD", 8090, 10, 903, 31).work = GpuWork::memcpy;
  const LinkedTrace linked = link_calls(std::move(b.content()));
  CHECK(linked.findings.empty());
  CHECK(linked.trace.gpu.size() == 3 * kSteadySteps + 6);
}

TEST_CASE("where many rows are in the wrong order it is the order that is not known") {
  ContentBuilder b = steady_steps(false);
  Column<LocalNs>& starts = b.content().gpu.events.start;
  for (const size_t row : {1, 4, 7, 10}) starts[row] = starts[row] + 200'000'000 + static_cast<int64_t>(row);
  const LinkedTrace linked = link_calls(std::move(b.content()));
  CHECK(linked.trace.gpu.size() == 3 * kSteadySteps);
}

TEST_CASE("a step that lies where nothing was launched, and not where launches are in no step, is left out") {
  for (const size_t step : {0, 3, 7}) {
    for (const int64_t away_us : {-200'000, 200'000}) {
      INFO(step << " " << away_us);
      ContentBuilder b = steady_steps();
      StepRow& row = b.content().steps[step];
      row.start = row.start + 1000 * away_us;
      const LinkedTrace linked = link_calls(std::move(b.content()));
      CHECK(counted(linked, "step-out-of-range") == 1);
      CHECK(linked.trace.steps.size() == kSteadySteps - 1);
      CHECK(window_us(linked) >= kLastGemm_us + 100);
      CHECK(window_us(linked) <= kWindow_us);
    }
  }
}

TEST_CASE("steps that launch nothing, are apart by a pause or have others between them are steps") {
  ContentBuilder b = steady_steps();
  b.step(18, 8000, 50);     // launches nothing
  b.step(19, 200'000, 50);  // after a pause in which nothing was launched
  b.step(30, 300'000, 50);  // after others that were not recorded, and launches in no step
  b.launch(250'000, 900);
  b.kernel("evaluation", 250'010, 10, 900);
  const LinkedTrace linked = link_calls(std::move(b.content()));
  CHECK(linked.trace.steps.size() == kSteadySteps + 3);
  CHECK(counted(linked, "step-out-of-range") == 0);
}

TEST_CASE("a launch out of the order of its thread's calls is left out, and its kernel stays") {
  for (const int64_t away_us : {-200'000, 200'000}) {
    INFO(away_us);
    ContentBuilder b = steady_steps();
    LocalNs& start = b.content().launches.events.start[9];
    start = start + 1000 * away_us;
    const LinkedTrace linked = link_calls(std::move(b.content()));
    CHECK(counted(linked, "launch-out-of-range") == 1);
    CHECK(counted(linked, "time-out-of-range") == 0);
    CHECK(linked.trace.gpu.size() == 3 * kSteadySteps);
    CHECK(window_us(linked) == kWindow_us);
  }
}

TEST_CASE("launches of several threads, and ids that begin anew, are in no wrong order") {
  ContentBuilder b;
  for (int64_t i = 0; i < 20; ++i) {
    b.launch(30'000 * i, 1000 - 10 * (i % 2) + i, i % 2);
    b.kernel("gemm", 30'000 * i + 20, 100, 1000 - 10 * (i % 2) + i, static_cast<int32_t>(i % 2));
  }
  for (int64_t i = 0; i < 20; ++i) {
    b.launch(600'000 + 30'000 * i, i + 1, 0);
    b.kernel("gemm", 600'000 + 30'000 * i + 20, 100, i + 1, 0);
  }
  const LinkedTrace linked = link_calls(std::move(b.content()));
  CHECK(linked.findings.empty());
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
