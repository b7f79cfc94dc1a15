#include <catch2/catch.hpp>

#include "src/ingest/ranks/file_name_rank.h"
#include "src/ingest/ranks/rank_evidence.h"
#include "src/ingest/ranks/rank_resolution.h"
#include "tests/ingest/content_builder.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

RankEvidence file(const std::string& name) {
  RankEvidence evidence;
  evidence.file = name;
  evidence.name = read_file_name(name);
  evidence.first_event = at_us(0);
  evidence.last_event = at_us(1000);
  return evidence;
}

RankEvidence file(const std::string& name, int64_t rank, int64_t world, bool after_events = false) {
  RankEvidence evidence = file(name);
  evidence.distributed.present = true;
  evidence.distributed.rank = rank;
  evidence.distributed.world_size = world;
  evidence.distributed.after_events = after_events;
  return evidence;
}

ResolvedRanks resolve(const std::vector<RankEvidence>& evidence, const std::string& regex = "",
                      int32_t least_world_size = 0) {
  const auto overrides = RankOverrides::make("", regex, least_world_size);
  REQUIRE(overrides.ok());
  return resolve_ranks(evidence, overrides.value());
}

int64_t count(const Findings& findings, FindingCode code) {
  int64_t n = 0;
  for (const Finding& finding : findings) n += finding.code == code ? finding.count : 0;
  return n;
}

}  // namespace

TEST_CASE("distributedInfo with a world size is the rank, and the source says so") {
  const ResolvedRanks ranks = resolve({file("a.json", 3, 8)});
  CHECK(ranks.files[0].rank == Rank(3));
  CHECK(ranks.files[0].source == "distributedInfo");
  CHECK(ranks.world_size == 8);
  CHECK(ranks.world_size_source == WorldSizeSource::distributed_info);
  CHECK(ranks.findings.empty());
}

TEST_CASE("a file name that contradicts the content is a conflict, and content wins") {
  const ResolvedRanks ranks = resolve({file("rank3_trace.json", 5, 8)});
  CHECK(ranks.files[0].rank == Rank(5));
  REQUIRE(count(ranks.findings, "rank-conflict") == 1);
  CHECK(ranks.findings[0].message.find("3") != std::string::npos);
}

TEST_CASE("a user's regex beats the content, and the conflict is reported") {
  const ResolvedRanks ranks = resolve({file("gpu2.json", 5, 8)}, "gpu(?P<rank>\\d+)");
  CHECK(ranks.files[0].rank == Rank(2));
  CHECK(ranks.files[0].source == "--rank-regex");
  CHECK(count(ranks.findings, "rank-conflict") == 1);
}

TEST_CASE("a regex that takes the pid for the rank is reported and not used") {
  const ResolvedRanks ranks = resolve({file("rank1_pid8123.json", 1, 8)}, "pid(?P<rank>\\d+)");
  CHECK(ranks.files[0].rank == Rank(1));
  CHECK(count(ranks.findings, "rank-out-of-range") == 1);
}

TEST_CASE("the own rank of symmetric calls on the default group beats an on-demand distributedInfo") {
  RankEvidence evidence = file("a.json", 0, 8, true);
  evidence.symmetric_rank = 6;
  const ResolvedRanks ranks = resolve({evidence});
  CHECK(ranks.files[0].rank == Rank(6));
  CHECK(ranks.files[0].source == "Rank of default_pg calls");
}

TEST_CASE("on-demand traces that all claim the root of their first broadcast are not believed") {
  const ResolvedRanks ranks = resolve({file("rank0.json", 0, 4, true), file("rank1.json", 0, 4, true)});
  CHECK(ranks.files[0].source == "file name rank<R>");
  CHECK(ranks.files[1].rank == Rank(1));
  CHECK(count(ranks.findings, "rank-doubtful") == 2);
  CHECK(count(ranks.findings, "rank-conflict") == 0);
}

TEST_CASE("an on-demand rank that nobody else claims is used") {
  const ResolvedRanks ranks = resolve({file("x_11.json", 0, 4, true), file("x_12.json", 1, 4, true)});
  CHECK(ranks.files[1].rank == Rank(1));
  CHECK(ranks.files[1].source == "distributedInfo after the events");
}

TEST_CASE("two on-demand captures of one rank, one after the other, do not make its rank doubtful") {
  RankEvidence later = file("x_12.json", 0, 4, true);
  later.first_event = at_us(5000);
  later.last_event = at_us(6000);
  const ResolvedRanks ranks = resolve({file("x_11.json", 0, 4, true), later});
  CHECK(ranks.files[0].rank == Rank(0));
  CHECK(ranks.files[1].rank == Rank(0));
  CHECK(count(ranks.findings, "rank-doubtful") == 0);
}

