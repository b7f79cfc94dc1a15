#include <catch2/catch.hpp>

#include "src/ingest/ranks/file_name_rank.h"
#include "src/ingest/ranks/rank_evidence.h"
#include "src/ingest/ranks/rank_resolution.h"
#include "tests/ingest/content_builder.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

// Files of a world of known size whose content tells no rank.
std::vector<RankEvidence> files(const std::vector<std::string>& names, int64_t world) {
  std::vector<RankEvidence> evidence;
  for (const std::string& name : names) {
    evidence.emplace_back();
    evidence.back().file = name;
    evidence.back().name = read_file_name(name);
    evidence.back().default_group_size = world;
    evidence.back().first_event = at_us(0);
    evidence.back().last_event = at_us(1000);
  }
  return evidence;
}

ResolvedRanks resolve_all(const std::vector<RankEvidence>& evidence) {
  const auto overrides = RankOverrides::make("", "");
  REQUIRE(overrides.ok());
  return resolve_ranks(evidence, overrides.value());
}

std::vector<int32_t> ranks_of(const ResolvedRanks& resolved) {
  std::vector<int32_t> ranks;
  for (const ResolvedRank& file : resolved.files) ranks.push_back(file.synthetic ? -1 : file.rank.value);
  return ranks;
}

int64_t count_of(const Findings& findings, FindingCode code) {
  int64_t n = 0;
  for (const Finding& finding : findings) n += finding.code == code ? finding.count : 0;
  return n;
}

const std::vector<int32_t> kNone4 = {-1, -1, -1, -1};
const std::vector<std::string> kTwoByTwo = {"1-TP-0-PP-0.trace.json.gz", "1-TP-0-PP-1.trace.json.gz",
                                            "1-TP-1-PP-0.trace.json.gz", "1-TP-1-PP-1.trace.json.gz"};

}  // namespace

TEST_CASE("each writer's coordinates are read, whatever their order and spelling") {
  const Coordinates sglang =
      read_file_name("bench-1741944360.123-TP-4-DP-1-PP-2-EP-0-DECODE.trace.json.gz").coordinates;
  CHECK(sglang.tp == 4);
  CHECK(sglang.dp == 1);
  CHECK(sglang.pp == 2);
  CHECK(sglang.cp == -1);
  const Coordinates vllm = read_file_name("dp5_pp6_tp7_dcp3_ep1.1741944360123456789.pt.trace.json.gz").coordinates;
  CHECK(vllm.dp == 5);
  CHECK(vllm.pp == 6);
  CHECK(vllm.tp == 7);
  CHECK(vllm.cp == -1);
  const Coordinates verl = read_file_name("actor_step12_rank3_tp1-pp2-dp3-cp4_pid8123_1741944360.json.gz").coordinates;
  CHECK(verl.tp == 1);
  CHECK(verl.pp == 2);
  CHECK(verl.dp == 3);
  CHECK(verl.cp == 4);
  CHECK(read_file_name("tp_rank3.json").coordinates.tp == 3);
  CHECK(read_file_name("tp1_tp2_tp1.json").coordinates.tp == -1);
  CHECK_FALSE(read_file_name("http2-8_rank3.json").coordinates.any());
}

TEST_CASE("one coordinate that has every number of the world is the rank, without a reservation") {
  const ResolvedRanks ranks = resolve_all(files({"1-TP-1.trace.json.gz", "1-TP-0.trace.json.gz"}, 2));
  CHECK(ranks_of(ranks) == std::vector<int32_t>{1, 0});
  CHECK(ranks.files[0].source == "file name TP coordinate, world size");
  CHECK(ranks.findings.empty());
}

