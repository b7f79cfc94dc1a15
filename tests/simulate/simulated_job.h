// A job simulated into a folder of its own, read back.
#pragma once

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "skewscope/simulate.h"

namespace skewscope::test {

using Json = nlohmann::ordered_json;

inline std::string file_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

class SimulatedJob {
 public:
  explicit SimulatedJob(SimulateOptions options) {
    static int count = 0;
    directory_ = std::filesystem::temp_directory_path() /
                 ("skewscope_simulate_" + std::to_string(::getpid()) + "_" + std::to_string(++count));
    options.directory = directory_.string();
    const auto result = simulate_job(options);
    INFO((result.ok() ? "" : result.error().message));
    REQUIRE(result.ok());
  }
  ~SimulatedJob() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  SimulatedJob(const SimulatedJob&) = delete;
  SimulatedJob& operator=(const SimulatedJob&) = delete;

  std::filesystem::path path(const std::string& name) const { return directory_ / name; }
  std::string text(const std::string& name) const { return file_text(path(name)); }
  Json trace(int rank) const { return Json::parse(text("rank" + std::to_string(rank) + "_trace.json")); }
  Json truth() const { return Json::parse(text("truth.json")); }

 private:
  std::filesystem::path directory_;
};

// 2 nodes x 2 GPUs, tp 2, two steps of two layers: a few milliseconds, a few hundred rows.
inline SimulateOptions small_job() {
  SimulateOptions options;
  options.nodes = 2;
  options.gpus_per_node = 2;
  options.tp = 2;
  options.steps = 2;
  options.layers = 2;
  options.cpu_rows_per_kernel = 1;
  return options;
}

// A row of truth.json's `collectives`, by name.
struct TrueCollective {
  int communicator;
  std::string op;
  int64_t bytes, step, seq;
  std::vector<int> ranks;
  std::vector<int64_t> start, end, wait, transfer;
  std::vector<int> absent;
};

inline std::vector<TrueCollective> true_collectives(const Json& truth) {
  const std::vector<std::string> fields = {"communicator", "op",       "dtype",  "bytes",   "step",        "seq",
                                           "ranks",        "start_ns", "end_ns", "wait_ns", "transfer_ns", "absent"};
  REQUIRE(truth["collective_fields"].get<std::vector<std::string>>() == fields);
  std::vector<TrueCollective> all;
  for (const Json& row : truth["collectives"]) {
    all.push_back({row[0], row[1], row[3], row[4], row[5], row[6], row[7], row[8], row[9], row[10], row[11]});
  }
  return all;
}

// Nanoseconds of a stamp of microseconds with three decimals, as written.
inline int64_t stamp_ns(const Json& number) { return std::llround(number.get<double>() * 1000); }

inline std::vector<Json> events_of(const Json& trace, const std::string& category) {
  std::vector<Json> found;
  for (const Json& event : trace["traceEvents"]) {
    if (event.value("ph", "") == "X" && event.value("cat", "") == category) found.push_back(event);
  }
  return found;
}

inline std::vector<Json> communication_kernels(const Json& trace) {
  std::vector<Json> found;
  for (const Json& event : events_of(trace, "kernel")) {
    if (event["name"].get<std::string>().rfind("nccl", 0) == 0) found.push_back(event);
  }
  return found;
}

}  // namespace skewscope::test
