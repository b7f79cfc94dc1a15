#include "doubted_claims.h"

#include <map>

namespace skewscope::ingest {

std::vector<bool> doubted_claims(const std::vector<RankEvidence>& evidence, Findings& findings) {
  std::vector<bool> doubted(evidence.size(), false);
  std::map<int64_t, std::vector<size_t>> by_rank;
  for (size_t i = 0; i < evidence.size(); ++i) {
    if (claims_on_demand(evidence[i]) && evidence[i].symmetric_rank < 0)
      by_rank[evidence[i].distributed.rank].push_back(i);
  }
  for (const auto& [rank, files] : by_rank) {
    for (const size_t a : files) {
      for (const size_t b : files) {
        const bool apart =
            evidence[a].last_event <= evidence[b].first_event || evidence[b].last_event <= evidence[a].first_event;
        if (a != b && !apart) doubted[a] = true;
      }
    }
  }
  for (size_t i = 0; i < evidence.size(); ++i) {
    if (!doubted[i]) continue;
    add_finding(findings, finding_of_file(Severity::warning, "rank-doubtful", evidence[i].file,
                                          "other files claim rank " + std::to_string(evidence[i].distributed.rank) +
                                              " as well: distributedInfo of an on-demand trace holds the root of its "
                                              "first broadcast"));
  }
  return doubted;
}

}  // namespace skewscope::ingest
