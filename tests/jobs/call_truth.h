// What the simulator says of every call, looked up by what its trace shows.
#pragma once

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "skewscope/model/rank_trace.h"

namespace skewscope::test {

struct CallTruth {
  struct Member {
    size_t instance;
    int64_t duration_ns, wait_ns;
    std::string op;
  };
  std::multimap<std::pair<int32_t, int64_t>, Member> by_stamp;  // (rank, start on the rank's clock)
  std::vector<size_t> recorded;                                 // per instance: members whose call is in a file
  std::vector<size_t> members;                                  // per instance

  explicit CallTruth(const std::string& directory) {
    std::ifstream file(directory + "/truth.json");
    const nlohmann::json truth = nlohmann::json::parse(file);
    std::map<int32_t, std::pair<int64_t, double>> clocks;
    const int64_t reference = truth.at("reference_ns");
    for (const auto& r : truth.at("ranks")) clocks[r.at("rank")] = {r.at("offset_ns"), r.at("drift_ppb")};
    for (const auto& c : truth.at("collectives")) {
      const size_t instance = members.size();
      members.push_back(c.at(6).size());
      recorded.push_back(0);
      for (size_t i = 0; i < c.at(6).size(); ++i) {
        if (c.at(11).at(i) != 0) continue;
        ++recorded.back();
        const int32_t rank = c.at(6).at(i);
        const int64_t t = c.at(7).at(i), end = c.at(8).at(i);
        const auto& [offset, drift] = clocks.at(rank);
        const int64_t stamp = reference + t + offset + std::llround(drift * 1e-9 * static_cast<double>(t));
        by_stamp.insert({{rank, stamp}, {instance, end - t, c.at(9).at(i), c.at(1)}});
      }
    }
  }

  // The member of this operation that starts within the traces' resolution of the call, and lasts most nearly as long:
  // calls on two streams may start at once.
  const Member* find(int32_t rank, const CollectiveCall& call, int64_t resolution_ns) const {
    const bool pair = call.kind == CollectiveKind::send || call.kind == CollectiveKind::recv;
    const std::string op = to_string(pair ? CollectiveKind::send : call.kind);
    const Member* best = nullptr;
    const auto distance = [&](const Member& m) { return std::llabs(m.duration_ns - call.duration_ns); };
    const int64_t slack = resolution_ns + 2;
    for (auto at = by_stamp.lower_bound({rank, call.start.ns - slack}); at != by_stamp.end(); ++at) {
      if (at->first.first != rank || at->first.second > call.start.ns + slack) break;
      if (at->second.op == op && (best == nullptr || distance(at->second) < distance(*best))) best = &at->second;
    }
    return best;
  }
};

}  // namespace skewscope::test
