// Recorded files of ROCm's profilers: counted by Python (json, sqlite3), and by TraceLens (expected.json of the
// collection).
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "../../real_trace_folder.h"
#include "src/ingest/trace_readers.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

std::vector<FileContent> read_recorded(const std::string& file) {
  MemoryBudget budget(0);
  return std::move(TraceReaders().read(file, budget).value());
}

struct WorkSum {
  int64_t rows = 0, ns = 0;
};

WorkSum sum_of(const FileContent& content, GpuWork work) {
  WorkSum sum;
  for (size_t i = 0; i < content.gpu.size(); ++i) {
    if (content.gpu.events.work[i] != work) continue;
    ++sum.rows;
    sum.ns += content.gpu.events.duration_ns[i];
  }
  return sum;
}

// The time in which any row runs.
int64_t covered_ns(const FileContent& content) {
  std::vector<std::pair<int64_t, int64_t>> spans;
  for (size_t i = 0; i < content.gpu.size(); ++i) {
    const int64_t start = content.gpu.events.start[i].ns;
    spans.emplace_back(start, start + content.gpu.events.duration_ns[i]);
  }
  std::sort(spans.begin(), spans.end());
  int64_t covered = 0, end = INT64_MIN;
  for (const auto& [from, to] : spans) {
    covered += std::max<int64_t>(to - std::max(from, end), 0);
    end = std::max(end, to);
  }
  return covered;
}

}  // namespace

TEST_CASE("908_results of rocprofv3: kernels, collectives and busy time are those of TraceLens") {
  const std::string file = test::formats("rocprof/908_results.json.gz");
  if (file.empty()) return;
  std::ifstream answers(test::formats("expected.json"));
  const auto expected = nlohmann::json::parse(answers).at("rocprof_908");
  const std::vector<FileContent> contents = read_recorded(file);
  REQUIRE(contents.size() == 1);
  const FileContent& content = contents.front();
  CHECK(content.findings.empty());
  CHECK(content.process_id == 908);
  CHECK(content.host_name == "smci350-zts-gtu-c6-25");
  CHECK(content.devices.back().name == "AMD Instinct MI350X");
  const WorkSum compute = sum_of(content, GpuWork::compute), calls = sum_of(content, GpuWork::communication);
  // HIP's own kernels that fill and copy are of that work.
  const WorkSum fills = sum_of(content, GpuWork::memset), copies = sum_of(content, GpuWork::memcpy);
  CHECK(compute.rows + calls.rows + fills.rows + copies.rows == expected.at("kernels").get<int64_t>());
  CHECK(fills.rows == 3213);
  CHECK(copies.rows == 3153);
  CHECK(calls.rows == expected.at("nccl_kernels").get<int64_t>());
  CHECK(static_cast<double>(covered_ns(content)) == Approx(1e6 * expected.at("kernel_ms").get<double>()).margin(5));
  CHECK(calls.ns == 4'158'756'678);
  CHECK(compute.ns + calls.ns + fills.ns + copies.ns == 4'441'741'378);
}

TEST_CASE("mytrace.rpd: kernels, tasks and copies of each kind, and the calls that launched them") {
  const std::string file = test::formats("rocprof/mytrace.rpd.gz");
  if (file.empty()) return;
  const std::vector<FileContent> contents = read_recorded(file);
  REQUIRE(contents.size() == 1);
  const FileContent& content = contents.front();
  CHECK(content.findings.empty());
  CHECK(content.process_id == 1560);
  const WorkSum compute = sum_of(content, GpuWork::compute), copies = sum_of(content, GpuWork::memcpy);
  CHECK(compute.rows == 1228 + 7720);
  CHECK(compute.ns == 316'231'882 + 90'905'793);
  CHECK(copies.rows == 804 + 22 + 350);
  CHECK(copies.ns == 6'169'262 + 747'692 + 2'570'452);
  CHECK(content.gpu[0].device == 2);
  CHECK(content.launches.size() == 1784);
  CHECK(content.syncs.size() == 2);  // hipDeviceSynchronize
}
