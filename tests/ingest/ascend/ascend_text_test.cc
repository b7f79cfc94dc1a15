// Folders of one rank, each file written here.
#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "profile_folder.h"
#include "skewscope/ingest.h"
#include "skewscope/ingest/whole_trace.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

const std::string kCall = "hcom_allReduce__612_4_1@" + std::string(kGroup);
constexpr const char* kHeader =
    "Step Id,Device_id,Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Input Shapes\n";

bool has_finding(const FileContent& content, FindingCode code) {
  return std::any_of(content.findings.begin(), content.findings.end(),
                     [&](const Finding& f) { return f.code == code; });
}

}  // namespace

TEST_CASE("a call of communication.json has its group, its members, its place and the wait that the device measured") {
  const ProfileFolder profile("calls");
  profile.write("profiler_metadata.json", kMetadata);
  profile.write("profiler_info_1.json", "{}");
  const FileContent content = read_profile(profile.put(
      "communication.json",
      calls_json("", timed_call(kCall, "1764246877816276.5", "0.82084", "0.80576") + ", \"Total Op Info\": {}")));
  REQUIRE(content.kind == ContentKind::rank_trace);
  CHECK(content.format == "ascend text");
  CHECK(content.distributed.rank == 1);
  CHECK(content.distributed.world_size == 2);
  CHECK(content.host_name == "node7");
  CHECK(content.process_id == 4242);
  REQUIRE(content.gpu.size() == 1);
  const GpuRow row = content.gpu[0];
  CHECK(row.start.ns == 1764246877816276500);
  CHECK(row.duration_ns == 820840);
  CHECK(row.work == GpuWork::communication);
  const CommArgs args = content.comm_args[static_cast<size_t>(row.args)];
  CHECK(content.strings.view(args.collective_name) == "allreduce");
  CHECK(content.strings.view(args.group_name) == kGroup);
  CHECK(content.strings.view(args.group_ranks) == "[0, 1]");
  CHECK(content.strings.view(args.group_description) == "default_group");
  CHECK(args.seq == 4);
  REQUIRE(content.measured_waits.size() == 1);
  CHECK(content.measured_waits[0].ns == 805760);
}

TEST_CASE("a call in which the device counted no waiting has none that was measured") {
  const ProfileFolder profile("unmeasured");
  const FileContent content = read_profile(
      profile.put("communication.json", calls_json("", timed_call(kCall, "1764246877816276.5", "26.3", "0"))));
  CHECK(content.gpu.size() == 1);
  CHECK(content.measured_waits.empty());
}

TEST_CASE("kernel_details.csv adds kernels, and the exact stamps of calls") {
  const ProfileFolder profile("kernels");
  profile.put("kernel_details.csv",
              std::string(kHeader) +
                  "13,0,2,MatMulV3,MatMul,AI_CORE,1764246877073569.640\t,1892.920,\"\"\"1,2;3\"\"\"\n"
                  "13,0,N/A,hcom_allReduce__612_4_1,hcom_allReduce_,COMMUNICATION,"
                  "1764246877816276.480\t,820.841,N/A\n");
  const FileContent content = read_profile(
      profile.put("communication.json", calls_json("", timed_call(kCall, "1764246877816276.5", "0.82084", "0"))));
  REQUIRE(content.gpu.size() == 2);
  CHECK(content.gpu[0].start.ns == 1764246877073569640);
  CHECK(content.gpu[0].duration_ns == 1892920);
  CHECK(content.gpu[0].stream == 2);
  CHECK(content.gpu[0].work == GpuWork::compute);
  CHECK(content.gpu[1].start.ns == 1764246877816276480);
  CHECK(content.gpu[1].duration_ns == 820841);
}

TEST_CASE("a batch of messages in a group of two is with the other one") {
  const ProfileFolder profile("batch");
  profile.write("profiler_metadata.json", kMetadata);
  const FileContent content = read_profile(profile.put(
      "communication.json",
      calls_json(timed_call("hcom_batchSendRecv__612_1_1@" + std::string(kGroup), "1764246877816276.5", "1", "0"),
                 "")));
  const CommArgs args = content.comm_args[static_cast<size_t>(content.gpu[0].args)];
  CHECK(content.strings.view(args.collective_name) == "send_recv");
  CHECK(args.peer == 0);
}

