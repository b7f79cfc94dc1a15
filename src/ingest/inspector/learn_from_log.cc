// Problem: a process has a trace of some steps and a log of all its calls, where communicators and calls are called
// otherwise. Idea: the same calls lie in both, so groups are compared with communicators, operation by operation
// (call_numbers). Why it is right: groups are joined where sizes and own places fit and most calls agree, each with one
// communicator, and none where a second one fits almost as well; what is not clear is left as it was, and said.
// Cost: that of call_numbers for each operation of each pair that may be one.
#include "learn_from_log.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "call_numbers.h"
#include "collectives/traffic.h"
#include "src/ingest/text/number_list.h"

namespace skewscope::ingest {
namespace {

constexpr int64_t kMostListed = 1 << 20;
constexpr int64_t kLargestNumber = int64_t{1} << 53;  // as of log_record

// How the library counts a call; unknown: messages and kernels of several calls are not joined.
CollectiveKind counted_as(const CollectiveCall& call) {
  if (call.custom) return CollectiveKind::unknown;
  switch (call.kind) {
    case CollectiveKind::barrier:
      return CollectiveKind::all_reduce;
    case CollectiveKind::all_reduce:
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
      return call.kind;
    default:
      return CollectiveKind::unknown;
  }
}

std::vector<int64_t> listed_members(const GroupMention& mention, const std::vector<ProcessGroup>& listed) {
  const NumberList written = parse_number_list(mention.ranks);
  if (!written.numbers.empty() && !written.cut) return written.numbers;
  if (mention.rank_start >= 0 && mention.rank_stride > 0 && mention.size > 0 && mention.size <= kMostListed &&
      mention.rank_start <= kMostListed && mention.rank_stride <= kMostListed) {
    std::vector<int64_t> members;
    for (int64_t i = 0; i < mention.size; ++i) members.push_back(mention.rank_start + i * mention.rank_stride);
    return members;
  }
  for (const ProcessGroup& group : listed) {
    if (group.name == mention.name && !group.ranks.empty()) return group.ranks.ranks();
  }
  return {};
}

// Calls of one group of a trace or one communicator of a log, by operation.
using CallsByOperation = std::map<CollectiveKind, std::vector<ComparedCall>>;

std::map<int32_t, CallsByOperation> calls_of(const LinkedTrace& linked) {
  std::map<int32_t, CallsByOperation> by_group;
  for (size_t i = 0; i < linked.trace.calls.size(); ++i) {
    const CollectiveCall& call = linked.trace.calls[i];
    const int32_t group = linked.open_calls[i].group;
    const CollectiveKind kind = counted_as(call);
    if (group < 0 || kind == CollectiveKind::unknown) continue;
    const int64_t size = linked.groups[static_cast<size_t>(group)].size;
    const int64_t bytes = call.kind == CollectiveKind::barrier
                              ? 0
                              : message_bytes(kind, call.dtype, call.in_elements, call.out_elements, size);
    by_group[group][kind].push_back({bytes, call.end().ns, call.duration_ns, call.seq, static_cast<int32_t>(i)});
  }
  return by_group;
}

void sort_by_number(CallsByOperation& calls) {
  for (auto& [kind, of_kind] : calls) {
    std::erase_if(of_kind, [](const ComparedCall& call) { return call.number < 0 || call.number > kLargestNumber; });
    std::stable_sort(of_kind.begin(), of_kind.end(),
                     [](const ComparedCall& a, const ComparedCall& b) { return a.number < b.number; });
    const auto same = [](const ComparedCall& a, const ComparedCall& b) { return a.number == b.number; };
    of_kind.erase(std::unique(of_kind.begin(), of_kind.end(), same), of_kind.end());
  }
}

// A group of a trace, and the communicator of the log that it seems to be.
struct PairOfGroups {
  int32_t group = -1, communicator = -1;  // rows of LinkedTrace::groups
  int64_t found = 0;
  std::vector<std::pair<int32_t, int32_t>> rows;  // of a call in the trace, and in the log
};

class LogJoiner {
 public:
  LogJoiner(const TraceFile& trace, const TraceFile& log) : trace_(trace), log_(log) {}

