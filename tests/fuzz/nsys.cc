// An export of Nsight Systems, row by row. Reported, and its first rank as `rank` does.
#include <array>

#include "memory_folder.h"
#include "read_in_full.h"
#include "table_lines.h"

using namespace skewscope;  // NOLINT

namespace {

constexpr std::array kTables = {
    test::FuzzTable{'S', "StringIds", "id INTEGER PRIMARY KEY, value", 2},
    test::FuzzTable{'T', "TARGET_INFO_SESSION_START_TIME", "utcEpochNs", 1},
    test::FuzzTable{'E', "TARGET_INFO_SYSTEM_ENV", "globalVid, name, value", 3},
    test::FuzzTable{
        'K', "CUPTI_ACTIVITY_KIND_KERNEL",
        "start, end, deviceId, streamId, correlationId, globalPid, demangledName, gridX, gridY, gridZ, shortName", 11},
    test::FuzzTable{'C', "CUPTI_ACTIVITY_KIND_MEMCPY",
                    "start, end, deviceId, streamId, correlationId, globalPid, bytes, copyKind, srcKind, dstKind", 10},
    test::FuzzTable{'G', "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "start, end, deviceId, streamId, correlationId, globalPid",
                    6},
    test::FuzzTable{'R', "CUPTI_ACTIVITY_KIND_RUNTIME", "start, end, globalTid, correlationId, nameId", 5},
    test::FuzzTable{'Y', "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                    "start, end, syncType, streamId, correlationId, globalPid, eventSyncId", 7},
    test::FuzzTable{'V', "CUPTI_ACTIVITY_KIND_CUDA_EVENT", "eventSyncId, streamId, correlationId", 3},
    test::FuzzTable{'N', "NVTX_EVENTS", "start, end, eventType, text, globalTid, binaryData, jsonText, textId", 8},
    test::FuzzTable{'P', "NVTX_PAYLOAD_SCHEMA_ENTRIES", "domainId, schemaId, idx, type, name, offset", 6},
    test::FuzzTable{'H', "ThreadNames", "nameId, globalTid", 2},
};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const MemoryFolder folder;
  test::write_tables(folder.path() + "/capture.sqlite", kTables, {reinterpret_cast<const char*>(data), size});
  test::read_in_full(folder.path());
  return 0;
}
