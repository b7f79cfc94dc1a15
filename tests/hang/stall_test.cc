// Who waits for whom, from dumps written call by call.
#include <catch2/catch.hpp>

#include "dumps.h"

using namespace skewscope;        // NOLINT
using namespace skewscope::test;  // NOLINT

namespace {

constexpr CallState kDone = CallState::completed, kIn = CallState::started, kQueued = CallState::scheduled;
const std::vector<int32_t> kFour = {0, 1, 2, 3};

FlightDump all_reduces(int32_t rank, int64_t first, int64_t last, CallState last_state) {
  DumpBuilder dump(rank);
  const int32_t world = dump.group("0", kFour);
  for (int64_t seq = first; seq < last; ++seq) dump.collective(world, seq, "all_reduce", kDone);
  dump.collective(world, last, "all_reduce", last_state);
  return dump.done();
}

}  // namespace

TEST_CASE("ring buffers that wrapped at different places go together by sequence number") {
  const HangReport report = find_hang({all_reduces(0, 90, 101, kIn), all_reduces(1, 2, 101, kIn),
                                       all_reduces(2, 99, 100, kDone), all_reduces(3, 101, 101, kIn)});
  REQUIRE(report.culprits.size() == 1);
  CHECK(report.culprits.front().rank == 2);
  CHECK(report.culprits.front().collective_seq == 101);
  REQUIRE(report.groups.size() == 1);
  CHECK(report.groups.front().last_completed_seq == 100);
  CHECK(report.groups.front().missing_ranks == std::vector<int32_t>{2});
  CHECK(report.groups.front().entered_ranks == std::vector<int32_t>{0, 1, 3});
}

TEST_CASE("a rank in another group's call waits there, and only the one at the end is named") {
  DumpBuilder zero(0), one(1), two(2), three(3);
  for (DumpBuilder* dump : {&zero, &one}) dump->collective(dump->group("a", {0, 1}), 5, "all_reduce", kDone);
  zero.collective(0, 6, "all_reduce", kIn);
  one.collective(one.group("b", {1, 2}), 3, "all_reduce", kIn);
  two.group("b", {1, 2});
  two.collective(two.group("c", {2, 3}), 9, "all_reduce", kIn);
  three.collective(three.group("c", {2, 3}), 8, "all_reduce", kDone);
  const HangReport report = find_hang({zero.done(), one.done(), two.done(), three.done()});
  REQUIRE(report.culprits.size() == 1);
  CHECK(report.culprits.front().rank == 3);
  CHECK(report.culprits.front().waiting == 3);
  REQUIRE(report.chain.size() == 3);
  CHECK(report.chain[0].ranks == std::vector<int32_t>{2});
  CHECK(report.chain[2].ranks == std::vector<int32_t>{0});
  CHECK(report.chain[2].waits_for == std::vector<int32_t>{1});
}

TEST_CASE("the GPU that does not complete what others completed is named, not those that wait behind it") {
  const auto dump = [](int32_t rank, int64_t completed) {
    DumpBuilder builder(rank);
    const int32_t world = builder.group("0", kFour);
    for (int64_t seq = 1; seq <= 8; ++seq)
      builder.collective(world, seq, "all_reduce", seq <= completed ? kDone : kQueued);
    return builder.done();
  };
  const HangReport report = find_hang({dump(0, 6), dump(1, 4), dump(2, 6), dump(3, 6)});
  REQUIRE(report.culprits.size() == 1);
  CHECK(report.culprits.front().rank == 1);
  CHECK(report.culprits.front().kind == CulpritKind::stuck);
  CHECK(report.culprits.front().collective_seq == 5);
  CHECK(report.waiting_ranks == std::vector<int32_t>{0, 2, 3});
}

TEST_CASE(
    "where all members entered alike, the GPU that did not start is likely, and without that anyone is possible") {
  const auto hang = [](CallState of_two) {
    return find_hang({all_reduces(0, 1, 5, kIn), all_reduces(1, 1, 5, kIn), all_reduces(2, 1, 5, of_two),
                      all_reduces(3, 1, 5, kIn)});
  };
  CHECK(sure_ranks(hang(kQueued)) == std::vector<int32_t>{2});
  CHECK(sure_ranks(hang(kIn)).empty());
  CHECK(hang(kIn).culprits.size() == 4);
}

