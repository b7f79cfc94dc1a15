// rocpd after its public schema (rocprofiler-sdk-rocpd, 3.0), and RPD of rocmProfileData; times placed by hand.
#include <catch2/catch.hpp>

#include "../sqlite/made_database.h"
#include "made_rocprof.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

// A run: each of its tables has its id behind the name. Process row 1 is 4242, GPUs 0 and 1 are agents 2 and 3.
std::string rocpd_tables(const std::string& run, int64_t process = 4242, const std::string& environment = "{}") {
  std::string text = R"(
  CREATE TABLE "rocpd_string@" (id INTEGER PRIMARY KEY, guid TEXT, string TEXT);
  INSERT INTO "rocpd_string@" VALUES (1, '', 'hipLaunchKernel'), (2, '', 'ncclAllReduce'), (3, '', 'ProfilerStep#7'),
    (4, '', 'hipDeviceSynchronize'), (5, '', 'MEMORY_COPY_HOST_TO_DEVICE'), (6, '', 'ncclGroupStart');
  CREATE TABLE "rocpd_info_node@" (id INTEGER PRIMARY KEY, guid TEXT, hash INTEGER, machine_id TEXT, hostname TEXT);
  INSERT INTO "rocpd_info_node@" VALUES (1, '', 0, 'm', 'node7');
  CREATE TABLE "rocpd_info_process@" (id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER, ppid INTEGER, pid INTEGER,
    environment TEXT);
  INSERT INTO "rocpd_info_process@" VALUES (1, '', 1, 0, %, '#');
  CREATE TABLE "rocpd_info_agent@" (id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER, pid INTEGER, type TEXT,
    absolute_index INTEGER, type_index INTEGER, name TEXT, product_name TEXT);
  INSERT INTO "rocpd_info_agent@" VALUES (1, '', 1, 1, 'CPU', 0, 0, 'cpu', 'EPYC'), (2, '', 1, 1, 'GPU', 1, 0, 'gfx942',
    'MI300X'), (3, '', 1, 1, 'GPU', 2, 1, 'gfx942', 'MI300X');
  CREATE TABLE "rocpd_info_kernel_symbol@" (id INTEGER PRIMARY KEY, guid TEXT, kernel_name TEXT, display_name TEXT);
  INSERT INTO "rocpd_info_kernel_symbol@" VALUES (8, '', 'gemm.kd', 'gemm(float*)'), (9, '',
    'ncclDevKernel_Generic_1.kd', 'ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)');
  CREATE TABLE "rocpd_event@" (id INTEGER PRIMARY KEY, guid TEXT, category_id INTEGER, stack_id INTEGER,
    parent_stack_id INTEGER, correlation_id INTEGER);
  INSERT INTO "rocpd_event@" VALUES (100, '', 1, 77, 0, 0), (101, '', 1, 77, 0, 0), (102, '', 1, 79, 0, 0);
  CREATE TABLE "rocpd_kernel_dispatch@" (id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER, pid INTEGER, tid INTEGER,
    agent_id INTEGER, kernel_id INTEGER, dispatch_id INTEGER, queue_id INTEGER, stream_id INTEGER, start INTEGER,
    "end" INTEGER, event_id INTEGER);
  CREATE TABLE "rocpd_memory_copy@" (id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER, pid INTEGER, tid INTEGER,
    start INTEGER, "end" INTEGER, name_id INTEGER, dst_agent_id INTEGER, src_agent_id INTEGER, size INTEGER,
    stream_id INTEGER, event_id INTEGER);
  CREATE TABLE "rocpd_region@" (id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER, pid INTEGER, tid INTEGER, start INTEGER,
    "end" INTEGER, name_id INTEGER, event_id INTEGER);
)";
  const auto replace = [&](const std::string& what, const std::string& by) {
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
      text.replace(at, what.size(), by);
  };
  replace("ProfilerStep#7", "ProfilerStep!7");
  replace("#", environment);
  replace("!", "#");
  replace("%", std::to_string(process));
  replace("@", run);
  return text;
}

