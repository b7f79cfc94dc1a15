#include "all_to_all_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "figures.h"
#include "skewscope/base/human_units.h"
#include "src/report/fields/columns.h"

namespace skewscope::report {
namespace {

using Group = JobReport::AllToAll;
constexpr double kUneven = 1.2;                           // received, in means of the group: less is not worth a word
constexpr size_t kMostPairs = size_t{512} * size_t{512};  // of a group; of more the largest

std::vector<Group::Pair> pairs_of(const AllToAllTotals& totals, const Communicator& group) {
  std::vector<AllToAllPair> pairs = totals.pairs;
  if (pairs.size() > kMostPairs) {
    std::stable_sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    pairs.resize(kMostPairs);
  }
  std::vector<Group::Pair> out;
  for (const AllToAllPair& pair : pairs) {
    out.push_back({totals.communicator.value, group.members[static_cast<size_t>(pair.sender)].value,
                   group.members[static_cast<size_t>(pair.receiver)].value, pair.bytes, pair.calls});
  }
  return out;
}

Group group_of(const AllToAllTotals& totals, const Communicator& communicator) {
  Group group;
  group.communicator = totals.communicator.value;
  group.calls = totals.calls;
  group.calls_with_sizes = totals.sized;
  group.dispatches = totals.dispatches;
  if (!communicator.members_known()) return group;
  for (size_t m = 0; m < communicator.members.size(); ++m) {
    group.ranks.push_back({group.communicator, communicator.members[m].value, totals.sent_bytes[m],
                           totals.received_bytes[m], totals.dispatched_bytes[m]});
    group.bytes += totals.sent_bytes[m];
  }
  group.pairs = pairs_of(totals, communicator);
  if (const int32_t most = totals.busiest(); most >= 0) {
    group.busiest_rank = group.ranks[static_cast<size_t>(most)].rank;
    group.imbalance = totals.imbalance();
    group.imbalance_per_call = totals.imbalance_per_call();
    group.busiest_share = group.imbalance / static_cast<double>(communicator.members.size());
  }
  group.waited_ns = totals.waited_ns;
  group.waited_for_busiest_ns = totals.waited_for_busiest_ns;
  return group;
}

template <class Row>
std::vector<Row> joined(const std::vector<Group>& groups, std::vector<Row> Group::*rows) {
  std::vector<Row> all;
  for (const Group& group : groups) all.insert(all.end(), (group.*rows).begin(), (group.*rows).end());
  return all;
}

}  // namespace

std::vector<Group> all_to_all_rows(const Rooms& rooms) {
  std::vector<Group> rows;
  for (const AllToAllTotals& totals : rooms.decomposition.all_to_all) {
    rows.push_back(group_of(totals, rooms.instances.communicators[totals.communicator]));
  }
  return rows;
}

std::vector<Table> all_to_all_tables(const JobReport& report) {
  using Rank = Group::Member;
  using Pair = Group::Pair;
  return {make_table<Group>(
              "all_to_all_groups", report.all_to_all,
              {column<&Group::communicator>("communicator"), column<&Group::calls>("calls"),
               column<&Group::calls_with_sizes>("calls_with_sizes"), column<&Group::bytes>("bytes"),
               column<&Group::dispatches>("dispatches"), known_column<&Group::imbalance>("imbalance"),
               known_column<&Group::imbalance_per_call>("imbalance_per_call"),
               known_column<&Group::busiest_rank>("busiest_rank"), known_column<&Group::busiest_share>("busiest_share"),
               column<&Group::waited_ns>("waited_ns"), column<&Group::waited_for_busiest_ns>("waited_for_busiest_ns")}),
          make_table<Rank>("all_to_all_ranks", joined(report.all_to_all, &Group::ranks),
                           {column<&Rank::communicator>("communicator"), column<&Rank::rank>("rank"),
                            column<&Rank::sent_bytes>("sent_bytes"), column<&Rank::received_bytes>("received_bytes"),
                            column<&Rank::dispatched_bytes>("dispatched_bytes")}),
          make_table<Pair>(
              "all_to_all", joined(report.all_to_all, &Group::pairs),
              {column<&Pair::communicator>("communicator"), column<&Pair::sender>("sender"),
               column<&Pair::receiver>("receiver"), column<&Pair::bytes>("bytes"), column<&Pair::calls>("calls")})};
}

Json all_to_all_json(const std::vector<Group>& rows) {
  Json out = Json::array();
  for (const Group& row : rows) {
    out.push_back({{"communicator", row.communicator},
                   {"calls", row.calls},
                   {"calls_with_sizes", row.calls_with_sizes},
                   {"bytes", row.bytes},
                   {"dispatches", row.dispatches},
                   {"imbalance", ratio_or_null(row.imbalance)},
                   {"imbalance_per_call", ratio_or_null(row.imbalance_per_call)},
                   {"busiest_rank", count_or_null(row.busiest_rank)},
                   {"busiest_share", ratio_or_null(row.busiest_share)},
                   {"waited_ns", row.waited_ns},
                   {"waited_for_busiest_ns", row.waited_for_busiest_ns}});
  }
  return out;
}

std::string receiving_words(const JobReport& report, int32_t rank) {
  const Group* most = nullptr;
  for (const Group& group : report.all_to_all) {
    if (group.busiest_rank != rank || group.imbalance < kUneven) continue;
    if (most == nullptr || group.imbalance > most->imbalance) most = &group;
  }
  if (most == nullptr) return "";
  return fmt::format("receives {} times the mean of its group's tokens", human_number(most->imbalance));
}

void add_uneven_groups(const JobReport& report, Findings& out) {
  for (const Group& group : report.all_to_all) {
    if (group.imbalance < kUneven && group.imbalance_per_call < kUneven) continue;
    Finding f;
    f.severity = Severity::info;
    f.code = "uneven-all-to-all";
    f.count = group.dispatches;
    f.message = fmt::format(
        "in all-to-alls of group #{} rank {} receives {} times the mean, who receives most in a call {} times; {} of "
        "the "
        "wait behind them ({}) is charged to who received most",
        group.communicator, group.busiest_rank, human_number(group.imbalance), human_number(group.imbalance_per_call),
        percent_of(group.waited_for_busiest_ns, group.waited_ns), human_duration(group.waited_ns));
    out.push_back(std::move(f));
  }
}

}  // namespace skewscope::report