TEST_CASE("without content the file name tells the rank and the world") {
  const ResolvedRanks ranks = resolve({file("rank3-of-16_pid1.json")});
  CHECK(ranks.files[0].rank == Rank(3));
  CHECK(ranks.files[0].source == "file name rank<R>of<W>");
  CHECK(ranks.world_size == 16);
  CHECK(ranks.world_size_source == WorldSizeSource::file_name);
}

TEST_CASE("tensor-parallel ranks of one node are taken as ranks, and said to be local") {
  const ResolvedRanks ranks = resolve({file("1-TP-0.trace.json.gz"), file("1-TP-1.trace.json.gz")});
  CHECK(ranks.files[1].rank == Rank(1));
  CHECK(ranks.files[1].source == "file name TP-<t> (local)");
  CHECK(count(ranks.findings, "rank-from-local-rank") == 2);
}

TEST_CASE("equal local ranks of two hosts are told apart by host and GPUs per node") {
  std::vector<RankEvidence> evidence;
  for (const char* name : {"a/local_rank0.json", "a/local_rank1.json", "b/local_rank0.json", "b/local_rank1.json"}) {
    evidence.push_back(file(name));
    evidence.back().host = evidence.back().file.substr(0, 1);
    evidence.back().gpus = 8;
  }
  const ResolvedRanks ranks = resolve(evidence);
  CHECK(ranks.files[1].rank == Rank(1));
  CHECK(ranks.files[2].rank == Rank(8));
  CHECK(ranks.files[3].rank == Rank(9));
}

TEST_CASE("equal local ranks without hosts stay unknown") {
  const ResolvedRanks ranks = resolve({file("a/local_rank0.json"), file("b/local_rank0.json")});
  CHECK(ranks.files[0].synthetic);
  CHECK(ranks.files[1].synthetic);
}

TEST_CASE("one file that tells nothing is rank 0 of 1, without a finding") {
  const ResolvedRanks ranks = resolve({file("trace.json")});
  CHECK(ranks.files[0].rank == Rank(0));
  CHECK(ranks.files[0].source == "only file");
  CHECK_FALSE(ranks.files[0].synthetic);
  CHECK(ranks.world_size == 1);
  CHECK(ranks.findings.empty());
}

TEST_CASE("several captures of one process without a rank are all rank 0 of 1") {
  const ResolvedRanks ranks =
      resolve({file("h_1.1694128201545123456.pt.trace.json"), file("h_1.1694128301545123456.pt.trace.json")});
  CHECK(ranks.files[0].rank == Rank(0));
  CHECK(ranks.files[1].rank == Rank(0));
  CHECK(ranks.files[1].source == "only file");
}

TEST_CASE("several files without a rank get free numbers that are marked synthetic") {
  const ResolvedRanks ranks = resolve({file("a.json"), file("b.json", 0, 4), file("c.json")});
  CHECK(ranks.files[0].rank == Rank(1));
  CHECK(ranks.files[1].rank == Rank(0));
  CHECK(ranks.files[2].rank == Rank(2));
  CHECK(ranks.files[0].synthetic);
  CHECK(ranks.files[0].source == "synthetic");
  CHECK(count(ranks.findings, "rank-unknown") == 2);
}

TEST_CASE("a rank in distributedInfo without a world size is weaker than one with it, but used") {
  const ResolvedRanks ranks = resolve({file("a.json", 2, -1), file("b.json", 3, -1)});
  CHECK(ranks.files[0].rank == Rank(2));
  CHECK(ranks.files[0].source == "distributedInfo without world size");
  CHECK(ranks.world_size == 4);
  CHECK(ranks.world_size_source == WorldSizeSource::file_count);
}

TEST_CASE("a job has at least as many ranks as its user says, and more where the files say more") {
  const ResolvedRanks more = resolve({file("a.json", 0, 4), file("r6.json")}, "r(?<rank>[0-9]+)", 8);
  CHECK(more.world_size == 8);
  CHECK(more.world_size_source == WorldSizeSource::user);
  CHECK(more.files[1].rank == Rank(6));
  REQUIRE(count(more.findings, "world-size-disagreement") == 1);
  const ResolvedRanks fewer = resolve({file("a.json", 0, 4)}, "", 2);
  CHECK(fewer.world_size == 4);
  CHECK(fewer.world_size_source == WorldSizeSource::distributed_info);
  CHECK(fewer.findings.empty());
  CHECK(resolve({file("r3.json")}, "r(?<rank>[0-9]+)", 2).world_size == 4);
}

