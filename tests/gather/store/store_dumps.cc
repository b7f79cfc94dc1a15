#include <catch2/catch.hpp>

#include "skewscope/gather.h"
#include "spool.h"

namespace skewscope::gather {
namespace {

using test::Asking;
using test::kTrace;
using test::problems_of;
using test::Spool;
using test::upload_of;

constexpr int kMinuteOfDumps = 29'735'212;  // since 1970
const std::string kDump("\x80\x02}q\x00.", 6);

NewUpload dump_of(int rank) {
  NewUpload dump = upload_of("train", rank, kDump.size());
  dump.metadata.capture = kMinuteOfDumps;
  return dump;
}

TEST_CASE("a dump is kept as the file of its rank and minute, and is no rank of the job's traces") {
  Spool spool("dump_kept");
  JobSettings settings;
  settings.world_size = 2;
  spool.ask().put_job("train", settings);
  CHECK(spool.ask().put(dump_of(7), kDump).refusal == Refusal::none);
  CHECK(spool.ask().put("train", 1, kTrace).refusal == Refusal::none);
  CHECK(spool.ask().content("train", 7, kMinuteOfDumps) == kDump);
  CHECK(std::filesystem::exists(spool.path("jobs/train/ranks/c29735212/r00007.frdump")));
  const JobState job = *spool.store->job("train");
  CHECK(job.dumps == 1);
  CHECK(job.arrived == 1);
  CHECK(job.captures == 1);
  CHECK(job.expected == 2);
  CHECK(job.missing_ranks == std::vector<int>{0});
  CHECK(job.bytes == kDump.size() + kTrace.size());
  CHECK(job.last_dump > Time{});
}

TEST_CASE("a start knows each dump again") {
  Spool spool("dump_restart");
  spool.ask().put(dump_of(7), kDump);
  const JobState before = *spool.store->job("train");
  spool.open();
  const JobState after = *spool.store->job("train");
  CHECK(after.dumps == 1);
  CHECK(after.last_dump == before.last_dump);
  CHECK(after.expected == 0);
  CHECK(spool.ask().content("train", 7, kMinuteOfDumps) == kDump);
  CHECK(problems_of(spool).empty());
}

TEST_CASE("dumps count in what files a job may have") {
  Spool spool("dump_quota");
  spool.options.limits.files_per_job = 2;
  spool.open();
  CHECK(spool.ask().put(dump_of(0), kDump).refusal == Refusal::none);
  CHECK(spool.ask().put(dump_of(1), kDump).refusal == Refusal::none);
  CHECK(spool.ask().put(dump_of(2), kDump).refusal == Refusal::quota);
}

}  // namespace
}  // namespace skewscope::gather
