// Which processes of an export are ranks, which ranks they are, and when it was.
#include "made_export.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

constexpr int64_t kZero = 1'700'000'000'000'000'000;

// Two processes on a GPU each, and a third that has ranges only.
MadeExport two_ranks() {
  MadeExport file;
  file.zero(kZero).kernel(144, "gemm", 1000, 2000, 1, 1).launch(144, 500, 1);
  file.kernel(145, "gemm", 1100, 2300, 1, 0).launch(145, 600, 1);
  file.range(146, "load data", 0, 5000);
  return file;
}

const Finding* finding(const std::vector<Finding>& findings, FindingCode code) {
  for (const Finding& found : findings) {
    if (found.code == code) return &found;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("a rank is a process with work on a GPU; its stamps count from the start of the session") {
  const std::vector<FileContent> ranks = two_ranks().read();
  REQUIRE(ranks.size() == 2);
  CHECK(ranks[0].part == "pid144");
  CHECK(ranks[1].part == "pid145");
  CHECK(ranks[0].process_id == 144);
  CHECK(ranks[0].has_base_time);
  CHECK(ranks[0].gpu.events.start[0].ns == kZero + 1000);
  CHECK(ranks[1].gpu.events.duration_ns[0] == 1200);
  CHECK(ranks[1].launches.events.start[0].ns == kZero + 600);
}

TEST_CASE("correlations are those of their process") {
  const std::vector<FileContent> ranks = two_ranks().read();
  for (const FileContent& rank : ranks) {
    CHECK(rank.gpu.correlation[0] == 1);
    CHECK(rank.launches.size() == 1);
  }
}

TEST_CASE("an export without the start of its session has stamps of no known day") {
  const std::vector<FileContent> ranks = MadeExport().kernel(144, "gemm", 1000, 2000, 1).read();
  CHECK_FALSE(ranks[0].has_base_time);
  CHECK(ranks[0].gpu.events.start[0].ns == 1000);
}

TEST_CASE("where nothing says a rank, processes take their places by device, if each has one of its own") {
  const std::vector<FileContent> by_device = two_ranks().read();
  CHECK(by_device[0].distributed.place_in_file == 1);  // on device 1
  CHECK(by_device[1].distributed.place_in_file == 0);
  MadeExport one_device;
  one_device.kernel(300, "gemm", 1000, 2000, 1).kernel(299, "gemm", 1000, 2000, 1);
  const std::vector<FileContent> by_number = one_device.read();
  CHECK(by_number[0].part == "pid299");
  CHECK(by_number[0].distributed.place_in_file == 0);
}

TEST_CASE("the environment of a session says the rank of its only process, and of none of several") {
  const std::string environment = fmt::format(
      "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ({}, 'Hostname', 'node17'), ({}, 'DeviceEnvironment', "
      "'A=b\nLOCAL_RANK=9\n"
      "SLURM_PROCID=5\nSLURM_NTASKS=16')",
      kMachineBits, kMachineBits);
  const FileContent one = std::move(MadeExport().kernel(144, "gemm", 1000, 2000, 1).sql(environment).read().front());
  CHECK(one.distributed.rank == 5);
  CHECK(one.distributed.world_size == 16);
  CHECK(one.distributed.rank_from == "SLURM_PROCID of the session's environment");
  CHECK(one.host_name == "node17");
  for (const FileContent& rank : two_ranks().sql(environment).read()) CHECK_FALSE(rank.distributed.present);
}

TEST_CASE("an environment of a process is its own") {
  MadeExport file = two_ranks();
  file.sql("CREATE TABLE PROCESS_ENV (globalPid INTEGER, name TEXT, value TEXT)");
  file.sql(fmt::format("INSERT INTO PROCESS_ENV VALUES ({}, 'RANK', '7'), ({}, 'RANK', '6')", global_pid(144),
                       global_pid(145)));
  const std::vector<FileContent> ranks = file.read();
  CHECK(ranks[0].distributed.rank == 7);
  CHECK(ranks[1].distributed.rank == 6);
  CHECK(ranks[1].distributed.rank_from == "RANK of the environment");
}

TEST_CASE("XLA's thread names the rank of its process") {
  MadeExport file = two_ranks();
  file.sql("INSERT INTO StringIds VALUES (900, 'XlaLauncher:#global=3,local=0,process=1,partition=3#')");
  file.sql(fmt::format("INSERT INTO ThreadNames VALUES (900, {})", global_tid(145, 8)));
  const std::vector<FileContent> ranks = file.read();
  CHECK_FALSE(ranks[0].distributed.present);
  CHECK(ranks[1].distributed.rank == 3);
  CHECK(ranks[1].distributed.rank_from == "name of XLA's thread");
}

TEST_CASE("the largest communicator says the rank") {
  MadeExport file = two_ranks();
  file.schemas();
  file.range(144, "ncclCommInitRank", 10, 20, payload_hex(218, 0xabc, 2, 1));
  file.range(144, "ncclCommInitRank", 30, 40, payload_hex(218, 0xdef, 8, 6));
  const std::vector<FileContent> ranks = file.read();
  CHECK(ranks[0].distributed.rank == 6);
  CHECK(ranks[0].distributed.rank_from == "rank in the largest communicator");
  // What ship reads, which is no more than it must.
  const std::vector<FileContent> heads = file.read_heads();
  REQUIRE(heads.size() == 2);
  CHECK(heads[0].distributed.rank == 6);
  CHECK(heads[1].distributed.rank == -1);
}

TEST_CASE("tables and columns of other versions may be missing") {
  // 2020: no names with templates; rows of the host were not recorded.
  MadeExport file;
  file.sql("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME; DROP TABLE NVTX_EVENTS");
  file.sql(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, "
      "correlationId INTEGER, globalPid INTEGER, shortName INTEGER)");
  file.sql("INSERT INTO StringIds VALUES (4, 'gemm')");
  file.sql(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 7, 1, {}, 4)", global_pid(9)));
  const std::vector<FileContent> ranks = file.read();
  REQUIRE(ranks.size() == 1);
  CHECK(ranks[0].strings.view(ranks[0].gpu.events.name[0]) == "gemm");
}

TEST_CASE("a version that nobody knows is said, and read as far as it goes") {
  MadeExport file = two_ranks();
  file.sql("CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)");
  file.sql("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION_MAJOR', '9')");
  const std::vector<FileContent> ranks = file.read();
  CHECK(ranks[0].gpu.size() == 1);
  CHECK(finding(ranks[0].findings, "unknown-version") != nullptr);
  CHECK(finding(ranks[1].findings, "unknown-version") == nullptr);
}

TEST_CASE("rows without a time, and times that no clock shows, are left out and counted") {
  MadeExport file = two_ranks();
  file.sql(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (NULL, 5, 0, 7, 2, {}, 1, 1, 1, 1, 1)",
                       global_pid(144)));
  file.sql(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ('soon', 5, 0, 7, 2, {}, 1, 1, 1, 1, 1)",
                       global_pid(144)));
  file.sql(
      fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (9223372036854775807, 5, 0, 7, 2, {}, 1, 1, 1, 1, 1)",
                  global_pid(144)));
  const std::vector<FileContent> ranks = file.read();
  CHECK(ranks[0].gpu.size() == 1);
  const Finding* dropped = finding(ranks[0].findings, "dropped-event");
  REQUIRE(dropped != nullptr);
  CHECK(dropped->count == 3);
}

