// A simulated job, what the simulator says of it, and its report. The simulator counts on its own and runs the job
// again on an ideal network; the pipeline sees only the digests.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "skewscope/correlate.h"
#include "skewscope/scale.h"
#include "skewscope/simulate.h"

namespace skewscope::test {

struct JobTruth {
  std::map<std::string, double> efficiency;
  double compute_ns = 0;  // all ranks, all steps
  double elapsed_ns = 0;  // of the longest rank

  explicit JobTruth(const std::string& directory) {
    std::ifstream file(directory + "/truth.json");
    const nlohmann::json json = nlohmann::json::parse(file);
    for (const auto& [name, value] : json.at("efficiency").items()) efficiency[name] = value;
    double most = 0;
    for (const auto& rank : json.at("ranks")) {
      compute_ns += rank.at("compute_ns").get<double>();
      most = std::max(most, rank.at("compute_ns").get<double>());
    }
    elapsed_ns = most / efficiency.at("communication");
  }
};

inline NamedReport correlated(const std::string& directory) {
  StageTimer timer;
  auto report = correlate({directory}, {}, timer);
  REQUIRE(report.ok());
  return {directory, std::move(report).value()};
}

}  // namespace skewscope::test
