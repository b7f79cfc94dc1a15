#include "skewscope/model/communicator_table.h"

#include <algorithm>
#include <functional>

namespace skewscope {

const char* to_string(MembersSource source) {
  switch (source) {
    case MembersSource::process_group_config:
      return "process_group_config";
    case MembersSource::call_ranks:
      return "call_ranks";
    case MembersSource::progression:
      return "progression";
    case MembersSource::observed:
      return "observed";
    case MembersSource::inferred:
      return "inferred";
  }
  return "inferred";
}

std::string check_invariants(const CommunicatorTable& table) {
  for (size_t i = 0; i < table.size(); ++i) {
    const Communicator& c = table.communicators[i];
    const std::string where = "communicator " + std::to_string(i);
    if (!std::all_of(c.members.begin(), c.members.end(), [](Rank rank) { return rank.known(); })) {
      return where + " has an unknown member";
    }
    if (std::adjacent_find(c.members.begin(), c.members.end(), std::greater_equal<>()) != c.members.end()) {
      return where + ": members not sorted and unique";
    }
    if (c.members.size() > static_cast<size_t>(std::max(c.size, 0))) return where + " has more members than its size";
  }
  return "";
}

}  // namespace skewscope
