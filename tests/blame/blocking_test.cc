// What a GPU's exposed communication held up, on rows written down one by one; times in microseconds. Streams: 7
// computes, 20 and 21 communicate.
#include <algorithm>
#include <catch2/catch.hpp>

#include "skewscope/attribute.h"
#include "skewscope/blame.h"
#include "tests/job_builder.h"

using namespace skewscope;

namespace {

constexpr double kNotRecorded = -1e9;

// Rows in any order, each with when it was launched. The first kernel runs from 0 to 100 and was launched at -5, when
// the GPU was idle: a launch takes 5 to arrive.
class OneGpu {
 public:
  OneGpu() { kernel(0, 100, -5); }

  OneGpu& kernel(double start, double end, double launched) { return add(GpuWork::compute, 7, start, end, launched); }
  OneGpu& copy(double start, double end, double launched) { return add(GpuWork::memcpy, 7, start, end, launched); }
  OneGpu& call(double start, double end, double launched, int32_t stream = 20) {
    return add(GpuWork::communication, stream, start, end, launched);
  }
  OneGpu& add(GpuWork work, int32_t stream, double start, double end, double launched) {
    rows_.push_back({work, stream, start, end, launched});
    return *this;
  }

  // From `at` on what is launched to `stream` waits for what was launched to `source` by `recorded`. -1: not told.
  OneGpu& wait(double at, int32_t stream, int32_t source, double recorded) {
    waits_.push_back({LocalNs{ns(at)}, stream, source, LocalNs{ns(recorded)}});
    return *this;
  }

  // The first kernel's launch is not recorded.
  OneGpu& without_first() {
    rows_.front().launched = kNotRecorded;
    return *this;
  }

  ExposedSplit exposed() {
    std::stable_sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.start < b.start; });
    std::vector<double> launches;
    for (const Row& row : rows_) {
      if (row.launched != kNotRecorded) launches.push_back(row.launched);
    }
    std::sort(launches.begin(), launches.end());
    JobBuilder builder(1);
    RankTrace& trace = builder.trace(0);
    for (const double launch : launches) {
      trace.launches.start.push_back(LocalNs{static_cast<int64_t>(launch * 1000)});
      trace.launches.duration_ns.push_back(500);
      trace.launches.thread.push_back(1);
    }
    for (const Row& row : rows_) {
      builder.gpu_row(0, row.work, row.start, row.end);
      trace.gpu.stream.back() = row.stream;
      const auto launch = std::find(launches.begin(), launches.end(), row.launched);
      if (launch != launches.end()) trace.gpu.launch.back() = static_cast<int32_t>(launch - launches.begin());
      if (row.work != GpuWork::communication) continue;
      CollectiveCall& call = builder.call(0, CommunicatorId(), row.start, row.end);
      call.gpu_row = static_cast<int32_t>(trace.gpu.size()) - 1;
      call.launched = launch != launches.end();
      if (call.launched) call.launch_start = LocalNs{static_cast<int64_t>(row.launched * 1000)};
    }
    trace.stream_waits = waits_;
    builder.done();
    ClockModel clocks;
    clocks.clocks.resize(1);
    const InstanceTable none;
    return find_blame(builder.job, none, clocks, attribute_time(builder.job, none, clocks)).traces[0].exposed;
  }

 private:
  static int64_t ns(double us) { return static_cast<int64_t>(us * 1000); }

  struct Row {
    GpuWork work;
    int32_t stream;
    double start, end, launched;
  };
  std::vector<Row> rows_;
  Column<StreamWait> waits_;
};

ExposedSplit us(int64_t blocking, int64_t coincided, int64_t unknown) {
  return {blocking * 1000, coincided * 1000, unknown * 1000};
}

// Its host launches something every 2 us from -35 on, so that a pause of 100 us stands out.
OneGpu of_busy_host() {
  OneGpu gpu;
  for (int32_t k = 0; k < 15; ++k) gpu.kernel(1 + k, 2 + k, -35 + 2 * k);
  return gpu;
}

}  // namespace

