#include "skewscope/model/group_kinds.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace skewscope {
namespace {

using Hosts = std::unordered_map<int32_t, std::string_view>;  // by rank

// -1: not all hosts are known.
int32_t nodes_of(const Communicator& communicator, const Hosts& hosts) {
  std::set<std::string_view> nodes;
  for (const Rank rank : communicator.members) {
    const auto host = hosts.find(rank.value);
    if (host == hosts.end()) return -1;
    nodes.insert(host->second);
  }
  return communicator.members_known() ? static_cast<int32_t>(nodes.size()) : -1;
}

}  // namespace

std::string GroupKind::name() const { return description.empty() ? "group of " + std::to_string(size) : description; }

GroupKinds group_kinds(const CommunicatorTable& table, const JobTrace& job) {
  Hosts hosts;
  for (const RankTrace& trace : job.traces) {
    if (!trace.host.empty()) hosts.emplace(trace.rank.value, trace.host);
  }
  using Key = std::tuple<std::string, int32_t, int32_t>;  // description, size, nodes
  std::vector<Key> keys;
  std::map<std::pair<std::string, int32_t>, int32_t> most_nodes;
  for (const Communicator& communicator : table.communicators) {
    const std::string& description = communicator.description;
    keys.emplace_back(description == "undefined" ? "" : description, communicator.size, nodes_of(communicator, hosts));
    int32_t& most = most_nodes.try_emplace({std::get<0>(keys.back()), communicator.size}, -1).first->second;
    most = std::max(most, std::get<2>(keys.back()));
  }
  std::map<Key, int32_t> rows;
  for (Key& key : keys) {  // a group that lacks a trace is of the kind of those that lack none
    if (std::get<2>(key) < 0) std::get<2>(key) = most_nodes.at({std::get<0>(key), std::get<1>(key)});
    rows.emplace(key, 0);
  }
  GroupKinds out;
  for (auto& [key, row] : rows) {
    row = static_cast<int32_t>(out.kinds.size());
    out.kinds.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), 0});
  }
  for (const Key& key : keys) {
    out.of_communicator.push_back(rows.at(key));
    ++out.kinds[static_cast<size_t>(out.of_communicator.back())].communicators;
  }
  return out;
}

}  // namespace skewscope
