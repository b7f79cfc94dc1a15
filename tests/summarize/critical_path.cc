// Paths counted by hand. Times in microseconds; what the path must consist of stands latest first.
#include <catch2/catch.hpp>
#include <filesystem>

#include "../real_trace_folder.h"
#include "detail_builder.h"
#include "skewscope/summarize.h"
#include "src/summarize/path/critical_path.h"
#include "src/summarize/path/path_walk.h"
#include "visit_trace.h"

using namespace skewscope;  // NOLINT
using test::DetailBuilder;

namespace {

OperatorOptions only_the_path() { return {false, false, false, false, false, false, false, true}; }

// "20 computation gemm", …: the parts from the end back; neighbours of one kind and name as one.
std::vector<std::string> path_of(const DetailBuilder& b) {
  const OperatorOptions options = only_the_path();
  const summarize::OperatorView view(b.trace, b.detail, b.strings, options);
  summarize::PathWalk walk(view);
  std::vector<std::string> told;
  for (const summarize::PathWindow& window : summarize::path_windows(view, walk.lines().busiest_thread())) {
    if (window.gpu_row >= 0) {
      walk.begin_on_gpu(window.gpu_row, window.start, window.end);
    } else {
      walk.begin_on_host(window.thread, window.start, window.end);
    }
    for (summarize::PathPart part; walk.next(part);) {
      if (part.end == part.start) continue;
      const auto row = static_cast<size_t>(part.row);
      std::string text = std::to_string((part.end - part.start) / 1000) + " " + to_string(part.kind);
      if (part.row >= 0)
        text += " " + std::string(b.strings.view(part.on_gpu ? b.trace.gpu.name[row] : b.detail.host.name[row]));
      told.push_back(text);
    }
  }
  return told;
}

CriticalPath table_of(const DetailBuilder& b) {
  const OperatorTables tables = tabulate_operators(b.trace, b.detail, b.strings, only_the_path());
  CHECK(check_invariants(tables).empty());
  return tables.critical_path;
}

using Told = std::vector<std::string>;

}  // namespace

TEST_CASE("the path of a step whose kernels wait for their launches is that of the host") {
  DetailBuilder b;
  b.op("aten::mm", 0, 20);
  b.gpu(b.call("cudaLaunchKernel", 5, 10), "gemm", 12, 14);
  b.op("aten::add", 30, 50);
  b.gpu(b.call("cudaLaunchKernel", 35, 40), "add", 41, 43);
  b.finish();
  CHECK(path_of(b) == Told{"10 host_operator aten::add", "5 runtime_call cudaLaunchKernel", "5 host_operator aten::add",
                           "10 between_operators", "10 host_operator aten::mm", "5 runtime_call cudaLaunchKernel",
                           "5 host_operator aten::mm"});
}

TEST_CASE("the path of a step that waits for the GPU runs over its kernels to the launch of the first") {
  DetailBuilder b;
  b.op("aten::mm", 0, 10);
  b.gpu(b.call("cudaLaunchKernel", 4, 8), "gemm", 9, 60);
  b.op("aten::add", 10, 20);
  b.gpu(b.call("cudaLaunchKernel", 12, 15), "add", 62, 90);
  b.finish();
  CHECK(path_of(b) == Told{"28 computation add", "2 kernel_delay add", "51 computation gemm", "5 launch_delay gemm",
                           "4 host_operator aten::mm"});
}

TEST_CASE("a launch delay counts only where its stream had nothing left to do when the call began") {
  DetailBuilder b;
  b.op("aten::mm", 0, 10);
  b.gpu(b.call("cudaLaunchKernel", 0, 10), "gemm", 11, 30);
  b.gpu(b.call("cudaLaunchKernel", 30, 31), "add", 40, 50);  // as the first one ends: the launch was last
  b.finish();
  CHECK(path_of(b) ==
        Told{"10 computation add", "10 launch_delay add", "20 between_operators", "10 runtime_call cudaLaunchKernel"});
}

TEST_CASE("a call that waits for the GPU leads to the kernel that it waited for, and has only its return") {
  DetailBuilder b;
  b.gpu(b.call("cudaLaunchKernel", 0, 5), "gemm", 10, 80);
  b.call("cudaDeviceSynchronize", 8, 83);
  b.op("aten::item", 84, 90);
  b.finish();
  CHECK(path_of(b) == Told{"6 host_operator aten::item", "1 between_operators",
                           "3 synchronization cudaDeviceSynchronize", "70 computation gemm", "10 launch_delay gemm"});
}

