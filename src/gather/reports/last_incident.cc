// A collective that times out has every rank of its group dump at once, other groups follow within minutes: a pause
// longer than that is between two incidents. How long ranks of a job may go on before they time out, nobody says here;
// PyTorch's own limit is ten minutes, so that a job that began anew cannot hang again sooner.
#include <algorithm>
#include <map>
#include <utility>

#include "skewscope/gather.h"

namespace skewscope {
namespace {

constexpr int kPauseBetweenIncidents = 5;  // minutes

}  // namespace

std::vector<KeptDump> last_incident(std::vector<KeptDump> dumps) {
  std::sort(dumps.begin(), dumps.end(), [](const KeptDump& a, const KeptDump& b) { return a.minute > b.minute; });
  std::map<int, KeptDump> by_rank;
  int before = dumps.empty() ? 0 : dumps.front().minute;
  for (KeptDump& dump : dumps) {
    if (before - dump.minute > kPauseBetweenIncidents) break;
    before = dump.minute;
    by_rank.try_emplace(dump.rank, std::move(dump));
  }
  std::vector<KeptDump> out;
  for (auto& [rank, dump] : by_rank) out.push_back(std::move(dump));
  return out;
}

}  // namespace skewscope
