// What traces say of libraries and drivers: one rank of a simulated job has another NCCL.
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <string>

#include "../temporary_folder.h"
#include "skewscope/correlate.h"
#include "skewscope/simulate.h"

using namespace skewscope;
using test::Folder;

namespace {

JobReport report_of_folder(const std::filesystem::path& folder) {
  StageTimer timer;
  auto report = correlate({folder.string()}, {}, timer);
  REQUIRE(report.ok());
  return std::move(report).value();
}

std::string versions_finding(const JobReport& report) {
  for (const Finding& finding : report.diagnostics) {
    if (finding.code.text() == "versions-differ") return finding.message;
  }
  return "";
}

TEST_CASE("a rank whose library has another version is named") {
  const Folder folder("software");
  SimulateOptions job;
  job.directory = (folder.path / "job").string();
  job.nodes = 1;
  job.gpus_per_node = 4;
  job.tp = 1;
  job.steps = 2;
  REQUIRE(simulate_job(job).ok());
  using Software = std::vector<std::string>;
  const JobReport alike = report_of_folder(job.directory);
  CHECK(alike.job.software == Software{"CUDA 12.8", "CUDA driver 12.8", "NCCL 2.27.5"});
  CHECK(versions_finding(alike) == "");

  const std::filesystem::path trace = folder.path / "job" / "rank3_trace.json";
  std::ifstream in(trace);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  text.replace(text.find("2.27.5"), 6, "2.26.2");
  std::ofstream(trace) << text;
  const JobReport different = report_of_folder(job.directory);
  CHECK(different.job.software == Software{"CUDA 12.8", "CUDA driver 12.8", "NCCL 2.26.2", "NCCL 2.27.5"});
  CHECK(versions_finding(different) == "NCCL 2.26.2 on rank 3, NCCL 2.27.5 on ranks 0-2");
}

}  // namespace
