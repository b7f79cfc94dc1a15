#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "src/ship/file_stamp.h"
#include "src/ship/held_file.h"
#include "src/ship/ledger.h"
#include "src/ship/scan.h"
#include "src/ship/watcher.h"
#include "tests/temporary_folder.h"

using namespace skewscope;
using namespace skewscope::ship;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

struct Place : test::Folder {
  explicit Place(const std::string& name) : Folder("ship_" + name) {
    for (const char* part : {"traces", "state/items", "state/held"}) fs::create_directories(path / part);
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path / "traces" / name) << text;
    return (path / "traces" / name).string();
  }
  std::string state() const { return (path / "state").string(); }
};

FileStamp stamp_at(const std::string& path) {
  struct stat status {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  return stamp_of(status);
}

Writing written_now(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const Writing writing = is_written(descriptor);
  close(descriptor);
  return writing;
}

}  // namespace

TEST_CASE("a file that somebody has open for writing is known by the lease") {
  const Place place("lease");
  const std::string file = place.write("a.json", "{}");
  if (written_now(file) == Writing::unknown) return;  // a file system without leases
  CHECK(written_now(file) == Writing::no);
  const int writer = open(file.c_str(), O_WRONLY | O_CLOEXEC);
  CHECK(written_now(file) == Writing::yes);
  CHECK(HeldFile(file, "", stamp_at(file)).state() == HeldFile::State::written);
  close(writer);
  CHECK(written_now(file) == Writing::no);
}

TEST_CASE("a held file outlives its name, and its link ends with its content") {
  const Place place("held");
  const std::string file = place.write("a.json", "{}"), link = place.state() + "/held/a";
  const FileStamp stamp = stamp_at(file);
  {
    const HeldFile held(file, link, stamp);
    REQUIRE(held.state() == HeldFile::State::held);
    CHECK(HeldFile(file, link, stamp).state() == HeldFile::State::busy);  // another agent's
  }
  fs::remove(file);
  CHECK(HeldFile(file, link, stamp).state() == HeldFile::State::held);
  std::ofstream(link, std::ios::app) << "more";
  CHECK(HeldFile(file, link, stamp).state() == HeldFile::State::absent);
  CHECK_FALSE(fs::exists(link));
}

TEST_CASE("a link of other content gives way") {
  const Place place("other");
  const std::string file = place.write("a.json", "{}"), link = place.state() + "/held/a";
  std::ofstream(link) << "older";
  const HeldFile held(file, link, stamp_at(file));
  CHECK(fs::equivalent(file, link));
  held.let_go();
  CHECK_FALSE(fs::exists(link));
  CHECK(held.unchanged());
}

TEST_CASE("a file that cannot be opened is refused with the reason") {
  const Place place("refused");
  const std::string file = place.write("a.json", "{}"), link = file + ".link";
  fs::create_symlink(file, link);
  const HeldFile held(link, "", stamp_at(file));  // a link is not followed
  CHECK(held.state() == HeldFile::State::refused);
  CHECK(held.reason() == "Too many levels of symbolic links");
}

