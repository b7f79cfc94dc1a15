#include "src/gather/http/limits.h"

#include <catch2/catch.hpp>

namespace skewscope::gather {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Verdict = FailureThrottle::Verdict;

Moment at(double second) { return Moment(milliseconds(static_cast<int64_t>(second * 1000))); }

TEST_CASE("the 21st failure within a minute delays an address, the 41st turns it away") {
  FailureThrottle throttle;
  for (int i = 0; i < 20; ++i) throttle.failed("10.0.0.1", at(100));
  CHECK(throttle.verdict("10.0.0.1", at(101)) == Verdict::pass);
  throttle.failed("10.0.0.1", at(101));
  CHECK(throttle.verdict("10.0.0.1", at(101)) == Verdict::delay);
  for (int i = 0; i < 20; ++i) throttle.failed("10.0.0.1", at(102));
  CHECK(throttle.verdict("10.0.0.1", at(102)) == Verdict::refuse);
  CHECK(throttle.verdict("10.0.0.2", at(102)) == Verdict::pass);
}

TEST_CASE("an address that stops failing is free again after two minutes at most") {
  FailureThrottle throttle;
  for (int i = 0; i < 80; ++i) throttle.failed("a", at(0));
  CHECK(throttle.verdict("a", at(59)) == Verdict::refuse);
  CHECK(throttle.verdict("a", at(100)) == Verdict::delay);
  CHECK(throttle.verdict("a", at(110)) == Verdict::pass);
  CHECK(throttle.verdict("a", at(1000)) == Verdict::pass);
}

TEST_CASE("twenty failures a minute pass for ever, thirty do not") {
  FailureThrottle slow, fast;
  for (int i = 0; i < 200; ++i) slow.failed("a", at(i * 3.0));
  CHECK(slow.verdict("a", at(600)) == Verdict::pass);
  for (int i = 0; i < 300; ++i) fast.failed("a", at(i * 2.0));
  CHECK(fast.verdict("a", at(600)) == Verdict::delay);
}

TEST_CASE("of very many addresses those not seen for longest are forgotten") {
  FailureThrottle throttle;
  for (int i = 0; i < 50; ++i) throttle.failed("first", at(0));
  for (int i = 0; i < 50; ++i) throttle.failed("second", at(0));
  for (int i = 0; i < 65534; ++i) throttle.failed(std::to_string(i), at(1));
  throttle.failed("first", at(2));
  throttle.failed("one more", at(2));
  CHECK(throttle.addresses() == 65536);
  CHECK(throttle.verdict("first", at(2)) == Verdict::refuse);
  CHECK(throttle.verdict("second", at(2)) == Verdict::pass);
}

TEST_CASE("a body has ten seconds of grace, then must keep its rate over the last thirty") {
  RateFloor steady(1000, at(0)), silent(1000, at(0)), slow(1000, at(0));
  for (int i = 1; i <= 100; ++i) {
    steady.received(1000, at(i));
    slow.received(900, at(i));
    CHECK(!steady.too_slow(at(i)));
    CHECK(silent.too_slow(at(i)) == (i >= 10));
    CHECK(slow.too_slow(at(i)) == (i >= 10));
  }
}

TEST_CASE("a body that was fast once is too slow thirty seconds later") {
  RateFloor floor(1000, at(0));
  floor.received(1000000, at(1));
  CHECK(!floor.too_slow(at(31)));
  CHECK(floor.too_slow(at(33)));
}

TEST_CASE("time in which the daemon itself did not read is not held against a sender") {
  RateFloor floor(1000, at(0));
  for (int i = 1; i <= 30; ++i) floor.received(1100, at(i));
  floor.held_back(seconds(300));
  CHECK(!floor.too_slow(at(330)));
  CHECK(floor.too_slow(at(340)));
  RateFloor fresh(1000, at(0));
  fresh.held_back(seconds(8));
  CHECK(!fresh.too_slow(at(17)));
  CHECK(fresh.too_slow(at(18)));
}

GatherLimits limits_of(int connections, int per_address, int bodies, int per_job) {
  GatherLimits limits;
  limits.connections = connections;
  limits.connections_per_address = per_address;
  limits.bodies = bodies;
  limits.bodies_per_job = per_job;
  return limits;
}

TEST_CASE("a body that comes fast enough is still too slow once it has taken too long in all") {
  RateFloor floor(1000, at(0), std::chrono::seconds(60));
  for (int second = 0; second <= 61; ++second) floor.received(5000, at(second));
  CHECK_FALSE(floor.too_slow(at(60)));
  CHECK(floor.too_slow(at(61)));
}

TEST_CASE("whoever asks for answers in a loop gets fifty a second after a burst, and nobody else waits") {
  AnswerPace pace;
  const Moment begin{};
  for (int i = 0; i < 256; ++i) CHECK(pace.wait("loop", begin) == milliseconds(0));
  CHECK(pace.wait("loop", begin) == milliseconds(20));
  CHECK(pace.wait("loop", begin) == milliseconds(40));
  CHECK(pace.wait("other", begin) == milliseconds(0));
  CHECK(pace.wait("loop", begin + milliseconds(60)) == milliseconds(0));
  CHECK(pace.wait("loop", begin + seconds(60)) == milliseconds(0));  // what was paid for is forgotten
}

TEST_CASE("who would wait longer than ten seconds for an answer is refused, and is not charged for it") {
  AnswerPace pace;
  const Moment begin{};
  for (int i = 0; i < 256 + 500; ++i) REQUIRE(pace.wait("loop", begin));
  CHECK_FALSE(pace.wait("loop", begin));
  CHECK(pace.wait("loop", begin + milliseconds(20)) == seconds(10));
}

TEST_CASE("of very many who ask for answers those who may have all at once are forgotten") {
  AnswerPace pace;
  const Moment begin{};
  for (int i = 0; i < 20'000; ++i) pace.wait(std::to_string(i), begin + seconds(i));
  CHECK(pace.askers() <= 10'001);
}

TEST_CASE("connections are bounded in all and per address") {
  Slots slots(limits_of(3, 2, 0, 0));
  CHECK(slots.acquire_connection("a"));
  CHECK(slots.acquire_connection("a"));
  CHECK(!slots.acquire_connection("a"));
  CHECK(slots.acquire_connection("b"));
  CHECK(!slots.acquire_connection("c"));
  slots.release_connection("a");
  CHECK(slots.acquire_connection("c"));
  CHECK(slots.connections() == 3);
}

TEST_CASE("bodies are bounded in all and per job") {
  Slots slots(limits_of(0, 0, 8, 3));
  for (int i = 0; i < 3; ++i) CHECK(slots.acquire_body("a"));
  CHECK(!slots.acquire_body("a"));
  slots.release_body("a");
  CHECK(slots.acquire_body("a"));
  CHECK(slots.bodies() == 3);
}

TEST_CASE("the last quarter of all bodies is for jobs that have less than an equal share") {
  Slots slots(limits_of(0, 0, 16, 16));
  for (int i = 0; i < 12; ++i) CHECK(slots.acquire_body("large"));
  CHECK(slots.acquire_body("small"));
  CHECK(!slots.acquire_body("large"));
  CHECK(slots.acquire_body("small"));
  CHECK(slots.acquire_body("third"));
  CHECK(slots.acquire_body("third"));
  CHECK(slots.bodies() == 16);
  CHECK(!slots.acquire_body("fourth"));
}

TEST_CASE("downloads are bounded in all and per job, and take nothing from bodies") {
  GatherLimits limits = limits_of(0, 0, 1, 1);
  limits.downloads = 3;
  limits.downloads_per_job = 2;
  Slots slots(limits);
  CHECK(slots.acquire_download("a"));
  CHECK(slots.acquire_download("a"));
  CHECK(!slots.acquire_download("a"));
  CHECK(slots.acquire_download("b"));
  CHECK(!slots.acquire_download("c"));
  CHECK(slots.acquire_body("a"));
  slots.release_download("a");
  CHECK(slots.acquire_download("c"));
}

TEST_CASE("a job that has ended takes no share") {
  Slots slots(limits_of(0, 0, 16, 16));
  for (int i = 0; i < 100; ++i) {
    CHECK(slots.acquire_body(std::to_string(i)));
    slots.release_body(std::to_string(i));
  }
  for (int i = 0; i < 16; ++i) CHECK(slots.acquire_body("a"));
}

TEST_CASE("a job that is alone may use every body up to its own bound") {
  Slots slots(limits_of(0, 0, 16, 16));
  for (int i = 0; i < 16; ++i) CHECK(slots.acquire_body("a"));
}

// Bytes of `job` among the first `count` turns.
uint64_t bytes_started(Turns& turns, std::vector<std::pair<std::string, uint64_t>>& started, const std::string& job,
                       int count) {
  for (int i = 0; i < count; ++i) {
    if (const std::function<void()> start = turns.next()) start();
  }
  uint64_t bytes = 0;
  for (const auto& [name, size] : started) bytes += name == job ? size : 0;
  return bytes;
}

TEST_CASE("jobs with large and small pieces, many and few, get the same bytes in turn") {
  Turns turns;
  std::vector<std::pair<std::string, uint64_t>> started;
  const auto wait = [&](const std::string& job, uint64_t bytes) {
    turns.wait(job, bytes, [&started, job, bytes] { started.emplace_back(job, bytes); });
  };
  for (int i = 0; i < 600; ++i) wait("large pieces", 256 << 10);
  for (int i = 0; i < 800; ++i) wait("small pieces", 64 << 10);
  const uint64_t large = bytes_started(turns, started, "large pieces", 500);
  const uint64_t small = bytes_started(turns, started, "small pieces", 0);
  CHECK(large == Approx(static_cast<double>(small)).margin(256 << 10));
  bytes_started(turns, started, "", 2000);
  CHECK(started.size() == 1400);
  CHECK(turns.waiting() == 0);
}

TEST_CASE("pieces of one job keep their order, and nobody waits behind an idle job") {
  Turns turns;
  std::string order;
  for (const char piece : {'1', '2', '3'}) turns.wait("a", 1000000, [&order, piece] { order += piece; });
  while (const std::function<void()> start = turns.next()) start();
  CHECK(order == "123");
  CHECK(turns.next() == nullptr);
}

}  // namespace
}  // namespace skewscope::gather