TEST_CASE("the timeline has kernels, launches, steps and calls, which communication.json completes") {
  const ProfileFolder profile("timeline");
  profile.put("communication.json", calls_json("", timed_call(kCall, "1764246877816276.5", "0.82084", "0.80576")));
  const FileContent content =
      read_profile(profile.put("trace_view.json",
                               R"([{"name": "process_name", "ph": "M", "pid": 3, "args": {"name": "Ascend Hardware"}},
      {"ph": "X", "name": "ProfilerStep#13", "pid": 1, "tid": 9, "ts": "1764246877000000.000", "dur": 900000.5},
      {"ph": "X", "name": "Node@launch", "pid": 2, "tid": 9, "ts": "1764246877001000.100", "dur": 20.25,
       "args": {"level": "node", "connection_id": 77}},
      {"ph": "X", "name": "aclnnAdd_Add", "pid": 3, "tid": 2, "ts": "1764246877001500.001", "dur": 10.002,
       "args": {"Task Type": "AI_VECTOR_CORE", "Physic Stream Id": 2, "Task Id": 5, "connection_id": 77}},
      {"ph": "X", "name": "EVENT_WAIT", "pid": 3, "tid": 2, "ts": "1764246877001600.000", "dur": 1,
       "args": {"Task Type": "EVENT_WAIT", "Physic Stream Id": 2}},
      {"ph": "X", "name": "hcom_allReduce__612_4_1", "pid": 4, "tid": 0, "ts": "1764246877816276.48", "dur": 820.841,
       "args": {"connection_id": 80, "data_type": "FP32", "alg_type": "MESH", "count": 1024}},
      {"ph": "X", "name": "Notify_Wait", "pid": 4, "tid": 1, "ts": "1764246877816280.00", "dur": 800,
       "args": {"notify_id": 1, "src rank": 0, "dst rank": 1, "connection_id": 80}}])"));
  REQUIRE(content.kind == ContentKind::rank_trace);
  REQUIRE(content.gpu.size() == 2);
  CHECK(content.strings.view(content.gpu[0].name) == "aclnnAdd_Add");
  CHECK(content.gpu[0].correlation == 77);
  CHECK(content.gpu[1].duration_ns == 820841);
  const CommArgs args = content.comm_args[0];
  CHECK(content.strings.view(args.group_name) == kGroup);
  CHECK(content.strings.view(args.dtype) == "Float");
  CHECK(args.in_elements == 1024);
  REQUIRE(content.measured_waits.size() == 1);
  CHECK(content.measured_waits[0].ns == 805760);
  REQUIRE(content.launches.size() == 1);
  CHECK(content.launches[0].correlation == 77);
  REQUIRE(content.steps.size() == 1);
  CHECK(content.steps[0].number == 13);
  CHECK(content.findings.empty());
}

TEST_CASE("of a rank's folder the main file alone is a trace, and the others are no files of their own") {
  const ProfileFolder profile("walk");
  profile.write("profiler_info_1.json", "{}");
  profile.write("profiler_metadata.json", kMetadata);
  const std::string calls =
      profile.put("communication.json", calls_json("", timed_call(kCall, "1764246877816276", "1", "0")));
  profile.put("communication_matrix.json", "{}");
  CHECK(discover_files({profile.root()}).value() == std::vector<std::string>{calls});
  const std::string timeline = profile.put("trace_view.json", "[]");
  CHECK(discover_files({profile.root()}).value() == std::vector<std::string>{timeline});
  CHECK(has_finding(read_profile(calls), "other-format"));
}

