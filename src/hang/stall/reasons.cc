#include "src/hang/stall/reasons.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "skewscope/base/human_units.h"
#include "skewscope/base/printable.h"

namespace skewscope::hang {
namespace {

const Group& group_at(const Evidence& evidence, int32_t number) {
  return evidence.table.groups[static_cast<size_t>(number)];
}
const FlightDump* dump_of(const Evidence& evidence, int32_t rank) {
  return evidence.table.dump_of[static_cast<size_t>(rank)];
}
const Standing& standing_of(const Evidence& evidence, int32_t rank) {
  return evidence.graph.standing[static_cast<size_t>(rank)];
}

std::string clock_text(int64_t ns) {
  if (ns <= 0) return "";
  const std::time_t seconds = ns / 1'000'000'000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format(" at {:02}:{:02}:{:02}.{:03} UTC", utc.tm_hour, utc.tm_min, utc.tm_sec, ns / 1'000'000 % 1000);
}

std::vector<std::string> stack_of(const FlightDump* dump, const DumpedCall* call) {
  std::vector<std::string> stack;
  if (dump == nullptr || call == nullptr) return stack;
  for (const int32_t frame : call->frames) stack.push_back(printable(dump->text(frame)));
  return stack;
}

std::string group_words(const Group& group) {
  const bool described = !group.description.empty() && group.description != "undefined";
  return printable(described ? fmt::format("group {} ({})", group.id, group.description)
                             : fmt::format("group {}", group.id));
}

std::string words_of(const Evidence& evidence, int32_t group, int64_t seq, const DumpedCall* call,
                     const FlightDump* dump) {
  const std::string operation = call != nullptr ? dump->text(call->name)
                                : seq >= 0      ? operation_of(group_at(evidence, group), seq)
                                                : "";
  return call_words(evidence.table, group, seq, operation);
}

// The call that `rank` is in.
std::string standing_words(const Evidence& evidence, int32_t rank) {
  const Standing& at = standing_of(evidence, rank);
  return words_of(evidence, at.group, at.seq, at.call, dump_of(evidence, rank));
}

std::string last_action_of(const Evidence& evidence, int32_t rank) {
  const FlightDump* dump = dump_of(evidence, rank);
  if (dump == nullptr || dump->calls.empty()) return "";
  const DumpedCall& call = dump->calls.back();
  const int32_t group = evidence.table.group_of[static_cast<size_t>(rank)][static_cast<size_t>(call.group)];
  if (group < 0) return "";
  return words_of(evidence, group, call.p2p ? -1 : call.collective_seq, &call, dump) + clock_text(call.created_ns);
}

Culprit begin(const Evidence& evidence, int32_t rank, CulpritKind kind, Certainty certainty) {
  Culprit culprit;
  culprit.rank = rank;
  culprit.kind = kind;
  culprit.certainty = certainty;
  culprit.last_action = last_action_of(evidence, rank);
  const FlightDump* dump = dump_of(evidence, rank);
  if (dump != nullptr && !dump->calls.empty()) culprit.stack = stack_of(dump, &dump->calls.back());
  return culprit;
}

void set_call(const Evidence& evidence, Culprit& culprit, int32_t group, int64_t seq, const std::string& operation) {
  culprit.group = group_at(evidence, group).id;
  culprit.collective_seq = seq;
  culprit.operation = operation;
}

// Of the call that `other` is in.
void set_standing(const Evidence& evidence, Culprit& culprit, int32_t other) {
  const Standing& at = standing_of(evidence, other);
  const FlightDump* dump = dump_of(evidence, other);
  set_call(evidence, culprit, at.group, at.seq,
           at.call != nullptr ? dump->text(at.call->name) : operation_of(group_at(evidence, at.group), at.seq));
  culprit.other_stack = stack_of(dump, at.call);
}

std::string in_numbers(size_t ranks) { return ranks == 1 ? "1 rank" : fmt::format("{} ranks", ranks); }

}  // namespace

std::string operation_of(const Group& group, int64_t seq) {
  for (const Member& member : group.members) {
    const DumpedCall* call = member.dump != nullptr ? member.call(seq) : nullptr;
    if (call != nullptr) return printable(member.dump->text(call->name));
  }
  return "";
}

std::string call_words(const GroupTable& table, int32_t group, int64_t seq, const std::string& operation) {
  const std::string what = operation.empty() ? "call" : printable(operation);
  const std::string where = group_words(table.groups[static_cast<size_t>(group)]);
  return seq < 0 ? fmt::format("{} in {}", what, where) : fmt::format("{} {} of {}", what, seq, where);
}

Culprit describe_missing(const Evidence& evidence, int32_t rank, int32_t witness) {
  const Standing& there = standing_of(evidence, witness);
  const Lateness& late = evidence.lateness[static_cast<size_t>(rank)];
  Culprit culprit = begin(evidence, rank, late.always ? CulpritKind::late : CulpritKind::missing, Certainty::likely);
  set_standing(evidence, culprit, witness);
  const size_t came = group_at(evidence, there.group).members.size() - there.missing.size() - there.without_dump.size();
  culprit.reason =
      there.seq < 0
          ? fmt::format("rank {} is in {}, whose other end this rank did not enter, nor is it in another call", witness,
                        standing_words(evidence, witness))
          : fmt::format("{} entered {}; this rank did not, nor is it in another call", in_numbers(came),
                        standing_words(evidence, witness));
  if (late.always) {
    culprit.reason += fmt::format("; before that it was last in {} of {} calls, typically by {}",
                                  human_percent(late.last_share), late.calls, human_duration(late.late_ns));
  }
  return culprit;
}

Culprit describe_without_dump(const Evidence& evidence, int32_t rank, int32_t witness) {
  Culprit culprit = begin(evidence, rank, CulpritKind::no_dump, Certainty::likely);
  set_standing(evidence, culprit, witness);
  culprit.reason = fmt::format("it left no dump, and rank {} is in {}, which it is a member of", witness,
                               standing_words(evidence, witness));
  return culprit;
}

Culprit describe_stuck(const Evidence& evidence, int32_t rank) {
  const Standing& at = standing_of(evidence, rank);
  Culprit culprit = begin(evidence, rank, CulpritKind::stuck, Certainty::likely);
  const Group& group = group_at(evidence, at.stuck_group);
  const Member* own = group.member(rank);
  set_call(evidence, culprit, at.stuck_group, at.stuck_seq, operation_of(group, at.stuck_seq));
  culprit.stack = stack_of(own->dump, own->call(at.stuck_seq));
  culprit.reason = fmt::format(
      "{} is completed on rank {}, which needs all members, but not here: its GPU, or the host's view of it, stopped "
      "({} such {})",
      call_words(evidence.table, at.stuck_group, at.stuck_seq, culprit.operation), at.stuck_peer, at.stuck_calls,
      at.stuck_calls == 1 ? "call" : "calls");
  return culprit;
}

Culprit describe_through(const Evidence& evidence, int32_t rank, int32_t group, int64_t seq) {
  Culprit culprit = begin(evidence, rank, CulpritKind::mismatch, Certainty::likely);
  set_call(evidence, culprit, group, seq, operation_of(group_at(evidence, group), seq));
  culprit.reason = fmt::format("it alone completed {}, which the others are in: it entered something else before",
                               call_words(evidence.table, group, seq, culprit.operation));
  return culprit;
}

Culprit describe_not_started(const Evidence& evidence, int32_t rank, int32_t started, int32_t group, int64_t seq) {
  Culprit culprit = begin(evidence, rank, CulpritKind::stuck, Certainty::likely);
  set_standing(evidence, culprit, started);
  culprit.stack = stack_of(dump_of(evidence, rank), standing_of(evidence, rank).call);
  culprit.reason = fmt::format(
      "its GPU did not start {}, though its host entered it; that of rank {} did",
      seq < 0 ? standing_words(evidence, rank) : call_words(evidence.table, group, seq, culprit.operation), started);
  return culprit;
}

Culprit describe_any(const Evidence& evidence, int32_t rank, int32_t group, int64_t seq) {
  Culprit culprit = begin(evidence, rank, CulpritKind::stuck, Certainty::possible);
  set_call(evidence, culprit, group, seq, seq < 0 ? "" : operation_of(group_at(evidence, group), seq));
  culprit.reason = fmt::format(
      "all members that left a dump entered {} alike, and none completes it: a GPU or a link of one of them",
      seq < 0 ? standing_words(evidence, rank) : call_words(evidence.table, group, seq, culprit.operation));
  return culprit;
}

Culprit describe_order(const Evidence& evidence, int32_t rank, Certainty certainty) {
  const Standing& at = standing_of(evidence, rank);
  Culprit culprit = begin(evidence, rank, CulpritKind::mismatch, certainty);
  int32_t other = -1;  // who waits for it, best because it did not come
  for (size_t one = 0; one < evidence.graph.standing.size() && other < 0; ++one) {
    const std::vector<int32_t>& missing = evidence.graph.standing[one].missing;
    if (std::find(missing.begin(), missing.end(), rank) != missing.end()) other = static_cast<int32_t>(one);
  }
  for (const int32_t one : evidence.graph.waits_for[static_cast<size_t>(rank)]) {
    if (other < 0 && standing_of(evidence, one).stands()) other = one;
  }
  if (!at.stands() || other < 0) {
    culprit.reason = "it is one of a circle of ranks that wait for each other";
    return culprit;
  }
  set_standing(evidence, culprit, other);
  culprit.stack = stack_of(dump_of(evidence, rank), at.call);
  culprit.reason =
      fmt::format("it is in {}, rank {} in {}, and each waits for the other: calls in another order, or one left out",
                  standing_words(evidence, rank), other, standing_words(evidence, other));
  return culprit;
}

Culprit describe_left_out(const Evidence& evidence, int32_t rank, int32_t group) {
  Culprit culprit = begin(evidence, rank, CulpritKind::mismatch, Certainty::likely);
  const Member* own = group_at(evidence, group).member(rank);
  set_call(evidence, culprit, group, own->entered, operation_of(group_at(evidence, group), own->entered));
  culprit.reason = fmt::format(
      "its last call is that of the others, but it entered only {} calls of {}, fewer than they: it skipped one",
      own->entered, group_words(group_at(evidence, group)));
  return culprit;
}

Culprit describe_silent(const Evidence& evidence, int32_t rank) {
  Culprit culprit = begin(evidence, rank, CulpritKind::missing, Certainty::likely);
  const auto& waits = evidence.graph.waits_for[static_cast<size_t>(rank)];
  if (!waits.empty() && standing_of(evidence, waits.front()).stands()) set_standing(evidence, culprit, waits.front());
  culprit.reason = "of a circle of ranks that wait for each other, its host made its last call well before all others";
  return culprit;
}

Culprit describe_mismatch(const Evidence& evidence, int32_t rank, const Mismatch& mismatch) {
  Culprit culprit = begin(evidence, rank, CulpritKind::mismatch, Certainty::likely);
  const Group& group = group_at(evidence, mismatch.group);
  const Member* own = group.member(rank);
  const DumpedCall* call = own->call(mismatch.seq);
  // Of a group that is divided, the other half.
  const bool is_other = mismatch.undecided && mismatch.other_dump == own->dump;
  const DumpedCall* theirs = is_other ? mismatch.odd_call : mismatch.other_call;
  const FlightDump* their_dump = is_other ? mismatch.odd_dump : mismatch.other_dump;
  set_call(evidence, culprit, mismatch.group, mismatch.seq, printable(their_dump->text(theirs->name)));
  culprit.stack = stack_of(own->dump, call);
  culprit.other_stack = stack_of(their_dump, theirs);
  const auto look = [&](const FlightDump& dump, const DumpedCall& one) {
    if (mismatch.difference == Difference::operation) return printable(dump.text(one.name));
    return printable(fmt::format("{} of {} {}", dump.text(one.name), dump.text(one.dtype), dump.text(one.shape)));
  };
  culprit.reason = fmt::format("call {} of {}: it entered {}, {} entered {}", mismatch.seq, group_words(group),
                               look(*own->dump, *call),
                               mismatch.undecided ? "another" : in_numbers(static_cast<size_t>(mismatch.like_others)),
                               look(*their_dump, *theirs));
  if (mismatch.left_out)
    culprit.reason += "; the others entered that one next, so this rank seems to have skipped a call";
  return culprit;
}

Culprit describe_unread(const Evidence& evidence, int32_t rank, int32_t other, bool sends) {
  Culprit culprit = begin(evidence, rank, CulpritKind::mismatch, Certainty::possible);
  set_standing(evidence, culprit, other);
  culprit.reason = sends ? fmt::format("it is in {}, which rank {} does not receive: that one went on to {}",
                                       standing_words(evidence, rank), other, standing_words(evidence, other))
                         : fmt::format("it went on to {}, while rank {} is in {} to it", standing_words(evidence, rank),
                                       other, standing_words(evidence, other));
  return culprit;
}

Culprit describe_unwitnessed(const Evidence& evidence, int32_t rank) {
  Culprit culprit = begin(evidence, rank, CulpritKind::stuck, Certainty::possible);
  set_standing(evidence, culprit, rank);
  culprit.other_stack.clear();
  culprit.reason = fmt::format("it is in {}, of which no other member left a dump: it, or one of them",
                               standing_words(evidence, rank));
  return culprit;
}

}  // namespace skewscope::hang
