// A manifest that is damaged, and what takes its place.
#include <sqlite3.h>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include "memory_disk.h"
#include "model.h"
#include "skewscope/gather.h"
#include "spool.h"

namespace skewscope::gather {
namespace {

using test::Asking;
using test::has_file_in;
using test::kTrace;
using test::MemoryDisk;
using test::overwrite;
using test::problems_of;
using test::Spool;
using test::Survives;
using test::upload_of;

TEST_CASE("a damaged manifest is moved aside, and what the folders hold is taken up") {
  Spool spool("damaged");
  spool.ask().put("train", 0, kTrace);
  spool.ask().put("train", 1, "{}");
  spool.close();
  std::filesystem::remove_all(spool.path("backup"));
  SECTION("bytes in its middle are others") { overwrite(spool.path("gather.sqlite"), 16, std::string(20000, 'x')); }
  SECTION("its format is one that SQLite does not know") { overwrite(spool.path("gather.sqlite"), 44, "----"); }
  SECTION("its header says that it may only be read") { overwrite(spool.path("gather.sqlite"), 18, "?"); }
  SECTION("a table is missing") {
    sqlite3* database = nullptr;
    sqlite3_open(spool.path("gather.sqlite").c_str(), &database);
    CHECK(sqlite3_exec(database, "DROP TABLE report", nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(database);
  }
  SECTION("a row's key has changed, so that rows are out of order") {
    const Digest digest = sha256(kTrace);
    const std::string rank_0 =
        "train" + std::string(1, static_cast<char>(kTrace.size())) + std::string(digest.begin(), digest.end());
    std::ifstream file(spool.path("gather.sqlite"), std::ios::binary);
    const size_t at = std::string(std::istreambuf_iterator<char>(file), {}).find(rank_0);
    REQUIRE(at != std::string::npos);
    overwrite(spool.path("gather.sqlite"), static_cast<std::streamoff>(at), "zrain");
  }
  SECTION("it is empty") { std::filesystem::resize_file(spool.path("gather.sqlite"), 0); }
  SECTION("it is not there") { std::filesystem::remove(spool.path("gather.sqlite")); }
  spool.open();
  REQUIRE(spool.error.empty());
  CHECK(spool.ask().content("train", 0) == kTrace);
  CHECK(spool.ask().content("train", 1) == "{}");
  CHECK(spool.store->job("train")->arrived == 2);
  CHECK(spool.store->job("train")->epoch > 0);  // tokens of before are refused
  CHECK(spool.ask().put("train", 2, kTrace).value.complete);
  CHECK(problems_of(spool).empty());
}

TEST_CASE("a damaged manifest comes back from its newest copy, with the files that came after") {
  Spool spool("backup");
  Asking ask = spool.ask();
  ask.put("train", 0, kTrace);
  ask.raise_epoch("train");
  REQUIRE(test::eventually([&] { return has_file_in(spool.path("backup")); }));
  spool.clock += 25 * 3600;
  const auto newer = spool.path("backup/gather-001700090000.sqlite");
  REQUIRE(test::eventually([&] { return std::filesystem::exists(newer); }));
  ask.put("train", 1, "{}");
  const uint32_t revoked = ask.raise_epoch("train").value.epoch;
  CHECK(ask.raise_epoch("train").value.epoch == revoked + 1);
  spool.close();
  overwrite(spool.path("gather.sqlite"), 0, std::string(4096, 'x'));
  spool.open();
  REQUIRE(spool.error.empty());
  CHECK(spool.store->job("train")->epoch > revoked + 1);  // the copy has missed two ends of tokens
  CHECK(spool.store->job("train")->owner_uid == 1000);
  CHECK(spool.ask().content("train", 0) == kTrace);
  CHECK(spool.ask().content("train", 1) == "{}");
  CHECK(problems_of(spool).empty());
}

// Its manifest is damaged; the copy of it knows rank 0 and the job "gone", but neither that rank 0 was replaced since
// nor rank 1 nor that the job was deleted.
std::unique_ptr<MemoryDisk> with_an_older_copy() {
  MemoryDisk disk;
  {
    const auto store = std::move(Store::open(test::memory_options(disk))).value();
    Asking(*store).put("train", 0, "first");
    Asking(*store).put("gone", 0, "{}");
  }
  int from = -1, to = -1;
  std::string manifest(1 << 20, '\0');
  size_t got = 0;
  REQUIRE(disk.open("gather.sqlite", false, from) == 0);
  REQUIRE(disk.read(from, manifest.data(), manifest.size(), 0, got) == 0);
  REQUIRE(disk.create("backup/gather-000000000001.sqlite", to) == 0);
  REQUIRE(disk.write(to, std::string_view(manifest).substr(0, got), 0) == 0);
  {
    const auto store = std::move(Store::open(test::memory_options(disk))).value();
    Asking ask(*store);
    NewUpload other = upload_of("train", 0, 9);
    other.metadata.replace = true;
    ask.put(other, "secondary");
    ask.put("train", 1, "after the copy");
    ask.delete_job("gone");
    const std::string output = ask.begin_report("train").value.output;
    const std::string folder = output.substr(std::string(MemoryDisk::kSpool).size() + 1);
    REQUIRE(disk.make_folder(folder) == 0);
    for (const char* name : {"/report.json", "/COMPLETE"}) disk.make_file(folder + name, "{}");
    REQUIRE(ask.end_report("train", 1, 0).refusal == Refusal::none);
  }
  disk.flip_bit("gather.sqlite", 100);
  return disk.after_power_loss(Survives::everything, 0);
}

TEST_CASE("a restore that is cut short at any of its steps is a restore to the next start") {
  const auto damaged = with_an_older_copy();
  uint64_t step = 0;
  for (bool cut = true; cut;) {
    const auto disk = damaged->after_power_loss(Survives::everything, 0);
    disk->lose_power_at(++step);
    { const auto store = Store::open(test::memory_options(*disk)); }
    cut = !disk->has_power();
    const auto left = disk->after_power_loss(step % 2 == 0 ? Survives::nothing : Survives::some, 7);
    auto opened = Store::open(test::memory_options(*left));
    INFO("step " << step << (opened.ok() ? "" : ": " + opened.error().message));
    REQUIRE(opened.ok());
    const auto store = std::move(opened).value();
    CHECK(Asking(*store).content("train", 0) == "secondary");
    CHECK(Asking(*store).content("train", 1) == "after the copy");
    CHECK(store->job("train")->report_generation == 1);
    CHECK(store->epoch_of("train") >= 1'000'000'000);  // tokens of before count no more
    CHECK(store->epoch_of("gone") >= 1'000'000'000);
    CHECK(store->epoch_of("never seen") >= 1'000'000'000);
  }
  CHECK(step > 10);
}

TEST_CASE("a copy that says a job was being deleted does not delete the job that has its name now") {
  Spool spool("deleting");
  spool.ask().put("train", 0, kTrace);
  spool.close();
  std::filesystem::remove_all(spool.path("backup"));
  std::filesystem::create_directories(spool.path("backup"));
  const auto copy = spool.path("backup/gather-999999999999.sqlite");
  std::filesystem::copy_file(spool.path("gather.sqlite"), copy);
  sqlite3* database = nullptr;
  sqlite3_open(copy.c_str(), &database);
  CHECK(sqlite3_exec(database, "UPDATE job SET deleting = 1; PRAGMA journal_mode=DELETE", nullptr, nullptr, nullptr) ==
        SQLITE_OK);
  sqlite3_close(database);
  overwrite(spool.path("gather.sqlite"), 0, std::string(4096, 'x'));
  spool.open();
  REQUIRE(spool.error.empty());
  CHECK(spool.ask().content("train", 0) == kTrace);
}

TEST_CASE("a disk that fails while a copy is put in place does not make an older copy the manifest") {
  struct Disk : MemoryDisk {
    bool fails = false;
    int create(const std::string& path, int& file) override {
      return fails && path == "restored.tmp" ? EIO : MemoryDisk::create(path, file);
    }
    int sync_folder(const std::string& path) override {
      PathInfo info;
      return fails && MemoryDisk::info("gather.sqlite", info) != 0 ? EIO : MemoryDisk::sync_folder(path);
    }
  } disk;
  const auto copy_to = [&](const std::string& path) {
    std::string bytes(1 << 20, '\0');
    size_t got = 0;
    int file = -1;
    REQUIRE(disk.open("gather.sqlite", false, file) == 0);
    REQUIRE(disk.read(file, bytes.data(), bytes.size(), 0, got) == 0);
    disk.close(file);
    disk.make_file(path, bytes.substr(0, got));
  };
  for (const int ranks : {4, 8}) {
    {
      const auto store = std::move(Store::open(test::memory_options(disk))).value();
      JobSettings settings;
      settings.world_size = ranks;
      Asking(*store).put_job("train", settings);
    }
    copy_to("backup/gather-00000000000" + std::to_string(ranks) + ".sqlite");
  }
  disk.flip_bit("gather.sqlite", 100);
  disk.fails = true;
  for (int start = 0; start < 3; ++start) CHECK_FALSE(Store::open(test::memory_options(disk)).ok());
  disk.fails = false;
  const auto store = std::move(Store::open(test::memory_options(disk))).value();
  CHECK(store->job("train")->settings.world_size == 8);
}

TEST_CASE("a restored manifest takes up what replaced a file since the copy was made, be it of the same length") {
  Spool spool("replaced");
  for (int rank = 0; rank < 3; ++rank) spool.ask().put("train", rank, kTrace + std::to_string(rank));
  spool.close();
  std::filesystem::remove_all(spool.path("backup"));
  std::filesystem::create_directories(spool.path("backup"));
  std::filesystem::copy_file(spool.path("gather.sqlite"), spool.path("backup/gather-999999999999.sqlite"));
  spool.open();
  NewUpload other = upload_of("train", 1, {});
  other.metadata.replace = true;
  CHECK(spool.ask().put(other, kTrace + "!").value.complete);
  const uint64_t arrivals = spool.store->job("train")->arrivals;
  spool.close();
  overwrite(spool.path("gather.sqlite"), 0, std::string(4096, 'x'));
  spool.open();
  REQUIRE(spool.error.empty());
  CHECK(spool.ask().content("train", 0) == kTrace + "0");
  CHECK(spool.ask().content("train", 1) == kTrace + "!");
  CHECK(spool.store->job("train")->arrivals == arrivals);  // its report is made again
  CHECK(spool.store->figures().lost_files == 0);
  CHECK(problems_of(spool).empty());
}

TEST_CASE("whatever bit of the manifest is flipped, the daemon starts and takes uploads") {
  MemoryDisk made;
  {
    const auto store = std::move(Store::open(test::memory_options(made))).value();
    for (int rank = 0; rank < 20; ++rank) Asking(*store).put("train", rank, kTrace + std::to_string(rank));
    Asking(*store).create(upload_of("train", 20, 8));
  }
  PathInfo manifest;
  REQUIRE(made.info("gather.sqlite", manifest) == 0);
  for (uint64_t byte = 0; byte < manifest.size; byte += byte < 200 ? 7 : 397) {
    const auto disk = made.after_power_loss(Survives::everything, 0);
    disk->flip_bit("gather.sqlite", byte);
    auto opened = Store::open(test::memory_options(*disk));
    INFO("byte " << byte << (opened.ok() ? "" : ": " + opened.error().message));
    const bool foreign = (byte >= 60 && byte < 64) || (byte >= 68 && byte < 72);  // user_version, application_id
    CHECK(opened.ok() != foreign);
    if (!opened.ok()) continue;
    const auto store = std::move(opened).value();
    CHECK(Asking(*store).put("train", 21, kTrace).value.complete);
  }
}

TEST_CASE("a manifest of an unknown format is refused and left as it is") {
  Spool spool("format");
  spool.close();
  sqlite3* database = nullptr;
  sqlite3_open(spool.path("gather.sqlite").c_str(), &database);
  sqlite3_exec(database, "PRAGMA user_version=99", nullptr, nullptr, nullptr);
  sqlite3_close(database);
  spool.open();
  CHECK(spool.error.find("another format") != std::string::npos);
  CHECK(std::filesystem::exists(spool.path("gather.sqlite")));
}

}  // namespace
}  // namespace skewscope::gather
