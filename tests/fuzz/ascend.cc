// What torch_npu leaves of a rank: rows of its database, one a line, or, where it begins with "{", communication.json
// and, behind bytes 1E, trace_view.json and kernel_details.csv. Reported, and read as `rank` does.
#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "memory_folder.h"
#include "read_in_full.h"
#include "table_lines.h"

namespace {

using skewscope::test::FuzzTable;

constexpr std::array kTables = {
    FuzzTable{'S', "STRING_IDS", "id INTEGER PRIMARY KEY, value", 2},
    FuzzTable{'D', "ENUM_HCCL_DATA_TYPE", "id INTEGER PRIMARY KEY, name", 2},
    FuzzTable{'M', "META_DATA", "name, value", 2},
    FuzzTable{'H', "HOST_INFO", "hostUid, hostName", 2},
    FuzzTable{'U', "NPU_INFO", "id, name", 2},
    FuzzTable{'T', "TASK",
              "startNs, endNs, deviceId, connectionId, globalTaskId, globalPid, taskType, contextId, streamId", 9},
    FuzzTable{'K', "COMPUTE_TASK_INFO", "name, globalTaskId, blockDim, taskType", 4},
    FuzzTable{'C', "COMMUNICATION_OP",
              "opName, startNs, endNs, connectionId, groupName, opId, relay, retry, dataType, algType, count, opType",
              12},
    FuzzTable{'I', "COMMUNICATION_TASK_INFO",
              "name, globalTaskId, taskType, planeId, groupName, notifyId, rdmaType, srcRank, dstRank, size, opId", 11},
    FuzzTable{'A', "CANN_API", "startNs, endNs, type, globalTid, connectionId, name", 6},
    FuzzTable{'P', "PYTORCH_API", "startNs, endNs, globalTid, connectionId, name, type", 6},
    FuzzTable{'Z', "STEP_TIME", "id, startNs, endNs", 3},
};

void write_text(const std::string& folder, std::string_view text) {
  const std::string output = folder + "/host_1_20260101_ascend_pt/ASCEND_PROFILER_OUTPUT";
  std::filesystem::create_directories(output);
  for (const char* const name : {"communication.json", "trace_view.json", "kernel_details.csv"}) {
    const size_t end = std::min(text.find('\x1e'), text.size());
    if (end > 0) std::ofstream(output + "/" + name, std::ios::binary) << text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const MemoryFolder folder;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with('{')) {
    write_text(folder.path(), text);
  } else {
    skewscope::test::write_tables(folder.path() + "/ascend_pytorch_profiler_0.db", kTables, text);
  }
  skewscope::test::read_in_full(folder.path());
  return 0;
}
