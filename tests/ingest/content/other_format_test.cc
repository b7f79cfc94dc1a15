#include "src/ingest/content/other_format.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/ingest/reader_support.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT
using namespace std::string_literals;

namespace {

// What the reader says of the file; empty: nothing of its format.
std::string said_of(const std::string& bytes) {
  const FileContent content = read_any(bytes);
  if (count_of(content, "other-format") == 0) return "";
  REQUIRE(content.kind == ContentKind::not_a_trace);
  const auto finding = std::find_if(content.findings.begin(), content.findings.end(),
                                    [](const Finding& one) { return one.code.text() == "other-format"; });
  return finding->message;
}

void names(const std::string& bytes, const std::string& words) {
  INFO(bytes.substr(0, 120));
  CHECK_THAT(said_of(bytes), Catch::Matchers::Contains(words));
}

}  // namespace

TEST_CASE("a trace of another profiler is named, with the next step, although its events parse") {
  names(R"({"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":[
        {"ph":"M","pid":3,"name":"process_name","args":{"name":"/device:TPU:0"}},
        {"ph":"X","pid":3,"tid":1,"ts":1000.5,"dur":20.25,"name":"all-reduce.1","args":{"run_id":"1"}},{}]})",
        "JAX or TensorFlow");
  names(R"({"traceEvents":[{"args":{"name":"/job:localhost/replica:0/task:0/device:GPU:0 Compute"},
        "name":"process_name","pid":1,"ph":"M"},{"cat":"Op","dur":3,"name":"MatMul","ph":"X","pid":1,"ts":5}]})",
        "JAX or TensorFlow");
  names(R"([{"name": "ncclDevKernel_AllReduce", "ph": "X", "cat": "cuda", "ts": 12.5, "dur": 5.5, "tid": "Stream 7",
        "pid": "Device 0", "args": {}}])",
        "Nsight");
  names(R"([{"name": "process_name", "pid": 300, "tid": 0, "ph": "M", "args": {"name": "Ascend Hardware"}},
        {"ph": "X", "name": "aten::add", "pid": 1, "tid": 1, "ts": "1700000000000123.456", "dur": 10.1,
        "cat": "cpu_op", "args": {}}])",
        "Ascend");
  names(R"({"traceEvents":[{"ph":"X","tid":2,"pid":2,"name":"gemm","cat":"gpu_op","ts":7.5,"dur":1.2,"args":{}}]})",
        "unitrace");
  names(R"({"traceEvents":[{"ts":5,"ph":"X","name":"hipLaunchKernel","pid":2,"tid":1,"dur":7,
        "args":{"BeginNs":"5000","EndNs":"12000"}}]})",
        "rocprof");
  names(R"({"traceEvents":[{"pid":1,"tid":1,"ts":20.46,"dur":10.7,"name":"f","ph":"X","cat":"FEE"}]})", "VizTracer");
  names(R"({"traceEvents":[{"cat":"devtools.timeline","name":"RunTask","ph":"X","pid":1,"ts":5,"dur":3}]})", "browser");
  names(R"([{"name": "AllReduce", "cat": "COLL", "ph": "b", "id": 0, "pid": 1, "ts": 1.5, "args": {"SeqNum": 0}}])",
        "NCCL");
  names("[\n{\"ph\": \"B\", \"name\": \"NEGOTIATE_ALLREDUCE\", \"ts\": 5, \"pid\": 0},\n{\"ph\": \"E\", \"ts\": 9},\n",
        "Horovod");
}

TEST_CASE("documents that lie beside traces are named") {
  names(R"({"version": "2.5", "pg_config": {}, "pg_status": {}, "entries": [{"profiling_name": "nccl:all_reduce"}]})",
        "flight recorder");
  names("\x80\x04\x95\x10\x00\x00\x00"s, "pickle");
  names(R"({"type":"ProfilerLifecycle","func":"ProfilerInit","rank":3,"details":{"nranks":4}})", "NCCL");
  names("[[1, 2, 3], [4, 5, 6]]", "memory timeline");
  names(R"({"nodes": [{"id": 1, "ctrl_deps": 1}], "schema": "1.1.1"})", "execution trace");
  names(R"({"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[]})", "speedscope");
  names(R"([{"frame": {"name": "ROOT"}, "children": []}])", "Proton");
}

TEST_CASE("what hides a trace is named with how to uncover it") {
  const std::string trace = trace_of(kernel("k", "1", "1"));
  std::string wide;
  for (const char c : trace) wide += std::string{c, '\0'};
  names("\xff\xfe" + wide, "UTF-16");
  names(wide, "UTF-16");
  names(gzipped(gzipped(trace)), "twice");
  names("PK\x03\x04" + trace, "unpack it");
  names(gzipped("rank0.json" + std::string(247, '\0') + "ustar" + std::string(250, ' ') + trace), "unpack it");
  names(
      "\xfd"
      "7zXZ"s +
          '\0' + trace,
      "decompress it");
  names(kernel("k", "1", "1") + "\n" + kernel("k", "2", "1") + "\n", "jq -s");
  names("<!DOCTYPE html><html><body>404</body></html>", "fetch the file again");
  names("version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 12345\n", "git lfs pull");
  names("\n\x30\x40\x01\x50\x02"s, "Perfetto");
}

TEST_CASE("a trace with rows of a GPU is read, whatever words stand in it") {
  CHECK(read_any(trace_of(kernel("\\\"highres-ticks\\\"", "1", "1"), "\"x\": \"/device:TPU:\", ")).kind ==
        ContentKind::rank_trace);
  CHECK(said_of("hello, world").empty());
  CHECK(said_of(R"({"a": [1, 2]})").empty());
}

TEST_CASE("events of which no writer is known and none means anything are no trace of a process without work") {
  CHECK(read_any(R"({"traceEvents": [{"ph": "X", "cat": "mine", "name": "a", "ts": 1, "dur": 2}]})").kind ==
        ContentKind::not_a_trace);
  CHECK(read_any(trace_of(R"({"ph": "X", "cat": "mine", "name": "a", "ts": 1, "dur": 2})")).kind ==
        ContentKind::front_end);
}

TEST_CASE("a name alone tells what is not opened") {
  const auto named = [](const char* name) {
    const OtherFormat* format = other_format_of_name(name);
    return format == nullptr ? std::string() : std::string(format->name);
  };
  CHECK_THAT(named("report1.nsys-rep"), Catch::Matchers::Contains("Nsight"));
  CHECK_THAT(named("traces.tar.gz"), Catch::Matchers::Contains("archive"));
  CHECK_THAT(named("rank3.pt.trace.json.tmp"), Catch::Matchers::Contains("not finished"));
  CHECK(named("rank3.json.gz").empty());
  CHECK(named(".tar").empty());
}
