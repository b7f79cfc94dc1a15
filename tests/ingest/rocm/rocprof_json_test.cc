// rocprofv3's JSON with times placed by hand.
#include <catch2/catch.hpp>

#include "made_rocprof.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

TEST_CASE("a kernel of rocprofv3, its launch, a copy and a wait of the host are read") {
  RocprofLists lists;
  lists.dispatches = dispatch(2000, 2500, 8, 77);
  lists.hip_calls = host_call(0, 0, 1000, 1100, 77) + "," + host_call(0, 2, 1200, 1210, 78) + "," +
                    host_call(0, 1, 3000, 3400, 79) + "," + host_call(0, 3, 2600, 2610, 80);
  lists.copies = R"({"kind": 2, "operation": 0, "thread_id": 9, "correlation_id": {"internal": 80}, "start_timestamp":
    2700, "end_timestamp": 2900, "dst_agent_id": {"handle": 71}, "src_agent_id": {"handle": 70}, "bytes": 4096,
    "stream_id": {"handle": 6}})";
  const std::vector<FileContent> contents = read_rocprof(rocprof_text(lists));
  REQUIRE(contents.size() == 1);
  const FileContent& content = contents.front();
  CHECK(content.format == "rocprofv3 json");
  CHECK(content.part.empty());
  CHECK(content.host_name == "node7");
  CHECK(content.process_id == 4242);
  CHECK(content.devices.back().name == "MI300X");
  CHECK(content.findings.empty());
  REQUIRE(content.gpu.size() == 2);
  CHECK(content.strings.view(content.gpu[0].name) == "gemm(float*)");
  CHECK(content.gpu[0].start.ns == 2000);
  CHECK(content.gpu[0].duration_ns == 500);
  CHECK(content.gpu[0].stream == 5);
  CHECK(content.gpu[0].correlation == 77);
  CHECK(content.gpu[0].work == GpuWork::compute);
  CHECK(content.gpu[1].work == GpuWork::memcpy);
  CHECK(content.gpu[1].stream == 6);
  REQUIRE(content.launches.size() == 2);
  CHECK(content.launches[0].start.ns == 1000);
  CHECK(content.launches[0].correlation == 77);
  REQUIRE(content.syncs.size() == 1);
  CHECK(content.syncs[0].start.ns == 3000);
  CHECK(content.syncs[0].of_device);
}

TEST_CASE("calls of RCCL say which collective a generic kernel is; beginnings of groups say none") {
  RocprofLists lists;
  lists.dispatches = dispatch(2000, 2500, 9, 77);
  lists.rccl_calls = host_call(1, 1, 990, 995, 75) + "," + host_call(1, 0, 1000, 1200, 76);
  lists.hip_calls = host_call(0, 0, 1050, 1100, 77);
  const FileContent content = std::move(read_rocprof(rocprof_text(lists)).front());
  CHECK(content.gpu[0].work == GpuWork::communication);
  REQUIRE(content.comm_ops.size() == 1);
  CHECK(content.comm_ops[0].start.ns == 1000);
  CHECK(content.comm_ops[0].thread == 9);
  CHECK(content.strings.view(content.comm_args[0].collective_name) == "allreduce");
  CHECK_FALSE(content.comm_args[0].group_name.known());
}

TEST_CASE("a marked range called ProfilerStep#N is a step; a mark of that name and other ranges are none") {
  RocprofLists lists;
  lists.dispatches = dispatch(2000, 2500);
  lists.markers =
      host_call(3, 1, 900, 3000, 500) + "," + host_call(3, 0, 950, 951, 500) + "," + host_call(3, 1, 1000, 1500, 501);
  const FileContent content = std::move(read_rocprof(rocprof_text(lists)).front());
  REQUIRE(content.steps.size() == 1);
  CHECK(content.steps[0].number == 3);
  CHECK(content.steps[0].start.ns == 900);
  CHECK(content.steps[0].duration_ns == 2100);
  CHECK(content.steps[0].thread == 9);
}

TEST_CASE("each GPU of a process is a rank, and each process of a file has its own GPUs and environment") {
  RocprofLists first;
  first.dispatches = dispatch(2000, 2500) + "," + dispatch(2000, 2700, 8, 2, 72) + "," + dispatch(2600, 2700, 8, 3, 72);
  first.hip_calls = host_call(0, 0, 1000, 1100, 2);
  first.environment = R"({"RANK": "3", "WORLD_SIZE": "8"})";  // of which GPU, it does not say
  RocprofLists second;
  second.process = 4343;
  second.environment = R"({"RANK": "5", "WORLD_SIZE": "8"})";
  second.dispatches = dispatch(3000, 3500);
  const std::vector<FileContent> contents =
      read_rocprof(R"({"rocprofiler-sdk-tool": [)" + rocprof_process(first) + ", " + rocprof_process(second) + "]}");
  REQUIRE(contents.size() == 3);
  CHECK(contents[0].part == "pid4242.gpu0");
  CHECK(contents[0].gpu.size() == 1);
  CHECK(contents[0].launches.size() == 1);  // of which GPU, the call does not say
  CHECK(contents[1].part == "pid4242.gpu1");
  CHECK(contents[1].gpu.size() == 2);
  CHECK(contents[1].gpu[0].device == 1);
  CHECK(contents[2].part == "pid4343");
  CHECK(contents[2].distributed.rank == 5);
  CHECK(contents[2].distributed.world_size == 8);
  CHECK(contents[2].distributed.rank_from == "RANK of the environment");
  CHECK_FALSE(contents[0].distributed.present);
}

