// Messages, their signatures and their queue; tests/gather_daemon/webhook.py has real receivers.
#include "src/gather/webhook/webhook.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "skewscope/protocol/sha256.h"
#include "tests/temporary_folder.h"

namespace skewscope::gather {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

Time hour(int number) { return Time(hours(number)); }

Delivery delivery_of(int number) {
  return {"run-" + std::to_string(number), hour(1), 1, "msg_" + std::to_string(number), "{}", hour(number)};
}

ReportEnded ended_report() {
  ReportEnded ended;
  ended.generation = 2;
  ended.job.name = "run";
  ended.job.report = ReportState::complete;
  ended.verdict = "GPUs wait.";
  ended.outcome = ReportOutcome();
  ended.outcome->gain = 0.2;
  ended.outcome->causes = {{ReportOutcome::Part::gpu, "node7", 3, 0, 0.9, "slower_kernels"}};
  return ended;
}

TEST_CASE("the signature of Standard Webhooks' own example is right, and each key signs") {
  const std::string key = *from_base64("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  const std::string id = "msg_p5jXN8AQM9LWM0D4loKWxJek", body = R"({"test": 2432232314})";
  const std::string right = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
  CHECK(signature_of({key}, id, 1614265330, body) == right);
  CHECK(signature_of({"another key", key}, id, 1614265330, body).ends_with(" " + right));
}

TEST_CASE("what is logged of a receiver's URL is not its path, and tells two of them apart") {
  CHECK(without_path("https://hooks.example/very/secret").starts_with("https://hooks.example/... (SHA-256 "));
  CHECK(without_path("https://hooks.example/a") != without_path("https://hooks.example/b"));
  CHECK(without_path("https://hooks.example?key=x").find("key") == std::string::npos);
  CHECK(without_path("https://hooks.example:8443/") == "https://hooks.example:8443/");
}

TEST_CASE("pauses grow from a second to a quarter of an hour, and no two receivers' retries need coincide") {
  CHECK(pause_after(1, 0) == seconds(1));
  CHECK(pause_after(4, 0) == seconds(4));
  CHECK(pause_after(4, 1) == seconds(8));
  CHECK(pause_after(1000, 1) == kLongestPause);
}

TEST_CASE("a message says what happened, to whom it matters, and where to look") {
  ReportEnded ended = ended_report();
  ended.owner = "al\"ice\xff";
  const auto message = nlohmann::json::parse(message_of(ended, "https://head:7475"));
  CHECK(message["type"] == "job.report");
  const auto& data = message["data"];
  CHECK(data["owner"] == "al\"ice\xef\xbf\xbd");
  CHECK(data["verdict"] == "GPUs wait.");
  CHECK(data["waiting"].is_null());
  CHECK(data["late"][0]["rank"] == 3);
  CHECK(data["late"][0]["node"] == "node7");
  CHECK(data["page"] == "https://head:7475/jobs/run");
  ended.kind = ReportEnded::Kind::failed;
  const auto failed = nlohmann::json::parse(message_of(ended, "https://head:7475"));
  CHECK(failed["type"] == "job.failed");
  CHECK(failed["data"]["verdict"].is_null());
  CHECK(failed["data"]["report"] == "https://head:7475/v1/jobs/run/report.log");
}

TEST_CASE("a report that failed is told of once it is not tried again") {
  JobState job;
  CHECK_FALSE(report_that_ended(job));
  job.report = ReportState::waiting;  // it failed, and is tried again
  job.ended_generation = 3;
  CHECK_FALSE(report_that_ended(job));
  job.report = ReportState::failed;
  CHECK(report_that_ended(job)->kind == ReportEnded::Kind::failed);
  CHECK(report_that_ended(job)->generation == 3);
}

TEST_CASE("reports that find too little are left out, and so are those of a log that still grows after the first") {
  ReportEnded ended = ended_report();
  GatherWebhook webhook;
  CHECK(is_wanted(ended, webhook));
  webhook.least_gain = 0.3;
  CHECK_FALSE(is_wanted(ended, webhook));
  webhook.least_gain = 0.1;
  CHECK(is_wanted(ended, webhook));
  ended.job.grows = true;
  CHECK_FALSE(is_wanted(ended, webhook));
  ended.job.ended = true;
  CHECK(is_wanted(ended, webhook));
  webhook.on = {"hang"};
  CHECK_FALSE(is_wanted(ended, webhook));
}

TEST_CASE("a report has one message, which waits through a restart until it is delivered") {
  const skewscope::test::Folder folder("deliveries");
  std::filesystem::create_directories(folder.path);
  const std::string path = folder.path / "history.sqlite";
  {
    const auto history = History::open(path);
    history->deliveries().add(delivery_of(1));
    Delivery again = delivery_of(1);
    again.body = "other";
    history->deliveries().add(again);
  }
  const auto history = History::open(path);
  Deliveries& deliveries = history->deliveries();
  CHECK(deliveries.figures().waiting == 1);
  const auto next = deliveries.next(hour(1), hour(2));
  REQUIRE(next);
  CHECK(next->body == "{}");
  CHECK(deliveries.try_again(*next, hour(5)));
  CHECK_FALSE(deliveries.next(hour(4), hour(6)));
  CHECK(deliveries.next(hour(1), hour(2)));  // a clock that was wrong put it off
  CHECK(deliveries.next(hour(5), hour(6))->tries == 1);
  CHECK(deliveries.delivered(*next));
  CHECK_FALSE(deliveries.next(hour(9), hour(9)));
  deliveries.add(delivery_of(1));
  CHECK(deliveries.figures().waiting == 0);
}

TEST_CASE("of too many messages the oldest is dropped") {
  const auto history = History::open(":memory:");
  for (size_t i = 1; i <= kMostDeliveries + 1; ++i) history->deliveries().add(delivery_of(static_cast<int>(i)));
  CHECK(history->deliveries().figures().waiting == kMostDeliveries);
  CHECK(history->deliveries().figures().dropped == 1);
  CHECK(history->deliveries().next(hour(100'000), hour(100'000))->job == "run-2");
}

TEST_CASE("reports are told of since a receiver was named, and what is forgotten is not told of again") {
  const auto history = History::open(":memory:");
  Deliveries& deliveries = history->deliveries();
  CHECK(deliveries.since(true, hour(10)) == hour(10));
  CHECK(deliveries.since(true, hour(20)) == hour(10));
  Delivery told = delivery_of(11);
  deliveries.add(told);
  CHECK(deliveries.delivered(told));
  history->forget(hour(15));
  CHECK_FALSE(deliveries.has(told.job, told.created, told.generation));
  CHECK(deliveries.since(true, hour(20)) == hour(15));
  deliveries.add(delivery_of(16));
  deliveries.since(false, hour(30));
  CHECK(deliveries.figures().waiting == 0);
  CHECK(deliveries.since(true, hour(40)) == hour(40));
}

}  // namespace
}  // namespace skewscope::gather
