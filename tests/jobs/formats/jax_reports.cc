// Reports of JAX profiles: of a simulated job, which must be that of its Kineto traces but for what the format cannot
// tell; of recorded ones.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "skewscope/correlate.h"
#include "skewscope/report.h"
#include "skewscope/simulate.h"
#include "tests/real_trace_folder.h"
#include "tests/temporary_folder.h"

using namespace skewscope;  // NOLINT
using skewscope::test::Folder;
namespace fs = std::filesystem;

namespace {

JobReport jax_report(const std::string& path) {
  StageTimer timer;
  Result<JobReport> report = correlate({path}, {}, timer);
  REQUIRE(report.ok());
  return std::move(report).value();
}

const Finding* jax_finding(const JobReport& report, FindingCode code) {
  for (const Finding& finding : report.diagnostics) {
    if (finding.code == code) return &finding;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("a TPU host of two: its pairs are incomplete, and the other host and its ranks are named") {
  const std::string path = test::formats("jax_xplane/tpu_v6e_4chips.xplane.pb");
  if (path.empty()) return;
  const JobReport r = jax_report(path);
  CHECK(r.job.ranks_missing == std::vector<int32_t>{0, 1, 2, 3});
  CHECK(r.matching.calls == 12);
  CHECK(r.matching.incomplete_instances == 12);  // three of each of four pairs (expected.json)
  const Finding* incomplete = jax_finding(r, "incomplete-instances");
  REQUIRE(incomplete != nullptr);
  CHECK(incomplete->count == 12);
  CHECK(incomplete->message.find("ranks 0-3 have no trace") != std::string::npos);
  const Finding* missing = jax_finding(r, "missing-ranks");
  REQUIRE(missing != nullptr);
  CHECK(missing->message.find("rank 0-3, a whole host: tpu_v6e_4chips has 4 ranks") != std::string::npos);
}

TEST_CASE("a job of which only the viewer's files are left is read from these, and beside profiles counts once") {
  const fs::path recorded = SKEWSCOPE_SOURCE_DIR "/tests/data/jax/even";
  const Folder alone("viewers");
  for (const auto& entry : fs::recursive_directory_iterator(recorded)) {
    if (!entry.path().string().ends_with(".trace.json.gz")) continue;
    const fs::path copy = alone.path / fs::relative(entry.path(), recorded);
    fs::create_directories(copy.parent_path());
    fs::copy_file(entry.path(), copy);
  }
  const JobReport shown = jax_report(alone.path.string()), profiles = jax_report(recorded.string());
  REQUIRE(shown.ranks.size() == 4);
  REQUIRE(profiles.ranks.size() == 4);
  CHECK(profiles.matching.matched == 100);  // collectives_per_step of truth.json, by five steps and four processes
  for (size_t i = 0; i < 4; ++i) {
    CHECK(shown.ranks[i].rank == profiles.ranks[i].rank);
    CHECK(shown.ranks[i].total_ns == profiles.ranks[i].total_ns);
    CHECK(shown.ranks[i].communication_ns == profiles.ranks[i].communication_ns);
    CHECK(shown.ranks[i].compute_ns == profiles.ranks[i].compute_ns);
  }
  CHECK(shown.job.steps == profiles.job.steps);
  int64_t set_aside = 0;
  for (const Finding& finding : profiles.diagnostics) set_aside += finding.code == "copied-trace" ? finding.count : 0;
  CHECK(set_aside == 4);
  CHECK(jax_finding(shown, "copied-trace") == nullptr);
}
