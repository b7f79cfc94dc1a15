#include <catch2/catch.hpp>

#include <thread>

#include "skewscope/gather.h"
#include "spool.h"

namespace skewscope::gather {
namespace {

using test::Asking;
using test::kTrace;
using test::problems_of;
using test::Spool;
using test::upload_of;

TEST_CASE("a file sent in one request is complete and is read back as it was sent") {
  Spool spool("one_request");
  Asking ask = spool.ask();
  const auto sent = ask.put("train", 3, kTrace);
  CHECK(sent.refusal == Refusal::none);
  CHECK(sent.value.complete);
  CHECK(sent.value.offset == kTrace.size());
  CHECK(sent.value.digest == sha256(kTrace));
  CHECK(ask.content("train", 3) == kTrace);
  CHECK(std::filesystem::exists(spool.path("jobs/train/ranks/c0000/r00003.json")));
  CHECK(std::filesystem::is_empty(spool.path("in")));
  CHECK(problems_of(spool).empty());
}

TEST_CASE("of an upload in one request nothing is left when it is cut, and nothing but the file when it is whole") {
  Spool spool("in_one_request");
  NewUpload cut = upload_of("train", 1, 10), whole = upload_of("train", 0, kTrace.size());
  cut.one_request = whole.one_request = true;
  const auto begun = spool.ask().create(cut);
  CHECK(spool.ask().patch(begun.value.id, 0, "0123").refusal == Refusal::none);
  const auto sent = spool.ask().put(whole, kTrace);
  CHECK(sent.value.complete);
  CHECK(spool.ask().state(sent.value.id).refusal == Refusal::unknown);
  CHECK(spool.store->job("train")->open_uploads == 1);
  spool.open();
  CHECK(spool.ask().state(begun.value.id).refusal == Refusal::unknown);
  CHECK(spool.store->job("train")->open_uploads == 0);
  CHECK(std::filesystem::is_empty(spool.path("in")));
  CHECK(spool.ask().content("train", 0) == kTrace);
  CHECK(spool.ask().content("train", 1).empty());
  CHECK(problems_of(spool).empty());
}

TEST_CASE("what was told stands after a stop and a start") {
  Spool spool("stopped");
  spool.ask().put("train", 0, kTrace);
  const auto open = spool.ask().create(upload_of("train", 1, 10));
  CHECK(spool.ask().patch(open.value.id, 0, "0123").value.offset == 4);
  spool.open();
  Asking ask = spool.ask();
  CHECK(ask.content("train", 0) == kTrace);
  CHECK(ask.state(open.value.id).value.offset == 4);
  const auto end = ask.patch(open.value.id, 4, "456789");
  CHECK(end.value.complete);
  CHECK(end.value.digest == sha256("0123456789"));
  CHECK(ask.content("train", 1) == "0123456789");
  CHECK(spool.store->figures().lost_files == 0);
  CHECK(problems_of(spool).empty());
}

TEST_CASE("an upload takes bytes only at its durable offset, and no more than its length") {
  Spool spool("offset");
  Asking ask = spool.ask();
  const std::string id = ask.create(upload_of("train", 0, 8)).value.id;
  CHECK(ask.patch(id, 0, "abcd").value.offset == 4);
  CHECK(ask.patch(id, 0, "abcd").refusal == Refusal::wrong_offset);
  CHECK(ask.patch(id, 5, "fgh").refusal == Refusal::wrong_offset);
  CHECK(ask.patch(id, 4, "efghi").refusal == Refusal::too_large);
  CHECK(ask.state(id).value.offset == 4);
  CHECK(ask.patch(id, 4, "efgh").value.complete);
}

TEST_CASE("the suffix of a kept file is what its first bytes say") {
  Spool spool("suffix");
  spool.ask().put("train", 0, std::string("\x1f\x8b\x08", 3));
  CHECK(std::filesystem::exists(spool.path("jobs/train/ranks/c0000/r00000.json.gz")));
}

TEST_CASE("a checked request counts whole or not at all") {
  Spool spool("checked");
  Asking ask = spool.ask();
  const std::string id = ask.create(upload_of("train", 0, 8)).value.id;
  CHECK(ask.patch(id, 0, "abcd", sha256("abcd")).value.offset == 4);
  CHECK(ask.patch(id, 4, "efXX", sha256("efgh")).refusal == Refusal::wrong_digest);
  CHECK(ask.state(id).value.offset == 4);
  {
    const auto writer = ask.append(id, 4, sha256("efgh")).value;
    test::answer_of<Done>([&](auto done) { writer->write("ef", done); });
  }
  CHECK(ask.state(id).value.offset == 4);
  const auto end = ask.patch(id, 4, "efgh", sha256("efgh"));
  CHECK(end.value.digest == sha256("abcdefgh"));
  CHECK(spool.store->figures().checksum_failures == 1);
}

TEST_CASE("what a writer wrote before it was dropped is durable") {
  Spool spool("dropped");
  Asking ask = spool.ask();
  const std::string id = ask.create(upload_of("train", 0, 8)).value.id;
  auto writer = ask.append(id, 0).value;
  test::answer_of<Done>([&](auto done) { writer->write("abcde", done); });
  writer.reset();
  CHECK(ask.state(id).value.offset == 5);
}

TEST_CASE("what a silent writer wrote is durable within seconds, and the writer goes on") {
  Spool spool("silent");
  Asking ask = spool.ask();
  const std::string id = ask.create(upload_of("train", 0, 8)).value.id;
  const auto writer = ask.append(id, 0).value;
  test::answer_of<Done>([&](auto done) { writer->write("abcde", done); });
  CHECK(test::eventually([&] { return spool.store->figures().durable_bytes == 5; }));
  test::answer_of<Done>([&](auto done) { writer->write("fgh", done); });
  CHECK(test::answer_of<UploadState>([&](auto done) { writer->finish(done, nullptr); }).value.digest ==
        sha256("abcdefgh"));
}

TEST_CASE("what a finishing writer holds is let go before the answer, which waits for the commit") {
  Spool spool("held");
  Asking ask = spool.ask();
  const auto writer = ask.append(ask.create(upload_of("train", 0, 2)).value.id, 0).value;
  test::answer_of<Done>([&](auto done) { writer->write("{}", done); });
  auto held = std::make_shared<int>();
  const std::weak_ptr<int> seen = held;
  bool let_go = false;
  const auto ended = test::answer_of<UploadState>([&](const Reply<UploadState>& done) {
    const auto look = [&, done](const Outcome<UploadState>& outcome) {
      let_go = test::eventually([&] { return seen.expired(); });
      done(outcome);
    };
    writer->finish(look, std::move(held));
  });
  CHECK(ended.value.complete);
  CHECK(let_go);
}

TEST_CASE("asking for the state ends a running writer, whose next write is refused") {
  Spool spool("evicted");
  Asking ask = spool.ask();
  const std::string id = ask.create(upload_of("train", 0, 8)).value.id;
  int evicted = 0;
  const auto first = ask.append(id, 0, std::nullopt, std::nullopt, [&] { ++evicted; }).value;
  test::answer_of<Done>([&](auto done) { first->write("abc", done); });
  CHECK(ask.state(id).value.offset == 3);
  CHECK(evicted == 1);
  CHECK(test::answer_of<Done>([&](auto done) { first->write("d", done); }).refusal == Refusal::wrong_offset);
  CHECK(ask.patch(id, 3, "defgh").value.digest == sha256("abcdefgh"));
}

TEST_CASE("bytes that are not those promised go to quarantine, and the upload is gone") {
  Spool spool("promised");
  Asking ask = spool.ask();
  NewUpload upload = upload_of("train", 0, kTrace.size());
  upload.metadata.sha256 = sha256("something else");
  const std::string id = ask.create(upload).value.id;
  CHECK(ask.patch(id, 0, kTrace).refusal == Refusal::wrong_digest);
  CHECK(ask.state(id).refusal == Refusal::unknown);
  CHECK(ask.content("train", 0).empty());
  CHECK(std::filesystem::exists(spool.path("quarantine/train/" + id + ".part")));
  CHECK(spool.store->figures().quarantined == 1);
  CHECK(problems_of(spool).empty());
}

TEST_CASE("a digest promised with the last bytes counts as one promised at creation") {
  Spool spool("late_promise");
  Asking ask = spool.ask();
  const std::string id = ask.create(upload_of("train", 0, 4)).value.id;
  CHECK(ask.promise(id, sha256("abcd")).refusal == Refusal::none);
  CHECK(ask.promise(id, sha256("efgh")).refusal == Refusal::wrong_digest);
  CHECK(ask.patch(id, 0, "efgh").refusal == Refusal::wrong_digest);
}

TEST_CASE("the same file again is complete and writes nothing") {
  Spool spool("duplicate");
  Asking ask = spool.ask();
  ask.put("train", 0, kTrace);
  SECTION("when its digest is told at creation, before a byte is sent") {
    NewUpload again = upload_of("train", 0, kTrace.size());
    again.metadata.sha256 = sha256(kTrace);
    const auto made = ask.create(again);
    CHECK(made.value.complete);
    CHECK(made.value.digest == sha256(kTrace));
    CHECK(ask.state(made.value.id).value.complete);
  }
  SECTION("when it is seen at the end") { CHECK(ask.put("train", 0, kTrace).value.complete); }
  CHECK(spool.store->job("train")->arrivals == 1);
  CHECK(spool.store->job("train")->bytes == kTrace.size());
  CHECK(problems_of(spool).empty());
}

TEST_CASE("another content for a rank is refused unless replacing was asked for") {
  Spool spool("replace");
  Asking ask = spool.ask();
  ask.put("train", 0, kTrace);
  CHECK(ask.put("train", 0, "{}").refusal == Refusal::other_content);
  CHECK(ask.content("train", 0) == kTrace);
  NewUpload other = upload_of("train", 0, 2);
  other.metadata.replace = true;
  CHECK(ask.put(other, "{}").value.complete);
  CHECK(ask.content("train", 0) == "{}");
  CHECK(spool.store->job("train")->arrived == 1);
  CHECK(spool.store->job("train")->bytes == 2);
  CHECK(spool.store->figures().quarantined == 1);
  spool.open();
  CHECK(spool.ask().content("train", 0) == "{}");
  CHECK(problems_of(spool).empty());
}

TEST_CASE("a file of nothing is complete when it is created") {
  Spool spool("empty");
  Asking ask = spool.ask();
  const auto created = ask.create(upload_of("train", 0, 0));
  REQUIRE(created.refusal == Refusal::none);
  CHECK(created.value.complete);
  CHECK(created.value.digest == Sha256().digest());
  CHECK(spool.store->job("train")->arrived == 1);
  CHECK(spool.store->job("train")->open_uploads == 0);
  CHECK(ask.create(upload_of("train", 0, 0)).value.complete);
  NewUpload wrong = upload_of("train", 1, 0);
  wrong.metadata.sha256 = Digest{};
  CHECK(ask.create(wrong).refusal == Refusal::wrong_digest);
  spool.open();
  CHECK(spool.ask().state(created.value.id).refusal == Refusal::unknown);  // of the second
  CHECK(spool.store->job("train")->arrived == 1);
}

TEST_CASE("a length that is told late ends the upload like one told at once") {
  Spool spool("deferred");
  Asking ask = spool.ask();
  const std::string id = ask.create(upload_of("train", 0, std::nullopt)).value.id;
  CHECK(ask.patch(id, 0, "abcd").value.offset == 4);
  const auto writer = ask.append(id, 4, std::nullopt, 6).value;
  test::answer_of<Done>([&](auto done) { writer->write("ef", done); });
  CHECK(test::answer_of<UploadState>([&](auto done) { writer->finish(done, nullptr); }).value.complete);
  CHECK(ask.content("train", 0) == "abcdef");
}

TEST_CASE("the last request, sent again after its answer was lost, is answered as complete") {
  Spool spool("again");
  Asking ask = spool.ask();
  const auto sent = ask.put("train", 0, "abcd");
  const auto again = ask.patch(sent.value.id, 4, "");
  CHECK(again.value.complete);
  CHECK(again.value.digest == sha256("abcd"));
}

TEST_CASE("a removed upload leaves nothing") {
  Spool spool("removed");
  Asking ask = spool.ask();
  const std::string id = ask.create(upload_of("train", 0, 8)).value.id;
  ask.patch(id, 0, "abcd");
  CHECK(ask.remove(id).refusal == Refusal::none);
  CHECK(ask.state(id).refusal == Refusal::unknown);
  CHECK(std::filesystem::is_empty(spool.path("in")));
  CHECK(spool.store->job("train")->open_uploads == 0);
  CHECK(problems_of(spool).empty());
}

TEST_CASE("an upload without progress for an hour is expired, and its disk is given back") {
  Spool spool("expired");
  Asking ask = spool.ask();
  const std::string id = ask.create(upload_of("train", 0, 8)).value.id;
  ask.patch(id, 0, "abcd");
  spool.clock += 3601;
  CHECK(ask.state(id).refusal == Refusal::expired);
  CHECK(test::eventually([&] { return std::filesystem::is_empty(spool.path("in")); }));
  CHECK(ask.state(id).refusal == Refusal::expired);
  CHECK(spool.store->job("train")->open_uploads == 0);
  CHECK(problems_of(spool).empty());
}

TEST_CASE("files, jobs, users and open uploads are held to their bounds") {
  Spool spool("quotas");
  spool.options.limits.largest_file = 100;
  spool.options.limits.largest_job = 150;
  spool.options.limits.largest_user = 250;
  spool.open();
  Asking ask = spool.ask();
  CHECK(ask.create(upload_of("a", 0, 101)).refusal == Refusal::too_large);
  CHECK(ask.create(upload_of("a", 0, 100)).refusal == Refusal::none);
  CHECK(ask.create(upload_of("a", 1, 51)).refusal == Refusal::quota);
  CHECK(ask.create(upload_of("b", 0, 100)).refusal == Refusal::none);
  CHECK(ask.create(upload_of("c", 0, 100)).refusal == Refusal::quota);
  CHECK_FALSE(spool.store->job("c"));
}

TEST_CASE("a job that told its ranks has at most twice as many open uploads, or sixteen") {
  Spool spool("open_of_told");
  JobSettings settings;
  settings.world_size = 10;
  spool.ask().put_job("ten", settings);
  settings.world_size = 2;
  spool.ask().put_job("two", settings);
  for (int i = 0; i < 20; ++i) CHECK(spool.ask().create(upload_of("ten", 0, 1)).refusal == Refusal::none);
  CHECK(spool.ask().create(upload_of("ten", 0, 1)).refusal == Refusal::too_many);
  for (int i = 0; i < 16; ++i) CHECK(spool.ask().create(upload_of("two", 0, 1)).refusal == Refusal::none);
  CHECK(spool.ask().create(upload_of("two", 0, 1)).refusal == Refusal::too_many);
}

TEST_CASE("a job of 1,024 ranks whose number nobody told has all of them open at once") {
  Spool spool("open_of_untold");
  std::promise<void> all;
  std::atomic<int> left = 1024, refused = 0;
  for (int rank = 0; rank < 1024; ++rank) {
    spool.store->create(upload_of("train", rank, 1), [&](const Outcome<UploadState>& made) {
      if (made.refusal != Refusal::none) ++refused;
      if (--left == 0) all.set_value();
    });
  }
  all.get_future().wait();
  CHECK(refused == 0);
  CHECK(spool.store->job("train")->open_uploads == 1024);
}

TEST_CASE("all jobs together have a bounded number of open uploads, and one job at most half of them") {
  Spool spool("open_of_all");
  spool.options.limits.open_uploads = 40;
  spool.open();
  Asking ask = spool.ask();
  for (int rank = 0; rank < 20; ++rank) CHECK(ask.create(upload_of("a", rank, 1)).refusal == Refusal::none);
  CHECK(ask.create(upload_of("a", 20, 1)).refusal == Refusal::too_many);
  for (int rank = 0; rank < 20; ++rank) {
    CHECK(ask.create(upload_of("b" + std::to_string(rank % 2), rank, 1)).refusal == Refusal::none);
  }
  CHECK(ask.create(upload_of("c", 0, 1)).refusal == Refusal::too_many);
  CHECK_FALSE(spool.store->job("c"));
  GatherLimits more = spool.options.limits;
  more.open_uploads = 42;
  spool.store->use(more, {});
  CHECK(ask.create(upload_of("c", 0, 1)).refusal == Refusal::none);
}

TEST_CASE("however often a file that is there is sent again, one upload of it is remembered") {
  Spool spool("remembered");
  Asking ask = spool.ask();
  NewUpload upload = upload_of("train", 0, kTrace.size());
  SECTION("by its digest alone") { upload.metadata.sha256 = ask.put(upload, kTrace).value.digest; }
  SECTION("with its bytes") {}
  std::vector<std::string> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(ask.put(upload, kTrace).value.id);
  const auto known = [&] {
    return std::count_if(ids.begin(), ids.end(),
                         [&](const std::string& id) { return spool.store->metadata_of(id).has_value(); });
  };
  CHECK(test::eventually([&] { return known() == 1; }));
  CHECK(ask.state(ids.back()).value.complete);
  spool.open();
  CHECK(known() == 1);
  CHECK(spool.ask().state(ids.back()).value.complete);
  CHECK(spool.ask().content("train", 0) == kTrace);
}

TEST_CASE("a job has a bounded number of files, however small, and those it has can be sent again and replaced") {
  Spool spool("files_per_job");
  spool.options.limits.files_per_job = 3;
  spool.open();
  Asking ask = spool.ask();
  CHECK(ask.put("train", 0, "").value.complete);
  CHECK(ask.put("train", 1, "").value.complete);
  const std::string open = ask.create(upload_of("train", 2, 1)).value.id;
  CHECK(ask.put("train", 3, "").refusal == Refusal::quota);
  NewUpload other = upload_of("train", 1, 2);
  other.metadata.capture = 1;
  CHECK(ask.put(other, "{}").refusal == Refusal::quota);
  CHECK(ask.put("train", 1, "").value.complete);
  NewUpload replacing = upload_of("train", 1, 2);
  replacing.metadata.replace = true;
  CHECK(ask.put(replacing, "{}").value.complete);
  CHECK(ask.put("other", 0, "").value.complete);
  ask.remove(open);
  CHECK(ask.put("train", 3, "").value.complete);
}

TEST_CASE("a full disk takes no uploads, a fairly full one no jobs") {
  Spool spool("marks");
  spool.ask().put("there", 0, kTrace);
  spool.options.limits.soft_disk = 0;
  spool.open();
  CHECK(spool.ask().put("there", 1, kTrace).refusal == Refusal::none);
  CHECK(spool.ask().put("new", 0, kTrace).refusal == Refusal::no_space);
  CHECK(spool.ask().put_job("new", {}).refusal == Refusal::no_space);
  CHECK_FALSE(spool.store->job("new"));
  spool.options.limits.hard_disk = 0;
  spool.open();
  CHECK(spool.ask().put("there", 2, kTrace).refusal == Refusal::no_space);
  CHECK_FALSE(spool.store->healthy());
}

TEST_CASE("many senders at once end with one file per rank") {
  Spool spool("many_senders");
  constexpr int kRanks = 24;
  std::atomic<int> complete{0};
  std::vector<std::thread> senders;
  for (int sender = 0; sender < 4; ++sender) {
    senders.emplace_back([&spool, &complete, sender] {
      Asking ask = spool.ask();
      for (int i = 0; i < kRanks; ++i) {
        const int rank = (i + 6 * sender) % kRanks;
        const std::string content = kTrace + std::to_string(rank);
        const auto sent = ask.put("train", rank, content);
        complete += sent.refusal == Refusal::none && sent.value.complete ? 1 : 0;
        spool.store->job("train");
        ask.state(sent.value.id);
      }
    });
  }
  for (std::thread& sender : senders) sender.join();
  CHECK(complete == 4 * kRanks);
  CHECK(spool.store->job("train")->arrivals == kRanks);
  CHECK(spool.store->job("train")->open_uploads == 0);
  for (int rank = 0; rank < kRanks; ++rank) {
    CHECK(spool.ask().content("train", rank) == kTrace + std::to_string(rank));
  }
  CHECK(problems_of(spool).empty());
}

TEST_CASE("a drained store has made open uploads durable and takes no more") {
  Spool spool("drained");
  Asking ask = spool.ask();
  const std::string id = ask.create(upload_of("train", 0, 8)).value.id;
  const auto writer = ask.append(id, 0).value;
  test::answer_of<Done>([&](auto done) { writer->write("abcd", done); });
  std::promise<void> drained;
  spool.store->drain([&] { drained.set_value(); });
  drained.get_future().get();
  CHECK(ask.put("train", 1, kTrace).refusal == Refusal::unavailable);
  CHECK(test::answer_of<Done>([&](auto done) { writer->write("e", done); }).refusal == Refusal::unavailable);
  spool.open();
  CHECK(spool.ask().state(id).value.offset == 4);
}

TEST_CASE("a second daemon on the same spool is refused") {
  Spool spool("second");
  const auto second = Store::open(spool.options);
  REQUIRE_FALSE(second.ok());
  CHECK(second.error().message.find("another daemon") != std::string::npos);
}

}  // namespace
}  // namespace skewscope::gather