TEST_CASE("a profile that is handed on as an open file is read with the files around it") {
  const ProfileFolder profile("handed_on");
  profile.write("profiler_info_1.json", "{}");
  profile.write("profiler_metadata.json", kMetadata);
  const std::string calls =
      profile.put("communication.json", calls_json("", timed_call(kCall, "1764246877816276", "1", "0")));
  profile.put("kernel_details.csv",
              std::string(kHeader) + "13,7,3,MatMul,MatMul,AI_CORE,1764246877816000.000\t,10.5,\n");
  const int open_file = open(calls.c_str(), O_RDONLY);
  REQUIRE(open_file >= 0);
  const std::string held = "/proc/self/fd/" + std::to_string(open_file);
  CHECK(check_file(held, calls, {"", false, 0, {}}).value().rank == Rank(1));
  const FileContent content = read_profile(held);
  close(open_file);
  CHECK(content.distributed.rank == 1);
  CHECK(content.gpu.size() == read_profile(calls).gpu.size());
  CHECK(content.gpu.size() == 2);
}

TEST_CASE("results of an analysis are named and are no trace") {
  const ProfileFolder profile("results");
  const FileContent content = read_profile(profile.put("cluster_communication.json", "{}"));
  CHECK(content.kind == ContentKind::not_a_trace);
  CHECK(has_finding(content, "other-format"));
}

TEST_CASE("a file that is cut anywhere gives the calls before the cut, and says so") {
  const ProfileFolder profile("cut");
  const std::string whole =
      calls_json("", timed_call("hcom_allReduce__612_1_1@" + std::string(kGroup), "1764246877816276.5", "1", "0.5") +
                         ", " + timed_call(kCall, "1764246877826276.5", "1", "0.5"));
  for (size_t size = 0; size < whole.size(); size += 7) {
    const FileContent content = read_profile(profile.put("communication.json", whole.substr(0, size)));
    INFO(size);
    CHECK(content.gpu.size() <= 2);
    CHECK((has_finding(content, "truncated-file") || content.kind == ContentKind::empty));
  }
}

TEST_CASE("calls without a start, of wrong types or from beyond all time are dropped and counted") {
  const ProfileFolder profile("wrong");
  const FileContent content = read_profile(
      profile.put("communication.json",
                  calls_json("", timed_call("a", "\"never\"", "1", "0") + ", " +
                                     timed_call("b", "1764246877816276.5", "\"x\"", "0") + ", \"c\": 7, \"d\": {}, " +
                                     timed_call("e", "99999999999999999999", "1", "0") + ", " +
                                     timed_call("f", "1764246877816276.5", "-5", "0"))));
  CHECK(content.gpu.size() == 0);
  REQUIRE(content.findings.size() == 1);
  CHECK(content.findings[0].code.text() == "dropped-event");
  CHECK(content.findings[0].count == 6);
}

TEST_CASE("lines of kernel_details.csv that lack columns or stamps are dropped and counted, and the calls stay") {
  const ProfileFolder profile("lines");
  profile.put(
      "kernel_details.csv",
      std::string(kHeader) + "13,0\n13,0,2,A,B,AI_CORE,soon,1,x\n13,0,2,A,B,AI_CORE,1764246877073569,2,x\n13,0,2,A");
  const FileContent content = read_profile(
      profile.put("communication.json", calls_json("", timed_call(kCall, "1764246877816276.5", "0.82084", "0"))));
  CHECK(content.gpu.size() == 2);
  CHECK(has_finding(content, "dropped-event"));
  CHECK(has_finding(content, "truncated-file"));
}

TEST_CASE("a damaged event of the timeline costs that event") {
  const ProfileFolder profile("damage");
  const std::string kernel =
      R"({"ph": "X", "name": "A", "pid": 3, "tid": 2, "ts": "1764246877001500.001", "dur": 10, "args": {"Task Type": "AI_CORE"}})";
  const FileContent content =
      read_profile(profile.put("trace_view.json", "[" + kernel + ", {\"ph\": \"X\", \"name\": }, " + kernel + "]"));
  CHECK(content.gpu.size() == 2);
  CHECK(has_finding(content, "dropped-event"));
}

TEST_CASE("text of calls that is larger than the memory limit ends the reading") {
  const ProfileFolder profile("limit");
  const std::string file =
      profile.put("communication.json", calls_json("", timed_call(kCall, "1764246877816276.5", "1", "0")));
  MemoryBudget budget(1000);
  const auto contents = TraceReaders().read(file, budget);
  REQUIRE_FALSE(contents.ok());
  CHECK(contents.error().kind == ErrorKind::resource_limit);
}