  // Best first: a group of each communicator, and a communicator of each group.
  std::vector<PairOfGroups> join() const {
    const std::map<int32_t, CallsByOperation> traced = calls_of(trace_.linked);
    std::map<int32_t, CallsByOperation> logged = calls_of(log_.linked);
    for (auto& [communicator, calls] : logged) sort_by_number(calls);
    std::vector<PairOfGroups> pairs;
    for (const auto& [group, calls] : traced) {
      for (const auto& [communicator, lines] : logged) {
        if (!may_be(group, communicator)) continue;
        PairOfGroups pair = compare(calls, lines);
        pair.group = group;
        pair.communicator = communicator;
        if (pair.found > 0) pairs.push_back(std::move(pair));
      }
    }
    return each_once(std::move(pairs));
  }

 private:
  bool may_be(int32_t group, int32_t communicator) const {
    const GroupMention& mention = trace_.linked.groups[static_cast<size_t>(group)];
    const GroupMention& other = log_.linked.groups[static_cast<size_t>(communicator)];
    if (mention.size >= 0 && other.size >= 0 && mention.size != other.size) return false;
    const std::vector<int64_t> members = listed_members(mention, trace_.evidence.distributed.groups);
    const int64_t rank = trace_.evidence.distributed.rank;
    const auto own = std::find(members.begin(), members.end(), rank);
    if (rank < 0 || own == members.end()) return true;
    const auto& listed = log_.evidence.distributed.groups;
    return std::any_of(listed.begin(), listed.end(), [&](const ProcessGroup& process_group) {
      return process_group.name == other.name && process_group.own_rank == own - members.begin();
    });
  }

  PairOfGroups compare(const CallsByOperation& calls, const CallsByOperation& lines) const {
    PairOfGroups pair;
    for (const auto& [kind, of_trace] : calls) {
      const auto of_log = lines.find(kind);
      if (of_log == lines.end()) continue;
      const NumberedCalls numbered = number_calls(of_log->second, of_trace, !log_.linked.trace.durations_only);
      pair.found += numbered.found;
      for (size_t i = 0; i < of_trace.size(); ++i) {
        if (numbered.log_row[i] < 0) continue;
        pair.rows.emplace_back(of_trace[i].row, of_log->second[static_cast<size_t>(numbered.log_row[i])].row);
      }
    }
    return pair;
  }

  // Two that fit almost as well are no answer.
  static std::vector<PairOfGroups> each_once(std::vector<PairOfGroups> pairs) {
    std::stable_sort(pairs.begin(), pairs.end(),
                     [](const PairOfGroups& a, const PairOfGroups& b) { return a.found > b.found; });
    std::vector<PairOfGroups> chosen;
    std::set<int32_t> groups, communicators;
    for (PairOfGroups& pair : pairs) {
      const auto rival = [&](const PairOfGroups& other) {
        const bool shares = (other.group == pair.group) != (other.communicator == pair.communicator);
        const bool open = groups.count(other.group) == 0 && communicators.count(other.communicator) == 0;
        return shares && open && 10 * other.found > 9 * pair.found;
      };
      if (groups.count(pair.group) > 0 || communicators.count(pair.communicator) > 0) continue;
      if (std::any_of(pairs.begin(), pairs.end(), rival)) continue;
      groups.insert(pair.group);
      communicators.insert(pair.communicator);
      chosen.push_back(pair);
    }
    return chosen;
  }

  const TraceFile& trace_;
  const TraceFile& log_;
};

// From here on the trace's calls say what only the log knows.
class TraceTeacher {
 public:
  TraceTeacher(TraceFile& trace, TraceFile& log, ToldByTrace& told) : trace_(trace), log_(log), told_(told) {}

  void teach() {
    const std::vector<PairOfGroups> pairs = LogJoiner(trace_, log_).join();
    for (const PairOfGroups& pair : pairs) {
      keep_group(pair);
      for (const auto& [row, line] : pair.rows) keep_call(row, line);
    }
    told_.world_size = std::max(told_.world_size, trace_.evidence.distributed.world_size);
    report();
  }

 private:
  void keep_group(const PairOfGroups& pair) {
    const GroupMention& mention = trace_.linked.groups[static_cast<size_t>(pair.group)];
    const std::string& name = log_.linked.groups[static_cast<size_t>(pair.communicator)].name;
    told_.groups.try_emplace(name,
                             ToldByTrace::Group{mention, listed_members(mention, trace_.evidence.distributed.groups)});
  }

