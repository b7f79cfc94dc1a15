// Folders as torch_npu leaves them, one file at a time.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "../../temporary_folder.h"
#include "src/ingest/trace_readers.h"

namespace skewscope::ingest {

class ProfileFolder {
 public:
  explicit ProfileFolder(const std::string& name) : folder_("ascend_" + name) {
    std::filesystem::create_directories(output());
  }

  std::filesystem::path rank() const { return folder_.path / "node7_4242_20251127123456789_ascend_pt"; }
  std::filesystem::path output() const { return rank() / "ASCEND_PROFILER_OUTPUT"; }
  std::string root() const { return folder_.path.string(); }

  // Into the folder of the rank.
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(rank() / name, std::ios::binary) << text;
  }
  // Among its results; the path.
  std::string put(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = output() / name;
    std::ofstream(file, std::ios::binary) << text;
    return file.string();
  }

 private:
  test::Folder folder_;
};

inline FileContent read_profile(const std::string& file, int64_t limit = 0) {
  MemoryBudget budget(limit);
  return std::move(TraceReaders().read(file, budget).value().front());
}

// A call of communication.json: times in milliseconds, as written.
inline std::string timed_call(const std::string& name, const std::string& start_us, const std::string& elapse_ms,
                              const std::string& wait_ms) {
  return '"' + name + R"x(": {"Communication Time Info": {"Start Timestamp(us)": )x" + start_us +
         R"x(, "Elapse Time(ms)": )x" + elapse_ms + R"x(, "Transit Time(ms)": 0, "Wait Time(ms)": )x" + wait_ms +
         R"x(, "Synchronization Time(ms)": )x" + wait_ms + R"x(, "Idle Time(ms)": 0.01}})x";
}

// Group "group_name_0" has the hash 5862276093215481612.
inline std::string calls_json(const std::string& p2p, const std::string& collective) {
  return R"({"step13": {"p2p": {)" + p2p + R"(}, "collective": {)" + collective + "}}}";
}

constexpr const char* kMetadata =
    R"({"distributed_args": {"rank": 1, "world_size": 2}, "parallel_group_info": {"group_name_0": {"group_name":
    "default_group", "group_rank": 1, "global_ranks": [0, 1]}}})";
constexpr const char* kGroup = "5862276093215481612";

}  // namespace skewscope::ingest
