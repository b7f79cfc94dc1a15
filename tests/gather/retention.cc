#include <catch2/catch.hpp>

#include "src/gather/reports.h"

namespace skewscope::gather {
namespace {

using std::chrono::hours;

const Time kSweptAt = Time(std::chrono::seconds(2'000'000'000));

JobState finished(const std::string& name, int days_ago, uint64_t bytes) {
  JobState job;
  job.name = name;
  job.report = ReportState::complete;
  job.arrivals = job.reported_arrivals = 8;
  job.last_byte = kSweptAt - hours(24 * days_ago);
  job.bytes = bytes;
  return job;
}

TEST_CASE("finished jobs are kept for thirty days") {
  CHECK(jobs_to_delete({finished("old", 31, 1), finished("young", 29, 1)}, {}, kSweptAt) ==
        std::vector<std::string>{"old"});
}

TEST_CASE("a job may ask for a retention of its own") {
  JobState brief = finished("brief", 3, 1), keep = finished("keep", 100, 1);
  brief.settings.retention = hours(48);
  keep.settings.retention = hours(24 * 365);
  CHECK(jobs_to_delete({brief, keep}, {}, kSweptAt) == std::vector<std::string>{"brief"});
}

TEST_CASE("above the total, the oldest finished jobs go until the rest fits") {
  const std::vector<JobState> jobs = {finished("a", 1, 40), finished("b", 3, 40), finished("c", 2, 40)};
  CHECK(jobs_to_delete(jobs, {hours(24 * 30), 100}, kSweptAt) == std::vector<std::string>{"b"});
  CHECK(jobs_to_delete(jobs, {hours(24 * 30), 50}, kSweptAt) == std::vector<std::string>{"b", "c"});
}

JobState registered(const std::string& name, int days_ago) {
  JobState job;
  job.name = name;
  job.created = job.last_byte = kSweptAt - hours(24 * days_ago);
  return job;
}

TEST_CASE("a job that never sent anything goes so long after its creation or its end, but not while it sends") {
  JobState ended = registered("ended", 100), sends = registered("sends", 100);
  ended.ended = true;
  ended.ended_at = kSweptAt - hours(24 * 29);
  sends.open_uploads = 1;
  CHECK(jobs_to_delete({registered("old", 31), registered("young", 29), ended, sends}, {}, kSweptAt) ==
        std::vector<std::string>{"old"});
  ended.ended_at = kSweptAt - hours(24 * 31);
  CHECK(jobs_to_delete({ended}, {}, kSweptAt) == std::vector<std::string>{"ended"});
}

TEST_CASE("a short retention of its own lets a job that never sent anything go only after its end") {
  JobState runs = registered("runs", 10), ended = registered("ended", 10);
  ended.ended = true;
  ended.ended_at = kSweptAt - hours(24 * 9);
  runs.settings.retention = ended.settings.retention = hours(48);
  CHECK(jobs_to_delete({runs, ended}, {}, kSweptAt) == std::vector<std::string>{"ended"});
}

TEST_CASE("a job that never sent anything makes no room") {
  CHECK(jobs_to_delete({registered("empty", 5), finished("full", 1, 40)}, {hours(24 * 30), 10}, kSweptAt) ==
        std::vector<std::string>{"full"});
}

TEST_CASE("a job with uploads, with a report running or with ranks unreported is not deleted") {
  JobState uploads = finished("uploads", 100, 1), running = finished("running", 100, 1),
           unreported = finished("unreported", 100, 1);
  uploads.open_uploads = 1;
  running.report = ReportState::running;
  unreported.arrivals = 9;
  CHECK(jobs_to_delete({uploads, running, unreported}, {hours(24 * 30), 1}, kSweptAt).empty());
}

}  // namespace
}  // namespace skewscope::gather
