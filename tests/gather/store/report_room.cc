// What reports may take of the disk, of a job and of an owner, and what they are charged with.
#include <catch2/catch.hpp>

#include "spool.h"

namespace skewscope::gather {
namespace {

using test::kTrace;
using test::Spool;
using test::upload_of;

// A report of `bytes` bytes, ended by `code`.
JobState made(Spool& spool, const std::string& job, size_t bytes, int code = 0) {
  const auto folders = spool.ask().begin_report(job).value;
  std::filesystem::create_directories(folders.output);
  std::ofstream(folders.output + "/report.json") << std::string(bytes, 'x');
  std::ofstream(folders.output + "/COMPLETE");
  return spool.ask().end_report(job, folders.generation, code).value;
}

TEST_CASE("a report counts as bytes of its job until it is replaced by two others, after a start too") {
  Spool spool("charged");
  spool.options.limits.largest_job = 1000;
  spool.open();
  spool.ask().put("train", 0, kTrace);
  CHECK(made(spool, "train", 700).report_bytes == 700);
  const std::string large(400, 'x'), small(100, 'x');
  CHECK(spool.ask().put("train", 1, large).refusal == Refusal::quota);
  spool.open();
  CHECK(spool.store->job("train")->report_bytes == 700);
  CHECK(spool.ask().put("train", 1, large).refusal == Refusal::quota);
  CHECK(spool.ask().put("train", 1, small).refusal == Refusal::none);
  made(spool, "train", 10);
  made(spool, "train", 20);
  CHECK(test::eventually([&] { return spool.store->job("train")->report_bytes == 30; }));
  CHECK(spool.ask().put("train", 2, large).refusal == Refusal::none);
}

TEST_CASE("a report counts as bytes of its job's owner, whoever that becomes") {
  Spool spool("owner");
  spool.options.limits.largest_user = 1000;
  spool.open();
  spool.ask().put("train", 0, kTrace);  // of uid 1000
  made(spool, "train", 900);
  const std::string large(300, 'x');
  CHECK(spool.ask().put("other", 0, large).refusal == Refusal::quota);
  JobSettings settings;
  settings.owner_uid = 2000;
  spool.ask().put_job("train", settings);
  CHECK(spool.ask().put("other", 0, large).refusal == Refusal::none);
  spool.ask().delete_job("train");
}

TEST_CASE("a report that is larger than it may be fails, and nothing of it is charged or left") {
  Spool spool("too_large");
  spool.options.limits.largest_report = 500;
  spool.open();
  spool.ask().put("train", 0, kTrace);
  const JobState state = made(spool, "train", 501);
  CHECK(state.report == ReportState::failed);
  CHECK(state.report_exit_code == kReportTooLarge);
  CHECK(state.report_bytes == 0);
  CHECK_FALSE(test::has_file_in(spool.path("jobs/train/report/g0001")));
  CHECK(made(spool, "train", 499).report != ReportState::failed);
}

TEST_CASE("what a report that was ended has left under its unfinished name goes") {
  Spool spool("unfinished");
  spool.ask().put("train", 0, kTrace);
  const auto folders = spool.ask().begin_report("train").value;
  std::filesystem::create_directories(folders.output + ".partial-17");
  spool.ask().end_report("train", folders.generation, kReportTooLarge);
  CHECK_FALSE(std::filesystem::exists(folders.output + ".partial-17"));
}

TEST_CASE("a report waits where the disk has no room below the hard mark, and is made once it has") {
  Spool spool("no_room");
  spool.ask().put("train", 0, kTrace);
  GatherLimits limits = spool.options.limits;
  limits.hard_disk = 1e-9;
  spool.store->use(limits, spool.options.retention);
  CHECK(spool.ask().begin_report("train").refusal == Refusal::no_space);
  CHECK(spool.store->job("train")->report_waits_for_disk);
  spool.store->use(spool.options.limits, spool.options.retention);
  CHECK(made(spool, "train", 10).report != ReportState::failed);
  CHECK_FALSE(spool.store->job("train")->report_waits_for_disk);
}

TEST_CASE("reports that run at a time do not get the same room twice") {
  Spool spool("shared_room");
  spool.options.limits.largest_report = UINT64_MAX;
  spool.options.limits.largest_job = spool.options.limits.largest_user = UINT64_MAX;
  spool.open();
  for (const char* job : {"a", "b"}) spool.ask().put(job, 0, kTrace);
  const uint64_t first = spool.ask().begin_report("a").value.room, second = spool.ask().begin_report("b").value.room;
  CHECK(second <= first / 2 + (64 << 20));  // others use this disk
  spool.ask().end_report("a", 1, 70);
  spool.ask().end_report("b", 1, 70);
}

TEST_CASE("a job is mixed while ranks of one capture are of different generations") {
  Spool spool("mixed");
  for (const int rank : {0, 1}) spool.ask().put("train", rank, kTrace);
  CHECK_FALSE(spool.store->job("train")->mixed);
  for (const int rank : {0, 1}) {
    NewUpload upload = upload_of("train", rank, 2);
    upload.metadata.replace = true;
    spool.ask().put(upload, "[]");
    CHECK(spool.store->job("train")->mixed == (rank == 0));
    spool.open();
    CHECK(spool.store->job("train")->mixed == (rank == 0));
  }
  NewUpload other = upload_of("train", 0, 2);
  other.metadata.capture = 1;
  spool.ask().put(other, "{}");
  CHECK_FALSE(spool.store->job("train")->mixed);
}

}  // namespace
}  // namespace skewscope::gather
