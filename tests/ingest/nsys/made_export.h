// Exports of Nsight Systems that tests make: tables as nsys writes them, rows by hand.
#pragma once

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "../sqlite/made_database.h"
#include "src/ingest/link/link_calls.h"
#include "src/ingest/nsys/nsys_format.h"
#include "src/ingest/read_files.h"

namespace skewscope::ingest {

constexpr int64_t kMachineBits = int64_t{1} << 48;
inline int64_t global_pid(int64_t pid) { return kMachineBits | pid << 24; }
inline int64_t global_tid(int64_t pid, int64_t tid) { return global_pid(pid) | tid; }

// Statements for MadeDatabase, in the order in which they are added.
class MadeExport {
 public:
  MadeExport() : sql_(kTables) {}

  MadeExport& sql(const std::string& statement) {
    sql_ += statement + ";\n";
    return *this;
  }
  MadeExport& zero(int64_t utc_ns) {
    return sql(fmt::format("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES ({})", utc_ns));
  }
  MadeExport& kernel(int64_t pid, const std::string& name, int64_t start, int64_t end, int64_t correlation,
                     int64_t device = 0, int64_t stream = 7) {
    return sql(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({}, {}, {}, {}, {}, {}, {}, {}, 4, 2, 1)",
                           start, end, device, stream, correlation, global_pid(pid), text(name), text(name)));
  }
  // On the thread of the process's own number, as the main thread is.
  MadeExport& call(int64_t pid, const std::string& name, int64_t start, int64_t end, int64_t correlation) {
    return sql(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({}, {}, {}, {}, {})", start, end,
                           global_tid(pid, pid), correlation, text(name)));
  }
  MadeExport& launch(int64_t pid, int64_t start, int64_t correlation) {
    return call(pid, "cudaLaunchKernel_v7000", start, start + 5, correlation);
  }
  // `payload`: a blob in hexadecimal; "": none.
  MadeExport& range(int64_t pid, const std::string& name, int64_t start, int64_t end, const std::string& payload = "") {
    return sql(fmt::format("INSERT INTO NVTX_EVENTS VALUES ({}, {}, 59, '{}', {}, NULL, 1, NULL, {})", start, end, name,
                           global_tid(pid, pid), payload.empty() ? "NULL" : "x'" + payload + "'"));
  }
  // NCCL's layouts of today: "Rank" of the communicator at 12, sizes at 8, peers at 16.
  MadeExport& schemas() {
    for (const char* row : {"218, 0, 18, 'NCCL communicator ID', NULL", "218, 1, 5, 'No. of ranks', 8",
                            "218, 2, 5, 'Rank', 12", "223, 0, 18, 'NCCL communicator ID', NULL",
                            "223, 1, 22, 'Message size [bytes]', 8", "226, 0, 18, 'NCCL communicator ID', NULL",
                            "226, 1, 22, 'Message size [bytes]', 8", "226, 2, 5, 'Peer rank', 16"}) {
      sql(fmt::format("INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES (1, {})", row));
    }
    return *this;
  }

  std::vector<FileContent> read(const ReaderSettings& settings = {}) const {
    const MadeDatabase made(sql_);
    MemoryBudget budget(0);
    const Result<Database> database = Database::open(made.path(), budget);
    REQUIRE(database.ok());
    const auto format = make_nsys_format();
    CHECK(format->is_of(database.value()));
    Result<std::vector<FileContent>> ranks = format->read(database.value(), settings, budget);
    REQUIRE(ranks.ok());
    return std::move(ranks).value();
  }
  std::vector<FileContent> read_heads() const {
    const MadeDatabase made(sql_);
    MemoryBudget budget(0);
    const Result<Database> database = Database::open(made.path(), budget);
    REQUIRE(database.ok());
    return make_nsys_format()->read_heads(database.value());
  }
  // Of a file with one rank.
  TraceFile link(const ReaderSettings& settings = {}) const {
    std::vector<FileContent> ranks = read(settings);
    REQUIRE(ranks.size() == 1);
    return link_file(std::move(ranks.front()));
  }

 private:
  std::string text(const std::string& value) {
    sql(fmt::format("INSERT INTO StringIds(value) SELECT '{0}' WHERE '{0}' NOT IN (SELECT value FROM StringIds)",
                    value));
    return fmt::format("(SELECT id FROM StringIds WHERE value = '{}')", value);
  }

  static constexpr const char* kTables = R"(
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, name TEXT, value TEXT);
CREATE TABLE ThreadNames (nameId INTEGER, globalTid INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, gridX INTEGER, gridY INTEGER,
  gridZ INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER,
  nameId INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, textId INTEGER,
  domainId INTEGER, jsonText TEXT, binaryData BLOB);
CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId INTEGER, schemaId INTEGER, idx INTEGER, type INTEGER, name TEXT,
  offset INTEGER);
)";

  std::string sql_;
};

// The 32 bytes that nsys puts in front of a payload of 24, and the payload: a communicator and four numbers of 32 bits.
inline std::string payload_hex(uint32_t schema, uint64_t communicator, uint32_t a, uint32_t b, uint32_t c = 0,
                               uint32_t d = 0) {
  const auto little = [](uint64_t number, int bytes) {
    std::string hex;
    for (int i = 0; i < bytes; ++i) hex += fmt::format("{:02x}", number >> (8 * i) & 0xff);
    return hex;
  };
  return little(1, 8) + little(schema, 8) + little(24, 8) + little(56, 8) + little(communicator, 8) + little(a, 4) +
         little(b, 4) + little(c, 4) + little(d, 4);
}

}  // namespace skewscope::ingest
