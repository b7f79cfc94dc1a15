// Databases with the tables that are read, and times placed by hand.
#include <catch2/catch.hpp>

#include "../sqlite/made_database.h"
#include "src/ingest/trace_readers.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

// Strings 1 to 9; the tables of a rank without rows.
const std::string kTables = R"(
  CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);
  INSERT INTO STRING_IDS VALUES (1, 'KERNEL_AIVEC'), (2, 'EVENT_WAIT'), (3, 'MEMCPY_ASYNC'), (4, 'aclnnAdd_Add'),
    (5, 'launch'), (6, 'hcom_allGather__612_4_1'), (7, 'group_name_0'), (8, 'Notify_Wait'), (9, 'Memcpy'),
    (10, 'aclrtSynchronizeDevice');
  CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER,
    globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER, modelId INTEGER);
  CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER PRIMARY KEY);
  CREATE TABLE CANN_API (startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER, connectionId INTEGER PRIMARY
    KEY, name INTEGER);
  CREATE TABLE COMMUNICATION_OP (opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER, groupName INTEGER,
    opId INTEGER PRIMARY KEY, dataType INTEGER, count INTEGER, waitNs INTEGER);
  CREATE TABLE COMMUNICATION_TASK_INFO (globalTaskId INTEGER, taskType INTEGER, groupName INTEGER, srcRank INTEGER,
    dstRank INTEGER, size INTEGER, opId INTEGER);
  CREATE TABLE ENUM_HCCL_DATA_TYPE (id INTEGER PRIMARY KEY, name TEXT);
  INSERT INTO ENUM_HCCL_DATA_TYPE VALUES (4, 'FP32');
  CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER);
  INSERT INTO RANK_DEVICE_MAP VALUES (3, 5);
  CREATE TABLE HOST_INFO (hostUid TEXT, hostName TEXT);
  INSERT INTO HOST_INFO VALUES ('1', 'node7');
  CREATE TABLE STEP_TIME (id INTEGER, startNs INTEGER, endNs INTEGER);
)";

FileContent read_database(const std::string& statements) {
  const MadeDatabase database(statements);
  MemoryBudget budget(0);
  return std::move(TraceReaders().read(database.path(), budget).value().front());
}

}  // namespace

TEST_CASE("a task that computes, its launch and its step are read, a wait of a stream is none") {
  const FileContent content = read_database(kTables + R"(
    INSERT INTO TASK VALUES (2000, 2500, 5, 77, 1, 4242, 1, 0, 2, 1, 0), (2500, 2600, 5, 77, 2, 4242, 2, 0, 2, 2, 0),
      (3000, 3010, 5, 78, 3, 4242, 3, 0, 2, 3, 0);
    INSERT INTO COMPUTE_TASK_INFO VALUES (4, 1);
    INSERT INTO CANN_API VALUES (1000, 1100, 10000, 9, 77, 5), (1100, 1200, 10000, 9, 99, 5), (3100, 3200, 0, 9, 100, 10);
    INSERT INTO STEP_TIME VALUES (50, 900, 4000);)");
  REQUIRE(content.kind == ContentKind::rank_trace);
  CHECK(content.format == "ascend sqlite");
  CHECK(content.distributed.rank == 3);
  CHECK(content.host_name == "node7");
  CHECK(content.process_id == 4242);
  REQUIRE(content.gpu.size() == 2);
  CHECK(content.strings.view(content.gpu[0].name) == "aclnnAdd_Add");
  CHECK(content.gpu[0].work == GpuWork::compute);
  CHECK(content.gpu[0].device == 5);
  CHECK(content.gpu[0].correlation == 77);
  CHECK(content.gpu[1].work == GpuWork::memcpy);
  REQUIRE(content.launches.size() == 1);
  CHECK(content.launches[0].start.ns == 1000);
  REQUIRE(content.steps.size() == 1);
  CHECK(content.steps[0].number == 50);
  REQUIRE(content.syncs.size() == 1);
  CHECK(content.syncs[0].of_device);
}