std::vector<FileContent> read_rocm_database(const std::string& statements, int64_t limit = 0) {
  const MadeDatabase database(statements);
  MemoryBudget budget(limit);
  Result<std::vector<FileContent>> contents = TraceReaders().read(database.path(), budget);
  REQUIRE(contents.ok());
  return std::move(contents).value();
}

const std::string kRpdTables = R"(
  CREATE TABLE rocpd_string (id INTEGER PRIMARY KEY, string TEXT);
  INSERT INTO rocpd_string VALUES (1, ''), (2, 'KernelExecution'), (3, 'gemm(float*)'), (4, 'CopyHostToDevice'),
    (5, 'hipLaunchKernel'), (6, 'UserMarker'), (7, 'ProfilerStep#3'), (8, 'hipStreamSynchronize'), (9, 'Barrier'),
    (10, 'hipGraphLaunch'), (11, 'FillBuffer');
  CREATE TABLE rocpd_op (id INTEGER PRIMARY KEY, gpuId INTEGER, queueId INTEGER, sequenceId INTEGER, start INTEGER,
    "end" INTEGER, description_id INTEGER, opType_id INTEGER);
  CREATE TABLE rocpd_api (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, start INTEGER, "end" INTEGER,
    apiName_id INTEGER, args_id INTEGER);
  CREATE TABLE rocpd_api_ops (id INTEGER PRIMARY KEY, api_id INTEGER, op_id INTEGER);
)";

}  // namespace

TEST_CASE("a dispatch of rocpd, its launch, copy, step and wait are read, and a call of RCCL") {
  const std::vector<FileContent> contents = read_rocm_database(rocpd_tables("_00a1") + R"(
    INSERT INTO rocpd_kernel_dispatch_00a1 VALUES (1, '', 1, 1, 9, 2, 8, 1, 1, 5, 2000, 2500, 100),
      (2, '', 1, 1, 9, 2, 9, 2, 1, 6, 2600, 2900, 102);
    INSERT INTO rocpd_memory_copy_00a1 VALUES (1, '', 1, 1, 9, 1900, 1950, 5, 2, 1, 4096, 7, NULL);
    INSERT INTO rocpd_region_00a1 VALUES (1, '', 1, 1, 9, 1000, 1100, 1, 101), (2, '', 1, 1, 9, 1200, 1300, 2, NULL),
      (3, '', 1, 1, 9, 900, 4000, 3, NULL), (4, '', 1, 1, 9, 3500, 3600, 4, NULL), (5, '', 1, 1, 9, 1190, 1191, 6, NULL);)");
  REQUIRE(contents.size() == 1);
  const FileContent& content = contents.front();
  CHECK(content.format == "rocpd sqlite");
  CHECK(content.part.empty());
  CHECK(content.host_name == "node7");
  CHECK(content.process_id == 4242);
  CHECK(content.devices.back().name == "MI300X");
  CHECK(content.findings.empty());
  REQUIRE(content.gpu.size() == 3);
  CHECK(content.strings.view(content.gpu[0].name) == "gemm(float*)");
  CHECK(content.gpu[0].correlation == 77);
  CHECK(content.gpu[0].stream == 5);
  CHECK(content.gpu[1].work == GpuWork::communication);
  CHECK(content.gpu[2].work == GpuWork::memcpy);
  CHECK(content.gpu[2].device == 0);
  REQUIRE(content.launches.size() == 1);
  CHECK(content.launches[0].start.ns == 1000);
  CHECK(content.launches[0].correlation == 77);
  REQUIRE(content.steps.size() == 1);
  CHECK(content.steps[0].number == 7);
  REQUIRE(content.syncs.size() == 1);
  REQUIRE(content.comm_ops.size() == 1);
  CHECK(content.strings.view(content.comm_args[0].collective_name) == "allreduce");
}

