// The runs of one name: what they share, and what the store says of them.
#include <catch2/catch.hpp>

#include "skewscope/protocol/names.h"
#include "spool.h"

namespace skewscope::gather {
namespace {

using std::chrono::seconds;
using test::Asking;
using test::kTrace;
using test::Spool;
using test::upload_of;

NewUpload written_at(const std::string& job, int rank, int64_t second) {
  NewUpload upload = upload_of(job, rank, {});
  upload.written = Time(seconds(second));
  return upload;
}

std::vector<RunFacts> facts(const Spool& spool, int rank = 0) {
  return spool.store->run_facts(upload_of("train", rank, {}).metadata);
}

TEST_CASE("runs of a name are told in the order of their numbers, without jobs that are called alike") {
  Spool spool("runs");
  for (const char* job : {"train~10", "train", "train~2", "train-1", "train.2", "trainer~2", "train~9"}) {
    spool.ask().put(job, 0, kTrace);
  }
  CHECK(spool.store->runs_of("train") == std::vector<std::string>{"train", "train~2", "train~9", "train~10"});
  CHECK(spool.store->runs_of("train-1") == std::vector<std::string>{"train-1"});
  CHECK(spool.store->runs_of("other").empty());
}

TEST_CASE("the facts of a run are what it has of a rank and from when to when its capture was written") {
  Spool spool("run_facts");
  spool.clock = 50'000;
  spool.ask().put(written_at("train", 0, 40'100), kTrace);
  spool.ask().put(written_at("train", 1, 40'000), kTrace);
  spool.ask().put("train~2", 1, "{}");
  for (int start = 0; start < 2; ++start, spool.open()) {
    const std::vector<RunFacts> runs = facts(spool);
    REQUIRE(runs.size() == 2);
    CHECK((runs[0].job == "train" && runs[0].has_capture && !runs[0].empty));
    CHECK(runs[0].file == sha256(kTrace));
    CHECK(runs[0].file_came == Time(seconds(50'000)));
    CHECK(runs[0].written.first == Time(seconds(40'000)));
    CHECK(runs[0].written.last == Time(seconds(40'100)));
    CHECK_FALSE(runs[1].file);
    CHECK(runs[1].written.first == Time(seconds(50'000)));
    CHECK(facts(spool, 1)[1].file == sha256("{}"));
  }
}

TEST_CASE("a later run begins with the owner, deadline and retention of the one before it") {
  Spool spool("run_settings");
  JobSettings settings;
  settings.owner_uid = 7;
  settings.deadline = seconds(60);
  settings.retention = seconds(600);
  settings.world_size = 4;
  spool.ask().put_job("train", settings);
  spool.ask().put("train~2", 0, kTrace);
  for (int start = 0; start < 2; ++start, spool.open()) {
    const auto second = spool.store->job("train~2");
    REQUIRE(second);
    CHECK(second->owner_uid == 7);
    CHECK(second->settings.deadline == seconds(60));
    CHECK(second->settings.retention == seconds(600));
    CHECK_FALSE(second->settings.world_size);
  }
}

TEST_CASE("the runs of a name have one epoch, which no deletion lowers and the last one raises") {
  Spool spool("run_epoch");
  Asking ask = spool.ask();
  ask.put("train", 0, kTrace);
  ask.put("train~2", 0, "{}");
  CHECK(ask.raise_epoch("train~2").value.epoch >= 1);
  for (const char* job : {"train", "train~2", "train~3"}) CHECK(spool.store->epoch_of(job) == 1);
  CHECK(spool.store->job("train")->epoch == 1);
  CHECK(ask.delete_job("train").refusal == Refusal::none);
  CHECK(spool.store->epoch_of("train") == 1);
  spool.open();
  CHECK(spool.store->epoch_of("train") == 1);
  CHECK(spool.ask().delete_job("train~2").refusal == Refusal::none);
  CHECK(spool.store->epoch_of("train") == 2);
  spool.open();
  for (const char* job : {"train", "train~2"}) CHECK(spool.store->epoch_of(job) == 2);
}

TEST_CASE("an epoch that was raised in a run counts after that run has gone, and is raised further") {
  Spool spool("run_epoch_raised");
  Asking ask = spool.ask();
  ask.put("train", 0, kTrace);
  ask.put("train~2", 0, "{}");
  for (int i = 0; i < 3; ++i) ask.raise_epoch("train");
  ask.delete_job("train");
  CHECK(spool.store->epoch_of("train") == 3);
  ask.raise_epoch("train~2");
  CHECK(spool.store->epoch_of("train") == 4);
}

TEST_CASE("the owner of a name is that of all its runs, whichever of them says so") {
  Spool spool("run_owner");
  Asking ask = spool.ask();
  ask.put("train", 0, kTrace);
  ask.put("train~2", 0, "{}");
  JobSettings settings;
  settings.owner_uid = 7;
  ask.put_job("train~2", settings);
  for (int start = 0; start < 2; ++start, spool.open()) {
    for (const char* job : {"train", "train~2"}) {
      CHECK(spool.store->job(job)->owner_uid == 7);
      CHECK(spool.store->job_in_brief(job)->owner_uid == 7);
    }
  }
}

TEST_CASE("another owner of a name ends all tokens that the one before has of it") {
  Spool spool("run_other_owner");
  Asking ask = spool.ask();
  ask.put("train", 0, kTrace);
  JobSettings settings;
  settings.owner_uid = 7;
  ask.put_job("train", settings);
  ask.put("train~2", 0, "{}");
  ask.raise_epoch("train");
  const uint32_t raised = ask.raise_epoch("train").value.epoch;
  settings.owner_uid = 8;
  ask.put_job("train~2", settings);
  for (const char* job : {"train", "train~2"}) {
    CHECK(spool.store->job(job)->owner_uid == 8);
    CHECK(spool.store->job(job)->epoch == raised + 1);
  }
}

TEST_CASE("files, open uploads and the bytes of nobody in particular are bounded over all runs of a name") {
  Spool spool("run_bounds");
  spool.options.limits.files_per_job = 3;
  spool.options.limits.open_uploads = 6;
  spool.options.limits.largest_user = 1000;
  spool.open();
  Asking ask = spool.ask();
  SECTION("files") {
    ask.put("train", 0, kTrace);
    ask.put("train~2", 0, "{}");
    ask.put("train~3", 0, "[]");
    CHECK(ask.create(upload_of("train~4", 0, 10)).refusal == Refusal::quota);
    CHECK(ask.create(upload_of("other", 0, 10)).refusal == Refusal::none);
  }
  SECTION("open uploads") {
    for (const char* job : {"train", "train~2", "train~3"}) {
      CHECK(ask.create(upload_of(job, 0, 10)).refusal == Refusal::none);
    }
    CHECK(ask.create(upload_of("train~3", 1, 10)).refusal == Refusal::quota);
    spool.options.limits.files_per_job = 100;
    spool.store->use(spool.options.limits, spool.options.retention);
    CHECK(ask.create(upload_of("train~4", 0, 10)).refusal == Refusal::too_many);
    CHECK(ask.create(upload_of("other", 0, 10)).refusal == Refusal::none);
  }
  SECTION("bytes") {
    NewUpload first = upload_of("train", 0, 600), second = upload_of("train~2", 0, 600);
    first.uid = second.uid = 0;
    CHECK(ask.create(first).refusal == Refusal::none);
    CHECK(ask.create(second).refusal == Refusal::quota);
    second.metadata.job = "other";
    CHECK(ask.create(second).refusal == Refusal::none);
  }
}

}  // namespace
}  // namespace skewscope::gather