TEST_CASE("files that disagree on the world size are reported, the majority counts") {
  const ResolvedRanks ranks = resolve({file("a.json", 0, 8), file("b.json", 1, 8), file("c.json", 2, 16)});
  CHECK(ranks.world_size == 8);
  CHECK(count(ranks.findings, "world-size-disagreement") == 1);
}

TEST_CASE("world size comes from default_pg, else from the largest group as a lower bound") {
  RankEvidence by_group = file("rank1.json");
  by_group.default_group_size = 12;
  CHECK(resolve({by_group}).world_size_source == WorldSizeSource::default_group);
  RankEvidence by_largest = file("rank9.json");
  by_largest.largest_group = 4;
  const ResolvedRanks ranks = resolve({by_largest});
  CHECK(ranks.files[0].rank == Rank(9));  // a group of 4 does not make rank 9 wrong
  CHECK(ranks.world_size == 10);
}

TEST_CASE("evidence takes the own rank from symmetric calls on default_pg only, and only if they agree") {
  ContentBuilder b;
  CommArgs broadcast = b.args("broadcast", "Float", 1, 1, "0", "[0, 1]", 2);
  broadcast.rank = 0;
  b.add(broadcast);
  CHECK(evidence_of(b.content()).symmetric_rank == -1);
  CommArgs reduce = b.args("allreduce", "Float", 1, 1, "0", "[0, 1]", 2);
  reduce.rank = 1;
  b.add(reduce);
  CHECK(evidence_of(b.content()).symmetric_rank == 1);
  CommArgs elsewhere = b.args("allreduce", "Float", 1, 1, "3", "[1, 5]", 2);
  elsewhere.rank = 0;
  b.add(elsewhere);
  CHECK(evidence_of(b.content()).symmetric_rank == 1);
  CHECK(evidence_of(b.content()).default_group_size == 2);
  reduce.rank = 0;
  b.add(reduce);
  CHECK(evidence_of(b.content()).symmetric_rank == -1);
}

