// What a step's time goes to, GPU and host in one row, counted by hand. Times in microseconds.
#include "src/summarize/path/execution_summary.h"

#include <catch2/catch.hpp>

#include "../real_trace_folder.h"
#include "detail_builder.h"
#include "skewscope/summarize.h"
#include "visit_trace.h"

using namespace skewscope;
using test::DetailBuilder;

namespace {

std::vector<ExecutionRow> rows_of(const DetailBuilder& b) {
  const OperatorOptions options{false, false, false, false, false, false, false, true};
  const OperatorTables tables = tabulate_operators(b.trace, b.detail, b.strings, options);
  CHECK(check_invariants(tables).empty());
  return tables.execution;
}

void add_step(DetailBuilder& b, int64_t number, double start_us, double end_us) {
  b.annotation("ProfilerStep#" + std::to_string(number), start_us, end_us);
  b.trace.steps.push_back(
      {number, LocalNs{static_cast<int64_t>(start_us * 1000)}, static_cast<int64_t>((end_us - start_us) * 1000)});
}

constexpr const char* kLoader = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";

}  // namespace

TEST_CASE("each moment of a step counts once, for the first part that applies, and the parts sum to the step") {
  DetailBuilder b;
  add_step(b, 3, 0, 100);
  b.annotation(kLoader, 10, 30);
  b.op("aten::copy_", 25, 28);  // within the data loader: counts as that
  b.op("aten::mm", 40, 60);
  b.gpu(b.call("cudaLaunchKernel", 45, 50), "gemm", 48, 70);
  b.gpu(b.call("cudaMemcpyAsync", 72, 74), "Memcpy HtoD", 73, 80, GpuWork::memcpy);
  b.finish();
  const std::vector<ExecutionRow> rows = rows_of(b);
  REQUIRE(rows.size() == 1);
  const ExecutionRow& row = rows[0];
  CHECK(row.step == 3);
  CHECK(row.length_ns == 100'000);
  using Part = ExecutionPart;
  CHECK(row.part_ns(Part::kernel) == 22'000);
  CHECK(row.part_ns(Part::copy) == 7'000);
  CHECK(row.part_ns(Part::fill) == 0);
  CHECK(row.part_ns(Part::communication) == 0);
  CHECK(row.part_ns(Part::runtime) == 3'000 + 1'000);
  CHECK(row.part_ns(Part::data_loader) == 20'000);
  CHECK(row.part_ns(Part::host_operator) == 5'000);  // 40 to 45
  CHECK(row.part_ns(Part::other) == 10'000 + 10'000 + 2'000 + 20'000);
  CHECK(row.in_data_loader_ns == 20'000);
}

TEST_CASE("what kernels hide of the data loader is no loss, and loading on another thread is none of the step") {
  DetailBuilder b;
  add_step(b, 0, 0, 100);
  b.gpu(b.call("cudaLaunchKernel", 1, 2), "gemm", 5, 35);
  b.annotation(kLoader, 20, 50);
  b.annotation(kLoader, 60, 90, 1);  // a thread that pins memory
  b.finish();
  const std::vector<ExecutionRow> rows = rows_of(b);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].part_ns(ExecutionPart::data_loader) == 15'000);
  CHECK(rows[0].in_data_loader_ns == 30'000);
}

TEST_CASE("a trace without steps has one row") {
  DetailBuilder b;
  b.op("aten::mm", 0, 20);
  b.gpu(b.call("cudaLaunchKernel", 5, 10), "gemm", 12, 30);
  b.finish();
  const std::vector<ExecutionRow> rows = rows_of(b);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].step == -1);
  CHECK(rows[0].length_ns == 30'000);
  CHECK(rows[0].part_ns(ExecutionPart::kernel) == 18'000);
}

TEST_CASE("ranges of a data loader are known by their names, whoever made them") {
  CHECK(summarize::is_data_loader(kLoader, HostKind::annotation));
  CHECK(summarize::is_data_loader("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", HostKind::op));
  CHECK(summarize::is_data_loader("my dataloader", HostKind::annotation));
  CHECK(summarize::is_data_loader("torch/utils/data/dataloader.py(628): __next__", HostKind::python));
  CHECK_FALSE(summarize::is_data_loader("torch/utils/data/dataloader.py(300): __init__", HostKind::python));
  CHECK_FALSE(summarize::is_data_loader("aten::mm", HostKind::op));
}

TEST_CASE("recorded: the loader of a step of DLRM takes 1.1 of its 14.5 ms on the host") {
  const std::string folder = test::traces("dlrm_8rank");
  if (folder.empty()) return;
  test::visit_trace(folder + "/worker0_step_12.1694128201545.pt.trace.json.gz", [](const TraceFile& file) {
    const LinkedTrace& linked = file.linked;
    const OperatorOptions options{false, false, false, false, false, false, false, true};
    const OperatorTables tables = tabulate_operators(linked.trace, *linked.detail, linked.strings, options);
    REQUIRE(tables.execution.size() == 1);
    CHECK(tables.execution[0].in_data_loader_ns == 1'101'000);  // the one range of that name
    CHECK(tables.execution[0].step == 10);
  });
}
