#include "src/hang/stall/group_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace skewscope::hang {
namespace {

// By length first: numbers by size.
bool name_before(const Group& a, const Group& b) {
  if (a.name.size() != b.name.size()) return a.name.size() < b.name.size();
  if (a.name != b.name) return a.name < b.name;
  return a.members.front().rank < b.members.front().rank;
}

using Key = std::pair<std::string, std::vector<int32_t>>;

// Groups of equal name and members are one. A dump that does not say the members goes with whoever has the name.
std::map<Key, std::vector<std::pair<const FlightDump*, size_t>>> joined(const std::vector<FlightDump>& dumps) {
  std::map<Key, std::vector<std::pair<const FlightDump*, size_t>>> found;
  std::unordered_map<std::string, std::vector<std::pair<const FlightDump*, size_t>>> unsaid;
  for (const FlightDump& dump : dumps) {
    for (size_t g = 0; g < dump.groups.size(); ++g) {
      const DumpedGroup& group = dump.groups[g];
      const bool has = std::find(group.ranks.begin(), group.ranks.end(), dump.rank) != group.ranks.end();
      if (has) {
        found[{group.name, group.ranks}].emplace_back(&dump, g);
      } else {
        unsaid[group.name].emplace_back(&dump, g);
      }
    }
  }
  for (auto& [name, parts] : unsaid) {
    std::vector<int32_t> left;
    std::vector<std::pair<const FlightDump*, size_t>> of_left;
    for (const auto& part : parts) {
      auto at = found.lower_bound({name, {}});
      while (at != found.end() && at->first.first == name &&
             std::find(at->first.second.begin(), at->first.second.end(), part.first->rank) == at->first.second.end()) {
        ++at;
      }
      if (at != found.end() && at->first.first == name) {
        at->second.push_back(part);
      } else {
        left.push_back(part.first->rank);
        of_left.push_back(part);
      }
    }
    if (left.empty()) continue;
    std::sort(left.begin(), left.end());
    found[{name, left}] = std::move(of_left);
  }
  return found;
}

void fill(Member& member, const FlightDump& dump, size_t group) {
  member.dump = &dump;
  for (const DumpedCall& call : dump.calls) {
    if (call.group != static_cast<int32_t>(group)) continue;
    member.entered = std::max(member.entered, call.collective_seq);  // a message has the number of the call before it
    (call.p2p ? member.messages : member.calls).push_back(&call);
  }
  std::stable_sort(member.calls.begin(), member.calls.end(),
                   [](const DumpedCall* a, const DumpedCall* b) { return a->collective_seq < b->collective_seq; });
  for (const DumpedCall* call : member.calls) {
    if (call->state == CallState::completed) continue;
    member.first_pending = call->collective_seq;
    break;
  }
}

// What the status says beyond the ring, of a group in which nobody sends: its numbers count messages, too.
void add_status(Member& member, const DumpedGroup& group) {
  member.entered = std::max(member.entered, group.last_enqueued);
  if (group.last_completed < 0) return;
  const int64_t next = group.last_completed + 1;
  const bool after = std::any_of(member.calls.begin(), member.calls.end(), [&](const DumpedCall* call) {
    return call->collective_seq == next || (call->collective_seq > next && call->state == CallState::completed);
  });
  if (member.entered < next || after) return;
  if (member.first_pending >= 0 && member.first_pending <= next) return;
  member.first_pending = next;
  member.evicted = true;
}

}  // namespace

const DumpedCall* Member::call(int64_t seq) const {
  const auto at = std::lower_bound(calls.begin(), calls.end(), seq,
                                   [](const DumpedCall* one, int64_t wanted) { return one->collective_seq < wanted; });
  return at != calls.end() && (*at)->collective_seq == seq ? *at : nullptr;
}

const Member* Group::member(int32_t rank) const {
  for (const Member& one : members) {
    if (one.rank == rank) return &one;
  }
  return nullptr;
}

GroupTable group_table(const std::vector<FlightDump>& dumps, int32_t world_size) {
  GroupTable table;
  int32_t ranks = world_size;
  for (const FlightDump& dump : dumps) {
    ranks = std::max(ranks, dump.rank + 1);
    for (const DumpedGroup& group : dump.groups) {
      for (const int32_t rank : group.ranks) ranks = std::max(ranks, rank + 1);
    }
  }
  table.dump_of.assign(static_cast<size_t>(ranks), nullptr);
  table.known.assign(static_cast<size_t>(ranks), 0);
  table.group_of.resize(static_cast<size_t>(ranks));
  std::fill(table.known.begin(), table.known.begin() + std::max(world_size, 0), char{1});
  for (const FlightDump& dump : dumps) {
    table.dump_of[static_cast<size_t>(dump.rank)] = &dump;
    table.known[static_cast<size_t>(dump.rank)] = 1;
    table.group_of[static_cast<size_t>(dump.rank)].assign(dump.groups.size(), -1);
  }
  const auto found = joined(dumps);
  std::map<std::string, int> of_name;
  for (const auto& [key, parts] : found) ++of_name[key.first];
  for (const auto& [key, parts] : found) {
    Group group;
    group.name = key.first;
    group.id = of_name[key.first] == 1 ? key.first : fmt::format("{}@{}", key.first, key.second.front());
    std::unordered_map<int32_t, size_t> place;
    for (const int32_t rank : key.second) {
      if (!place.emplace(rank, group.members.size()).second) continue;
      group.members.emplace_back().rank = rank;
      table.known[static_cast<size_t>(rank)] = 1;
    }
    for (const auto& [dump, number] : parts) {
      if (group.description.empty()) group.description = dump->groups[number].description;
      Member& member = group.members[place.at(dump->rank)];
      fill(member, *dump, number);
      group.messages = group.messages || !member.messages.empty();
    }
    if (!group.messages) {
      for (const auto& [dump, number] : parts) add_status(group.members[place.at(dump->rank)], dump->groups[number]);
    }
    table.groups.push_back(std::move(group));
  }
  std::stable_sort(table.groups.begin(), table.groups.end(), name_before);
  std::unordered_map<std::string, std::vector<int32_t>> by_name;
  for (size_t g = 0; g < table.groups.size(); ++g) by_name[table.groups[g].name].push_back(static_cast<int32_t>(g));
  for (const FlightDump& dump : dumps) {
    for (size_t g = 0; g < dump.groups.size(); ++g) {
      for (const int32_t one : by_name[dump.groups[g].name]) {
        if (table.groups[static_cast<size_t>(one)].member(dump.rank) == nullptr) continue;
        table.group_of[static_cast<size_t>(dump.rank)][g] = one;
        break;
      }
    }
  }
  return table;
}

}  // namespace skewscope::hang
