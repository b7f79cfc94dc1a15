#include <catch2/catch.hpp>
#include <filesystem>

#include "src/ingest/ranks/file_name_rank.h"
#include "src/ingest/ranks/rank_resolution.h"
#include "tests/ingest/content_builder.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

// Recorded at one time with all others; `rank` and `world` as distributedInfo says, -1: it does not.
RankEvidence claiming(const std::string& path, int64_t rank = -1, int64_t world = -1) {
  RankEvidence evidence;
  evidence.file = path;
  evidence.folder = std::filesystem::path("/job/" + path).parent_path().string();
  evidence.name = read_file_name(path);
  evidence.first_event = at_us(0);
  evidence.last_event = at_us(1000);
  evidence.distributed.present = rank >= 0;
  evidence.distributed.rank = rank;
  evidence.distributed.world_size = world;
  return evidence;
}

RankEvidence in_world(const std::string& path, int64_t world) {
  RankEvidence evidence = claiming(path);
  evidence.default_group_size = evidence.largest_group = world;
  return evidence;
}

ResolvedRanks resolve_clash(const std::vector<RankEvidence>& evidence) {
  const auto none = RankOverrides::make("", "", 0);
  return resolve_ranks(evidence, none.value());
}

std::vector<int32_t> numbers_of(const ResolvedRanks& ranks) {
  std::vector<int32_t> numbers;
  for (const ResolvedRank& one : ranks.files) numbers.push_back(one.rank.value);
  return numbers;
}

int64_t told_of(const Findings& findings, FindingCode code) {
  int64_t n = 0;
  for (const Finding& finding : findings) n += finding.code == code ? finding.count : 0;
  return n;
}

}  // namespace

TEST_CASE("a rank 0 that every file claims gives way to names that tell the files apart, and it is said") {
  const ResolvedRanks ranks = resolve_clash({claiming("rank0.json", 0, 4), claiming("rank1.json", 0, 4),
                                             claiming("rank2.json", 0, 4), claiming("rank3.json", 0, 4)});
  CHECK(numbers_of(ranks) == std::vector<int32_t>{0, 1, 2, 3});
  CHECK(ranks.files[3].source == "file name rank<R>");
  CHECK(told_of(ranks.findings, "rank-doubtful") == 4);
  CHECK(told_of(ranks.findings, "rank-conflict") == 0);
}

TEST_CASE("a claim that one file alone makes is believed, whatever the names say") {
  CHECK(numbers_of(resolve_clash({claiming("rank0.json", 1, 2), claiming("rank1.json", 0, 2)})) ==
        std::vector<int32_t>{1, 0});
}

TEST_CASE("two files of one rank stay two where nothing else tells them apart") {
  CHECK(numbers_of(resolve_clash({claiming("rank0.json", 0, 2), claiming("rank0.json.gz", 0, 2),
                                  claiming("rank1.json", 1, 2)})) == std::vector<int32_t>{0, 0, 1});
  CHECK(numbers_of(resolve_clash({claiming("replica0_TP-0.json", 0, 2), claiming("replica0_TP-1.json", 1, 2),
                                  claiming("replica1_TP-0.json", 0, 2), claiming("replica1_TP-1.json", 1, 2)})) ==
        std::vector<int32_t>{0, 1, 0, 1});
}

TEST_CASE("captures that follow each other may claim one rank") {
  RankEvidence later = claiming("rank1.json", 0, 2);
  later.first_event = at_us(2000);
  later.last_event = at_us(3000);
  CHECK(numbers_of(resolve_clash({claiming("rank0.json", 0, 2), later})) == std::vector<int32_t>{0, 0});
}

TEST_CASE("names do not replace a claim where a group of the process lacks them") {
  RankEvidence last = claiming("rank5.json", 0, 8);
  last.call_groups = {{0, 1}};
  CHECK(numbers_of(resolve_clash({claiming("rank4.json", 0, 8), last})) == std::vector<int32_t>{0, 0});
}

TEST_CASE("ranks that repeat in each folder are places on a node where folders times places are the world") {
  const ResolvedRanks ranks = resolve_clash({in_world("node10/rank0.json", 4), in_world("node10/rank1.json", 4),
                                             in_world("node9/rank0.json", 4), in_world("node9/rank1.json", 4)});
  CHECK(numbers_of(ranks) == std::vector<int32_t>{2, 3, 0, 1});
  CHECK(ranks.files[0].source == "file name rank<R> (local), folder");
  CHECK(told_of(ranks.findings, "rank-from-local-rank") == 4);
  CHECK(numbers_of(resolve_clash({in_world("a0/rank_0.json", 2), in_world("a1/rank_0.json", 2)})) ==
        std::vector<int32_t>{0, 1});
}

TEST_CASE("folders of other jobs, of parts of one, or of contradicting groups are no nodes") {
  const std::vector<int32_t> kept = {0, 1, 0, 1};
  const auto four = [](int64_t world) {
    return std::vector<RankEvidence>{in_world("a/rank0.json", world), in_world("a/rank1.json", world),
                                     in_world("b/rank0.json", world), in_world("b/rank1.json", world)};
  };
  CHECK(numbers_of(resolve_clash(four(2))) == kept);
  CHECK(numbers_of(resolve_clash(four(8))) == kept);
  std::vector<RankEvidence> contradicting = four(4);
  contradicting[2].call_groups = {{0, 1}};
  CHECK(numbers_of(resolve_clash(contradicting)) == kept);
}

TEST_CASE("a world smaller than the default group of its calls is as large as that group") {
  RankEvidence a = claiming("gpu0.json", 0, 1);
  a.default_group_size = a.largest_group = 4;
  const ResolvedRanks ranks = resolve_clash({a});
  CHECK(ranks.world_size == 4);
  CHECK(ranks.world_size_source == WorldSizeSource::default_group);
  CHECK(told_of(ranks.findings, "world-size-disagreement") == 1);
}

TEST_CASE("a rank that all files claim gives way to a number that counts them, where the world has such ranks") {
  const auto four = [](int64_t group) {
    std::vector<RankEvidence> files;
    for (const char* name : {"gpu0.json", "gpu1.json", "gpu2.json", "gpu3.json"}) {
      files.push_back(claiming(name, 0, 1));
      files.back().default_group_size = files.back().largest_group = group;
    }
    return files;
  };
  const ResolvedRanks ranks = resolve_clash(four(4));
  CHECK(numbers_of(ranks) == std::vector<int32_t>{0, 1, 2, 3});
  CHECK(told_of(ranks.findings, "rank-from-name-number") == 4);
  CHECK(numbers_of(resolve_clash(four(1))) == std::vector<int32_t>{0, 0, 0, 0});
  std::vector<RankEvidence> pairs = four(4);
  for (RankEvidence& one : pairs) one.call_groups = {{0, 1}};
  CHECK(numbers_of(resolve_clash(pairs)) == std::vector<int32_t>{0, 0, 0, 0});
}

TEST_CASE("files that only their number counts leave the size of the world open, and it is said") {
  CHECK(told_of(resolve_clash({claiming("worker0.json"), claiming("worker1.json")}).findings, "world-size-unknown") ==
        1);
  CHECK(told_of(resolve_clash({in_world("worker0.json", 2), in_world("worker1.json", 2)}).findings,
                "world-size-unknown") == 0);
  CHECK(told_of(resolve_clash({claiming("worker0.json")}).findings, "world-size-unknown") == 0);
}