TEST_CASE("a full grid is numbered with tp fastest, then dp, then pp") {
  std::vector<std::string> names;
  for (int pp = 0; pp < 2; ++pp) {
    for (int dp = 0; dp < 3; ++dp) {
      for (int tp = 0; tp < 2; ++tp) {
        names.push_back("1-TP-" + std::to_string(tp) + "-DP-" + std::to_string(dp) + "-PP-" + std::to_string(pp) +
                        ".trace.json.gz");
      }
    }
  }
  const ResolvedRanks ranks = resolve_all(files(names, 12));
  CHECK(ranks_of(ranks) == std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(ranks.files[7].source == "file name TP/DP/PP coordinates, world size");
  CHECK(ranks.findings.empty());
}

TEST_CASE("a dimension that lies inside another does not count twice") {
  const ResolvedRanks ranks = resolve_all(files({"1-TP-0-DP-0-EP-0.trace.json.gz", "1-TP-1-DP-0-EP-1.trace.json.gz",
                                                 "1-TP-2-DP-1-EP-0.trace.json.gz", "1-TP-3-DP-1-EP-1.trace.json.gz"},
                                                4));
  CHECK(ranks_of(ranks) == std::vector<int32_t>{0, 1, 2, 3});
  CHECK(ranks.files[3].source == "file name TP coordinate, world size");
}

TEST_CASE("coordinates that leave holes in the world, or repeat, tell no rank") {
  CHECK(ranks_of(resolve_all(files(kTwoByTwo, 8))) == kNone4);
  std::vector<std::string> sampled = {"1-TP-0-PP-1.trace.json.gz", "1-TP-1-PP-0.trace.json.gz"};
  CHECK(ranks_of(resolve_all(files(sampled, 4))) == std::vector<int32_t>{-1, -1});
  std::vector<RankEvidence> twice =
      files({"a/1-TP-0-DP-0.json", "a/1-TP-1-DP-0.json", "b/1-TP-0-DP-0.json", "b/1-TP-1-DP-0.json"}, 2);
  const ResolvedRanks ranks = resolve_all(twice);
  CHECK(ranks_of(ranks) == kNone4);
  CHECK(count_of(ranks.findings, "rank-coordinates") == 2);
  CHECK(count_of(ranks.findings, "rank-unknown") == 4);
}

TEST_CASE("captures of one process, one after the other, share coordinates and rank") {
  std::vector<RankEvidence> evidence = files({"1-TP-0-DECODE.trace.json.gz", "1-TP-0-EXTEND.trace.json.gz",
                                              "1-TP-1-DECODE.trace.json.gz", "1-TP-1-EXTEND.trace.json.gz"},
                                             2);
  evidence[0].first_event = evidence[2].first_event = at_us(2000);
  evidence[0].last_event = evidence[2].last_event = at_us(3000);
  CHECK(ranks_of(resolve_all(evidence)) == std::vector<int32_t>{0, 0, 1, 1});
  evidence[0].host = "a";
  evidence[1].host = "b";
  CHECK(ranks_of(resolve_all(evidence)) == kNone4);
}

TEST_CASE("a group of the process that lacks the rank refutes the coordinates of all files") {
  std::vector<RankEvidence> evidence = files(kTwoByTwo, 4);
  CHECK(ranks_of(resolve_all(evidence)) == std::vector<int32_t>{0, 2, 1, 3});
  evidence[1].distributed.groups.push_back({"tp", "", 2, {2, 3}, -1, ""});
  CHECK(ranks_of(resolve_all(evidence)) == std::vector<int32_t>{0, 2, 1, 3});
  evidence[2].call_groups.push_back({0, 2});  // the launcher numbers pp fastest
  const ResolvedRanks ranks = resolve_all(evidence);
  CHECK(ranks_of(ranks) == kNone4);
  CHECK(count_of(ranks.findings, "rank-coordinates") == 1);
}

TEST_CASE("a rank known by a better source refutes coordinates that contradict it, or confirms them") {
  std::vector<RankEvidence> evidence = files(kTwoByTwo, 4);
  evidence[1].symmetric_rank = 2;
  const ResolvedRanks confirmed = resolve_all(evidence);
  CHECK(ranks_of(confirmed) == std::vector<int32_t>{0, 2, 1, 3});
  CHECK(confirmed.files[1].source == "Rank of default_pg calls");
  evidence[1].symmetric_rank = 1;
  const ResolvedRanks refuted = resolve_all(evidence);
  CHECK(ranks_of(refuted) == std::vector<int32_t>{-1, 1, -1, -1});
  CHECK(count_of(refuted.findings, "rank-coordinates") == 1);
}

TEST_CASE("refuted coordinates do not come back as local ranks") {
  std::vector<RankEvidence> evidence = files({"1-TP-0.trace.json.gz", "1-TP-1.trace.json.gz"}, 2);
  evidence[0].call_groups.push_back({1});
  CHECK(ranks_of(resolve_all(evidence)) == std::vector<int32_t>{-1, -1});
}

TEST_CASE("two readings that differ tell no rank") {
  const ResolvedRanks ranks = resolve_all(files({"1-TP-0-DP-1.json", "1-TP-1-DP-0.json"}, 2));
  CHECK(ranks_of(ranks) == std::vector<int32_t>{-1, -1});
  CHECK(count_of(ranks.findings, "rank-coordinates") == 1);
}

TEST_CASE("evidence lists the members of a process's call groups once, and only complete lists") {
  ContentBuilder b;
  b.add(b.args("allreduce", "Float", 1, 1, "3", "[1, 5]", 2));
  b.add(b.args("allgather", "Float", 1, 1, "3", "[1, 5]", 2));
  b.add(b.args("allreduce", "Float", 1, 1, "4", "[0, 1, ...]", 64));
  b.add(b.args("wait", "Float", 1, 1, "5", "[0]", 1));
  CHECK(evidence_of(b.content()).call_groups == std::vector<RankRuns>{{1, 5}});
}

TEST_CASE("in a world of unknown size coordinates that count the files are ranks, and it is said") {
  const ResolvedRanks ranks = resolve_all(
      files({"tp0_pp0_dp0.1.pt.trace.json", "tp1_pp0_dp0.1.pt.trace.json", "tp2_pp0_dp0.1.pt.trace.json"}, -1));
  CHECK(ranks_of(ranks) == std::vector<int32_t>{0, 1, 2});
  CHECK(ranks.files[2].source == "file name TP coordinate, number of files");
  CHECK(count_of(ranks.findings, "rank-from-local-rank") == 3);
  CHECK(ranks_of(resolve_all(files({"tp0_pp0.json", "tp1_pp1.json", "tp2_pp0.json", "tp2_pp1.json"}, -1))) == kNone4);
}
