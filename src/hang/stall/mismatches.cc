// Problem: a member that enters another operation, size or order than the others; NCCL does not compare, and hangs
// still, or goes on with wrong results.
// Idea: calls of one sequence number must look alike. Most members are right; where two halves disagree, groups of the
// same description and size, which run the same program, decide.
#include "src/hang/stall/mismatches.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

namespace skewscope::hang {
namespace {

struct Look {
  std::string_view operation, type;
  int64_t elements;
  bool operator<(const Look& other) const {
    return std::tie(operation, type, elements) < std::tie(other.operation, other.type, other.elements);
  }
  bool operator==(const Look& other) const {
    return operation == other.operation && type == other.type && elements == other.elements;
  }
};

// All-to-alls and lists of tensors may differ from member to member.
bool wants_equal_sizes(DumpedOp op, std::string_view name) {
  if (op == DumpedOp::all_reduce || op == DumpedOp::broadcast) return true;
  return (op == DumpedOp::all_gather || op == DumpedOp::reduce_scatter) &&
         name.find("_base") != std::string_view::npos && name.find("coalesced") == std::string_view::npos;
}

Look look_of(const DumpedCall& call, const FlightDump& dump) {
  const std::string_view name = dump.text(call.name);
  const bool sized = wants_equal_sizes(call.op, name) && call.input_elements > 0;
  return {name, sized ? std::string_view(dump.text(call.dtype)) : std::string_view(), sized ? call.input_elements : -1};
}

struct Seen {
  int64_t seq;
  size_t member;
  const DumpedCall* call;
};

std::vector<Seen> by_sequence(const Group& group) {
  std::vector<Seen> seen;
  for (size_t m = 0; m < group.members.size(); ++m) {
    const DumpedCall* last = nullptr;
    for (const DumpedCall* call : group.members[m].calls) {
      if (last == nullptr || last->collective_seq != call->collective_seq)
        seen.push_back({call->collective_seq, m, call});
      last = call;
    }
  }
  std::sort(seen.begin(), seen.end(),
            [](const Seen& a, const Seen& b) { return std::tie(a.seq, a.member) < std::tie(b.seq, b.member); });
  return seen;
}

// What groups of this description and size entered under this number, where most of them agree.
std::optional<Look> look_of_likes(const GroupTable& table, const Group& group, int64_t seq) {
  std::map<Look, int> count;
  int all = 0;
  for (const Group& other : table.groups) {
    if (&other == &group || other.description != group.description || other.members.size() != group.members.size())
      continue;
    for (const Member& member : other.members) {
      const DumpedCall* call = member.call(seq);
      if (call == nullptr) continue;
      ++count[look_of(*call, *member.dump)];
      ++all;
    }
  }
  for (const auto& [look, number] : count) {
    if (2 * number > all) return look;
  }
  return std::nullopt;
}

Difference difference_of(const Look& a, const Look& b) {
  if (a.operation != b.operation) return Difference::operation;
  return a.type != b.type ? Difference::type : Difference::size;
}

std::optional<Mismatch> judge(const GroupTable& table, int32_t number, const Seen* begin, const Seen* end) {
  const Group& group = table.groups[static_cast<size_t>(number)];
  const auto look = [&](const Seen& one) { return look_of(*one.call, *group.members[one.member].dump); };
  std::map<Look, int> count;
  for (const Seen* one = begin; one != end; ++one) ++count[look(*one)];
  if (count.size() < 2) return std::nullopt;
  const auto most =
      std::max_element(count.begin(), count.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto equals =
      std::count_if(count.begin(), count.end(), [&](const auto& one) { return one.second == most->second; });
  std::optional<Look> right = most->first;
  if (equals > 1) {
    right = look_of_likes(table, group, begin->seq);
    if (right && count.find(*right) == count.end()) right = std::nullopt;
  }
  Mismatch mismatch;
  mismatch.group = number;
  mismatch.seq = begin->seq;
  mismatch.undecided = !right;
  const Look reference = right ? *right : look(*begin);
  bool left_out = true;
  for (const Seen* one = begin; one != end; ++one) {
    const Member& member = group.members[one->member];
    const Look own = look(*one);
    const bool odd = !(own == reference);
    if (odd || mismatch.undecided) mismatch.odd.push_back(member.rank);
    if (!odd) ++mismatch.like_others;
    if (odd) mismatch.difference = difference_of(own, reference);
    (odd ? mismatch.odd_call : mismatch.other_call) = one->call;
    (odd ? mismatch.odd_dump : mismatch.other_dump) = member.dump;
  }
  for (const Seen* one = begin; one != end; ++one) {
    if (look(*one) == reference) {
      const Member& member = group.members[one->member];
      const DumpedCall* next = member.call(one->seq + 1);
      const bool same =
          next != nullptr && look_of(*next, *member.dump) == look_of(*mismatch.odd_call, *mismatch.odd_dump);
      left_out = left_out && same;
    }
  }
  mismatch.left_out = left_out && !mismatch.undecided;
  return mismatch;
}

}  // namespace

std::vector<Mismatch> find_mismatches(const GroupTable& table) {
  std::vector<Mismatch> found;
  for (size_t g = 0; g < table.groups.size(); ++g) {
    if (table.groups[g].members.size() < 2) continue;
    const std::vector<Seen> seen = by_sequence(table.groups[g]);
    for (size_t begin = 0; begin < seen.size();) {
      size_t end = begin + 1;
      while (end < seen.size() && seen[end].seq == seen[begin].seq) ++end;
      const auto mismatch = judge(table, static_cast<int32_t>(g), seen.data() + begin, seen.data() + end);
      if (mismatch) {
        found.push_back(*mismatch);
        break;
      }
      begin = end;
    }
  }
  return found;
}

}  // namespace skewscope::hang
