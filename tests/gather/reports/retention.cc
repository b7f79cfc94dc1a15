#include <catch2/catch.hpp>

#include "src/gather/reports/reports.h"

namespace skewscope::gather {
namespace {

using std::chrono::hours;

const Time kSweptAt = Time(std::chrono::seconds(2'000'000'000));

// Ages by a clock that has never jumped.
Aging steady() {
  Aging aging;
  aging.begin(kSweptAt, {}, kSweptAt);
  return aging;
}

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
  CHECK(jobs_to_delete({finished("old", 31, 1), finished("young", 29, 1)}, {}, steady()) ==
        std::vector<std::string>{"old"});
}

TEST_CASE("a job may ask for a retention of its own") {
  JobState brief = finished("brief", 3, 1), keep = finished("keep", 100, 1);
  brief.settings.retention = hours(48);
  keep.settings.retention = hours(24 * 365);
  CHECK(jobs_to_delete({brief, keep}, {}, steady()) == std::vector<std::string>{"brief"});
}

TEST_CASE("above the total, the oldest finished jobs go until the rest fits") {
  const std::vector<JobState> jobs = {finished("a", 1, 40), finished("b", 3, 40), finished("c", 2, 40)};
  CHECK(jobs_to_delete(jobs, {hours(24 * 30), 100}, steady()) == std::vector<std::string>{"b"});
  CHECK(jobs_to_delete(jobs, {hours(24 * 30), 50}, steady()) == std::vector<std::string>{"b", "c"});
}

TEST_CASE("above the total, the owner who has most makes room, and nobody else's jobs go") {
  std::vector<JobState> jobs = {finished("hers", 20, 40), finished("his1", 1, 50), finished("his2", 2, 50)};
  jobs[0].owner_uid = 1;
  jobs[1].owner_uid = jobs[2].owner_uid = 2;
  CHECK(jobs_to_delete(jobs, {hours(24 * 30), 100}, steady()) == std::vector<std::string>{"his2"});
  // Hers, which is older, goes last.
  CHECK(jobs_to_delete(jobs, {hours(24 * 30), 45}, steady()) == std::vector<std::string>{"his2", "his1"});
  CHECK(jobs_to_delete(jobs, {hours(24 * 30), 39}, steady()) == std::vector<std::string>{"his2", "his1", "hers"});
  // What is not over cannot go.
  jobs[1].open_uploads = jobs[2].open_uploads = 1;
  CHECK(jobs_to_delete(jobs, {hours(24 * 30), 100}, steady()) == std::vector<std::string>{"hers"});
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
  ended.ended_at = kSweptAt - hours(24 * 2);
  sends.open_uploads = 1;
  CHECK(jobs_to_delete({registered("old", 31), registered("young", 29), ended, sends}, {}, steady()) ==
        std::vector<std::string>{"old"});
  ended.ended_at = kSweptAt - hours(24 * 4);  // its agents are not late any more
  CHECK(jobs_to_delete({ended}, {}, steady()) == std::vector<std::string>{"ended"});
}

TEST_CASE("a short retention of its own lets a job that never sent anything go only after its end") {
  JobState runs = registered("runs", 10), ended = registered("ended", 10);
  ended.ended = true;
  ended.ended_at = kSweptAt - hours(24 * 9);
  runs.settings.retention = ended.settings.retention = hours(48);
  CHECK(jobs_to_delete({runs, ended}, {}, steady()) == std::vector<std::string>{"ended"});
}

TEST_CASE("a job that never sent anything makes no room") {
  CHECK(jobs_to_delete({registered("empty", 5), finished("full", 1, 40)}, {hours(24 * 30), 10}, steady()) ==
        std::vector<std::string>{"full"});
}

TEST_CASE("a clock that jumps ahead makes no job old, and for an hour nothing is deleted") {
  using std::chrono::minutes;
  const std::vector<JobState> jobs = {finished("young", 1, 1), finished("old", 31, 1)};
  Aging aging = steady();
  aging.look(kSweptAt + hours(24 * 40) + minutes(1), minutes(1));
  CHECK(jobs_to_delete(jobs, {}, aging).empty());
  SECTION("and it stays there: the time that was seen to pass counts") {
    aging.look(kSweptAt + hours(24 * 40 + 2), hours(2));
    CHECK(jobs_to_delete(jobs, {}, aging) == std::vector<std::string>{"old"});
    aging.look(kSweptAt + hours(24 * 40 + 24 * 30), hours(24 * 30));
    CHECK(jobs_to_delete(jobs, {}, aging) == std::vector<std::string>{"old", "young"});
  }
  SECTION("and comes back: as if nothing had been") {
    aging.look(kSweptAt + minutes(2), minutes(2));
    CHECK(jobs_to_delete(jobs, {}, aging).empty());
    aging.look(kSweptAt + hours(2), hours(2));
    CHECK(jobs_to_delete(jobs, {}, aging) == std::vector<std::string>{"old"});
  }
}

TEST_CASE("a daemon that starts long after anything was noted waits an hour before it deletes") {
  Aging aging;
  aging.begin(kSweptAt, {}, kSweptAt - hours(24 * 40));
  CHECK(jobs_to_delete({finished("old", 40, 1)}, {}, aging).empty());
  aging.look(kSweptAt + hours(1), hours(1));
  CHECK(jobs_to_delete({finished("old", 40, 1)}, {}, aging).size() == 1);
}

TEST_CASE("a sweep deletes sixty-four jobs at most") {
  CHECK(jobs_to_delete(std::vector<JobState>(100, finished("old", 31, 1)), {}, steady()).size() == 64);
}

TEST_CASE("a job with uploads, with a report running or with ranks unreported is not deleted") {
  JobState uploads = finished("uploads", 100, 1), running = finished("running", 100, 1),
           unreported = finished("unreported", 100, 1);
  uploads.open_uploads = 1;
  running.report = ReportState::running;
  unreported.arrivals = 9;
  CHECK(jobs_to_delete({uploads, running, unreported}, {hours(24 * 30), 1}, steady()).empty());
}

}  // namespace
}  // namespace skewscope::gather
