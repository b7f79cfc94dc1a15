// The story: dumps -> groups by sequence number -> mismatches -> who waits for whom -> culprits -> rows.
#include <algorithm>
#include <map>
#include <queue>

#include "skewscope/base/printable.h"
#include "skewscope/hang.h"
#include "src/hang/stall/culprits.h"
#include "src/hang/stall/group_table.h"
#include "src/hang/stall/lateness.h"
#include "src/hang/stall/mismatches.h"
#include "src/hang/stall/reasons.h"
#include "src/hang/stall/wait_graph.h"

namespace skewscope {
namespace {

using hang::Group;
using hang::GroupTable;
using hang::Member;
using hang::Standing;
using hang::WaitGraph;

constexpr size_t kMostLinks = 64;

// A message in which a member is, where no collective does.
std::string message_under_way(const Group& group) {
  for (const Member& member : group.members) {
    for (const DumpedCall* message : member.messages) {
      if (message->state != CallState::completed) return printable(member.dump->text(message->name));
    }
  }
  return "";
}

HangGroup row_of(const Group& group) {
  HangGroup row;
  row.id = printable(group.id);
  row.name = printable(group.name);
  row.description = printable(group.description);
  int64_t first_open = -1, most_entered = -1, least_completed = -1;
  for (const Member& member : group.members) {
    row.ranks.push_back(member.rank);
    if (member.dump == nullptr) {
      row.no_dump_ranks.push_back(member.rank);
      continue;
    }
    most_entered = std::max(most_entered, member.entered);
    if (member.first_pending >= 0 && (first_open < 0 || member.first_pending < first_open))
      first_open = member.first_pending;
    const int64_t completed = member.first_pending >= 0 ? member.first_pending - 1 : member.entered;
    if (completed >= 0 && (least_completed < 0 || completed < least_completed)) least_completed = completed;
  }
  row.last_completed_seq = least_completed;
  if (first_open >= 0) {
    row.stalled_seq = first_open;
    row.stalled_operation = hang::operation_of(group, first_open);
    for (const Member& member : group.members) {
      if (member.dump == nullptr) continue;
      (member.entered >= first_open ? row.entered_ranks : row.missing_ranks).push_back(member.rank);
    }
  } else {
    row.stalled_operation = message_under_way(group);
  }
  return row;
}

// Ranks by the call that they are in, from the culprits outward: those that wait for a culprit, those that wait for
// these, and so on.
std::vector<HangLink> chain_of(const GroupTable& table, const WaitGraph& graph, const std::vector<Culprit>& culprits) {
  std::vector<std::vector<int32_t>> waited_for(static_cast<size_t>(table.ranks()));
  for (int32_t rank = 0; rank < table.ranks(); ++rank) {
    for (const int32_t other : graph.waits_for[static_cast<size_t>(rank)])
      waited_for[static_cast<size_t>(other)].push_back(rank);
  }
  std::vector<int32_t> distance(waited_for.size(), -1);
  std::queue<int32_t> open;
  for (const Culprit& culprit : culprits) {
    distance[static_cast<size_t>(culprit.rank)] = 0;
    open.push(culprit.rank);
  }
  while (!open.empty()) {
    const auto at = static_cast<size_t>(open.front());
    open.pop();
    for (const int32_t other : waited_for[at]) {
      if (distance[static_cast<size_t>(other)] >= 0) continue;
      distance[static_cast<size_t>(other)] = distance[at] + 1;
      open.push(other);
    }
  }
  std::map<std::tuple<int32_t, int32_t, int64_t>, HangLink> links;
  for (int32_t rank = 0; rank < table.ranks(); ++rank) {
    const Standing& at = graph.standing[static_cast<size_t>(rank)];
    const int32_t far = distance[static_cast<size_t>(rank)];
    if (!at.stands() || far <= 0) continue;
    HangLink& link = links[{far, at.group, at.seq}];
    const Group& group = table.groups[static_cast<size_t>(at.group)];
    link.ranks.push_back(rank);
    link.group = printable(group.id);
    link.collective_seq = at.seq;
    if (link.operation.empty()) {
      const FlightDump& dump = *table.dump_of[static_cast<size_t>(rank)];
      link.operation = at.call != nullptr ? printable(dump.text(at.call->name)) : hang::operation_of(group, at.seq);
    }
    for (const int32_t other : graph.waits_for[static_cast<size_t>(rank)]) {
      if (distance[static_cast<size_t>(other)] == far - 1) link.waits_for.push_back(other);
    }
  }
  std::vector<HangLink> chain;
  for (auto& [key, link] : links) {
    if (chain.size() == kMostLinks) break;
    std::sort(link.waits_for.begin(), link.waits_for.end());
    link.waits_for.erase(std::unique(link.waits_for.begin(), link.waits_for.end()), link.waits_for.end());
    chain.push_back(std::move(link));
  }
  return chain;
}

HangRank row_of(const GroupTable& table, const WaitGraph& graph, const hang::Lateness& late, int32_t rank) {
  HangRank row;
  row.rank = rank;
  row.late_ns = late.late_ns;
  row.last_share = late.last_share;
  const Standing& at = graph.standing[static_cast<size_t>(rank)];
  if (table.dump_of[static_cast<size_t>(rank)] == nullptr) row.state = RankState::no_dump;
  if (!at.stands()) return row;
  const Group& group = table.groups[static_cast<size_t>(at.group)];
  const FlightDump& dump = *table.dump_of[static_cast<size_t>(rank)];
  row.state = RankState::waiting;
  row.group = printable(group.id);
  row.collective_seq = at.seq;
  row.operation = at.call != nullptr ? printable(dump.text(at.call->name)) : hang::operation_of(group, at.seq);
  const auto& waits = graph.waits_for[static_cast<size_t>(rank)];
  row.waits_for.assign(waits.begin(), waits.begin() + std::min<int64_t>(std::ssize(waits), kMostWaits));
  return row;
}

}  // namespace

HangReport find_hang(const std::vector<FlightDump>& dumps, int32_t world_size) {
  const GroupTable table = hang::group_table(dumps, world_size);
  const std::vector<hang::Mismatch> mismatches = hang::find_mismatches(table);
  const WaitGraph graph = hang::wait_graph(table, mismatches);
  const std::vector<hang::Lateness> lateness = hang::lateness_of(table);
  HangReport report;
  report.dumps = std::ssize(dumps);
  report.culprits = hang::find_culprits({table, mismatches, graph, lateness});
  for (int32_t rank = 0; rank < table.ranks(); ++rank) {
    if (table.known[static_cast<size_t>(rank)] == 0) continue;
    ++report.world_size;
    report.ranks.push_back(row_of(table, graph, lateness[static_cast<size_t>(rank)], rank));
    HangRank& row = report.ranks.back();
    if (row.state == RankState::no_dump) report.ranks_without_dump.push_back(rank);
    report.stalled = report.stalled || row.state == RankState::waiting;
  }
  std::vector<char> named(static_cast<size_t>(table.ranks()), 0);
  for (const Culprit& culprit : report.culprits) named[static_cast<size_t>(culprit.rank)] = 1;
  for (HangRank& row : report.ranks) {
    if (named[static_cast<size_t>(row.rank)] != 0) {
      if (row.state != RankState::no_dump) row.state = RankState::culprit;
    } else if (row.state == RankState::waiting) {
      report.waiting_ranks.push_back(row.rank);
    }
  }
  for (const Group& group : table.groups) report.groups.push_back(row_of(group));
  std::stable_sort(report.groups.begin(), report.groups.end(), [](const HangGroup& a, const HangGroup& b) {
    const auto order = [](const HangGroup& one) {
      return one.stalled_seq >= 0 ? (one.missing_ranks.empty() ? 1 : 0) : one.stalled_operation.empty() ? 3 : 2;
    };
    return order(a) < order(b);
  });
  report.chain = chain_of(table, graph, report.culprits);
  return report;
}

const char* to_string(CulpritKind kind) {
  switch (kind) {
    case CulpritKind::missing:
      return "missing";
    case CulpritKind::mismatch:
      return "mismatch";
    case CulpritKind::no_dump:
      return "no_dump";
    case CulpritKind::stuck:
      return "stuck";
    case CulpritKind::late:
      return "late";
  }
  return "";
}

const char* to_string(Certainty certainty) {
  switch (certainty) {
    case Certainty::certain:
      return "certain";
    case Certainty::likely:
      return "likely";
    case Certainty::possible:
      return "possible";
  }
  return "";
}

const char* to_string(RankState state) {
  switch (state) {
    case RankState::done:
      return "done";
    case RankState::waiting:
      return "waiting";
    case RankState::culprit:
      return "culprit";
    case RankState::no_dump:
      return "no_dump";
  }
  return "";
}

}  // namespace skewscope