TEST_CASE("a call blocks where the next kernel was launched before it ended and begins behind it") {
  CHECK(OneGpu().call(40, 150, -3).kernel(152, 200, 0).exposed() == us(50, 0, 0));
  CHECK(OneGpu().call(110, 150, -3).kernel(152, 200, 0).exposed() == us(40, 0, 0));
}

TEST_CASE("a call that computation hides blocks nothing and is not exposed") {
  CHECK(OneGpu().call(40, 90, -3).kernel(102, 200, 0).exposed() == us(0, 0, 0));
}

TEST_CASE("until the launch of the next kernel arrives, a call merely coincides with the host's lateness") {
  CHECK(OneGpu().call(40, 150, -3).kernel(152, 200, 120).exposed() == us(25, 25, 0));
}

TEST_CASE("a call coincides where the next kernel was launched only behind it, though the host waited for nothing") {
  CHECK(OneGpu().call(40, 150, 95).kernel(165, 200, 160).exposed() == us(0, 50, 0));
}

TEST_CASE("a call coincides where the next kernel begins while it runs") {
  CHECK(OneGpu().call(40, 300, -3).kernel(150, 320, 0).exposed() == us(0, 50, 0));
}

TEST_CASE("a call blocks where the host paused until it ended and launched soon behind it") {
  CHECK(of_busy_host().call(40, 150, -4).kernel(165, 200, 160).exposed() == us(50, 0, 0));
}

TEST_CASE("nobody can tell what a host did that paused and launched long behind the call's end") {
  CHECK(of_busy_host().call(40, 150, -4).kernel(465, 500, 460).exposed() == us(0, 0, 50));
}

TEST_CASE("a host that paused for milliseconds may take longer to go on, up to a tenth of its pause") {
  CHECK(of_busy_host().call(40, 5150, -4).kernel(5505, 5600, 5500).exposed() == us(5050, 0, 0));
  CHECK(of_busy_host().call(40, 5150, -4).kernel(5805, 5900, 5800).exposed() == us(0, 0, 5050));
}

TEST_CASE("what a blocking call waited for itself blocks, too: on another stream as soon as an event takes") {
  CHECK(OneGpu().call(40, 120, -3).call(121, 180, -2, 21).kernel(182, 200, 0).exposed() == us(79, 0, 0));
}

TEST_CASE("a call in front of a blocking one that was launched late coincides") {
  CHECK(OneGpu().call(40, 120, -3).call(135, 180, 130, 21).kernel(182, 200, 0).exposed() == us(45, 20, 0));
}

TEST_CASE("of calls that run at once each nanosecond counts once, for the one that ended last") {
  CHECK(OneGpu().call(40, 150, -3).call(60, 170, -2, 21).kernel(172, 200, 0).exposed() == us(70, 0, 0));
  CHECK(OneGpu().call(40, 150, -3).call(60, 300, -2, 21).kernel(152, 400, 0).exposed() == us(50, 2, 0));
}

TEST_CASE("while the GPU copies, a call coincides; behind the copy it blocks") {
  CHECK(OneGpu().call(40, 150, -3).copy(100, 130, -2).kernel(152, 200, 0).exposed() == us(20, 30, 0));
}

TEST_CASE("a copy that waits for the call is blocked as a kernel is") {
  CHECK(OneGpu().call(40, 150, -3).copy(152, 160, -2).kernel(161, 200, 0).exposed() == us(50, 0, 0));
}

TEST_CASE("a kernel that begins long behind a call waited for it on its own stream only; else nobody can tell") {
  CHECK(OneGpu().call(40, 150, -3).kernel(250, 300, 0).exposed() == us(0, 0, 50));
  CHECK(OneGpu().call(101, 150, -3, 7).kernel(250, 300, 0).exposed() == us(49, 0, 0));
}

TEST_CASE("nobody can tell where the launch of the next kernel is not recorded, or none follows") {
  CHECK(OneGpu().call(40, 150, -3).kernel(152, 200, kNotRecorded).exposed() == us(0, 0, 50));
  CHECK(OneGpu().call(40, 150, -3).exposed() == us(0, 0, 50));
}

TEST_CASE("what ran when the recording began had been launched before") {
  OneGpu gpu;
  gpu.call(40, 150, kNotRecorded).kernel(152, 200, kNotRecorded).kernel(300, 400, 20);
  CHECK(gpu.without_first().exposed() == us(50, 0, 0));
}