TEST_CASE("a merged rocpd holds the ranks of several runs, by their environment") {
  const std::vector<FileContent> contents =
      read_rocm_database(rocpd_tables("_a", 4242, R"({"RANK": "1", "WORLD_SIZE": "2"})") +
                         rocpd_tables("_b", 4343, R"({"RANK": "0", "WORLD_SIZE": "2"})") + R"(
    INSERT INTO rocpd_kernel_dispatch_a VALUES (1, '', 1, 1, 9, 2, 8, 1, 1, 5, 2000, 2500, NULL);
    INSERT INTO rocpd_kernel_dispatch_b VALUES (1, '', 1, 1, 9, 3, 8, 1, 1, 5, 2000, 2700, NULL),
      (2, '', 1, 1, 9, 3, 8, 1, 1, 5, 2800, 2900, NULL);)");
  REQUIRE(contents.size() == 2);
  CHECK(contents[0].part == "pid4242");
  CHECK(contents[0].distributed.rank == 1);
  CHECK(contents[0].gpu.size() == 1);
  CHECK(contents[1].part == "pid4343");
  CHECK(contents[1].distributed.rank == 0);
  CHECK(contents[1].gpu.size() == 2);
  CHECK(contents[1].gpu[0].device == 1);
}

TEST_CASE("a rocpd of which tables and columns are missing gives what it has") {
  const std::vector<FileContent> contents = read_rocm_database(R"(
    CREATE TABLE rocpd_kernel_dispatch (pid INTEGER, agent_id INTEGER, kernel_id INTEGER, stream_id INTEGER,
      start INTEGER, "end" INTEGER);
    INSERT INTO rocpd_kernel_dispatch VALUES (1, 2, 8, 5, 2000, 2500);)");
  REQUIRE(contents.size() == 1);
  REQUIRE(contents[0].gpu.size() == 1);
  CHECK(contents[0].gpu[0].duration_ns == 500);
  CHECK(contents[0].gpu[0].correlation == -1);
  CHECK(contents[0].strings.view(contents[0].gpu[0].name) == "unnamed kernel");
  const std::vector<FileContent> other = read_rocm_database("CREATE TABLE rocpd_kernel_dispatch (begin INTEGER);");
  CHECK(other[0].gpu.empty());
  CHECK(other[0].kind == ContentKind::empty);
  CHECK_FALSE(other[0].findings.empty());  // a table of another version, which cannot be asked
}

TEST_CASE("rows of rocpd without stamps, of other types, that end early or lie beyond all time are counted") {
  const FileContent content = std::move(read_rocm_database(rocpd_tables("_a") + R"(
    INSERT INTO rocpd_kernel_dispatch_a VALUES (1, '', 1, 1, 9, 2, 8, 1, 1, 5, 2000, 1000, NULL),
      (2, '', 1, 1, 9, 2, 8, 1, 1, 5, NULL, 1000, NULL), (3, '', 1, 1, 9, 2, 8, 1, 1, 5, 'soon', x'00ff', NULL),
      (4, '', 1, 1, 9, 2, 8, 1, 1, 5, 10, 9223372036854775807, NULL),
      (5, '', 1, 1, 9, 2, 8, 1, 1, 5, -9223372036854775808, 5, NULL),
      (6, '', 1, 9223372036854775807, 9, 'x', NULL, 1, 1, 9223372036854775807, 2000, 2500, 9223372036854775807),
      (7, '', 1, 1, 9, 2, 8, 1, 1, 5, 10, -9223372036854775808, NULL);)")
                                            .front());
  CHECK(content.gpu.size() == 2);
  for (size_t row = 0; row < 2; ++row) CHECK(content.gpu[row].duration_ns == 0);
  CHECK(counted_rows(content, "negative-duration") == 2);
  CHECK(counted_rows(content, "dropped-event") == 4);
}

TEST_CASE("a rocpd without any row is empty, and one that is cut is unreadable") {
  CHECK(read_rocm_database(rocpd_tables("_a")).front().kind == ContentKind::empty);
  const MadeDatabase database(rocpd_tables("_a"));
  std::filesystem::resize_file(database.path(), 5000);
  MemoryBudget budget(0);
  const auto contents = TraceReaders().read(database.path(), budget);
  REQUIRE(contents.ok());
  CHECK(contents.value().front().gpu.empty());
  CHECK_FALSE(contents.value().front().findings.empty());
}

