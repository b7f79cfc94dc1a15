// Groups of a job by kind.
#include "skewscope/model/group_kinds.h"

#include <catch2/catch.hpp>

using namespace skewscope;

namespace {

JobTrace ranks_on(const std::vector<std::string>& hosts) {
  JobTrace job;
  for (size_t r = 0; r < hosts.size(); ++r) {
    job.traces.emplace_back().rank = Rank(static_cast<int64_t>(r));
    job.traces.back().host = hosts[r];
  }
  return job;
}

Communicator group(const std::string& description, const std::vector<int32_t>& ranks) {
  Communicator c;
  c.description = description;
  for (const int32_t r : ranks) c.members.push_back(Rank(r));
  c.size = static_cast<int32_t>(ranks.size());
  return c;
}

}  // namespace

TEST_CASE("groups of one description and size over as many nodes are of one kind") {
  const JobTrace job = ranks_on({"a", "a", "b", "b"});
  CommunicatorTable table;
  table.communicators = {group("DP", {0, 2}),
                         group("TP", {0, 1}),
                         group("DP", {1, 3}),
                         group("TP", {2, 3}),
                         group("undefined", {0, 1, 2, 3}),
                         group("DP", {0, 1})};
  const GroupKinds groups = group_kinds(table, job);
  REQUIRE(groups.kinds.size() == 4);
  CHECK(groups.of(CommunicatorId(0)) == groups.of(CommunicatorId(2)));
  CHECK(groups.of(CommunicatorId(1)) == groups.of(CommunicatorId(3)));
  CHECK(groups.of(CommunicatorId(5)) != groups.of(CommunicatorId(0)));  // within one node
  const GroupKind& data = groups.kinds[static_cast<size_t>(groups.of(CommunicatorId(0)))];
  CHECK(data.name() == "DP");
  CHECK(data.nodes == 2);
  CHECK(data.communicators == 2);
  CHECK(groups.kinds[static_cast<size_t>(groups.of(CommunicatorId(4)))].name() == "group of 4");
  CHECK(groups.of(CommunicatorId()) == -1);
}

TEST_CASE("a group that lacks a trace is of the kind of those that lack none; without hosts no nodes are told") {
  CommunicatorTable table;
  table.communicators = {group("DP", {0, 2}), group("DP", {1, 3})};
  const GroupKinds one_missing = group_kinds(table, ranks_on({"a", "a", "b"}));
  CHECK(one_missing.kinds.size() == 1);
  CHECK(one_missing.kinds[0].nodes == 2);
  const GroupKinds no_hosts = group_kinds(table, ranks_on({"", "", "", ""}));
  REQUIRE(no_hosts.kinds.size() == 1);
  CHECK(no_hosts.kinds[0].nodes == -1);
}
