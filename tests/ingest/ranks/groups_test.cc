#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "src/ingest/ranks/group_members.h"
#include "src/ingest/text/number_list.h"
#include "tests/cpu_time.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

struct Trace {
  int32_t rank;
  std::vector<ProcessGroup> config;
  std::vector<GroupMention> mentions;
};

ResolvedGroups resolve(const std::vector<Trace>& traces) {
  std::vector<TraceGroups> groups;
  for (const Trace& trace : traces) {
    groups.push_back({Rank(trace.rank), false, "rank" + std::to_string(trace.rank), &trace.config, &trace.mentions});
  }
  return resolve_groups(groups, 1'000'000);
}

std::vector<int32_t> members(const Communicator& c) {
  std::vector<int32_t> ranks;
  for (const Rank rank : c.members) ranks.push_back(rank.value);
  return ranks;
}

ProcessGroup config(const std::string& name, const std::vector<int64_t>& ranks) {
  const int64_t size = static_cast<int64_t>(ranks.size());
  return {name, "", size, RankRuns(ranks), -1, ""};
}

std::string first_30(int64_t start, int64_t stride) {
  std::string text = "[";
  for (int64_t i = 0; i < 30; ++i) text += std::to_string(start + i * stride) + ", ";
  return text + "...]";
}