TEST_CASE("a step is blocked by transfer where a third waits at most, by arrival skew where two thirds do") {
  CHECK(blocked_by({0, 0, 0, 0}) == BlockedBy::nothing);
  CHECK(blocked_by({30, 60, 0, 0}) == BlockedBy::transfer);
  CHECK(blocked_by({31, 59, 0, 0}) == BlockedBy::mixed);
  CHECK(blocked_by({59, 31, 0, 0}) == BlockedBy::mixed);
  CHECK(blocked_by({60, 30, 0, 0}) == BlockedBy::arrival_skew);
}

TEST_CASE("a step is inconclusive where error bars and calls that are not split leave more than a third open") {
  CHECK(blocked_by({45, 45, 0, 15}) == BlockedBy::mixed);
  CHECK(blocked_by({45, 45, 0, 16}) == BlockedBy::inconclusive);
  CHECK(blocked_by({10, 40, 40, 0}) == BlockedBy::inconclusive);
  // All that waited is within the bar, and little is left open: no more than 15 of 90 wait.
  CHECK(blocked_by({5, 85, 0, 10}) == BlockedBy::transfer);
}

namespace {

// Its streams have run before, so that their waits are recorded.
OneGpu of_known_streams() { return OneGpu().call(1, 2, -20).call(3, 4, -19, 21).kernel(5, 6, -18); }

}  // namespace

TEST_CASE(
    "where waits on streams are recorded, a kernel waited for what its stream waits for, however long behind it") {
  const auto gpu = [] { return of_known_streams().call(40, 150, -6).kernel(250, 300, -3); };
  CHECK(gpu().exposed() == us(0, 0, 50));
  CHECK(gpu().wait(-4, 7, 20, -6).exposed() == us(50, 0, 0));
}

TEST_CASE("a call that no wait ties to the kernel behind it coincides, though the kernel begins as it ends") {
  const auto gpu = [] { return of_known_streams().call(40, 150, -6).kernel(152, 200, -3); };
  CHECK(gpu().exposed() == us(50, 0, 0));
  CHECK(gpu().wait(-4, 21, 20, -6).exposed() == us(0, 50, 0));
  // For an event that was recorded before the call was launched.
  CHECK(gpu().wait(-4, 7, 20, -7).exposed() == us(0, 50, 0));
  // Behind the kernel's launch.
  CHECK(gpu().wait(-2, 7, 20, -6).exposed() == us(0, 50, 0));
}

TEST_CASE("of two calls the kernel waits for the one that it is tied to, though the other ended later") {
  const auto gpu = [] { return of_known_streams().call(40, 150, -8).call(60, 170, -7, 21).kernel(172, 200, -3); };
  CHECK(gpu().exposed() == us(70, 0, 0));
  CHECK(gpu().wait(-4, 7, 20, -7).exposed() == us(50, 20, 0));
}

TEST_CASE("a kernel waits for a call by way of a stream that waits for it") {
  const auto gpu = [] {
    return of_known_streams().call(40, 150, -9).add(GpuWork::compute, 8, 7, 8, -20).kernel(152, 200, -3);
  };
  CHECK(gpu().wait(-8, 8, 20, -9).wait(-4, 7, 8, -8).exposed() == us(50, 0, 0));
  // For an event that was recorded there before it waited.
  CHECK(gpu().wait(-8, 8, 20, -9).wait(-4, 7, 8, -9).exposed() == us(0, 50, 0));
}

TEST_CASE("a wait for an event that is not told, or of a stream that ran nothing, leaves it to order and time") {
  const auto gpu = [] { return of_known_streams().call(40, 150, -6).kernel(152, 200, -3); };
  CHECK(gpu().wait(-4, 7, -1, -4).exposed() == us(50, 0, 0));
  CHECK(gpu().wait(-4, 7, 99, -6).exposed() == us(50, 0, 0));
  CHECK(of_known_streams().call(40, 150, -6).kernel(250, 300, -3).wait(-4, 7, -1, -4).exposed() == us(0, 0, 50));
}
