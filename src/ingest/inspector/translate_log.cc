// Problem: in one job some processes have traces and others logs only. Idea: communicator and number are the same in
// the logs of all members, so what one process with both says of them translates the logs of the others.
// Of communicators that no trace names, calls between the first and the last known one stay as they are: they ran then.
#include "translate_log.h"

#include <algorithm>
#include <utility>

namespace skewscope::ingest {
namespace {

// Calls the log of a process without a trace as the traces of its job do.
class LogTranslator {
 public:
  LogTranslator(const ToldByTrace& told, TraceFile& log) : told_(told), log_(log) {}

  // False: no call of it ran while a trace was recorded, and it is left as it was.
  bool translate() {
    find_window();
    if (first_ >= end_) return false;
    keep_calls();
    say_rank();
    name_groups();
    return true;
  }

  void say_rank() {
    const int64_t own = rank_of_log(told_, log_.evidence);
    if (own < 0) return;
    DistributedInfo& distributed = log_.evidence.distributed;
    distributed.present = true;
    distributed.rank = own;
    distributed.world_size = told_.world_size;
    distributed.rank_from = "place in a group that a trace lists";
    for (ProcessGroup& group : distributed.groups) group.own_rank = -1;
  }

 private:
  // From the first call that a trace shows to the last, and messages next to these: up to a collective that none shows.
  void find_window() {
    const int64_t calls = std::ssize(log_.linked.trace.calls);
    int64_t first = 0, last = calls - 1;
    while (first < calls && !is_known(first)) ++first;
    while (last > first && !is_known(last)) --last;
    if (first == calls) return;
    while (first > 0 && !is_elsewhere(first - 1)) --first;
    while (last + 1 < calls && !is_elsewhere(last + 1)) ++last;
    first_ = static_cast<size_t>(first);
    end_ = static_cast<size_t>(last + 1);
  }

  bool is_known(int64_t row) const {
    const uint64_t id = log_.linked.trace.calls[static_cast<size_t>(row)].comms_id;
    return id != 0 && told_.calls.count(id) > 0;
  }

  // A collective of a group that traces name, which none of them shows: it ran before or after they were recorded.
  bool is_elsewhere(int64_t row) const {
    const auto at = static_cast<size_t>(row);
    const int32_t group = log_.linked.open_calls[at].group;
    if (is_point_to_point(log_.linked.trace.calls[at].kind) || group < 0 || is_known(row)) return false;
    return told_.groups.count(log_.linked.groups[static_cast<size_t>(group)].name) > 0;
  }

  void keep_calls() {
    LinkedTrace& linked = log_.linked;
    RankTrace& trace = linked.trace;
    Column<CollectiveCall> calls;
    std::vector<OpenCall> open_calls;
    for (size_t i = first_; i < end_; ++i) {
      if (is_elsewhere(static_cast<int64_t>(i))) continue;
      CollectiveCall call = trace.calls[i];
      OpenCall open = linked.open_calls[i];
      if (is_known(static_cast<int64_t>(i))) {
        const ToldByTrace::Call& known = told_.calls.at(call.comms_id);
        const CollectiveCall& of_trace = known.call;
        call.kind = of_trace.kind;
        call.dtype = of_trace.dtype;
        call.in_elements = of_trace.in_elements;
        call.out_elements = of_trace.out_elements;
        call.seq = of_trace.seq;
        call.comms_id = of_trace.comms_id;
        open.root_in_group = known.root_in_group;
      }
      calls.push_back(call);
      open_calls.push_back(open);
    }
    trace.calls = std::move(calls);
    linked.open_calls = std::move(open_calls);
    LocalNs first{INT64_MAX}, last{INT64_MIN};
    for (const CollectiveCall& call : trace.calls) {
      first = std::min(first, call.start);
      last = std::max(last, call.end());
    }
    trace.first_event = log_.evidence.first_event = first;
    trace.last_event = log_.evidence.last_event = last;
  }

  void name_groups() {
    for (GroupMention& mention : log_.linked.groups) {
      const auto known = told_.groups.find(mention.name);
      if (known != told_.groups.end()) mention = known->second.mention;
    }
    for (ProcessGroup& group : log_.evidence.distributed.groups) {
      const auto known = told_.groups.find(group.name);
      if (known == told_.groups.end()) continue;
      group.name = known->second.mention.name;
      group.description = known->second.mention.description;
      if (!known->second.members.empty()) group.ranks = RankRuns(known->second.members);
    }
  }

  const ToldByTrace& told_;
  TraceFile& log_;
  size_t first_ = 0, end_ = 0;  // of its calls
};

}  // namespace

bool translate_log(const ToldByTrace& told, TraceFile& log) { return LogTranslator(told, log).translate(); }

void say_rank_of_log(const ToldByTrace& told, TraceFile& log) { LogTranslator(told, log).say_rank(); }

}  // namespace skewscope::ingest
