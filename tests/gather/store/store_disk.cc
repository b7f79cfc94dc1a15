// Disks that fail, are full, or cannot be looked at now.
#include <seccomp.h>
#include <sys/mount.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <thread>

#include "memory_disk.h"
#include "model.h"
#include "skewscope/gather.h"
#include "spool.h"
#include "src/gather/recovery/recovery.h"

namespace skewscope::gather {
namespace {

using test::Asking;
using test::kTrace;
using test::MemoryDisk;
using test::problems_of;
using test::Survives;
using test::upload_of;

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

TEST_CASE("a kernel without openat2 opens the same paths of the spool and refuses the same") {
  const skewscope::test::Folder folder("paths");
  std::filesystem::create_directories(folder.path / "jobs/train");
  std::ofstream(folder.path / "jobs/train/file") << "x";
  std::filesystem::create_symlink("file", folder.path / "jobs/train/link");
  std::filesystem::create_symlink("train", folder.path / "jobs/other");
  const auto files = std::move(open_file_system(folder.path.string())).value();
  const auto errors = [&] {
    std::vector<int> found;
    PathInfo info;
    for (const char* path : {"", "jobs", "jobs/train/file", "jobs/none", "jobs/none/file", "jobs/train/file/below",
                             "jobs/train/link", "jobs/other/file", "../paths"}) {
      found.push_back(files->info(path, info));
    }
    return found;
  };
  // The last but one leads through a link; `link` is looked at, and never opened to read or write.
  CHECK(errors() == std::vector<int>{0, 0, 0, ENOENT, ENOENT, ENOTDIR, 0, ELOOP, EXDEV});
  std::vector<int> without;
  bool refused = false;
  std::thread([&] {  // a filter is the thread's alone
    const scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    refused = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(openat2), 0) == 0 && seccomp_load(filter) == 0;
    seccomp_release(filter);
    without = errors();
  })
      .join();
  REQUIRE(refused);
  CHECK(without == std::vector<int>{0, 0, 0, ENOENT, ENOENT, ENOTDIR, 0, ENOTDIR, EXDEV});
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
  const bool seen = GENERATE(false, true);  // by stat(), but not by open()
  CAPTURE(seen);
  struct Disk : MemoryDisk {
    bool fails = false, fails_to_open = false;
    static bool hidden(const std::string& path) {
      return path.find("r00000") != std::string::npos || path.ends_with(".part");
    }
    int info(const std::string& path, PathInfo& info) override {
      return fails && hidden(path) ? EIO : MemoryDisk::info(path, info);
    }
    int open(const std::string& path, bool writable, int& file) override {
      return fails_to_open && hidden(path) ? EIO : MemoryDisk::open(path, writable, file);
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
  (seen ? disk.fails_to_open : disk.fails) = true;
  { CHECK(std::move(Store::open(options)).value()->job("train")->arrived == 2); }
  disk.fails = disk.fails_to_open = false;
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
    left->make_file(path, "{----}");
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
  CHECK(test::eventually([&] { return std::filesystem::is_empty(probe.path("trash")); }));
  CHECK(probe.ask().put("next", 0, content).value.complete);
  CHECK(probe.failures == 0);
  CHECK(problems_of(probe).empty());
  CHECK(::umount(probe.options.spool.c_str()) == 0);
}

}  // namespace
}  // namespace skewscope::gather