TEST_CASE("an export of a session without a GPU is no rank") {
  const std::vector<FileContent> contents = MadeExport().zero(kZero).range(9, "load data", 0, 5000).read();
  REQUIRE(contents.size() == 1);
  CHECK(contents[0].kind == ContentKind::front_end);
}

TEST_CASE("a graph that was recorded as one row is said to hide its collectives") {
  MadeExport file = two_ranks();
  file.sql(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, "
      "correlationId INTEGER, globalPid INTEGER)");
  file.sql(
      fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (3000, 9000, 1, 7, 5, {})", global_pid(144)));
  const std::vector<FileContent> ranks = file.read();
  CHECK(ranks[0].gpu.size() == 2);
  CHECK(finding(ranks[0].findings, "graph-rows") != nullptr);
}

TEST_CASE("processes of two machines may have one number, and are two ranks of two names") {
  MadeExport file;
  file.kernel(144, "gemm", 1000, 2000, 1);
  file.sql(
      fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT start, end, deviceId, streamId, correlationId, "
                  "globalPid + {}, demangledName, shortName, gridX, gridY, gridZ FROM CUPTI_ACTIVITY_KIND_KERNEL",
                  kMachineBits));
  const std::vector<FileContent> ranks = file.read();
  REQUIRE(ranks.size() == 2);
  CHECK(ranks[0].part == "pid144");
  CHECK(ranks[1].part == "pid144-2");
}

TEST_CASE("a rank that made a context on another GPU first has the streams of its peers") {
  MadeExport file;
  file.sql("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN contextId INTEGER");
  file.sql(
      fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 7, 1, {0}, 1, 1, 1, 1, 1, 1), "
                  "(30, 40, 0, 20, 2, {0}, 1, 1, 1, 1, 1, 1), (10, 20, 1, 15, 1, {1}, 1, 1, 1, 1, 1, 2), "
                  "(30, 40, 1, 28, 2, {1}, 1, 1, 1, 1, 1, 2)",
                  global_pid(144), global_pid(145)));
  const std::vector<FileContent> ranks = file.read();
  for (const FileContent& rank : ranks) {
    CHECK(rank.gpu.events.stream[0] == 7);
    CHECK(rank.gpu.events.stream[1] == 20);
  }
}
