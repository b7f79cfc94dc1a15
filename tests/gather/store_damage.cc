// Failing disks, full disks, damaged spools.
#include <sqlite3.h>
#include <sys/mount.h>
#include <catch2/catch.hpp>

#include <fstream>

#include "memory_disk.h"
#include "model.h"
#include "skewscope/gather.h"
#include "spool.h"
#include "src/gather/recovery.h"

namespace skewscope::gather {
namespace {

using test::Asking;
using test::kTrace;
using test::MemoryDisk;
using test::problems_of;
using test::Spool;
using test::Survives;
using test::upload_of;

void overwrite(const std::filesystem::path& path, std::streamoff offset, const std::string& bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(offset);
  file << bytes;
}

void write_file(MemoryDisk& disk, const std::string& path, const std::string& bytes) {
  int file = -1;
  REQUIRE(disk.create(path, file) == 0);
  REQUIRE(disk.write(file, bytes, 0) == 0);
  disk.close(file);
}

bool has_file_in(const std::filesystem::path& folder) {
  std::error_code missing;
  const std::filesystem::directory_iterator entries(folder, missing);
  return !missing && entries != std::filesystem::directory_iterator();
}

TEST_CASE("after a failed flush nothing is promised any more, and the daemon is told once") {
  MemoryDisk disk;
  StoreOptions options = test::memory_options(disk);
  int failures = 0;
  options.failed = [&](const std::string&) { ++failures; };
  const auto store = std::move(Store::open(options)).value();
  Asking ask(*store);
  const std::string id = ask.create(upload_of("train", 0, 8)).value.id;
  disk.fail_sync(true);
  CHECK(ask.patch(id, 0, "abcd").refusal == Refusal::unavailable);
  disk.fail_sync(false);  // a second flush that succeeds says nothing about the first one's bytes
  CHECK(ask.patch(id, 0, "abcd").refusal == Refusal::unavailable);
  CHECK(ask.put("train", 1, kTrace).refusal == Refusal::unavailable);
  CHECK(ask.put_job("train", {}).refusal == Refusal::unavailable);
  CHECK(failures == 1);
  CHECK_FALSE(store->healthy());
}

TEST_CASE("a full disk refuses and goes on: what was reserved is finished, the rest when there is room again") {
  MemoryDisk disk;
  StoreOptions options = test::memory_options(disk);
  options.limits.hard_disk = options.limits.soft_disk = 1.01;
  int failures = 0;
  options.failed = [&](const std::string&) { ++failures; };
  const auto store = std::move(Store::open(options)).value();
  Asking ask(*store);
  const std::string content(100'000, 'x');
  const std::string reserved = ask.create(upload_of("train", 0, content.size())).value.id;
  const std::string deferred = ask.create(upload_of("train", 1, std::nullopt)).value.id;
  disk.limit(1);
  CHECK(ask.create(upload_of("train", 2, content.size())).refusal == Refusal::no_space);
  CHECK(ask.patch(deferred, 0, content).refusal == Refusal::no_space);
  disk.limit(64 << 20);
  CHECK(ask.patch(reserved, 0, content).value.complete);
  CHECK(ask.state(deferred).value.offset == 0);
  CHECK(ask.patch(deferred, 0, content).value.offset == content.size());
  CHECK(failures == 0);
}

TEST_CASE("while the manifest lives on its ballast nothing takes disk that was not reserved, and room brings it back") {
  MemoryDisk disk;
  StoreOptions options = test::memory_options(disk);
  options.limits.hard_disk = options.limits.soft_disk = 1.01;
  const auto store = std::move(Store::open(options)).value();
  Asking ask(*store);
  const std::string content(100'000, 'x');
  const std::string reserved = ask.create(upload_of("train", 0, content.size())).value.id;
  const std::string deferred = ask.create(upload_of("train", 1, std::nullopt)).value.id;
  const auto used = [&] {
    DiskSpace space;
    disk.space(space);
    return space.total - space.available;
  };
  const uint64_t in_use = used();
  disk.limit(in_use);
  CHECK(ask.patch(reserved, 0, content.substr(0, 1000)).value.offset == 1000);
  REQUIRE(used() < in_use - (8 << 20));
  CHECK(ask.create(upload_of("train", 2, 1000)).refusal == Refusal::no_space);
  CHECK(ask.patch(deferred, 0, content).refusal == Refusal::no_space);
  CHECK(test::answer_of<std::shared_ptr<Writer>>([&](auto done) {
          store->append(deferred, 0, 1000, std::nullopt, nullptr, done);
        }).refusal == Refusal::no_space);
  CHECK(ask.patch(reserved, 1000, content.substr(1000)).value.complete);
  disk.limit(in_use + (8 << 20));
  CHECK(ask.create(upload_of("train", 2, 1000)).refusal == Refusal::none);
  CHECK(used() > in_use);
}

TEST_CASE("a full disk in the middle of a commit puts the file back, and the last request can be sent again") {
  MemoryDisk disk;
  StoreOptions options = test::memory_options(disk);
  options.limits.hard_disk = options.limits.soft_disk = 1.01;
  const auto store = std::move(Store::open(options)).value();
  Asking ask(*store);
  const std::string id = ask.create(upload_of("train", 0, 4)).value.id;
  disk.limit(1);
  REQUIRE(disk.remove("ballast") == 0);
  CHECK(ask.patch(id, 0, "abcd").refusal == Refusal::no_space);
  disk.limit(0);
  const uint64_t offset = ask.state(id).value.offset;
  CHECK(ask.patch(id, offset, std::string("abcd").substr(offset)).value.complete);
  CHECK(ask.content("train", 0) == "abcd");
}

TEST_CASE("a user who is not root opens a part again that was made immutable, and goes on with it") {
  if (geteuid() != 0) return;  // is one already: all tests of the daemon run as this user
  struct Unprivileged {
    Unprivileged() { REQUIRE((setegid(65534) == 0 && seteuid(65534) == 0)); }
    ~Unprivileged() {
      seteuid(0);
      setegid(0);
    }
  };
  const skewscope::test::Folder folder("immutable");
  std::filesystem::create_directories(folder.path / "in");
  REQUIRE(chown(folder.path.c_str(), 65534, 65534) == 0);
  REQUIRE(chown((folder.path / "in").c_str(), 65534, 65534) == 0);
  const auto files = std::move(open_file_system(folder.path.string())).value();
  const Unprivileged user;
  int file = -1;
  REQUIRE(files->create("in/a.part", file) == 0);
  REQUIRE(files->write(file, "abcd", 0) == 0);
  REQUIRE(files->make_immutable(file) == 0);
  files->close(file);
  REQUIRE(files->open("in/a.part", true, file) == 0);
  CHECK(files->write(file, "ef", 4) == 0);
  files->close(file);
}

TEST_CASE("a folder that finds the disk full gets the ballast, so that a reserved upload ends") {
  struct Disk : MemoryDisk {
    std::atomic<bool> full = false;
    int make_folder(const std::string& path) override {
      PathInfo ballast;
      const bool none = full && info("ballast", ballast) == 0;
      return none ? ENOSPC : MemoryDisk::make_folder(path);
    }
  } disk;
  StoreOptions options = test::memory_options(disk);
  const auto store = std::move(Store::open(options)).value();
  Asking ask(*store);
  const std::string id = ask.create(upload_of("train", 0, 4)).value.id;
  disk.full = true;
  CHECK(ask.patch(id, 0, "abcd").value.complete);
}

TEST_CASE("what a part had reserved is still its own when bytes of it were cut off, before and after a restart") {
  MemoryDisk disk;
  StoreOptions options = test::memory_options(disk);
  auto store = std::move(Store::open(options)).value();
  const std::string id = Asking(*store).create(upload_of("train", 0, 3000)).value.id;
  const uint64_t reserved = disk.reserved("in/" + id + ".part");
  CHECK(reserved == 3000);
  CHECK(Asking(*store).patch(id, 0, std::string(1000, 'a')).value.offset == 1000);
  CHECK(Asking(*store).patch(id, 1000, std::string(1000, 'b'), sha256("another")).refusal == Refusal::wrong_digest);
  CHECK(disk.reserved("in/" + id + ".part") == 3000);
  store.reset();
  int part = -1;
  REQUIRE(disk.open("in/" + id + ".part", true, part) == 0);
  REQUIRE(disk.write(part, std::string(500, 'c'), 1000) == 0);  // of a writer that was killed
  disk.close(part);
  store = std::move(Store::open(options)).value();
  CHECK(disk.reserved("in/" + id + ".part") == 3000);
  CHECK(Asking(*store).patch(id, 1000, std::string(2000, 'd')).value.complete);
}

TEST_CASE("a file or an upload of which a start can learn nothing stays with its job") {
  struct Disk : MemoryDisk {
    bool fails = false;
    int info(const std::string& path, PathInfo& info) override {
      const bool hidden = path.find("r00000") != std::string::npos || path.ends_with(".part");
      return fails && hidden ? EIO : MemoryDisk::info(path, info);
    }
  } disk;
  std::string id;
  StoreOptions options = test::memory_options(disk);
  {
    const auto store = std::move(Store::open(options)).value();
    for (int rank = 0; rank < 2; ++rank) Asking(*store).put("train", rank, kTrace);
    id = Asking(*store).create(upload_of("train", 2, 8)).value.id;
    CHECK(Asking(*store).patch(id, 0, "{12").value.offset == 3);
  }
  disk.fails = true;
  { CHECK(std::move(Store::open(options)).value()->job("train")->arrived == 2); }
  disk.fails = false;
  const auto store = std::move(Store::open(options)).value();
  CHECK(Asking(*store).content("train", 0) == kTrace);
  CHECK(Asking(*store).content("train", 1) == kTrace);
  CHECK(Asking(*store).patch(id, 3, "3456}").value.complete);
}

TEST_CASE("bytes that a network disk does not give now are not damaged: the start fails, and the next finds all") {
  struct Disk : MemoryDisk {
    int error = 0, part = -1;
    int open(const std::string& path, bool writable, int& file) override {
      const int opened = MemoryDisk::open(path, writable, file);
      if (path.ends_with(".part")) part = file;
      return opened;
    }
    int read(int file, char* buffer, size_t bytes, uint64_t offset, size_t& got) override {
      return error != 0 && file == part ? error : MemoryDisk::read(file, buffer, bytes, offset, got);
    }
  } disk;
  StoreOptions options = test::memory_options(disk);
  std::string id;
  {
    const auto store = std::move(Store::open(options)).value();
    id = Asking(*store).create(upload_of("train", 2, 8)).value.id;
    CHECK(Asking(*store).patch(id, 0, "{12").value.offset == 3);
  }
  for (const int error : {ESTALE, ETIMEDOUT, EACCES, ENOTCONN}) {
    disk.error = error;
    CHECK_FALSE(Store::open(options).ok());
  }
  disk.error = 0;
  const auto store = std::move(Store::open(options)).value();
  CHECK(Asking(*store).patch(id, 3, "3456}").value.complete);
}

TEST_CASE("a spool that may not be looked at now is no damaged one: the start fails, and the next finds all") {
  struct Disk : MemoryDisk {
    int error = 0;
    std::string hidden;
    int info(const std::string& path, PathInfo& info) override {
      return path == hidden && error != 0 ? error : MemoryDisk::info(path, info);
    }
  } disk;
  StoreOptions options = test::memory_options(disk);
  { CHECK(Asking(*std::move(Store::open(options)).value()).put("train", 0, kTrace).value.complete); }
  disk.hidden = "jobs/train/ranks/c0000/r00000.json";
  for (const int error : {EACCES, EPERM, ESTALE, ETIMEDOUT, ENOTCONN, EHOSTDOWN, ENOMEM}) {
    disk.error = error;
    const auto opened = Store::open(options);
    REQUIRE_FALSE(opened.ok());
    CHECK_THAT(opened.error().message, Catch::Contains(disk.hidden));
  }
  disk.error = 0;
  const auto store = std::move(Store::open(options)).value();
  CHECK(Asking(*store).content("train", 0) == kTrace);
  CHECK(store->figures().lost_files == 0);
}

TEST_CASE("a file that was to be replaced and cannot be put back ends the daemon, and the next start puts it back") {
  struct Disk : MemoryDisk {
    bool full = false;
    int rename(const std::string& from, const std::string& to, bool replace) override {
      const bool grows = to.find("/ranks/") != std::string::npos;
      return full && grows ? ENOSPC : MemoryDisk::rename(from, to, replace);
    }
  } disk;
  StoreOptions options = test::memory_options(disk);
  int failures = 0;
  options.failed = [&](const std::string&) { ++failures; };
  NewUpload other = upload_of("train", 0, 4);
  other.metadata.replace = other.one_request = true;
  {
    const auto store = std::move(Store::open(options)).value();
    Asking ask(*store);
    ask.put("train", 0, "abcd");
    const std::string id = ask.create(other).value.id;
    disk.full = true;
    CHECK(ask.patch(id, 0, "efgh").refusal != Refusal::none);
    CHECK(failures == 1);
    CHECK(ask.remove(id).refusal == Refusal::unavailable);
  }
  CHECK_FALSE(Store::open(options).ok());
  disk.full = false;
  const auto again = std::move(Store::open(options)).value();
  CHECK(Asking(*again).content("train", 0) == "abcd");
  CHECK(again->figures().lost_files == 0);
}

TEST_CASE("a file that was being replaced is put back though something that nobody knows has its place") {
  int put_back = 0;
  for (uint64_t step = 1; step < 60; ++step) {
    MemoryDisk disk;
    {
      const auto store = std::move(Store::open(test::memory_options(disk))).value();
      Asking(*store).put("train", 0, "{1234}");
      disk.lose_power_at(disk.steps() + step);
      NewUpload other = upload_of("train", 0, 6);
      other.metadata.replace = true;
      Asking(*store).put(other, "{5678}");
      disk.lose_power();
    }
    const auto left = disk.after_power_loss(Survives::everything, 0);
    PathInfo info;
    const std::string path = "jobs/train/ranks/c0000/r00000.json";
    if (left->info(path, info) == 0) continue;
    ++put_back;
    write_file(*left, path, "{----}");
    const auto store = std::move(Store::open(test::memory_options(*left))).value();
    CHECK(Asking(*store).content("train", 0) == "{1234}");
  }
  CHECK(put_back > 0);
}

TEST_CASE("what replaces in one request and finds the disk full at any point leaves nothing, and the file stays") {
  NewUpload other = upload_of("train", 0, 4);
  other.metadata.replace = other.one_request = true;
  int refused = 0;
  for (uint64_t room = 1'000; room < 120'000; room += 1'000) {
    MemoryDisk disk;
    StoreOptions options = test::memory_options(disk);
    options.limits.hard_disk = options.limits.soft_disk = 1.01;
    {
      const auto store = std::move(Store::open(options)).value();
      Asking ask(*store);
      ask.put("train", 0, "abcd");
      const std::string id = ask.create(other).value.id;
      REQUIRE(disk.remove("ballast") == 0);
      disk.limit(room);
      const bool full = ask.patch(id, 0, "efgh").refusal == Refusal::no_space;
      disk.limit(0);
      if (!full) continue;
      ++refused;
      CHECK(ask.remove(id).refusal == Refusal::none);
      CHECK(ask.content("train", 0) == "abcd");
    }
    {
      const auto without_power = disk.after_power_loss(Survives::nothing, 0);
      const auto after = std::move(Store::open(test::memory_options(*without_power))).value();
      CHECK(Asking(*after).content("train", 0) == "abcd");
    }
    RecoveryOptions look{};
    look.spool = MemoryDisk::kSpool;
    look.database_vfs = disk.vfs();
    look.repair = false;
    look.verify = true;
    const Recovered found = recover(disk, look);
    CHECK((found.problems.empty() && found.to_do.empty()));
    const auto again = std::move(Store::open(options)).value();
    CHECK(again->figures().lost_files == 0);
    CHECK(again->job("train")->open_uploads == 0);
  }
  CHECK(refused > 0);
}

TEST_CASE("a real file system that is full refuses and goes on") {
  test::Spool probe("tmpfs");
  probe.close();
  if (::mount("tmpfs", probe.options.spool.c_str(), "tmpfs", 0, "size=24m") != 0) {
    WARN("skipped: this user may not mount a tmpfs");
    return;
  }
  probe.open();
  const std::string content(1 << 20, 'x');
  Refusal refusal = Refusal::none;
  for (int rank = 0; rank < 16 && refusal == Refusal::none; ++rank) {
    refusal = probe.ask().put("full", rank, content + std::to_string(rank)).refusal;
  }
  CHECK(refusal == Refusal::no_space);
  CHECK(probe.ask().content("full", 0) == content + "0");
  CHECK(probe.ask().delete_job("full").refusal == Refusal::none);
  for (int i = 0; i < 200 && !std::filesystem::is_empty(probe.path("trash")); ++i) usleep(20'000);
  CHECK(probe.ask().put("next", 0, content).value.complete);
  CHECK(probe.failures == 0);
  CHECK(problems_of(probe).empty());
  CHECK(::umount(probe.options.spool.c_str()) == 0);
}

TEST_CASE("a damaged manifest is moved aside, and what the folders hold is taken up") {
  Spool spool("damaged");
  spool.ask().put("train", 0, kTrace);
  spool.ask().put("train", 1, "{}");
  spool.close();
  std::filesystem::remove_all(spool.path("backup"));
  SECTION("bytes in its middle are others") { overwrite(spool.path("gather.sqlite"), 16, std::string(20000, 'x')); }
  SECTION("its format is one that SQLite does not know") { overwrite(spool.path("gather.sqlite"), 44, "----"); }
  SECTION("a table is missing") {
    sqlite3* database = nullptr;
    sqlite3_open(spool.path("gather.sqlite").c_str(), &database);
    CHECK(sqlite3_exec(database, "DROP TABLE report", nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(database);
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
  for (int i = 0; i < 200 && !has_file_in(spool.path("backup")); ++i) usleep(20'000);
  REQUIRE(has_file_in(spool.path("backup")));
  spool.clock += 25 * 3600;
  for (int i = 0; i < 200 && !std::filesystem::exists(spool.path("backup/gather-001700090000.sqlite")); ++i) {
    usleep(20'000);
  }
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
    for (const char* name : {"/report.json", "/COMPLETE"}) write_file(disk, folder + name, "{}");
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
    write_file(disk, path, bytes.substr(0, got));
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

TEST_CASE("a file that is lost is counted, told, and can be sent again") {
  Spool spool("lost");
  spool.ask().put("train", 0, kTrace);
  spool.close();
  std::filesystem::remove(spool.path("jobs/train/ranks/c0000/r00000.json"));
  CHECK(problems_of(spool) == std::vector<std::string>{"jobs/train/ranks/c0000/r00000.json is lost"});
  spool.open();
  CHECK(spool.store->figures().lost_files == 1);
  CHECK(spool.ask().put("train", 0, kTrace).value.complete);
  CHECK(problems_of(spool).empty());
}

TEST_CASE("a flipped bit in a kept file is found by the check, and repaired by quarantine") {
  Spool spool("rot");
  spool.ask().put("train", 0, kTrace);
  spool.close();
  const auto path = spool.path("jobs/train/ranks/c0000/r00000.json");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  overwrite(path, 3, "T");
  CHECK(problems_of(spool).size() == 1);
  CHECK(problems_of(spool, true).size() == 1);
  CHECK(problems_of(spool).empty());
  CHECK(has_file_in(spool.path("quarantine/train")));
}

TEST_CASE("a flipped bit in the last segment of an open upload ends the upload") {
  Spool spool("part_rot");
  const std::string id = spool.ask().create(upload_of("train", 0, 8)).value.id;
  spool.ask().patch(id, 0, "abcd");
  spool.close();
  overwrite(spool.path("in/" + id + ".part"), 1, "B");
  spool.open();
  CHECK(spool.ask().state(id).refusal == Refusal::unknown);
  CHECK(has_file_in(spool.path("quarantine/train")));
}

TEST_CASE("what is in the spool and nobody knows is set aside; the daemon starts") {
  Spool spool("strangers");
  spool.ask().put("train", 0, kTrace);
  spool.close();
  std::ofstream(spool.path("in/0123456789abcdef0123456789abcdef.part")) << "bytes";
  std::ofstream(spool.path("in/odd")) << "bytes";
  std::ofstream(spool.path("jobs/train/ranks/c0000/r00001.json")) << "bytes";
  std::ofstream(spool.path("jobs/train/ranks/c0000/odd")) << "bytes";
  std::ofstream(spool.path("jobs/odd")) << "bytes";
  spool.open();
  REQUIRE(spool.error.empty());
  CHECK(spool.store->job("train")->arrived == 1);
  CHECK(spool.store->figures().quarantined == 3);  // of a part nobody was told: it goes
  CHECK(std::filesystem::is_empty(spool.path("in")));
}

TEST_CASE("symbolic links in the spool are not followed") {
  Spool spool("links");
  spool.ask().put("train", 0, kTrace);
  spool.close();
  const auto path = spool.path("jobs/train/ranks/c0000/r00000.json");
  std::filesystem::remove(path);
  std::filesystem::create_symlink("/etc/passwd", path);
  spool.open();
  REQUIRE(spool.error.empty());
  CHECK(spool.ask().content("train", 0).empty());
}

TEST_CASE("ten thousand files are back within seconds of a start") {
  Spool spool("many");
  spool.close();
  {
    auto opened = Manifest::open(spool.options.spool + "/gather.sqlite", nullptr, true);
    REQUIRE(opened.manifest);
    std::filesystem::create_directories(spool.path("jobs/train/ranks/c0000"));
    const auto fill = [&] {
      JobRow job;
      job.name = "train";
      opened.manifest->put(job);
      for (int rank = 0; rank < 10'000; ++rank) {
        char name[32];
        std::snprintf(name, sizeof name, "r%05d.json", rank);
        std::ofstream(spool.path("jobs/train/ranks/c0000") / name) << kTrace;
        opened.manifest->put(
            FileRow{"train", 0, rank, 1, kTrace.size(), sha256(kTrace), ".json", 0, "", "", {}, false});
      }
    };
    REQUIRE(opened.manifest->transaction(fill) == ManifestStatus::fine);
  }
  spool.open();
  REQUIRE(spool.error.empty());
  CHECK(spool.store->job("train")->arrived == 10'000);
  CHECK(spool.store->figures().recovery_seconds < 5);
}

}  // namespace
}  // namespace skewscope::gather
