#include "all_to_all_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "figures.h"
#include "skewscope/base/human_units.h"

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

}  // namespace

std::vector<Group> all_to_all_rows(const Sources& sources) {
  std::vector<Group> rows;
  for (const AllToAllTotals& totals : sources.decomposition.all_to_all) {
    rows.push_back(group_of(totals, sources.instances.communicators[totals.communicator]));
  }
  return rows;
}

std::string receiving_words(const JobReport& report, int32_t rank) {
  const Group* most = nullptr;
  for (const Group& group : report.all_to_all) {
    if (group.busiest_rank != rank || group.imbalance < kUneven) continue;
    if (most == nullptr || group.imbalance > most->imbalance) most = &group;
  }
  if (most == nullptr) return "";
  return fmt::format("receives {} times as many tokens as the mean of its group", human_number(most->imbalance));
}

void add_uneven_groups(const JobReport& report, Findings& out) {
  for (const Group& group : report.all_to_all) {
    if (group.imbalance < kUneven && group.imbalance_per_call < kUneven) continue;
    Finding f;
    f.severity = Severity::info;
    f.code = "uneven-all-to-all";
    f.count = group.dispatches;
    f.message = fmt::format(
        "in all-to-alls of group {} rank {} receives {} times the mean, and the busiest rank of a call {} times; the "
        "busiest ranks cause {} of the waiting after these calls ({})",
        group.communicator, group.busiest_rank, human_number(group.imbalance), human_number(group.imbalance_per_call),
        percent_of(group.waited_for_busiest_ns, group.waited_ns), human_duration(group.waited_ns));
    out.push_back(std::move(f));
  }
}

}  // namespace skewscope::report
