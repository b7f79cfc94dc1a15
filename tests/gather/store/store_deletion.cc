// Jobs that are deleted: what goes, what is left behind of them, and how they come back.
#include <sqlite3.h>
#include <catch2/catch.hpp>

#include <fstream>
#include <future>

#include "memory_disk.h"
#include "model.h"
#include "skewscope/gather.h"
#include "skewscope/protocol/names.h"
#include "spool.h"

namespace skewscope::gather {
namespace {

using test::Asking;
using test::kTrace;
using test::Spool;
using test::upload_of;

TEST_CASE("a deleted job is gone with its files and uploads, and its name is free") {
  Spool spool("deleted");
  Asking ask = spool.ask();
  ask.put("train", 0, kTrace);
  const std::string id = ask.create(upload_of("train", 1, 4)).value.id;
  CHECK(ask.delete_job("train").refusal == Refusal::none);
  CHECK_FALSE(spool.store->job("train"));
  CHECK(ask.state(id).refusal == Refusal::unknown);
  CHECK(ask.content("train", 0).empty());
  CHECK_FALSE(std::filesystem::exists(spool.path("jobs/train")));
  CHECK(ask.put("train", 0, "{}").value.complete);
  CHECK(spool.store->job("train")->arrivals == 1);
  CHECK(test::eventually([&] { return std::filesystem::is_empty(spool.path("trash")); }));
}

TEST_CASE("a deleted job lies in the trash for a while, and can be put back as long as no other has its name") {
  Spool spool("restored");
  spool.options.retention.trash_age = std::chrono::hours(24);
  spool.open();
  Asking ask = spool.ask();
  ask.put("train", 0, kTrace);
  ask.put("train", 1, "{}");
  CHECK(ask.delete_job("train").refusal == Refusal::none);
  CHECK_FALSE(restore_job(spool.options.spool, "train").ok());  // the daemon has the spool
  usleep(600'000);                                              // some sweeps
  SECTION("put back") {
    spool.close();
    REQUIRE(restore_job(spool.options.spool, "train").ok());
    spool.open();
    REQUIRE(spool.store->job("train"));
    CHECK(spool.ask().content("train", 0) == kTrace);
    CHECK(spool.ask().content("train", 1) == "{}");
    CHECK(spool.store->job("train")->arrivals > spool.store->job("train")->reported_arrivals);
    CHECK(spool.store->job("train")->epoch > 0);  // tokens of before do not count
    CHECK_FALSE(std::filesystem::exists(spool.path("jobs/train/restored")));
    CHECK_FALSE(restore_job(spool.options.spool, "train").ok());
  }
  SECTION("another has its name") {
    ask.put("train", 0, "{}");
    spool.close();
    CHECK_FALSE(restore_job(spool.options.spool, "train").ok());
    spool.open();
    CHECK(spool.ask().content("train", 0) == "{}");
  }
  SECTION("there is none") {
    spool.close();
    CHECK_FALSE(restore_job(spool.options.spool, "other").ok());
  }
}

TEST_CASE("a job begins behind the epochs of those of its name that were deleted, after a start, too") {
  Spool spool("epochs");
  Asking ask = spool.ask();
  CHECK(spool.store->epoch_of("train") == 0);
  ask.put("train", 0, kTrace);
  CHECK(ask.raise_epoch("train").value.epoch == 1);
  CHECK(spool.store->epoch_of("train") == 1);
  ask.delete_job("train");
  CHECK(spool.store->epoch_of("train") == 2);
  spool.open();
  CHECK(spool.store->epoch_of("train") == 2);
  SECTION("made by an upload") { spool.ask().put("train", 0, kTrace); }
  SECTION("made by its settings") { spool.ask().put_job("train", {}); }
  CHECK(spool.store->job("train")->epoch == 2);
  spool.open();
  CHECK(spool.store->job("train")->epoch == 2);
  spool.ask().delete_job("train");
  CHECK(spool.store->epoch_of("train") == 3);
  CHECK(spool.store->epoch_of("other") == 0);
  CHECK(spool.ask().raise_epoch("other").refusal == Refusal::unknown);
}

TEST_CASE("the epoch of a deleted job is forgotten once no token can be as old") {
  Spool spool("epoch_forgotten");
  spool.ask().put("train", 0, kTrace);
  spool.ask().delete_job("train");
  CHECK(spool.store->epoch_of("train") == 1);
  spool.clock += std::chrono::seconds(kLongestTokenLife).count() - 24 * 3600;
  usleep(600'000);  // the day's copy of the manifest
  CHECK(spool.store->epoch_of("train") == 1);
  spool.clock += 3 * 24 * 3600;
  CHECK(test::eventually([&] { return spool.store->epoch_of("train") == 0; }));
}

TEST_CASE("a deletion that a crash cut short leaves the job's epoch behind") {
  test::MemoryDisk whole;
  StoreOptions options = test::memory_options(whole);
  {
    const auto store = std::move(Store::open(options)).value();
    Asking(*store).put("train", 0, kTrace);
  }
  for (uint64_t step = 1; step < 60; ++step) {
    const auto disk = whole.after_power_loss(test::Survives::everything, 1);
    {
      const auto store = std::move(Store::open(test::memory_options(*disk))).value();
      disk->lose_power_at(disk->steps() + step);
      Asking(*store).delete_job("train");
    }
    const auto after = disk->after_power_loss(test::Survives::nothing, 1);
    const auto store = std::move(Store::open(test::memory_options(*after))).value();
    INFO("step " << step);
    CHECK(store->epoch_of("train") == (store->job("train") ? 0 : 1));
  }
}

TEST_CASE("a job that is deleted while its first upload begins goes, and another of its name can come") {
  Spool spool("deleted_at_once");
  for (int round = 0; round < 20; ++round) {
    std::promise<Refusal> made, gone;
    spool.store->create(upload_of("train", 0, 10),
                        [&](const Outcome<UploadState>& outcome) { made.set_value(outcome.refusal); });
    spool.store->delete_job("train", "10.0.0.1",
                            [&](const Outcome<Done>& outcome) { gone.set_value(outcome.refusal); });
    const Refusal begun = made.get_future().get();
    CHECK((begun == Refusal::none || begun == Refusal::unknown));
    CHECK(gone.get_future().get() == Refusal::none);
    CHECK(!spool.store->job("train"));
    CHECK(spool.store->figures().open_uploads == 0);
  }
  CHECK(spool.ask().put("train", 0, kTrace).refusal == Refusal::none);
}

TEST_CASE("a spool from before there were epochs of deleted jobs is taken over") {
  Spool spool("before_epochs");
  spool.ask().put("train", 0, kTrace);
  spool.close();
  sqlite3* database = nullptr;
  sqlite3_open(spool.path("gather.sqlite").c_str(), &database);
  CHECK(sqlite3_exec(database, "DROP TABLE removed_job", nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(database);
  CHECK(check_spool(spool.options.spool, false).value().problems.empty());
  spool.open();
  REQUIRE(spool.error.empty());
  spool.ask().delete_job("train");
  spool.open();
  CHECK(spool.store->epoch_of("train") == 1);
}

}  // namespace
}  // namespace skewscope::gather