TEST_CASE("a call that could wait but had nothing to wait for is on the path itself") {
  DetailBuilder b;
  b.gpu(b.call("cudaLaunchKernel", 0, 5), "gemm", 6, 9);
  b.call("cudaStreamSynchronize", 20, 26);
  b.finish();
  CHECK(path_of(b) ==
        Told{"6 runtime_call cudaStreamSynchronize", "15 between_operators", "5 runtime_call cudaLaunchKernel"});
}

TEST_CASE("a copy that ended before its call returned was waited for, a kernel was not") {
  DetailBuilder b;
  b.gpu(b.call("cudaLaunchKernel", 0, 5), "gemm", 6, 50);
  b.gpu(b.call("cudaMemcpyAsync", 10, 60), "Memcpy DtoH (Device -> Pageable)", 51, 58, GpuWork::memcpy);
  b.gpu(b.call("cudaLaunchKernel", 60, 90), "short", 70, 80);
  b.finish();
  CHECK(path_of(b) == Told{"30 runtime_call cudaLaunchKernel", "2 synchronization cudaMemcpyAsync",
                           "7 copy Memcpy DtoH (Device -> Pageable)", "1 kernel_delay Memcpy DtoH (Device -> Pageable)",
                           "44 computation gemm", "6 launch_delay gemm"});
}

TEST_CASE("a stream that was told to wait waits for the row of the other stream, others do not") {
  for (const bool told : {true, false}) {
    DetailBuilder b;
    b.gpu(b.call("cudaLaunchKernel", 0, 5), "gemm", 10, 70, GpuWork::compute, 7);
    b.call("cudaEventRecord", 6, 7);
    if (told) b.call("cudaStreamWaitEvent", 8, 9);
    const double began = told ? 73 : 95;  // not just after the other ended
    b.gpu(b.call("cudaLaunchKernel", 12, 15), "ncclAllReduce", began, began + 26, GpuWork::communication, 20);
    b.finish();
    const Told over_the_kernel = {"26 communication ncclAllReduce", "3 synchronization ncclAllReduce",
                                  "60 computation gemm", "10 launch_delay gemm"};
    const Told over_the_host = {"26 communication ncclAllReduce", "83 launch_delay ncclAllReduce"};
    const Told path = path_of(b);
    CHECK((told ? path : Told(path.begin(), path.begin() + 2)) == (told ? over_the_kernel : over_the_host));
  }
}

TEST_CASE("a row that begins just after one of another stream ended, long after its launch, was held up by it") {
  DetailBuilder b;
  b.op("c10d::allreduce_", 0, 10);
  b.gpu(b.call("cudaLaunchKernel", 2, 4), "ncclDevKernel_AllReduce", 6, 900, GpuWork::communication, 20);
  b.op("aten::add", 10, 20);
  b.gpu(b.call("cudaLaunchKernel", 12, 15), "add", 903, 950);  // no call that waits was recorded
  b.finish();
  CHECK(path_of(b) == Told{"47 computation add", "3 kernel_delay add", "894 communication ncclDevKernel_AllReduce",
                           "4 launch_delay ncclDevKernel_AllReduce", "2 host_operator c10d::allreduce_"});
}

TEST_CASE("a row that begins long after another stream's last one ended was held up by something else") {
  DetailBuilder b;
  b.op("c10d::allreduce_", 0, 10);
  b.gpu(b.call("cudaLaunchKernel", 2, 4), "ncclDevKernel_AllReduce", 6, 900, GpuWork::communication, 20);
  b.op("aten::add", 10, 20);
  b.gpu(b.call("cudaLaunchKernel", 12, 15), "add", 930, 950);
  b.finish();
  CHECK(path_of(b).at(1) == "918 launch_delay add");
}

TEST_CASE("a row that a stream was told to wait for was launched before it was told") {
  DetailBuilder b;
  b.op("aten::mm", 0, 20);
  b.call("cudaStreamWaitEvent", 1, 2);
  const int32_t first = b.call("cudaLaunchKernel", 3, 4);
  b.gpu(b.call("cudaLaunchKernel", 5, 6), "later", 10, 70, GpuWork::compute, 7);
  b.gpu(first, "held", 73, 99, GpuWork::compute, 20);
  b.finish();
  CHECK(path_of(b) == Told{"26 computation held", "70 launch_delay held", "1 host_operator aten::mm",
                           "1 runtime_call cudaStreamWaitEvent", "1 host_operator aten::mm"});
}

TEST_CASE("while backward runs on its own thread, the path does, too") {
  DetailBuilder b;
  b.sequence(b.op("aten::mm", 0, 10, 0), 5);
  b.sequence(b.op("MmBackward0", 15, 40, 1), 5, 1);
  b.op("aten::add_", 50, 60, 0);
  b.op("a loader's", 12, 49, 2);  // ties to nobody
  b.finish();
  CHECK(path_of(b) == Told{"10 host_operator aten::add_", "10 between_operators", "25 host_operator MmBackward0",
                           "5 between_operators", "10 host_operator aten::mm"});
}