  void keep_call(int32_t row, int32_t line) {
    CollectiveCall& call = trace_.linked.trace.calls[static_cast<size_t>(row)];
    const CollectiveCall& logged = log_.linked.trace.calls[static_cast<size_t>(line)];
    call.algorithm = logged.algorithm;
    call.protocol = logged.protocol;
    told_.calls.try_emplace(logged.comms_id,
                            ToldByTrace::Call{call, trace_.linked.open_calls[static_cast<size_t>(row)].root_in_group});
    differences_ns_.push_back(std::abs(call.duration_ns - logged.duration_ns));
  }

  void report() {
    int64_t countable = 0;
    for (const CollectiveCall& call : trace_.linked.trace.calls) {
      countable += counted_as(call) == CollectiveKind::unknown ? 0 : 1;
    }
    const auto found = std::ssize(differences_ns_);
    if (found > 0) {
      std::sort(differences_ns_.begin(), differences_ns_.end());
      const auto us = [](int64_t ns) { return std::to_string((ns + 500) / 1000); };
      log_.linked.findings.push_back(
          finding_of_file(Severity::info, "log-joined", log_.evidence.file,
                          "collectives of the process's trace were found in its log, of " + std::to_string(countable) +
                              ": algorithm and protocol are the log's; the durations that both measured differ by " +
                              us(differences_ns_[differences_ns_.size() / 2]) + " us in the median, " +
                              us(differences_ns_.back()) + " us at most",
                          found));
    }
    if (found == countable) return;
    log_.linked.findings.push_back(
        finding_of_file(Severity::info, "log-not-joined", log_.evidence.file,
                        "collectives of the process's trace were not found in its log for sure: the log does not hold "
                        "small calls, kernels of several calls are not in it, or sizes and durations fit several",
                        countable - found));
  }

  TraceFile& trace_;
  TraceFile& log_;
  ToldByTrace& told_;
  std::vector<int64_t> differences_ns_;
};

}  // namespace

void learn_from_log(TraceFile& trace, TraceFile& log, ToldByTrace& told) { TraceTeacher(trace, log, told).teach(); }

void learn_from_members(const std::vector<const TraceFile*>& traces, const std::vector<const TraceFile*>& logs,
                        ToldByTrace& told) {
  struct Places {
    std::map<int64_t, int64_t> rank_at;
    int64_t size = -1;
  };
  std::map<std::string, Places> unnamed;
  for (const TraceFile* log : logs) {
    const int64_t rank = rank_of_log(told, log->evidence);
    for (const ProcessGroup& group : log->evidence.distributed.groups) {
      if (rank < 0 || told.groups.count(group.name) > 0) continue;
      unnamed[group.name].rank_at[group.own_rank] = rank;
      unnamed[group.name].size = group.size;
    }
  }
  using Members = std::vector<int64_t>;
  std::set<std::pair<std::string, Members>> taken;
  for (const auto& [communicator, group] : told.groups) taken.emplace(group.mention.name, group.members);
  std::map<Members, std::map<std::string, GroupMention>> groups;
  for (const TraceFile* trace : traces) {
    for (const GroupMention& mention : trace->linked.groups) {
      const Members members = listed_members(mention, trace->evidence.distributed.groups);
      if (!members.empty() && taken.count({mention.name, members}) == 0) groups[members].emplace(mention.name, mention);
    }
  }
  std::map<Members, std::vector<std::string>> communicators;
  for (const auto& [name, places] : unnamed) {
    if (std::ssize(places.rank_at) != places.size) continue;
    Members members;
    for (const auto& [place, rank] : places.rank_at) members.push_back(rank);
    communicators[members].push_back(name);
  }
  for (const auto& [members, names] : communicators) {
    const auto found = groups.find(members);
    if (found == groups.end() || found->second.size() != 1 || names.size() != 1) continue;
    told.groups.try_emplace(names.front(), ToldByTrace::Group{found->second.begin()->second, members});
  }
}

int64_t rank_of_log(const ToldByTrace& told, const RankEvidence& log) {
  for (const ProcessGroup& group : log.distributed.groups) {
    const auto known = told.groups.find(group.name);
    if (known == told.groups.end() || group.own_rank < 0) continue;
    const std::vector<int64_t>& members = known->second.members;
    if (static_cast<size_t>(group.own_rank) < members.size()) return members[static_cast<size_t>(group.own_rank)];
  }
  return -1;
}

}  // namespace skewscope::ingest