TEST_CASE("an operation of RPD, its launch, step and wait are read; one call launches many, and barriers are no work") {
  const std::vector<FileContent> contents = read_rocm_database(kRpdTables + R"(
    INSERT INTO rocpd_op VALUES (1, 2, 0, 1, 2000, 2500, 3, 2), (2, 2, 1, 1, 2600, 2650, 1, 4),
      (3, 2, 0, 1, 2700, 2710, 1, 9), (4, 2, 0, 2, 2800, 2900, 3, 2), (5, 2, 0, 3, 2900, 2950, 3, 2),
      (6, 2, 0, 4, 3000, 3010, 1, 11);
    INSERT INTO rocpd_api VALUES (11, 1560, 9, 1000, 1100, 5, 1), (12, 1560, 9, 900, 3500, 6, 7),
      (13, 1560, 9, 3000, 3100, 8, 1), (14, 1560, 9, 1200, 1250, 10, 1);
    INSERT INTO rocpd_api_ops VALUES (1, 11, 1), (2, 14, 4), (3, 14, 5);)");
  // What no call made is of no known process.
  REQUIRE(contents.size() == 2);
  const FileContent& content = contents[1];
  CHECK(content.format == "rpd sqlite");
  CHECK(content.process_id == 1560);
  REQUIRE(content.gpu.size() == 3);
  CHECK(content.gpu[0].device == 2);
  CHECK(content.gpu[0].correlation == 11);
  CHECK(content.gpu[1].correlation == 14);
  CHECK(content.gpu[2].correlation == 14);
  REQUIRE(content.launches.size() == 2);
  REQUIRE(content.steps.size() == 1);
  CHECK(content.steps[0].number == 3);
  REQUIRE(content.syncs.size() == 1);
  CHECK_FALSE(content.syncs[0].of_device);
  REQUIRE(contents[0].gpu.size() == 2);
  CHECK(contents[0].gpu[0].work == GpuWork::memcpy);
  CHECK(contents[0].gpu[1].work == GpuWork::memset);
}

TEST_CASE("a launch of an RPD that made no operation tells of a lost kernel; where no call made any, none is lost") {
  const std::string rows = R"(
    INSERT INTO rocpd_op VALUES (1, 2, 0, 1, 2000, 2500, 3, 2);
    INSERT INTO rocpd_api VALUES (11, 1560, 9, 1000, 1100, 5, 1), (12, 1560, 9, 1200, 1300, 5, 1);)";
  const std::vector<FileContent> linked =
      read_rocm_database(kRpdTables + rows + "INSERT INTO rocpd_api_ops VALUES (1, 11, 1);");
  REQUIRE(linked.size() == 1);
  CHECK(linked[0].launches.size() == 2);
  CHECK(linked[0].kernel_launches == 2);
  CHECK(read_rocm_database(kRpdTables + rows).front().launches.empty());
}

TEST_CASE("an RPD with stamps of other types, or without its calls, is counted and read as far as it goes") {
  const FileContent content = std::move(read_rocm_database(kRpdTables + R"(
    INSERT INTO rocpd_op VALUES (1, 2, 0, 1, NULL, 2500, 3, 2), (2, 99999999999, -1, 1, 'x', 2650, 1, 4),
      (3, -5, 9223372036854775807, 1, 2700, 2600, 99, 98), (4, 2, 0, 1, 0, 9223372036854775807, 3, 2);
    DROP TABLE rocpd_api; DROP TABLE rocpd_api_ops;)")
                                            .front());
  REQUIRE(content.gpu.size() == 1);
  CHECK(content.gpu[0].device == 0);
  CHECK(counted_rows(content, "dropped-event") == 3);
  CHECK(counted_rows(content, "negative-duration") == 1);
  CHECK(read_rocm_database(kRpdTables).front().kind == ContentKind::empty);
}
