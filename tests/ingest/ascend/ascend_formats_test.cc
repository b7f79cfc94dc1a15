// Real profiles, with numbers worked out from them by hand or by Ascend's own tools.
#include <catch2/catch.hpp>
#include <numeric>

#include "../../real_trace_folder.h"
#include "src/ingest/trace_readers.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

FileContent read_real(const std::string& file) {
  MemoryBudget budget(0);
  return std::move(TraceReaders().read(file, budget).value().front());
}

int64_t busy_ns(const FileContent& content, GpuWork work) {
  std::vector<std::pair<int64_t, int64_t>> spans;
  for (size_t i = 0; i < content.gpu.size(); ++i) {
    const GpuRow row = content.gpu[i];
    if (row.work == work) spans.emplace_back(row.start.ns, row.start.ns + row.duration_ns);
  }
  std::sort(spans.begin(), spans.end());
  int64_t busy = 0, end = 0;
  for (const auto& [from, to] : spans) {
    busy += std::max<int64_t>(to - std::max(from, end), 0);
    end = std::max(end, to);
  }
  return busy;
}

}  // namespace

TEST_CASE("four ranks as text: 76 calls, the kernels of two, and step_trace_time.csv's communication") {
  const std::string folder = test::formats("ascend/st_4rank_text");
  if (folder.empty()) return;
  const double communication_us[] = {420174.26, 441708.38, 277649.66, 261498.44};  // step_trace_time.csv
  size_t calls = 0;
  for (int rank = 0; rank < 4; ++rank) {
    INFO("rank " << rank);
    const FileContent content =
        read_real(folder + "/rank_" + std::to_string(rank) + "_ascend_pt/ASCEND_PROFILER_OUTPUT/communication.json");
    CHECK(content.distributed.rank == rank);
    CHECK(content.distributed.world_size == 4);
    calls += content.comm_args.size();
    CHECK(static_cast<double>(busy_ns(content, GpuWork::communication)) ==
          Approx(1e3 * communication_us[rank]).margin(1000));
    CHECK(content.findings.empty());
    if (rank == 0) CHECK(static_cast<double>(busy_ns(content, GpuWork::compute)) == Approx(231290.1e3).margin(10));
  }
  CHECK(calls == 76);
}

TEST_CASE("two ranks as SQLite: computing, copies and communication are those of msprof-analyze to the nanosecond") {
  const std::string folder = test::formats("ascend/level1_2rank_db");
  if (folder.empty()) return;
  struct Times {
    int64_t compute_ns, communication_ns, memory_ns;
  };
  const Times expected[] = {{8903431, 102108100, 866699}, {8915634, 98590190, 786396}};
  for (int rank = 0; rank < 2; ++rank) {
    INFO("rank " << rank);
    const std::string number = std::to_string(rank);
    const FileContent content = read_real(
        folder + "/rank" + number + "_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_" + number + ".db");
    CHECK(content.distributed.rank == rank);
    CHECK(busy_ns(content, GpuWork::compute) == expected[rank].compute_ns);
    CHECK(busy_ns(content, GpuWork::communication) == expected[rank].communication_ns);
    CHECK(busy_ns(content, GpuWork::memcpy) == expected[rank].memory_ns);
    CHECK(content.comm_args.size() == 4);
    CHECK(content.comm_args[0].group_size == 8);
    CHECK(content.findings.empty());
  }
}
