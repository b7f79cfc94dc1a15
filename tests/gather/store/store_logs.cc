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

const std::string kFirst = "{\"line\":1}\n", kSecond = "{\"line\":2}\n";

NewUpload log_of(int rank) {
  NewUpload log = upload_of("train", rank, std::nullopt);
  log.metadata.grows = true;
  return log;
}

TEST_CASE("what came of a log that grows is the file of its rank, before the log has an end") {
  Spool spool("log_grows");
  Asking ask = spool.ask();
  const std::string id = ask.create(log_of(3)).value.id;
  CHECK(spool.store->job("train")->arrived == 0);
  CHECK(ask.patch(id, 0, kFirst, sha256(kFirst)).value.offset == kFirst.size());
  CHECK(ask.content("train", 3) == kFirst);
  CHECK(ask.patch(id, kFirst.size(), kSecond, sha256(kSecond)).value.offset == kFirst.size() + kSecond.size());
  CHECK(ask.content("train", 3) == kFirst + kSecond);
  const JobState job = *spool.store->job("train");
  CHECK(job.arrived == 1);
  CHECK(job.open_uploads == 0);
  CHECK(job.grows);
  CHECK(job.bytes == kFirst.size() + kSecond.size());
  CHECK(job.arrivals == 2);
  CHECK(std::filesystem::exists(spool.path("jobs/train/ranks/c0000/r00003.json")));
  CHECK(problems_of(spool).empty());
}

TEST_CASE("whoever begins a log of a rank again is given the log that is there, with the digest of what it holds") {
  Spool spool("log_again");
  const std::string id = spool.ask().create(log_of(0)).value.id;
  spool.ask().patch(id, 0, kFirst);
  const auto again = spool.ask().create(log_of(0));
  CHECK(again.value.id == id);
  CHECK(again.value.offset == kFirst.size());
  CHECK(again.value.digest == sha256(kFirst));
  spool.open();
  const auto after_a_start = spool.ask().create(log_of(0));
  CHECK(after_a_start.value.id == id);
  CHECK(after_a_start.value.digest == sha256(kFirst));
  CHECK(spool.ask().create(log_of(1)).value.id != id);
}

TEST_CASE("a log goes on after a stop and a start as if there had been none") {
  Spool spool("log_restart");
  const std::string id = spool.ask().create(log_of(0)).value.id;
  spool.ask().patch(id, 0, kFirst);
  const uint64_t arrivals = spool.store->job("train")->arrivals;
  spool.open();
  CHECK(spool.store->job("train")->arrivals == arrivals);
  CHECK(spool.store->job("train")->arrived == 1);
  CHECK(spool.ask().content("train", 0) == kFirst);
  CHECK(spool.ask().patch(id, 0, kFirst).refusal == Refusal::wrong_offset);
  spool.ask().patch(id, kFirst.size(), kSecond);
  CHECK(spool.ask().content("train", 0) == kFirst + kSecond);
  CHECK(spool.store->figures().lost_files == 0);
  CHECK(problems_of(spool).empty());
}

TEST_CASE("bytes of a log that were never answered are cut off by a start") {
  Spool spool("log_cut");
  const std::string id = spool.ask().create(log_of(0)).value.id;
  spool.ask().patch(id, 0, kFirst);
  spool.close();
  std::ofstream(spool.path("jobs/train/ranks/c0000/r00000.json"), std::ios::app) << "{\"line\":";
  spool.open();
  CHECK(spool.ask().content("train", 0) == kFirst);
  CHECK(std::filesystem::file_size(spool.path("jobs/train/ranks/c0000/r00000.json")) == kFirst.size());
}

TEST_CASE("a rank has either a log that grows or another file, and no sender can take a log away") {
  Spool spool("log_or_file");
  Asking ask = spool.ask();
  const std::string id = ask.create(log_of(0)).value.id;
  ask.patch(id, 0, kFirst);
  CHECK(ask.put("train", 0, kTrace).refusal == Refusal::other_content);
  NewUpload replacing = upload_of("train", 0, kTrace.size());
  replacing.metadata.replace = true;
  CHECK(ask.put(replacing, kTrace).refusal == Refusal::other_content);
  CHECK(ask.remove(id).refusal == Refusal::other_content);
  ask.put("train", 1, kTrace);
  CHECK(ask.create(log_of(1)).refusal == Refusal::other_content);
  CHECK(ask.content("train", 0) == kFirst);
}

TEST_CASE("a log does not expire, and goes with its job") {
  Spool spool("log_age");
  const std::string id = spool.ask().create(log_of(0)).value.id;
  spool.ask().patch(id, 0, kFirst);
  spool.clock += 40 * 24 * 3600;
  CHECK(spool.ask().state(id).value.offset == kFirst.size());
  CHECK(spool.ask().delete_job("train").refusal == Refusal::none);
  CHECK(spool.ask().state(id).refusal == Refusal::unknown);
  CHECK(!std::filesystem::exists(spool.path("jobs/train")));
  CHECK(spool.store->figures().files == 0);
  spool.open();
  CHECK(problems_of(spool).empty());
}

TEST_CASE("a log that would exceed what its job may have is refused, and keeps what it has") {
  Spool spool("log_quota");
  spool.options.limits.largest_job = 3 << 20;
  spool.open();
  Asking ask = spool.ask();
  const std::string id = ask.create(log_of(0)).value.id;
  const std::string line = std::string((1 << 20) - 1, 'x') + "\n";
  CHECK(ask.patch(id, 0, line).refusal == Refusal::none);
  CHECK(ask.patch(id, line.size(), line).refusal == Refusal::none);
  CHECK(ask.patch(id, 2 * line.size(), line).refusal == Refusal::quota);
  CHECK(ask.content("train", 0) == line + line);
}

}  // namespace
}  // namespace skewscope::gather