bool has(const Findings& findings, FindingCode code) {
  for (const Finding& finding : findings) {
    if (finding.code == code) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("rank lists are read whole, and a cut one is known to be cut") {
  CHECK(parse_number_list("[0, 1, 12]").numbers == std::vector<int64_t>{0, 1, 12});
  CHECK_FALSE(parse_number_list("[0, 1]").cut);
  CHECK(parse_number_list("[0, 1, ...]").numbers == std::vector<int64_t>{0, 1});
  CHECK(parse_number_list("[0, 1, ...]").cut);
  CHECK(parse_number_list("[]").numbers.empty());
  CHECK(parse_number_list("").numbers.empty());
  CHECK(parse_number_list("[99999999999999999999, 3]").numbers == std::vector<int64_t>{3});
}

TEST_CASE("a complete list on the call gives the members") {
  const ResolvedGroups groups = resolve({{1, {}, {{"0", "default_pg", 2, "[0, 1]", -1, -1}}}});
  REQUIRE(groups.communicators.size() == 1);
  const Communicator& c = groups.communicators.communicators[0];
  CHECK(members(c) == std::vector<int32_t>{0, 1});
  CHECK(c.source == MembersSource::call_ranks);
  CHECK(c.description == "default_pg");
  CHECK(c.members_known());
  CHECK(groups.of_mention[0][0] == CommunicatorId(0));
}

TEST_CASE("a group that its program did not describe has no description") {
  const ResolvedGroups groups = resolve({{1, {}, {{"3", "undefined", 2, "[0, 1]", -1, -1}}}});
  REQUIRE(groups.communicators.size() == 1);
  CHECK(groups.communicators.communicators[0].description.empty());
}

TEST_CASE("the group list of the own trace is trusted before the call's cut list") {
  std::vector<int64_t> ranks;
  for (int64_t i = 0; i < 64; ++i) ranks.push_back(i < 32 ? i : i + 100);  // no progression
  const ResolvedGroups groups = resolve({{0, {config("7", ranks)}, {{"7", "", 64, first_30(0, 1), -1, -1}}}});
  const Communicator& c = groups.communicators.communicators[0];
  CHECK(c.source == MembersSource::process_group_config);
  CHECK(c.members.size() == 64);
  CHECK(c.members.back() == Rank(163));
}

TEST_CASE("a group list of the same name that does not fit the call is not used") {
  const ResolvedGroups groups = resolve({{0, {config("7", {0, 1, 2})}, {{"7", "", 2, "[0, 4]", -1, -1}}}});
  CHECK(members(groups.communicators.communicators[0]) == std::vector<int32_t>{0, 4});
}

TEST_CASE("a list cut at 30 is continued as the progression it was written from") {
  const ResolvedGroups groups = resolve({{3, {}, {{"5", "", 64, first_30(3, 8), -1, -1}}}});
  const Communicator& c = groups.communicators.communicators[0];
  CHECK(c.size == 64);
  CHECK(c.members_known());
  CHECK(c.members.back() == Rank(3 + 63 * 8));
  CHECK(c.source == MembersSource::progression);
}

TEST_CASE("start and stride give the members where the list is cut") {
  const ResolvedGroups groups = resolve({{0, {}, {{"5", "", 40, first_30(0, 2), 0, 2}}}});
  CHECK(groups.communicators.communicators[0].members.back() == Rank(78));
}

TEST_CASE("a cut list that is no progression is not continued: at least the visible ranks are members") {
  std::string text = first_30(0, 1);
  text.replace(text.find("29"), 2, "77");
  const ResolvedGroups groups = resolve({{0, {}, {{"5", "", 64, text, -1, -1}}}});
  const Communicator& c = groups.communicators.communicators[0];
  CHECK(c.members.size() == 30);
  CHECK(c.size == 64);
  CHECK_FALSE(c.members_known());
  CHECK(c.source == MembersSource::observed);
  CHECK(has(groups.findings, "members-unknown"));
}

TEST_CASE("an irregular group without any list has the ranks that mention it") {
  const GroupMention irregular{"9", "", 3, "[]", 0, -1};
  const ResolvedGroups groups = resolve({{0, {}, {irregular}}, {1, {}, {irregular}}, {5, {}, {irregular}}});
  REQUIRE(groups.communicators.size() == 1);
  CHECK(members(groups.communicators.communicators[0]) == std::vector<int32_t>{0, 1, 5});
  CHECK(groups.communicators.communicators[0].source == MembersSource::observed);
  CHECK(groups.communicators.communicators[0].members_known());
}

TEST_CASE("an irregular group takes its list from another member's trace") {
  const GroupMention irregular{"9", "", 3, "[]", 0, -1};
  const ResolvedGroups groups = resolve({{0, {}, {irregular}}, {1, {config("9", {0, 1, 5})}, {}}});
  REQUIRE(groups.communicators.size() == 1);
  CHECK(members(groups.communicators.communicators[0]) == std::vector<int32_t>{0, 1, 5});
  CHECK(groups.communicators.communicators[0].source == MembersSource::process_group_config);
}

TEST_CASE("two irregular groups of one name, start and size are not merged into one") {
  const GroupMention irregular{"9", "", 2, "[]", 0, -1};
  const ResolvedGroups groups = resolve({{0, {}, {irregular}}, {3, {}, {irregular}}, {7, {}, {irregular}}});
  CHECK(groups.communicators.size() == 0);
  CHECK_FALSE(groups.of_mention[0][0].known());
  CHECK(has(groups.findings, "ambiguous-group"));
}

TEST_CASE("equal names with disjoint members are different communicators") {
  const ResolvedGroups groups = resolve({{0, {}, {{"2", "", 2, "[0, 1]", -1, -1}}},
                                         {2, {}, {{"2", "", 2, "[2, 3]", -1, -1}}},
                                         {3, {}, {{"2", "", 2, "[2, 3]", -1, -1}}}});
  REQUIRE(groups.communicators.size() == 2);
  CHECK(groups.of_mention[0][0] == CommunicatorId(0));
  CHECK(groups.of_mention[1][0] == CommunicatorId(1));
  CHECK(groups.of_mention[2][0] == CommunicatorId(1));
}

TEST_CASE("equal members under different names are different communicators") {
  const ResolvedGroups groups = resolve({{0, {}, {{"0", "", 2, "[0, 1]", -1, -1}, {"1", "", 2, "[0, 1]", -1, -1}}}});
  CHECK(groups.communicators.size() == 2);
}

TEST_CASE("the table does not depend on the order of traces") {
  const Trace a{0, {}, {{"2", "x", 2, "[0, 1]", -1, -1}}};
  const Trace b{2, {}, {{"2", "y", 2, "[2, 3]", -1, -1}}};
  const ResolvedGroups ab = resolve({a, b});
  const ResolvedGroups ba = resolve({b, a});
  CHECK(ab.of_mention[0] == ba.of_mention[1]);
  CHECK(ab.communicators.communicators[0].description == ba.communicators.communicators[0].description);
  CHECK(check_invariants(ab.communicators).empty());
}

TEST_CASE("a rank that is no member of its own group is reported: the file's rank may be wrong") {
  const ResolvedGroups groups = resolve({{5, {}, {{"0", "", 2, "[0, 1]", -1, -1}}}});
  CHECK(has(groups.findings, "rank-not-in-group"));
}

TEST_CASE("a group size beyond reason does not build a list") {
  const ResolvedGroups groups = resolve({{0, {}, {{"0", "", int64_t{1} << 60, "[0, 1, ...]", 0, 1}}}});
  REQUIRE(groups.communicators.size() == 1);
  CHECK_FALSE(groups.communicators.communicators[0].members_known());
}

TEST_CASE("a cut list is not continued beyond the world") {
  const std::vector<GroupMention> mentions = {{"5", "", 9'000'000, "[0, 1, 2, ...]", -1, -1}};
  const ResolvedGroups groups = resolve_groups({{Rank(0), false, "a.json", nullptr, &mentions}}, 8);
  REQUIRE(groups.communicators.size() == 1);
  CHECK(groups.communicators.communicators[0].members.size() == 3);
  CHECK_FALSE(groups.communicators.communicators[0].members_known());
}

TEST_CASE("a group of all ranks, which all traces list, is resolved in time that grows with their number alone") {
  const auto seconds_to_resolve = [](int32_t ranks) {
    std::vector<int64_t> all(static_cast<size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    std::vector<Trace> traces;
    for (int32_t rank = 0; rank < ranks; ++rank) {
      traces.push_back({rank, {config("0", all)}, {{"0", "default_pg", ranks, first_30(0, 1), 0, 1}}});
    }
    const double begin = test::cpu_seconds();
    const ResolvedGroups groups = resolve(traces);
    const double seconds = test::cpu_seconds() - begin;
    REQUIRE(groups.communicators.size() == 1);
    CHECK(members(groups.communicators.communicators[0]) == std::vector<int32_t>(all.begin(), all.end()));
    return seconds;
  };
  const double once = std::max(seconds_to_resolve(2'000), 0.02);  // a blink may be a blink of something else
  CHECK(seconds_to_resolve(8'000) < 8 * once);
}
