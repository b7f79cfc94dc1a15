// The job again, with one thing changed.
#include <catch2/catch.hpp>

#include "small_job.h"

using namespace skewscope;
using namespace skewscope::test;

TEST_CASE("unchanged, the replay takes as long as the job did") {
  SmallJob job(4);
  const CommunicatorId left = job.group({0, 1}), right = job.group({2, 3}), all = job.group({0, 1, 2, 3});
  for (int step = 0; step < 4; ++step) {
    for (int32_t r = 0; r < 4; ++r) job.work(r, 40 + 7 * r, "gemm", step == 2 && r == 3 ? 25 : 0);
    job.meet(left, 6, true);
    job.meet(right, 9);
    for (int32_t r = 0; r < 4; ++r) job.work(r, 30);
    job.meet(all, 4);
  }
  const Replay replay = job.done().blame.replay;
  CHECK(replay.replayed_ns == replay.recorded_ns);
}

TEST_CASE("a rank that takes longer every step is given its peers' pace, and stands out") {
  SmallJob job(4);
  const CommunicatorId all = job.group({0, 1, 2, 3});
  for (int step = 0; step < 5; ++step) {
    for (int32_t r = 0; r < 4; ++r) job.work(r, r == 2 ? 150 : 100);
    job.meet(all, 10);
  }
  const Blame blame = job.done().blame;
  // 5 steps of 150 + 10 us; at the others' pace 5 of 100 + 10.
  CHECK(blame.replay.recorded_ns == 800'000);
  CHECK(blame.replay.balanced_ns == 550'000);
  CHECK(blame.replay.no_transfer_ns == 750'000);
  CHECK(blame.traces[2].what_if.saved_ns == 250'000);
  CHECK(blame.traces[2].what_if.share == 1);
  CHECK(blame.traces[2].what_if.stands_out);
}

TEST_CASE("a host of few launches that synchronizes each step goes on sooner once the GPU is through sooner") {
  SmallJob job(4);
  const CommunicatorId all = job.group({0, 1, 2, 3});
  for (int step = 0; step < 5; ++step) {
    for (int32_t r = 0; r < 4; ++r) job.work(r, r == 2 ? 5000 : 1000);
    job.meet(all, 10);
    for (int32_t r = 0; r < 4; ++r) job.synchronize(r);
  }
  const Blame blame = job.done().blame;
  // Steps of 5010 us, 10 us of idling between them; at the others' pace 1010.
  CHECK(blame.replay.recorded_ns == 5 * 5'010'000 + 4 * 10'000);
  CHECK(blame.traces[2].what_if.saved_ns == 5 * 4'000'000);
  CHECK(blame.traces[2].what_if.stands_out);
}

TEST_CASE("of more ranks than are replayed abreast, each is replayed with its own pace alone") {
  SmallJob job(11);
  const CommunicatorId all = job.group({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  for (int step = 0; step < 5; ++step) {
    for (int32_t r = 0; r < 11; ++r) job.work(r, r == 9 ? 180 : r == 4 ? 150 : 100);
    job.meet(all, 10);
  }
  const Blame blame = job.done().blame;
  CHECK(blame.replay.balanced_ns == blame.replay.recorded_ns - 5 * 80'000);
  for (size_t r = 0; r < 11; ++r) {
    CAPTURE(r);
    REQUIRE(blame.traces[r].what_if.replayed);
    CHECK(blame.traces[r].what_if.saved_ns == (r == 9 ? 5 * 30'000 : 0));  // then rank 4 is the last
  }
}

TEST_CASE("two ranks that are late in turn are suspects: neither alone gains anything") {
  SmallJob job(4);
  const CommunicatorId all = job.group({0, 1, 2, 3});
  for (int step = 0; step < 4; ++step) {
    for (int32_t r = 0; r < 4; ++r) job.work(r, r <= 1 ? 150 : 100);
    job.meet(all, 10);
  }
  const Blame blame = job.done().blame;
  for (const size_t r : {0U, 1U}) {
    REQUIRE(blame.traces[r].what_if.replayed);
    CHECK(blame.traces[r].what_if.saved_ns == 0);
    CHECK_FALSE(blame.traces[r].what_if.stands_out);
  }
}

TEST_CASE("transfer that runs beside computation costs nothing, and a chain would say otherwise") {
  SmallJob job(2);
  const CommunicatorId all = job.group({0, 1});
  for (int step = 0; step < 3; ++step) {
    for (int32_t r = 0; r < 2; ++r) job.work(r, 50);
    job.meet(all, 40, true);
    for (int32_t r = 0; r < 2; ++r) job.work(r, 60);
  }
  const Replay replay = job.done().blame.replay;
  CHECK(replay.recorded_ns == 330'000);
  CHECK(replay.replayed_ns == 330'000);
  CHECK(replay.no_transfer_ns == 330'000);
}

TEST_CASE("a kernel that waited for its launch comes no sooner when the call in front of it takes no time") {
  SmallJob job(2);
  const CommunicatorId all = job.group({0, 1});
  for (int step = 0; step < 3; ++step) {
    for (int32_t r = 0; r < 2; ++r) {
      for (int kernel = 0; kernel < 4; ++kernel) job.work(r, 5, "gemm", 20);
    }
    job.meet(all, 15);
  }
  for (int32_t r = 0; r < 2; ++r) job.work(r, 5, "gemm", 20);
  const Replay replay = job.done().blame.replay;
  // From the first kernel at 20 us: 3 x (4 x 25 + 15) + 25 - 20.
  CHECK(replay.recorded_ns == 350'000);
  CHECK(replay.replayed_ns == 350'000);
  CHECK(replay.no_transfer_ns == 350'000);
}

TEST_CASE("a host that takes longer for every launch is given its peers' pace, kernel by kernel") {
  SmallJob job(4);
  const CommunicatorId all = job.group({0, 1, 2, 3});
  for (int step = 0; step < 5; ++step) {
    for (int32_t r = 0; r < 4; ++r) {
      for (int kernel = 0; kernel < 6; ++kernel) job.work(r, 5, "gemm", r == 2 ? 60 : 0);
    }
    job.meet(all, 10);
  }
  const Blame blame = job.done().blame;
  // 5 steps of 6 x 65 + 10 us; at the others' pace of 6 x 5 + 10, but for the first launch, where rank 2 begins.
  CHECK(blame.replay.recorded_ns == 2'000'000);
  CHECK(static_cast<double>(blame.replay.balanced_ns) == Approx(260'000).margin(1'000));
  CHECK(static_cast<double>(blame.traces[2].what_if.saved_ns) == Approx(1'740'000).margin(1'000));
  CHECK(blame.traces[2].what_if.stands_out);
}

TEST_CASE("an operation that everybody stands still for gains its transfer when hidden, half of it on a faster link") {
  SmallJob job(4);
  const CommunicatorId left = job.group({0, 1}), right = job.group({2, 3}), all = job.group({0, 1, 2, 3});
  for (int step = 0; step < 5; ++step) {
    for (int32_t r = 0; r < 4; ++r) job.work(r, 100);
    job.meet(left, 40);
    job.meet(right, 30);
    for (int32_t r = 0; r < 4; ++r) job.work(r, 50);
    job.meet(all, 20);
  }
  for (int32_t r = 0; r < 4; ++r) job.work(r, 10);
  const auto rooms = job.done();
  const Blame& blame = rooms.blame;
  CHECK(blame.replay.recorded_ns == 5 * 210'000 + 10'000);
  REQUIRE(blame.operations.size() == 2);  // groups of two, and of four
  CHECK(rooms.decomposition.group_kinds.kinds[static_cast<size_t>(blame.operations[0].group_kind)].size == 2);
  // 40 us of the left pair are the job's; the right pair waits for 10 of them at the end of the step.
  CHECK(blame.operations[0].exposed_transfer_ns == 5 * (2 * 40'000 + 2 * 30'000));
  CHECK(blame.operations[0].calls == 20);
  CHECK(blame.operations[0].hidden_saved_ns == 5 * 40'000);
  CHECK(blame.operations[0].faster_saved_ns == 5 * 20'000);
  CHECK(blame.operations[1].hidden_saved_ns == 5 * 20'000);
  CHECK(blame.operations[1].faster_saved_ns == 5 * 10'000);
}

TEST_CASE("a transfer behind which a late rank is waited for gains little") {
  SmallJob job(3);
  const CommunicatorId pair = job.group({0, 1}), all = job.group({0, 1, 2});
  for (int step = 0; step < 5; ++step) {
    for (int32_t r = 0; r < 3; ++r) job.work(r, r == 2 ? 130 : 100);
    job.meet(pair, 40);
    for (int32_t r = 0; r < 2; ++r) job.work(r, 1);  // until 141; rank 2 comes at 130
    job.meet(all, 5);
  }
  for (int32_t r = 0; r < 3; ++r) job.work(r, 10);
  const Blame blame = job.done().blame;
  REQUIRE(!blame.operations.empty());
  CHECK(blame.operations[0].exposed_transfer_ns == 5 * 2 * 40'000);
  CHECK(blame.operations[0].hidden_saved_ns == 5 * 11'000);
  CHECK(blame.operations[0].faster_saved_ns == 5 * 11'000);
}

TEST_CASE("a transfer that runs beside computation is not replayed: nobody stands still for it") {
  SmallJob job(2);
  const CommunicatorId all = job.group({0, 1});
  for (int step = 0; step < 5; ++step) {
    for (int32_t r = 0; r < 2; ++r) job.work(r, 50);
    job.meet(all, 40, true);
    for (int32_t r = 0; r < 2; ++r) job.work(r, 60);
  }
  CHECK(job.done().blame.operations.empty());
}

TEST_CASE("what takes longer than all computation cannot be hidden behind it") {
  SmallJob job(2);
  const CommunicatorId all = job.group({0, 1});
  for (int step = 0; step < 20; ++step) {
    for (int32_t r = 0; r < 2; ++r) job.work(r, 10);
    job.meet(all, 90);
  }
  for (int32_t r = 0; r < 2; ++r) job.work(r, 10);
  const Blame blame = job.done().blame;
  CHECK(blame.replay.recorded_ns == 20 * 100'000 + 10'000);
  CHECK(blame.replay.no_transfer_ns == 21 * 10'000);
  REQUIRE(blame.operations.size() == 1);
  CHECK(blame.operations[0].hidden_saved_ns == 2'010'000 - 20 * 90'000);
}
