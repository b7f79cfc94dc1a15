// Recorded exports of Nsight Systems, with what is known of them: counted by SQL, or by another program
// (expected.json of the collection).
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "skewscope/correlate.h"
#include "skewscope/report.h"
#include "tests/real_trace_folder.h"
#include "tests/temporary_folder.h"

using namespace skewscope;
using skewscope::test::Folder;
using skewscope::test::formats;

namespace {

JobReport report_of_export(const std::string& path) {
  StageTimer timer;
  Result<JobReport> report = correlate({path}, {}, timer);
  REQUIRE(report.ok());
  return std::move(report).value();
}

// By instance: the ranks that are in it.
std::map<int32_t, std::set<int32_t>> instances_of(const JobReport& report) {
  std::map<int32_t, std::set<int32_t>> ranks;
  for (const JobReport::CallRow& call : report.calls) ranks[call.instance].insert(call.rank);
  return ranks;
}

}  // namespace

TEST_CASE("mfu_2gpu_before: two ranks in one file, 33 instances on both") {
  const std::string path = formats("nsys_sqlite/mfu_2gpu_before.sqlite");
  if (path.empty()) return;
  const JobReport report = report_of_export(path);
  REQUIRE(report.ranks.size() == 2);
  CHECK(report.ranks[0].device == 0);
  CHECK(report.ranks[1].device == 1);
  CHECK(report.matching.calls == 66);
  CHECK(report.matching.unmatched == 0);
  const auto instances = instances_of(report);
  CHECK(instances.size() == 33);
  for (const auto& [instance, ranks] : instances) CHECK(ranks == std::set<int32_t>{0, 1});
}

TEST_CASE("h100_2gpu_1s: two ranks that never communicate") {
  const std::string path = formats("nsys_sqlite/h100_2gpu_1s.sqlite");
  if (path.empty()) return;
  const JobReport report = report_of_export(path);
  CHECK(report.ranks.size() == 2);
  CHECK(report.matching.calls == 0);
  CHECK(terminal_summary(report, "", false).find("No collectives were recorded") != std::string::npos);
}

TEST_CASE("jax_nsys: four sessions of four processes, 120 collectives on all of them, clocks to 50 us") {
  const std::string path = formats("jax_nsys");
  if (path.empty()) return;
  const Folder job("pax_nsys");
  std::filesystem::create_directories(job.path);
  const std::string lay_out =
      "python3 '" SKEWSCOPE_SOURCE_DIR "/tests/jobs/formats/relay_jax.py' '" + path + "' '" + job.path.string() + "'";
  REQUIRE(std::system(lay_out.c_str()) == 0);
  const JobReport report = report_of_export(job.path.string());
  CHECK(report.matching.calls == 480);
  CHECK(report.matching.unmatched == 0);
  const auto instances = instances_of(report);
  CHECK(instances.size() == 120);
  std::map<CollectiveKind, int> kinds;
  std::set<int32_t> seen;
  for (const JobReport::CallRow& call : report.calls) {
    if (seen.insert(call.instance).second) ++kinds[call.op];
  }
  CHECK(kinds[CollectiveKind::all_reduce] == 50);
  CHECK(kinds[CollectiveKind::all_gather] == 50);
  CHECK(kinds[CollectiveKind::reduce_scatter] == 20);
  for (const auto& [instance, ranks] : instances) CHECK(ranks.size() == 4);

  std::ifstream file(formats("expected.json"));
  const auto zeros = nlohmann::json::parse(file).at("jax_nsys").at("session_zero_minus_proc0_ns_median_of_ends");
  REQUIRE(report.clocks.size() == 4);
  for (const JobReport::Clock& clock : report.clocks) {
    const double expected = zeros.at(static_cast<size_t>(clock.rank)).get<double>();
    const double found = static_cast<double>(clock.offset_ns - report.clocks[0].offset_ns);
    INFO("rank " << clock.rank << ": " << found << " ns, expected " << expected);
    CHECK(std::abs(found - expected) < 50'000);
  }
}
