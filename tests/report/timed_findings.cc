// Where in time a report's findings show.
#include <catch2/catch.hpp>

#include "hand_built.h"

using namespace skewscope;
using namespace skewscope::test;

namespace {

std::vector<TimedFinding> named(const std::vector<TimedFinding>& findings, const std::string& name) {
  std::vector<TimedFinding> found;
  for (const TimedFinding& finding : findings) {
    if (finding.finding == name) found.push_back(finding);
  }
  return found;
}

}  // namespace

TEST_CASE("a straggler shows in the collective in which most was waited for it, from first arrival to last end") {
  HandBuilt built = job_of(4);
  add_all_reduce(built, {1000, 2000, 1500, 1200}, 3000, 64);
  const size_t worst = add_all_reduce(built, {11000, 15000, 11500, 11200}, 16000, 64);
  add_all_reduce(built, {21000, 21000, 21500, 21200}, 22000, 64);
  const auto stragglers = named(timed_findings(built.report()), "straggler");
  REQUIRE(stragglers.size() == 2);
  CHECK(stragglers[0].words.find("rank 1") == 0);
  CHECK(stragglers[0].instance == static_cast<int32_t>(worst));
  CHECK(stragglers[0].start_ns == 11000);
  CHECK(stragglers[0].end_ns == 16000);
  CHECK(stragglers[0].ranks == std::vector<int32_t>{0, 1, 2, 3});
  CHECK(stragglers[1].words.find("rank 2") == 0);
  CHECK(stragglers[1].start_ns == 21000);
}

TEST_CASE("a diagnostic about instances shows in the longest of them") {
  HandBuilt built = job_of(3);
  add_all_reduce(built, {1000, 1000, 1000}, 9000, 64);
  add_all_reduce(built, {11000, -1, 11200}, 12000, 64);
  const size_t longest = add_all_reduce(built, {21000, -1, 21200}, 23000, 64);
  const auto found = named(timed_findings(built.report()), "incomplete-instances");
  REQUIRE(found.size() == 1);
  CHECK(found[0].instance == static_cast<int32_t>(longest));
  CHECK(found[0].ranks == std::vector<int32_t>{0, 2});
  CHECK(found[0].end_ns == 23000);
}

TEST_CASE("clocks in doubt show where the ends of a collective lie furthest apart") {
  HandBuilt built = job_of(2);
  add_all_reduce(built, {1000, 1000}, 9000, 64);
  JobReport report = built.report();
  add_all_reduce(built, {11000, 11000}, 12000, 64);
  report = built.report();
  report.calls.back().end_ns += 40;
  report.diagnostics = {};
  Finding alarm;
  alarm.code = "clocks-contradict";
  report.diagnostics.push_back(alarm);
  const auto found = named(timed_findings(report), "clocks-contradict");
  REQUIRE(found.size() == 1);
  CHECK(found[0].start_ns == 11000);
  CHECK(found[0].end_ns == 12040);
}

TEST_CASE("calls that could not be matched show in the longest of each reason, and nothing else has a time") {
  HandBuilt built = job_of(2);
  add_all_reduce(built, {1000, 1000}, 9000, 64);
  add_unmatched(built, 1, UnmatchedReason::no_metadata);
  JobReport report = built.report();
  Finding file;
  file.code = "truncated-file";
  report.diagnostics.push_back(file);
  const auto found = timed_findings(report);
  REQUIRE(found.size() == 1);
  CHECK(found[0].finding == "unmatched-no-metadata");
  CHECK(found[0].ranks == std::vector<int32_t>{1});
  CHECK(found[0].start_ns == report.unmatched[0].start_ns);
  CHECK(found[0].end_ns - found[0].start_ns == report.unmatched[0].duration_ns);
}

TEST_CASE("a loss shows in the collective that lost most by it, or in the rank's step") {
  HandBuilt built = job_of(2);
  add_all_reduce(built, {1000, 1000}, 3000, 64);
  const size_t worst = add_all_reduce(built, {11000, 11000}, 19000, 64);
  JobReport report = built.report();
  for (JobReport::CallRow& call : report.calls) call.exposed_ns = call.end_ns - call.start_ns;
  JobReport::Loss transfer, copies;
  transfer.kind = LossKind::exposed_transfer;
  transfer.name = "exposed transfer";
  copies.kind = LossKind::exposed_copies;
  copies.name = "exposed copies";
  report.losses = {transfer, copies};
  JobReport::RankStep quick, slow;
  quick.rank = 0;
  quick.compute_ns = 500;
  slow.rank = 1;
  slow.step = 4;
  slow.start_ns = 300;
  slow.compute_ns = 500;
  slow.exposed_memcpy_ns = 200;
  report.rank_steps = {quick, slow};
  const auto exposed = named(timed_findings(report), "exposed-transfer");
  REQUIRE(exposed.size() == 1);
  CHECK(exposed[0].instance == static_cast<int32_t>(worst));
  const auto copied = named(timed_findings(report), "exposed-copies");
  REQUIRE(copied.size() == 1);
  CHECK(copied[0].instance == -1);
  CHECK(copied[0].ranks == std::vector<int32_t>{1});
  CHECK(copied[0].start_ns == 300);
  CHECK(copied[0].end_ns == 1000);
  CHECK(copied[0].words == "rank 1: exposed copies, 200 ns in step 4");
}