TEST_CASE("a rank without a dump is likely where nothing else explains a wait, and possible where something does") {
  const std::vector<FlightDump> three = {all_reduces(0, 1, 5, kIn), all_reduces(1, 1, 5, kIn),
                                         all_reduces(2, 1, 5, kIn)};
  const HangReport alone = find_hang(three);
  REQUIRE(alone.culprits.size() == 1);
  CHECK(alone.culprits.front().kind == CulpritKind::no_dump);
  CHECK(alone.culprits.front().certainty == Certainty::likely);
  CHECK(alone.ranks_without_dump == std::vector<int32_t>{3});
  const HangReport explained =
      find_hang({all_reduces(0, 1, 5, kIn), all_reduces(1, 1, 5, kIn), all_reduces(2, 1, 4, kDone)});
  CHECK(named(explained, 2)->certainty != Certainty::possible);
  CHECK(named(explained, 3)->certainty == Certainty::possible);
}

TEST_CASE("a pipeline: the stage that does not receive is named by those that send to it") {
  DumpBuilder zero(0), one(1), two(2);
  for (DumpBuilder* dump : {&zero, &one, &two}) dump->group("p", {0, 1, 2});
  zero.message(0, DumpedOp::send, 1, kDone).message(0, DumpedOp::send, 1, kIn);
  one.message(0, DumpedOp::recv, 0, kDone).message(0, DumpedOp::send, 2, kIn).message(0, DumpedOp::recv, 0, kQueued);
  two.message(0, DumpedOp::recv, 1, kDone);
  const HangReport report = find_hang({zero.done(), one.done(), two.done()});
  REQUIRE(report.culprits.size() == 1);
  CHECK(report.culprits.front().rank == 2);
  CHECK(report.culprits.front().certainty == Certainty::likely);
  CHECK(report.culprits.front().waiting == 2);
}

TEST_CASE("two faults at once are both named") {
  DumpBuilder zero(0), one(1), two(2), three(3);
  for (DumpBuilder* dump : {&zero, &one}) dump->collective(dump->group("a", {0, 1}), 1, "all_reduce", kDone);
  for (DumpBuilder* dump : {&two, &three}) dump->collective(dump->group("b", {2, 3}), 1, "all_reduce", kDone);
  zero.collective(0, 2, "all_reduce", kIn);
  two.collective(0, 2, "all_reduce", kIn);
  const HangReport report = find_hang({zero.done(), one.done(), two.done(), three.done()});
  CHECK(sure_ranks(report) == std::vector<int32_t>{1, 3});
}

TEST_CASE("in a group that is divided in two, groups like it decide which half entered something else") {
  std::vector<FlightDump> dumps;
  for (int32_t rank = 0; rank < 6; ++rank) {
    DumpBuilder dump(rank);
    const int32_t even = rank / 2 * 2;
    dump.collective(dump.group(std::to_string(rank / 2), {even, even + 1}), 4, rank == 3 ? "broadcast" : "all_reduce",
                    kIn);
    dumps.push_back(dump.done());
  }
  CHECK(sure_ranks(find_hang({dumps[2], dumps[3]})).empty());
  const HangReport report = find_hang(dumps);
  REQUIRE(named(report, 3) != nullptr);
  CHECK(named(report, 3)->kind == CulpritKind::mismatch);
  CHECK(named(report, 2) == nullptr);
}

TEST_CASE("all-to-alls of unequal sizes are no mismatch") {
  DumpBuilder zero(0), one(1);
  for (DumpBuilder* dump : {&zero, &one})
    dump->collective(dump->group("e", {0, 1}), 1, "all_to_all", kDone, dump == &zero ? 10 : 30);
  CHECK(find_hang({zero.done(), one.done()}).culprits.empty());
}

TEST_CASE("lateness is by the middle of the members, and how often a rank was last") {
  std::vector<FlightDump> dumps;
  for (int32_t rank = 0; rank < 4; ++rank) {
    DumpBuilder dump(rank);
    const int32_t world = dump.group("0", kFour);
    for (int64_t seq = 1; seq <= 6; ++seq) {
      dump.collective(world, seq, "all_reduce", kDone).at(1'000'000'000 * seq + (rank == 3 ? 40'000'000 : rank * 1000));
    }
    dumps.push_back(dump.done());
  }
  const HangReport report = find_hang(dumps);
  CHECK(report.culprits.empty());
  CHECK(report.ranks[3].late_ns == 40'000'000 - 2000);
  CHECK(report.ranks[3].last_share == 1);
  CHECK(report.ranks[0].last_share == 0);
}

TEST_CASE("the same dumps in another order give the same report") {
  std::vector<FlightDump> dumps = {all_reduces(0, 1, 5, kIn), all_reduces(1, 1, 5, kIn), all_reduces(2, 1, 4, kDone),
                                   all_reduces(3, 1, 5, kIn)};
  const HangStamp stamp = {"skewscope hang d", "0", "2026-01-01T00:00:00Z"};
  const std::string before = hang_json(find_hang(dumps), stamp);
  std::swap(dumps[0], dumps[3]);
  CHECK(hang_json(find_hang(dumps), stamp) == before);
}