TEST_CASE("a world far larger than all other evidence is not believed, and a finding says so") {
  std::vector<RankEvidence> evidence = {file("a.json", 0, 100'000'000), file("b.json", 1, 100'000'000)};
  for (RankEvidence& e : evidence) e.default_group_size = e.largest_group = 8;
  const ResolvedRanks ranks = resolve(evidence);
  CHECK(ranks.world_size == 8);
  CHECK(ranks.world_size_source == WorldSizeSource::default_group);
  CHECK(count(ranks.findings, "world-size-not-believed") == 2);
  for (RankEvidence& e : evidence) e.distributed.world_size = 900'000;
  CHECK(resolve(evidence).world_size == 8);
  for (RankEvidence& e : evidence) e.default_group_size = e.largest_group = 4096;
  CHECK(resolve(evidence).world_size == 900'000);
}

TEST_CASE("a large world is believed by one word alone") {
  CHECK(resolve({file("a.json", 5, 100'000)}).world_size == 100'000);
  CHECK(count(resolve({file("a.json", 5, 100'000)}).findings, "world-size-not-believed") == 0);
}

TEST_CASE("a rank that no job is large enough for is not used") {
  RankEvidence evidence = file("a.json", 99'999'999, 0);
  const ResolvedRanks ranks = resolve({evidence});
  CHECK(ranks.files[0].rank == Rank(0));
  CHECK(ranks.world_size == 1);
  CHECK(count(ranks.findings, "rank-out-of-range") == 1);
}

TEST_CASE("files that nothing but a counting number tells apart have that number as rank, and it is said") {
  for (const char* pattern : {"{}.json", "run7/gpu{}.json", "rank_{}/trace.json", "worker_{}.json", "trace.{}.json"}) {
    INFO(pattern);
    std::vector<RankEvidence> files;
    for (const char* number : {"1", "0", "2"}) {
      std::string name = pattern;
      files.push_back(file(name.replace(name.find("{}"), 2, number)));
    }
    const ResolvedRanks ranks = resolve(files);
    CHECK(ranks.files[0].rank == Rank(1));
    CHECK(ranks.files[1].rank == Rank(0));
    CHECK_FALSE(ranks.files[0].synthetic);
    CHECK(count(ranks.findings, "rank-unknown") == 0);
  }
  CHECK(count(resolve({file("a0.json"), file("a1.json")}).findings, "rank-from-name-number") == 2);
  CHECK(resolve({file("rank_3/trace.json"), file("rank_1/trace.json")}).files[0].rank == Rank(3));
}

TEST_CASE("one process alone has its folder's rank") {
  const auto rank = [](const std::string& name) { return resolve({file(name)}).files[0].rank; };
  CHECK(rank("log/rank_3/trace.json") == Rank(3));
  CHECK(rank("Rank3/node_4158.1694128201545254769.pt.trace.json") == Rank(3));
  CHECK(rank("rank3_of_a_test/trace.json") == Rank(0));
  CHECK(rank("my_rank_3/trace.json") == Rank(0));
  CHECK(rank("run3/trace.json") == Rank(0));
  RankEvidence second = file("rank_3/step_20.json");
  second.first_event = at_us(2000);
  second.last_event = at_us(3000);
  CHECK(resolve({file("rank_3/step_10.json"), second}).files[1].rank == Rank(3));
}

TEST_CASE("a number that does not count the files, or counts something else, is no rank") {
  const auto unknown = [](const std::vector<std::string>& names) {
    std::vector<RankEvidence> files;
    for (const std::string& name : names) files.push_back(file(name));
    return count(resolve(files).findings, "rank-unknown") == static_cast<int64_t>(names.size());
  };
  CHECK(unknown({"host_4242.json", "host_4243.json"}));                    // process ids
  CHECK(unknown({"a0.json", "a2.json"}));                                  // a gap
  CHECK(unknown({"rollout-replica0_x.json", "rollout-replica1_x.json"}));  // jobs of their own
  CHECK(unknown({"node0/t0.json", "node0/t1.json", "node1/t0.json"}));     // not unique
  CHECK(unknown({"a0_1.json", "a1_0.json"}));                              // two answers
  CHECK(unknown({"a0.json", "b1.json"}));                                  // not alike
}

TEST_CASE("captures that follow each other are not ranks, though they are counted") {
  RankEvidence first = file("trace_4.json"), second = file("trace_8.json");
  second.first_event = at_us(2000);
  second.last_event = at_us(3000);
  const ResolvedRanks ranks = resolve({first, second});
  CHECK(ranks.files[0].rank == Rank(0));
  CHECK(ranks.files[1].rank == Rank(0));
  CHECK(ranks.world_size == 1);
  CHECK(count(ranks.findings, "captures-of-one-process") == 2);
  CHECK(count(ranks.findings, "rank-unknown") == 0);
  RankEvidence as_ranks_count = first;
  as_ranks_count.file = "trace_0.json";
  RankEvidence next = second;
  next.file = "trace_1.json";
  CHECK(count(resolve({as_ranks_count, next}).findings, "rank-unknown") == 2);
  as_ranks_count.file = "rank_1/trace.json";
  next.file = "rank_3/trace.json";
  CHECK(count(resolve({as_ranks_count, next}).findings, "captures-of-one-process") == 0);
  as_ranks_count.file = "step_0.json";
  next.file = "step_1.json";
  CHECK(count(resolve({as_ranks_count, next}).findings, "captures-of-one-process") == 2);
  second.largest_group = 8;
  CHECK(count(resolve({first, second}).findings, "rank-unknown") == 2);
  second.largest_group = 0;
  second.host = "another";
  CHECK(count(resolve({first, second}).findings, "rank-unknown") == 2);
  CHECK(count(resolve({first, file("other.json")}).findings, "rank-unknown") == 2);
}

TEST_CASE("where each process has several captures, the number that counts processes is the rank") {
  const std::vector<std::string> patterns = {"trace_{c}_{r}.json", "trace_{r}_{c}.json",
                                             "rank_{r}/1{c}.json", "rank{r}/step_{c}.json",
                                             "run{c}/gpu{r}.json", "{r}/node_42{r}.17{c}99{r}.json"};
  const auto resolved = [](const std::string& pattern, const auto& begin_us) {
    std::vector<RankEvidence> files;
    for (const int capture : {0, 1}) {
      for (const int rank : {0, 1, 2}) {
        std::string name = pattern;
        for (size_t at = 0; (at = name.find('{')) != std::string::npos;) {
          name.replace(at, 3, std::to_string(name[at + 1] == 'r' ? rank : capture));
        }
        files.push_back(file(name));
        files.back().first_event = at_us(begin_us(capture));
        files.back().last_event = at_us(begin_us(capture) + 1000 + rank);
      }
    }
    return resolve(files);
  };
  for (const std::string& pattern : patterns) {
    INFO(pattern);
    const ResolvedRanks ranks = resolved(pattern, [](int capture) { return 5000 * capture; });
    for (size_t i = 0; i < 6; ++i) CHECK(ranks.files[i].rank == Rank(static_cast<int64_t>(i % 3)));
    CHECK(count(ranks.findings, "rank-unknown") == 0);
    CHECK(ranks.world_size == 3);
    const ResolvedRanks at_once = resolved(pattern, [](int) { return 0; });  // six processes of one time
    CHECK(count(at_once.findings, "rank-unknown") == 6);
  }
}