TEST_CASE("a file that cannot be opened for want of descriptors is one for later") {
  const Place place("descriptors");
  const std::string file = place.write("a.json", "{}");
  const FileStamp stamp = stamp_at(file);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{0, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  const HeldFile held(file, "", stamp);
  setrlimit(RLIMIT_NOFILE, &before);
  CHECK(held.state() == HeldFile::State::unreadable);
  CHECK(held.reason() == "Too many open files");
}

TEST_CASE("a change is seen by who holds the file") {
  const Place place("change");
  const std::string file = place.write("a.json", "{}");
  const HeldFile held(file, "", stamp_at(file));
  CHECK(held.unchanged());
  std::ofstream(file, std::ios::app) << " ";
  CHECK_FALSE(held.unchanged());
}

TEST_CASE("the ledger tells what it was told, of its own target alone") {
  const Place place("ledger");
  const Ledger ledger(place.state(), "http://a j 0");
  Item item{"p", {1, 2, 3, -4}, false, 0, sha256("x"), "/v1/uploads/1", 17, 5};
  REQUIRE(ledger.save(item));
  const auto found = ledger.load(item.stamp);
  REQUIRE(found);
  CHECK(found->path == "p");
  CHECK(found->upload == "/v1/uploads/1");
  CHECK(found->offset == 17);
  CHECK(found->tries == 5);
  CHECK(found->sha256 == sha256("x"));
  CHECK(ledger.unfinished().size() == 1);
  CHECK_FALSE(Ledger(place.state(), "http://b j 0").load(item.stamp));
  CHECK_FALSE(ledger.load({1, 2, 4, -4}));
}

TEST_CASE("a damaged item is none") {
  const Place place("damaged");
  const Ledger ledger(place.state(), "t");
  const Item item{"p", {1, 2, 3, 4}, true, 0, {}, "", 0, 0};
  REQUIRE(ledger.save(item));
  const std::string file = place.state() + "/items/" + ledger.key(item.stamp) + ".json";
  std::string whole(1000, '\0');
  std::ifstream in(file);
  whole.resize(static_cast<size_t>(in.read(whole.data(), 1000).gcount()));
  for (size_t size = 0; size + 2 < whole.size(); size += 7) {
    std::ofstream(file) << whole.substr(0, size);
    CHECK_FALSE(ledger.load(item.stamp));
  }
  for (const char* text : {"[]", "{}", R"({"schema":"skewscope.ship-item/1","path":3})", "\xff"}) {
    std::ofstream(file) << text;
    CHECK_FALSE(ledger.load(item.stamp));
  }
}

TEST_CASE("a link is kept for 72 hours after the file was accepted, the memory of it as long as the file") {
  const Place place("sweep");
  const std::string file = place.write("a.json", "{}");
  const Ledger ledger(place.state(), "t");
  Item item{file, stamp_at(file), true, 1'000'000, sha256("x"), "", 2, 1};
  REQUIRE(ledger.save(item));
  fs::create_hard_link(file, ledger.held_path(item.stamp));
  ledger.sweep(1'000'000 + kHeldAfterwards_s - 1);
  CHECK(fs::exists(ledger.held_path(item.stamp)));
  ledger.sweep(1'000'000 + kHeldAfterwards_s);
  CHECK_FALSE(fs::exists(ledger.held_path(item.stamp)));
  CHECK(ledger.load(item.stamp));
  fs::remove(file);
  ledger.sweep(1'000'000 + kHeldAfterwards_s);
  CHECK_FALSE(ledger.load(item.stamp));
}

TEST_CASE("what a killed agent had put aside goes if it was accepted, else back to its name") {
  const Place place("aside");
  const std::string file = place.write("a.json", "{}"), other = place.write("b.json", "{\"new\": 1}");
  const Ledger ledger(place.state(), "t");
  const Item item{file, stamp_at(file), true, 1'000'000, sha256("x"), "", 2, 1};
  REQUIRE(ledger.save(item));
  fs::rename(file, ledger.aside_path(item.stamp));
  CHECK(ledger.clear_asides().empty());
  CHECK_FALSE(fs::exists(ledger.aside_path(item.stamp)));
  fs::rename(other, ledger.aside_path(item.stamp));  // had taken its name
  CHECK(ledger.clear_asides().empty());
  CHECK(fs::file_size(file) == 10);
  place.write("c.json", "{}");
  fs::rename(place.path / "traces/c.json", ledger.aside_path(item.stamp));
  CHECK(ledger.clear_asides() == std::vector{ledger.aside_path(item.stamp)});  // its name is taken
}

TEST_CASE("without a folder the ledger takes nothing and says so") {
  const Ledger ledger("", "t");
  CHECK_FALSE(ledger.save({}));
  CHECK(ledger.held_path({}).empty());
  CHECK(ledger.unfinished().empty());
}

TEST_CASE("the watcher wakes for closed and renamed files and new folders, not for what is only begun") {
  const Place place("watch");
  Watcher watcher;
  watcher.watch({(place.path / "traces").string()});
  CHECK_FALSE(watcher.wait(1ms));
  {
    std::ofstream writer(place.path / "traces" / "a.json");
    writer << "{" << std::flush;
    CHECK_FALSE(watcher.wait(20ms));
  }
  CHECK(watcher.wait(1000ms));
  fs::rename(place.path / "traces" / "a.json", place.path / "traces" / "b.json");
  CHECK(watcher.wait(1000ms));
  fs::create_directory(place.path / "traces" / "new");
  CHECK(watcher.wait(1000ms));
  CHECK_FALSE(watcher.wait(1ms));
}

TEST_CASE("an overflowed queue of events wakes like any event") {
  const Place place("overflow");
  int most = 0;
  std::ifstream("/proc/sys/fs/inotify/max_queued_events") >> most;
  if (most <= 0 || most > 100'000) return;
  Watcher watcher;
  watcher.watch({(place.path / "traces").string()});
  const std::string a = place.write("a", ""), b = place.write("b", "");
  for (int i = 0; i <= most && !watcher.overflowed(); ++i) {  // two files in turn: equal events would be one
    close(open((i % 2 == 0 ? a : b).c_str(), O_WRONLY | O_CLOEXEC));
  }
  CHECK(watcher.wait(1000ms));
  CHECK(watcher.overflowed());
  CHECK_FALSE(watcher.wait(1ms));
}

TEST_CASE("a link before a file in the same folder does not hide it") {
  const Place place("alias");
  const std::string file = place.write("rank0.json", "{}");
  fs::create_symlink(file, place.path / "traces" / "latest.json");
  const Scan found = scan({(place.path / "traces").string()}, "");
  REQUIRE(found.files.size() == 1);
  CHECK(found.files[0].path == file);
}

TEST_CASE("what was linked is found after a restart that numbered the devices anew, or when its old name is a link") {
  const Place place("device");
  const std::string file = place.write("rank0.json", "{}"), link = (place.path / "held").string();
  struct stat status {};
  REQUIRE(stat(file.c_str(), &status) == 0);
  FileStamp before = stamp_of(status);
  before.device += 1;
  fs::create_hard_link(file, link);
  fs::remove(file);
  {
    const HeldFile held(file, link, before);
    CHECK(held.state() == HeldFile::State::held);
  }
  CHECK(fs::exists(link));
  fs::create_symlink("elsewhere", file);
  CHECK(HeldFile(file, link, stamp_of(status)).state() == HeldFile::State::held);
  std::ofstream(link) << "other";
  CHECK(HeldFile(file, link, before).state() == HeldFile::State::refused);
  CHECK_FALSE(fs::exists(link));
}

TEST_CASE("a scan leaves links, pipes, hidden files and the agent's own alone") {
  const Place place("scan");
  const std::string file = place.write("rank0.json", "{}");
  place.write(".rank1.json", "{}");
  place.write("rank2.json.tmp", "{}");
  fs::create_symlink(file, place.path / "traces" / "rank3.json");
  REQUIRE(mkfifo((place.path / "traces" / "rank4.json").c_str(), 0600) == 0);
  fs::create_directories(place.path / "traces" / "own");
  place.write("own/rank5.json", "{}");
  const Scan found = scan({(place.path / "traces").string()}, (place.path / "traces" / "own").string());
  REQUIRE(found.files.size() == 1);
  CHECK(found.files[0].path == file);
  const std::string link = (place.path / "traces" / "rank3.json").string();
  REQUIRE(scan({link}, "").refused.size() == 1);
  CHECK(scan({link}, "").refused[0].reason == "is a symbolic link");
}