TEST_CASE("a call has its group by the hash, its size, type and elements, and waits while nothing moves") {
  // Two planes wait from 1010 on, for 100 and for 400; bytes move from 1300 to 1420: 290 are left.
  const FileContent content = read_database(kTables + R"(
    INSERT INTO COMMUNICATION_OP VALUES (6, 1000, 1500, 77, 7, 1, 4, 256, 9999);
    INSERT INTO TASK VALUES (1010, 1110, 5, 77, 1, 1, 1, 0, 4, 1, 0), (1010, 1410, 5, 77, 2, 1, 1, 0, 4, 2, 0),
      (1300, 1420, 5, 77, 3, 1, 1, 0, 4, 3, 0);
    INSERT INTO COMMUNICATION_TASK_INFO VALUES (1, 8, 7, 3, 0, 0, 1), (2, 8, 7, 3, 1, 0, 1), (3, 9, 7, 3, 1, 64, 1);)");
  REQUIRE(content.gpu.size() == 1);
  const CommArgs args = content.comm_args[0];
  CHECK(content.strings.view(args.group_name) == "5862276093215481612");
  CHECK(content.strings.view(args.dtype) == "Float");
  CHECK(args.group_size == 4);
  CHECK(args.seq == 4);
  CHECK(args.in_elements == 256);
  CHECK(args.out_elements == 1024);
  REQUIRE(content.measured_waits.size() == 1);
  CHECK(content.measured_waits[0].ns == 290);
}

TEST_CASE("a message is with the one rank that its tasks are with, and with none where there are several") {
  const std::string call = kTables + R"(
    INSERT INTO STRING_IDS VALUES (20, 'hcom_send__612_9_1'), (21, 'Memcpy');
    INSERT INTO COMMUNICATION_OP VALUES (20, 1000, 1500, 77, 7, 1, 4, 256, 0);
    INSERT INTO TASK VALUES (1010, 1110, 5, 77, 1, 1, 1, 0, 4, 1, 0), (1110, 1410, 5, 77, 2, 1, 1, 0, 4, 2, 0);
    INSERT INTO COMMUNICATION_TASK_INFO VALUES (1, 8, 7, 0, 3, 0, 1), (2, 21, 7, 0, )";
  const FileContent one = read_database(call + "3, 1024, 1);"), two = read_database(call + "2, 1024, 1);");
  CHECK(one.comm_args[0].rank == 3);
  CHECK(two.comm_args[0].rank == -1);
}

TEST_CASE("the gap that a viewer writes as waitNs is no waiting") {
  const FileContent content =
      read_database(kTables + "INSERT INTO COMMUNICATION_OP VALUES (6, 1000, 1500, 77, 7, 1, 4, 256, 9999);");
  CHECK(content.gpu.size() == 1);
  CHECK(content.measured_waits.empty());
}

TEST_CASE("a profile of an NPU may lack tables and columns of other versions") {
  const FileContent content = read_database(R"(
    CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);
    INSERT INTO STRING_IDS VALUES (6, 'hcom_allReduce__612_4_1'), (7, 'group_name_0');
    CREATE TABLE TASK (startNs INTEGER);
    CREATE TABLE COMMUNICATION_OP (opName INTEGER, startNs TEXT, endNs TEXT, groupName INTEGER);
    INSERT INTO COMMUNICATION_OP VALUES (6, '1736410576431631806', '1736410576520382799', 7);)");
  REQUIRE(content.gpu.size() == 1);
  CHECK(content.gpu[0].start.ns == 1736410576431631806);
  CHECK(content.gpu[0].duration_ns == 88750993);
  CHECK(content.distributed.rank == -1);
}

TEST_CASE("rows without stamps, that end before they begin or lie beyond all time are counted") {
  const FileContent content = read_database(kTables + R"(
    INSERT INTO COMPUTE_TASK_INFO VALUES (4, 1), (4, 2), (4, 3), (4, 4);
    INSERT INTO TASK VALUES (NULL, 2500, 5, 77, 1, 1, 1, 0, 2, 1, 0), (2000, 1000, 5, 77, 2, 1, 1, 0, 2, 1, 0),
      (9000000000000000000, 9000000000000000001, 5, 77, 3, 1, 1, 0, 2, 1, 0), (2000, 2100, 5, 77, 4, 1, 1, 0, 2, 1, 0);)");
  CHECK(content.gpu.size() == 2);
  REQUIRE(content.findings.size() == 2);
  CHECK(content.findings[0].count + content.findings[1].count == 3);
}

TEST_CASE("a database of a rank without any row is empty") { CHECK(read_database(kTables).kind == ContentKind::empty); }
