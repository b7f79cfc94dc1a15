// The time that the daemon has seen pass, across starts of the daemon and of the machine.
#include <sqlite3.h>
#include <catch2/catch.hpp>

#include "spool.h"
#include "src/gather/reports/reports.h"

namespace skewscope::gather {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using test::Spool;

const Time kThen = Time(seconds(1'700'000'000));
constexpr hours kDay{24};

// A minute after a clock has jumped by forty days, half a second after a job's last byte.
Aging::Seen after_a_jump() {
  Aging aging;
  aging.begin(kThen, hours(5), kThen);
  aging.look(kThen + 40 * kDay + minutes(1), hours(5) + minutes(1));
  return aging.seen("first");
}

TEST_CASE("a jump of the clock and what is left of its hour outlast a start of the daemon") {
  Aging aging;
  const Time ahead = kThen + 40 * kDay;
  aging.go_on(after_a_jump(), "first", ahead + minutes(31), hours(5) + minutes(31));
  CHECK_FALSE(aging.may_delete());
  CHECK(aging.now_for(kThen) == kThen + minutes(31));
  aging.look(ahead + minutes(61), hours(5) + minutes(61));
  CHECK(aging.may_delete());  // an hour after the jump, not after the start
  CHECK(aging.now_for(kThen) == kThen + minutes(61));
  CHECK(aging.now_for(ahead + minutes(2)) == ahead + minutes(61));  // came after the jump
}

TEST_CASE("a clock that jumps while no daemon runs has jumped") {
  Aging before, aging;
  before.begin(kThen, hours(5), kThen);
  aging.go_on(before.seen("first"), "first", kThen + 40 * kDay, hours(5) + minutes(3));
  CHECK_FALSE(aging.may_delete());
  CHECK(aging.now_for(kThen + minutes(2)) == kThen + minutes(3));  // after what was kept, and before the jump
  SECTION("and comes back while none runs") {
    Aging third;
    third.go_on(aging.seen("first"), "first", kThen + minutes(10), hours(5) + minutes(10));
    CHECK_FALSE(third.may_delete());
    CHECK(third.now_for(kThen) == kThen + minutes(10));
  }
}

TEST_CASE("time while no daemon ran and the machine did has passed") {
  Aging before, aging;
  before.begin(kThen, hours(5), kThen);
  aging.go_on(before.seen("first"), "first", kThen + kDay, hours(5) + kDay);
  CHECK(aging.may_delete());
  CHECK(aging.now_for(kThen) == kThen + kDay);
  SECTION("after ten days an hour is waited all the same") {
    aging.go_on(before.seen("first"), "first", kThen + 10 * kDay, hours(5) + 10 * kDay);
    CHECK_FALSE(aging.may_delete());
    CHECK(aging.now_for(kThen) == kThen + 10 * kDay);
  }
}

TEST_CASE("across a start of the machine up to two days have passed, and more is a jump") {
  Aging before, aging;
  before.begin(kThen, hours(5), kThen);
  aging.go_on(before.seen("first"), "second", kThen + kDay, minutes(1));
  CHECK(aging.may_delete());
  CHECK(aging.now_for(kThen) == kThen + kDay);
  aging.go_on(before.seen("first"), "second", kThen + 40 * kDay, minutes(1));
  CHECK_FALSE(aging.may_delete());
  CHECK(aging.now_for(kThen) == kThen);
  SECTION("one that is taken back has not been") {
    aging.look(kThen + minutes(5), minutes(6));
    CHECK(aging.now_for(kThen) == kThen + minutes(5));
  }
}

TEST_CASE("a start of the machine takes back a jump and keeps what is left of the hour") {
  Aging aging;
  SECTION("where the clock is right again") {
    aging.go_on(after_a_jump(), "second", kThen + minutes(10), minutes(1));
    CHECK(aging.now_for(kThen) == kThen + minutes(1));  // what nobody has seen pass has not
  }
  SECTION("where it is not, the jump stays") {
    aging.go_on(after_a_jump(), "second", kThen + 40 * kDay + minutes(11), minutes(1));
    CHECK(aging.now_for(kThen) == kThen + minutes(11));
  }
  CHECK_FALSE(aging.may_delete());
}

TEST_CASE("a clock that jumps a hundred times makes nothing old, and is kept in bounds") {
  Aging aging;
  aging.begin(kThen, {}, kThen);
  for (int jump = 1; jump <= 100; ++jump) aging.look(kThen + jump * kDay, minutes(jump));
  CHECK(aging.now_for(kThen) == kThen + minutes(100));
  CHECK(aging.seen("first").jumps.size() == 32);
}

// A spool whose clocks are the test's: `clock` and how long the machine has run. A thread that asks for one and then
// for the other sees both of one moment.
struct Clocks : Spool {
  std::atomic<int64_t> ran{3600};

  explicit Clocks(const std::string& name) : Spool(name) {
    options.now = [this] {
      const std::lock_guard both(changing_);
      ran_then_ = ran;
      return Time(seconds(clock));
    };
    options.running = [] { return seconds(ran_then_); };
    options.boot = "first";
    open();
    REQUIRE(test::eventually([&] { return rows("clocks") == 1; }));
  }
  ~Clocks() { close(); }
  // How many a table of the manifest has; the store is closed and opened.
  int rows(const std::string& table) {
    close();
    sqlite3* database = nullptr;
    sqlite3_open(path("gather.sqlite").c_str(), &database);
    const auto count = [](void* to, int, char** cells, char**) { return *static_cast<int*>(to) = atoi(cells[0]), 0; };
    int out = -1;
    sqlite3_exec(database, ("SELECT count(*) FROM " + table).c_str(), count, &out, nullptr);
    sqlite3_close(database);
    open();
    usleep(300'000);  // a sweep, which keeps them
    return out;
  }
  // That long passes, by both clocks at once.
  void pass(seconds time) {
    const std::lock_guard both(changing_);
    clock += time.count();
    ran += time.count();
  }
  void change(const char* statement) {
    close();
    sqlite3* database = nullptr;
    sqlite3_open(path("gather.sqlite").c_str(), &database);
    CHECK(sqlite3_exec(database, statement, nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(database);
    open();
    REQUIRE(store);
  }
  bool would_delete_at_once() const {
    JobState job;
    job.name = "train";
    job.report = ReportState::complete;
    job.arrivals = job.reported_arrivals = 1;
    job.last_byte = kThen;
    return !jobs_to_delete({job}, {}, store->aging()).empty();
  }

 private:
  std::mutex changing_;
  inline static thread_local int64_t ran_then_ =
      0;  // when this thread last asked for the other clock, as it does first
};

TEST_CASE("after a clock jump nothing is deleted for an hour, however often the daemon starts") {
  Clocks spool("clock_jump");
  spool.clock += 40 * 24 * 3600;
  spool.ran += 60;
  REQUIRE(test::eventually([&] { return spool.rows("clock_jump") == 1; }));
  for (int start = 0; start < 3; ++start) {
    spool.open();
    CHECK_FALSE(spool.store->aging().may_delete());
    CHECK_FALSE(spool.would_delete_at_once());
  }
  spool.pass(hours(1));
  spool.open();
  CHECK(spool.store->aging().may_delete());
  CHECK_FALSE(spool.would_delete_at_once());  // an hour and a minute have passed, not forty days
  SECTION("thirty-one days that are seen to pass count, across starts") {
    for (int day = 0; day < 31; ++day) {
      spool.pass(hours(24));
      spool.open();
    }
    spool.pass(hours(1));  // too quick for what was seen to be kept: as after thirty-one days' absence
    CHECK(spool.would_delete_at_once());
  }
}

TEST_CASE("where what was seen of the clocks is damaged an hour is waited") {
  Clocks spool("clock_damage");
  CHECK(spool.store->aging().may_delete());
  SECTION("a row that makes no sense") { spool.change("UPDATE clocks SET wall = -5"); }
  SECTION("a jump that makes no sense") { spool.change("INSERT INTO clock_jump VALUES (1, -1)"); }
  SECTION("a manifest that came back from its copy") {
    spool.close();
    std::filesystem::resize_file(spool.path("gather.sqlite"), 100);
    spool.open();
    REQUIRE(spool.store);
  }
  CHECK_FALSE(spool.store->aging().may_delete());
  spool.pass(hours(1));
  CHECK(spool.store->aging().may_delete());
}

TEST_CASE("a spool from before the clocks were kept is taken over") {
  Clocks spool("clock_none");
  spool.change("DROP TABLE clocks; DROP TABLE clock_jump");
  REQUIRE(spool.store);
  CHECK(spool.store->aging().may_delete());
  CHECK(test::eventually([&] { return spool.rows("clocks") == 1; }));
}

}  // namespace
}  // namespace skewscope::gather
