#include "src/ingest/ranks/communicator_ranks.h"

#include <catch2/catch.hpp>

using namespace skewscope;
using namespace skewscope::ingest;

namespace {

struct Own {
  std::string communicator;
  int64_t rank, size;
};

RankEvidence process(const std::string& host, int64_t id, const std::vector<Own>& own) {
  RankEvidence file;
  file.host = host;
  file.process_id = id;
  for (const Own& o : own) {
    ProcessGroup group;
    group.name = o.communicator;
    group.own_rank = o.rank;
    group.size = o.size;
    file.distributed.groups.push_back(group);
  }
  return file;
}

}  // namespace

TEST_CASE("the communicator that holds all processes numbers them, whatever their order and place in others") {
  Findings findings;
  const CommunicatorRanks ranks = ranks_by_communicators(
      {process("b", 1, {{"pair", 0, 2}, {"world", 3, 4}}), process("a", 2, {{"world", 0, 4}, {"pair", 1, 2}})},
      findings);
  REQUIRE(ranks.of_file == std::vector<int64_t>{3, 0});
  REQUIRE(findings.empty());
}

TEST_CASE("where no communicator holds all, processes are numbered by host and process, and that is said") {
  Findings findings;
  const CommunicatorRanks ranks = ranks_by_communicators(
      {process("b", 1, {{"x", 0, 2}}), process("a", 9, {{"x", 1, 2}, {"y", 0, 2}}), process("a", 5, {{"y", 1, 2}})},
      findings);
  REQUIRE(ranks.of_file == std::vector<int64_t>{2, 1, 0});
  REQUIRE(ranks.processes == 3);
  REQUIRE(findings.size() == 1);
}

TEST_CASE("processes whose communicators join them, directly or by others, are one job; others are not") {
  const RankEvidence a = process("h", 1, {{"x", 0, 2}}), b = process("h", 2, {{"x", 1, 2}, {"y", 0, 2}}),
                     c = process("h", 3, {{"y", 1, 2}}), d = process("h", 4, {{"z", 0, 2}}), none = RankEvidence();
  const std::vector<int32_t> joined = joined_by_communicators({&a, &b, &c, &d, &none});
  REQUIRE(joined[0] == joined[1]);
  REQUIRE(joined[1] == joined[2]);
  REQUIRE(joined[3] != joined[0]);
  REQUIRE(joined[4] == -1);
}
