// Kernels that the host launched and no row tells of.
#include <algorithm>
#include <catch2/catch.hpp>

#include "src/ingest/link/link_calls.h"
#include "tests/ingest/content_builder.h"
#include "tests/ingest/reader_support.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

constexpr const char* kLostAllReduce = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)";

// Ten steps of 1 ms: a GEMM on stream 7 that is launched at once, and an all-reduce on stream 20 that is launched 50 us
// later; each ends 200 us behind its launch. Recording ends with the last step.
struct TenSteps : ContentBuilder {
  explicit TenSteps(const std::vector<int>& lost_gemms, const std::vector<int>& lost_calls) {
    content().kernel_launches = 20;
    const auto among = [](const std::vector<int>& steps, int step) {
      return std::find(steps.begin(), steps.end(), step) != steps.end();
    };
    for (int k = 0; k < 10; ++k) {
      const int64_t at_us = 1000 * k;
      step(k, at_us, 990);
      kernel_launch(at_us, 2 * k + 1);
      if (!among(lost_gemms, k)) kernel("gemm", at_us + 20, 180, 2 * k + 1, 7);
      op("nccl:all_reduce", at_us + 45, 20);
      kernel_launch(at_us + 50, 2 * k + 2);
      if (!among(lost_calls, k)) kernel(kLostAllReduce, at_us + 100, 150, 2 * k + 2, 20);
    }
  }
  LaunchRow& kernel_launch(int64_t start_us, int64_t correlation) {
    LaunchRow& row = launch(start_us, correlation);
    row.role = LaunchRole::kernel;
    return row;
  }
  LaunchRow& capture(int64_t start_us, LaunchRole role) {
    LaunchRow& row = launch(start_us, 900 + start_us);
    row.role = role;
    return row;
  }
  // nullopt: nothing is said.
  std::optional<Finding> lost() {
    const LinkedTrace linked = link_calls(std::move(content()));
    for (const Finding& finding : linked.findings) {
      if (finding.code.text() == "kernels-lost") return finding;
    }
    return std::nullopt;
  }
};

}  // namespace

TEST_CASE("kernels that were launched and are in no row are counted, those of collectives by themselves") {
  CHECK_FALSE(TenSteps({}, {}).lost().has_value());
  const auto calls = TenSteps({}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}).lost();
  REQUIRE(calls.has_value());
  CHECK(calls->severity == Severity::warning);
  CHECK(calls->message.starts_with("10 of 20 launched kernels have no row, 10 of them by collectives: "));
  const auto half = TenSteps({0, 2, 4, 6, 8}, {1, 3, 5, 7}).lost();
  REQUIRE(half.has_value());
  CHECK(half->message.starts_with("9 of 20 launched kernels have no row, 4 of them by collectives: "));
  const auto gemm = TenSteps({3}, {}).lost();
  REQUIRE(gemm.has_value());
  CHECK(gemm->message.starts_with("1 of 20 launched kernels have no row: "));
}

TEST_CASE("few lost kernels among many are noted, without a warning") {
  TenSteps steps({}, {});
  for (int64_t k = 0; k < 30; ++k) {
    steps.kernel_launch(300 + 2 * k, 100 + k);
    if (k != 7) steps.kernel("add", 400 + 2 * k, 1, 100 + k);
  }
  const auto lost = steps.lost();
  REQUIRE(lost.has_value());
  CHECK(lost->count == 1);
  CHECK(lost->severity == Severity::info);
}

TEST_CASE("what was launched as recording ended, or into a graph that was captured, is not lost") {
  TenSteps at_the_end({}, {});
  at_the_end.kernel_launch(9850, 101);  // 140 us before the end; others took 200
  CHECK_FALSE(at_the_end.lost().has_value());

  TenSteps captured({}, {});
  captured.capture(3300, LaunchRole::begins_capture);
  captured.kernel_launch(3310, 101);
  captured.kernel_launch(3320, 102).thread = 2;
  captured.capture(3330, LaunchRole::ends_capture);
  CHECK_FALSE(captured.lost().has_value());

  TenSteps behind({}, {});
  behind.capture(3300, LaunchRole::begins_capture);
  behind.capture(3305, LaunchRole::ends_capture);
  behind.kernel_launch(3310, 101);
  REQUIRE(behind.lost().has_value());
}

TEST_CASE("a long queue at the end is no loss: nothing that was launched later is in a row either") {
  TenSteps queued({}, {});
  queued.kernel("long", 9300, 690, 300, 7);
  queued.kernel_launch(9250, 300);
  for (int64_t k = 0; k < 5; ++k) queued.kernel_launch(9300 + k, 301 + k);
  CHECK_FALSE(queued.lost().has_value());
}

TEST_CASE(
    "a driver's call within the runtime's is the same launch, and kernels without a correlation may be anyone's") {
  TenSteps twice({}, {});
  for (int64_t k = 0; k < 20; ++k) twice.kernel_launch(1000 * (k / 2) + 50 * (k % 2) + 1, k + 1);
  CHECK_FALSE(twice.lost().has_value());

  TenSteps unnamed({4}, {});
  unnamed.kernel("gemm", 4020, 180, 0, 7);
  CHECK_FALSE(unnamed.lost().has_value());
}

TEST_CASE("graphs, functions of the host and copies launch no kernel of their own") {
  std::string events;
  const auto add = [&](const std::string& category, const std::string& name, int at, int correlation) {
    events += std::string(events.empty() ? "" : ",\n") + "{\"ph\": \"X\", \"cat\": \"" + category + "\", \"name\": \"" +
              name + "\", \"pid\": 1, \"tid\": 7, \"ts\": " + std::to_string(at) +
              ".000, \"dur\": 5.000, \"args\": {\"correlation\": " + std::to_string(correlation) +
              ", \"device\": 0, \"stream\": 7}}";
  };
  int correlation = 1;
  for (const char* name : {"cudaGraphLaunch", "cudaLaunchHostFunc", "cudaMemcpyAsync", "cudaEventRecord"}) {
    add("cuda_runtime", name, 10 * correlation, correlation);
    ++correlation;
  }
  add("cuda_runtime", "cudaLaunchKernelExC", 100, 9);
  add("kernel", "gemm", 150, 9);
  add("cuda_runtime", "cudaDeviceSynchronize", 1000, 10);
  const auto codes = [](const std::string& text) {
    std::vector<std::string> found;
    for (const Finding& finding : link_calls(read_text(trace_of(text))).findings)
      found.emplace_back(finding.code.text());
    return found;
  };
  const auto says_lost = [](const std::vector<std::string>& found) {
    return std::find(found.begin(), found.end(), "kernels-lost") != found.end();
  };
  CHECK_FALSE(says_lost(codes(events)));
  add("cuda_runtime", "cuLaunchKernel", 90, 11);
  CHECK(says_lost(codes(events)));
}
