// The disk budget by itself: whatever is charged and given back, in whatever order, adds up.
#include "src/gather/store/disk_budget.h"

#include <array>
#include <catch2/catch.hpp>
#include <random>

namespace skewscope::gather {
namespace {

constexpr uint32_t kUser = 7;

Job job_named(const std::string& name) {
  Job job;
  job.row.name = name;
  job.row.owner_uid = kUser;
  return job;
}

TEST_CASE("a user is charged with the sum of what his jobs' uploads, files, reports and quarantine have") {
  std::mt19937 random(1);
  DiskBudget budget;
  std::array<Job, 3> jobs = {job_named("a"), job_named("b"), job_named("c")};
  std::array<uint64_t, 3> uploads{};
  GatherLimits most;
  for (int step = 0; step < 500; ++step) {
    const size_t which = random() % jobs.size();
    const int64_t bytes = static_cast<int64_t>(random() % 1000);
    FileRow file;
    file.uid = kUser;
    file.size = static_cast<uint64_t>(bytes);
    switch (random() % 4) {
      case 0:
        CHECK(budget.charge(jobs[which], kUser, uploads[which], file.size, most) == Refusal::none);
        break;
      case 1:
        budget.add_file(jobs[which], file);
        break;
      case 2:
        budget.charge_reports(jobs[which], bytes);
        break;
      default:
        budget.charge_aside(jobs[which], bytes);
    }
    uint64_t all = 0;
    for (size_t i = 0; i < jobs.size(); ++i) {
      CHECK(jobs[i].charged == uploads[i] + jobs[i].bytes + jobs[i].report_bytes + jobs[i].aside_bytes);
      all += jobs[i].charged;
    }
    most.largest_user = all + 10;
    uint64_t another = 0;
    CHECK(budget.charge(jobs[which], kUser, another, 11, most) == Refusal::quota);
    CHECK(budget.charge(jobs[which], kUser, another, 10, most) == Refusal::none);
    budget.release(jobs[which], kUser, another);
    most.largest_user = GatherLimits{}.largest_user;
  }
}

TEST_CASE("a job that goes takes its charges with it, and the room of its report") {
  DiskBudget budget;
  Job gone = job_named("gone"), stays = job_named("stays");
  GatherLimits most;
  most.largest_user = 100;
  FileRow file;
  file.uid = kUser;
  file.size = 90;
  budget.add_file(gone, file);
  gone.files[0][0] = file;
  budget.charge_aside(gone, 10);
  uint64_t upload = 0;
  CHECK(budget.charge(stays, kUser, upload, 1, most) == Refusal::quota);
  budget.remove_job(gone);
  CHECK(budget.charge(stays, kUser, upload, 100, most) == Refusal::none);
}

}  // namespace
}  // namespace skewscope::gather