TEST_CASE("rows of rocprofv3 without stamps, that end early or lie beyond all time are counted") {
  RocprofLists lists;
  lists.dispatches = dispatch(2000, 1000) + "," + dispatch(9'223'372'036'854'775'806, INT64_MAX) + "," +
                     dispatch(10, INT64_MAX) + "," + dispatch(INT64_MIN, 5) + "," + dispatch(10, INT64_MIN) + "," +
                     dispatch(2000, 2500) + R"(, {"start_timestamp": "soon", "end_timestamp": []}, {}, 7, null, [1])";
  const FileContent content = std::move(read_rocprof(rocprof_text(lists)).front());
  CHECK(content.gpu.size() == 3);
  CHECK(content.gpu[0].duration_ns == 0);
  CHECK(counted_rows(content, "negative-duration") == 2);
  CHECK(counted_rows(content, "dropped-event") == 5);
}

TEST_CASE("agents, kernels, names and numbers of rocprofv3 that are none crash nothing and name nothing") {
  RocprofLists lists;
  lists.dispatches =
      dispatch(2000, 2500, -5, INT64_MAX, 99, INT32_MAX) + "," + dispatch(2600, 2700, 1 << 30, -7, -1, -9);
  lists.hip_calls = host_call(2'000'000'000, -1, 1000, 1100, 77) + "," + host_call(0, 2'000'000'000, 1000, 1100, 77);
  lists.environment = R"({"RANK": "-4", "WORLD_SIZE": 99999999999999999999})";
  const FileContent content = std::move(read_rocprof(rocprof_text(lists)).front());
  REQUIRE(content.gpu.size() == 2);
  CHECK(content.strings.view(content.gpu[0].name) == "unnamed kernel");
  CHECK(content.gpu[0].device == 0);
  CHECK(content.gpu[0].correlation == -1);
  CHECK(content.gpu[1].stream == -1);
  CHECK(content.distributed.rank == -1);
}

TEST_CASE("whatever byte of a kernel's record is another one, the records around it are read") {
  const std::string sizes = R"(, "grid_size": {"x": 64, "y": 1, "z": 1}, "workgroup_size": {"x": 8, "y": 1, "z": 1})";
  std::string whole = dispatch(2000, 2500);
  whole.insert(whole.find("}, \"stream_id\""), sizes);
  RocprofLists lists;
  for (const char other : {':', ',', 'x', ' '}) {
    for (size_t at = 1; at + 1 < whole.size(); ++at) {
      if (std::string_view("\"{}[]").find(whole[at]) != std::string_view::npos)
        continue;  // it decides where records end
      std::string damaged = whole;
      damaged[at] = other;
      lists.dispatches = dispatch(1000, 1100) + "," + damaged + "," + dispatch(2600, 2700);
      const FileContent content = std::move(read_rocprof(rocprof_text(lists)).front());
      REQUIRE(content.gpu.size() >= 2);
      CHECK(content.gpu[0].start.ns == 1000);
    }
  }
}

TEST_CASE("a document of rocprofv3 that is cut keeps the rows that are whole, and says so") {
  RocprofLists lists;
  lists.dispatches = dispatch(2000, 2500) + "," + dispatch(2600, 2700, 9);
  const std::string text = rocprof_text(lists);
  const FileContent content = std::move(read_rocprof(text.substr(0, text.find("2700"))).front());
  CHECK(content.gpu.size() == 1);
  CHECK(counted_rows(content, "truncated-file") == 1);
}

TEST_CASE("a document of rocprofv3 without rows, or of which nothing is as it should be, is empty") {
  for (const char* const text : {R"({"rocprofiler-sdk-tool": []})",
                                 R"({"rocprofiler-sdk-tool": [{"metadata": 3, "agents": {}, "strings": []}]})",
                                 R"({"rocprofiler-sdk-tool": [{"buffer_records": {"kernel_dispatch": {}}}]})",
                                 R"({"rocprofiler-sdk-tool": 1})"}) {
    INFO(text);
    const std::vector<FileContent> contents = read_rocprof(text);
    REQUIRE(contents.size() == 1);
    CHECK(contents[0].gpu.empty());
    CHECK(contents[0].kind != ContentKind::rank_trace);
  }
}

TEST_CASE("rows of rocprofv3 that do not fit the memory limit end in its error") {
  RocprofLists lists;
  for (int64_t i = 0; i < 40'000; ++i) lists.dispatches += (i == 0 ? "" : ",") + dispatch(2000 + 10 * i, 2005 + 10 * i);
  const test::Folder folder("rocprof_large");
  std::filesystem::create_directories(folder.path);
  const std::filesystem::path file = folder.path / "4242_results.json";
  std::ofstream(file, std::ios::binary) << rocprof_text(lists);
  MemoryBudget budget(100'000);
  const auto contents = TraceReaders().read(file.string(), budget);
  REQUIRE_FALSE(contents.ok());
  CHECK(contents.error().kind == ErrorKind::resource_limit);
}
