#include <catch2/catch.hpp>

#include "src/gather/reports/reports.h"

namespace skewscope::gather {
namespace {

using std::chrono::seconds;

const GatherDeadlines kDeadlines{seconds(900), seconds(120), seconds(30)};

Time second_at(int second) { return Time(seconds(second)); }

JobState job_of(int expected, int arrived) {
  JobState job;
  job.expected = expected;
  job.arrived = arrived;
  job.arrivals = static_cast<uint64_t>(arrived);
  job.last_arrival = second_at(1000);
  job.last_byte = second_at(1010);
  return job;
}

TEST_CASE("a report is due at once when the last expected rank is there") {
  CHECK(report_due(job_of(8, 8), kDeadlines) == second_at(1000));
}

TEST_CASE("with ranks missing, a report waits for a quiet quarter of an hour") {
  CHECK(report_due(job_of(8, 7), kDeadlines) == second_at(1910));
}

TEST_CASE("a job's own deadline wins over the daemon's") {
  JobState job = job_of(8, 7);
  job.settings.deadline = seconds(60);
  CHECK(report_due(job, kDeadlines) == second_at(1070));
}

TEST_CASE("with ranks missing, a job that has ended waits two minutes") {
  JobState job = job_of(8, 7);
  job.ended = true;
  job.ended_at = second_at(1100);
  CHECK(report_due(job, kDeadlines) == second_at(1220));
}

TEST_CASE("without a known world size, only the deadline makes a report due") {
  CHECK(report_due(job_of(0, 7), kDeadlines) == second_at(1910));
}

TEST_CASE("nothing is due before a rank has arrived, while a report runs, or when it has seen all") {
  CHECK(report_due(job_of(8, 0), kDeadlines) == std::nullopt);
  JobState running = job_of(8, 8);
  running.report = ReportState::running;
  CHECK(report_due(running, kDeadlines) == std::nullopt);
  JobState seen = job_of(8, 8);
  seen.reported_arrivals = 8;
  CHECK(report_due(seen, kDeadlines) == std::nullopt);
}

JobState hanging(int last_dump) {
  JobState job = job_of(8, 0);
  job.dumps = 7;
  job.arrivals = 7;
  job.last_dump = second_at(last_dump);
  return job;
}

TEST_CASE("dumps make a report due when they pause, whatever ranks of traces are missing") {
  CHECK(report_due(hanging(1000), kDeadlines) == second_at(1030));
}

TEST_CASE("dumps that came after a report make it due again, and those that it knows do not hasten the next") {
  JobState job = hanging(1000);
  job.arrivals = 9;
  job.reported_arrivals = 8;
  job.reported_at = second_at(990);
  CHECK(report_due(job, kDeadlines) == second_at(1030));
  job.reported_at = second_at(1100);
  job.report_took = seconds(10);
  job.reported_arrivals = 8;
  job.last_arrival = second_at(1200);
  CHECK(report_due(job, kDeadlines) == second_at(1230));  // as of late ranks
}

TEST_CASE("after a partial report, late ranks make the next one due when they pause") {
  JobState job = job_of(8, 7);
  job.reported_arrivals = 6;
  CHECK(report_due(job, kDeadlines) == second_at(1030));
}

TEST_CASE("whatever is new to a report, the next waits for a pause, and for as long as the one before took") {
  JobState job = job_of(8, 8);
  job.reported_arrivals = 7;  // as after another world size, a replaced file, or when it is asked for
  job.reported_at = second_at(1005);
  job.report_took = seconds(2);
  CHECK(report_due(job, kDeadlines) == second_at(1035));
  job.report_took = seconds(600);
  CHECK(report_due(job, kDeadlines) == second_at(1605));
}

TEST_CASE("the report of logs that grow is made again after a minute, and takes a tenth of the time at most") {
  JobState job = job_of(8, 8);
  job.grows = true;
  job.arrivals = 100;
  CHECK(report_due(job, kDeadlines) == second_at(1000));  // the first, once all ranks have begun
  job.reported_arrivals = 60;
  job.reported_at = second_at(1005);
  job.report_took = seconds(2);
  CHECK(report_due(job, kDeadlines) == second_at(1065));
  job.report_took = seconds(100);
  CHECK(report_due(job, kDeadlines) == second_at(1905));
  job.arrivals = 60;
  CHECK(report_due(job, kDeadlines) == std::nullopt);
}

TEST_CASE("logs that grow without a rank do not keep the report waiting for the end of their bytes") {
  JobState job = job_of(8, 7);
  job.grows = true;
  job.created = second_at(100);
  CHECK(report_due(job, kDeadlines) == second_at(1000));
}

TEST_CASE("a report that is to be tried again waits for as long as arrivals must pause") {
  JobState job = job_of(8, 8);
  job.failed_at = second_at(1100);
  CHECK(report_due(job, kDeadlines) == second_at(1130));
  job = job_of(8, 7);
  job.failed_at = second_at(1100);
  CHECK(report_due(job, kDeadlines) == second_at(1910));
}

TEST_CASE("while some ranks of a second run are there and others not, a report waits for the deadline") {
  JobState job = job_of(8, 8);
  job.reported_arrivals = 7;
  job.reported_at = second_at(1005);
  job.mixed = true;
  CHECK(report_due(job, kDeadlines) == second_at(1910));
  job.ended = true;
  CHECK(report_due(job, kDeadlines) == second_at(1120));
  job.mixed = false;
  CHECK(report_due(job, kDeadlines) == second_at(1035));
}

TEST_CASE("several captures are complete together") {
  JobState job = job_of(8, 8);
  job.captures = 2;
  CHECK(report_due(job, kDeadlines) == second_at(1910));
  job.arrived = 16;
  CHECK(report_due(job, kDeadlines) == second_at(1000));
}

}  // namespace
}  // namespace skewscope::gather
