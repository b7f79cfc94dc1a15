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