TEST_CASE("a thread that works at the same time is not waited for") {
  DetailBuilder b;
  b.sequence(b.op("aten::mm", 0, 10, 0), 5);
  b.sequence(b.op("MmBackward0", 5, 18, 1), 5, 1);
  b.op("aten::add_", 20, 30, 0);
  b.finish();
  CHECK(path_of(b) == Told{"10 host_operator aten::add_", "10 between_operators", "10 host_operator aten::mm"});
}

TEST_CASE("a gap of 1.5 ms between rows of a stream that were launched long before is explained by nothing") {
  DetailBuilder b;
  b.gpu(b.call("cudaLaunchKernel", 0, 1), "gemm", 2, 10);
  b.gpu(b.call("cudaLaunchKernel", 1, 2), "add", 1509, 1510);
  b.gpu(b.call("cudaLaunchKernel", 2, 3), "mul", 3010, 3011);
  b.finish();
  CHECK(path_of(b) == Told{"1 computation mul", "1500 unexplained mul", "1 computation add", "1499 kernel_delay add",
                           "8 computation gemm", "2 launch_delay gemm"});
}

TEST_CASE("rows without a launch have only their stream before them") {
  DetailBuilder b;
  b.op("aten::mm", 0, 5);
  b.gpu(-1, "first", 2, 10);
  b.gpu(-1, "second", 11, 20);
  b.finish();
  CHECK(path_of(b) ==
        Told{"9 computation second", "1 kernel_delay second", "8 computation first", "2 unexplained first"});
}

TEST_CASE("a step ends with what it launched, and the next begins there") {
  DetailBuilder b;
  b.annotation("ProfilerStep#1", 0, 100);
  b.gpu(b.call("cudaLaunchKernel", 10, 20), "gemm", 30, 150);
  b.annotation("ProfilerStep#2", 100, 200);
  b.op("aten::add", 160, 190);
  b.trace.steps = {{1, LocalNs{0}, 100'000}, {2, LocalNs{100'000}, 100'000}};
  b.finish();
  const CriticalPath path = table_of(b);
  REQUIRE(path.kinds.size() == 5);
  CHECK(path.kinds[0].step == 1);
  CHECK(path.kinds[0].length_ns == 150'000);
  CHECK(path.kinds[0].kind == PathKind::computation);
  CHECK(path.kinds[0].time_ns == 120'000);
  CHECK(path.kinds[0].share == 0.8);
  CHECK(path.kinds[3].step == 2);
  CHECK(path.kinds[3].start_ns == 150'000);
  CHECK(path.kinds[3].length_ns == 50'000);
  CHECK(path.kinds[3].kind == PathKind::host_operator);
}

TEST_CASE("names on the path count rows, however many parts they are in") {
  DetailBuilder b;
  b.op("aten::linear", 0, 30);
  b.op("aten::addmm", 5, 10);
  b.op("aten::addmm", 15, 20);
  b.finish();
  const CriticalPath path = table_of(b);
  REQUIRE(path.names.size() == 2);
  CHECK(path.names[0].name == "aten::linear");
  CHECK(path.names[0].count == 1);
  CHECK(path.names[0].time_ns == 20'000);
  CHECK(path.names[1].count == 2);
  CHECK(path.names[1].share == Approx(1.0 / 3));
}

TEST_CASE("rows that start and end at one moment do not make the path turn in circles") {
  DetailBuilder b;
  for (int i = 0; i < 4; ++i) b.gpu(b.call("cudaMemcpyAsync", 5, 5, i), "copy", 5, 5, GpuWork::memcpy, i);
  b.op("aten::mm", 0, 5);
  b.finish();
  CHECK(path_of(b) == Told{"5 host_operator aten::mm"});
}

TEST_CASE("a trace without operators, calls and GPU rows has no path") {
  DetailBuilder b;
  b.python("train.py(1): main", 0, 10);
  b.finish();
  CHECK(table_of(b).kinds.empty());
}

TEST_CASE("every real trace's path covers each of its steps, exactly") {
  if (test::traces("").empty()) return;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::traces(""))) {
    if (entry.path().extension() != ".gz") continue;
    test::visit_trace(entry.path().string(), [](const TraceFile& file) {
      const LinkedTrace& linked = file.linked;
      const OperatorTables tables = tabulate_operators(linked.trace, *linked.detail, linked.strings, only_the_path());
      CHECK(check_invariants(tables).empty());
    });
  }
}
