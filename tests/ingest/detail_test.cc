#include "detail_support.h"
#include "src/ingest/keep_steps.h"

using namespace skewscope;
using namespace skewscope::ingest;

namespace {

// A complete event of the host; `more` stands behind its times.
std::string host(const std::string& category, const std::string& name, const std::string& thread,
                 const std::string& stamp, const std::string& duration, const std::string& more = "") {
  return R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name + R"(", "pid": 5, "tid": )" + thread +
         ", \"ts\": " + stamp + ", \"dur\": " + duration + more + "}";
}

std::string args(const std::string& members) { return ", \"args\": {" + members + "}"; }

std::vector<std::string> names(const LinkedTrace& linked) {
  std::vector<std::string> names;
  for (const StringId name : linked.detail->host.name) names.emplace_back(linked.strings.view(name));
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("host rows of every kind are kept, by thread and start, the longest first") {
  const LinkedTrace linked = link_with_details(trace_of(
      host("cuda_runtime", "cudaEventQuery", "8", "30", "1") + "," + host("cpu_op", "aten::add", "7", "20", "5") + "," +
      host("python_function", "train.py(3): step", "7", "20", "9.5") + "," +
      host("user_annotation", "phase", "7", "10", "40") + "," +
      host("overhead", "Activity Buffer Request", "-1", "1", "2") + "," +
      host("Trace", "PyTorch Profiler (0)", "9", "0", "99") + "," + host("cpu_op", "aten::add", "7", "20", "5")));
  const HostEvents& rows = linked.detail->host;
  CHECK(names(linked) ==
        Names{"Activity Buffer Request", "phase", "train.py(3): step", "aten::add", "aten::add", "cudaEventQuery"});
  CHECK(rows.kind == std::vector<HostKind>{HostKind::overhead, HostKind::annotation, HostKind::python, HostKind::op,
                                           HostKind::op, HostKind::call});
  CHECK(rows.place == std::vector<int32_t>{4, 3, 2, 1, 6, 0});
  CHECK(rows.start[2] == LocalNs{20'000});
  CHECK(rows.duration_ns == std::vector<int64_t>{2'000, 40'000, 9'500, 5'000, 5'000, 1'000});
  CHECK(rows.thread == std::vector<int32_t>{0, 1, 1, 1, 1, 2});
  CHECK(linked.detail->has_python);
  CHECK_FALSE(linked.detail->has_arguments);
}

TEST_CASE("arguments of operators are kept as written, equal ones once") {
  const std::string full =
      args(R"("Input Dims": [[8, 16], []], "Input type": ["float", "Scalar"], "Input Strides": [[16, 1], []],
              "Concrete Inputs": ["", "\"mean\""], "Sequence number": 12, "Fwd thread id": 3)");
  const LinkedTrace linked = link_with_details(trace_of(
      host("cpu_op", "aten::sum", "7", "1", "1", full) + "," + host("cpu_op", "aten::sum", "7", "2", "1", full) + "," +
      host("cpu_op", "aten::sum", "7", "3", "1", args(R"("Input Dims": [[8, 16],[]])")) + "," +
      host("cpu_op", "aten::empty", "7", "4", "1", args(R"("Ev Idx": 4)"))));
  const RankDetail& detail = *linked.detail;
  CHECK(detail.host.arguments == std::vector<int32_t>{0, 0, 1, -1});
  CHECK(detail.host.sequence == std::vector<int32_t>{12, 12, -1, -1});
  CHECK(detail.host.forward_thread == std::vector<int32_t>{3, 3, 0, 0});
  REQUIRE(detail.arguments.size() == 2);
  const auto text = [&](StringId id) { return std::string(linked.strings.view(id)); };
  CHECK(text(detail.arguments[0].dims) == "[[8, 16], []]");
  CHECK(text(detail.arguments[0].types) == R"(["float", "Scalar"])");
  CHECK(text(detail.arguments[0].strides) == "[[16, 1], []]");
  CHECK(text(detail.arguments[0].values) == R"(["", "\"mean\""])");
  CHECK(text(detail.arguments[1].dims) == "[[8, 16],[]]");
  CHECK_FALSE(detail.arguments[1].types.known());
  CHECK(detail.has_arguments);
}

TEST_CASE("a GPU row knows the call that launched it, how it ran and how much it copied") {
  const LinkedTrace linked = link_with_details(
      trace_of(kernel("late", "60", "5", "\"correlation\": 2") + "," +
               kernel("early", "50", "5",
                      R"("correlation": 1, "registers per thread": 96, "shared memory": 1024, "blocks per SM": 0.074324,
                "warps per SM": 1.189189, "grid": [11, 2, 1], "block": [512, 1, 1], "est. achieved occupancy %": 3)") +
               "," + host("cuda_runtime", "cudaLaunchKernel", "7", "3", "1", args("\"correlation\": 1")) + "," +
               host("cuda_driver", "cuLaunchKernelEx", "7", "1", "1", args("\"correlation\": 2")) + "," +
               R"({"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 20, "ts": 70, "dur": 1,
          "args": {"device": 0, "stream": 20, "correlation": 9, "bytes": 4096}})"));
  const RankDetail& detail = *linked.detail;
  CHECK(detail.gpu.place == std::vector<int32_t>{1, 0, 4});
  CHECK(names(linked) == Names{"cuLaunchKernelEx", "cudaLaunchKernel"});
  CHECK(detail.gpu.caller == std::vector<int32_t>{1, 0, -1});
  CHECK(detail.gpu.shape == std::vector<int32_t>{0, -1, -1});
  CHECK(detail.gpu.bytes == std::vector<int64_t>{-1, -1, 4096});
  REQUIRE(detail.shapes.size() == 1);
  CHECK(detail.shapes[0] == KernelShape{{11, 2, 1}, {512, 1, 1}, 96, 1024, 0.074324, 1.189189, 3});
}

TEST_CASE("where a kernel does not tell grid and block, the call that launched it does") {
  const LinkedTrace linked = link_with_details(
      trace_of(kernel("k", "60", "5", "\"correlation\": 2") + "," +
               host("cuda_runtime", "hipLaunchKernel", "7", "1", "1",
                    args(R"("correlation": 2, "grid": [56, 1, 1], "block": [256, 1, 1], "shared memory": 0)"))));
  REQUIRE(linked.detail->gpu.shape == std::vector<int32_t>{0});
  CHECK(linked.detail->shapes[0].grid[0] == 56);
  CHECK(linked.detail->shapes[0].block[0] == 256);
  CHECK(linked.detail->shapes[0].shared_memory == -1);
}
