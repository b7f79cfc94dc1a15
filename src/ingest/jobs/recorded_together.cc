#include "recorded_together.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

namespace skewscope::ingest {
namespace {

// Where the programs have little in common, or one clock stamped the same steps.
constexpr int64_t kSurelyApart_ns = 60'000'000'000;

}  // namespace

void sort_by_time(const std::vector<JobClues>& clues, Rows& rows) {
  std::stable_sort(rows.begin(), rows.end(), [&](size_t a, size_t b) {
    return clues[a].evidence().first_event < clues[b].evidence().first_event;
  });
}

std::map<size_t, size_t> clusters_of(const std::vector<JobClues>& clues, Rows rows, int64_t gap_ns) {
  sort_by_time(clues, rows);
  std::map<size_t, size_t> cluster;
  size_t number = 0;
  std::optional<LocalNs> end;
  for (const size_t i : rows) {
    const RankEvidence& file = clues[i].evidence();
    if (!clues[i].timed()) {
      cluster[i] = 0;
      continue;
    }
    if (end && file.first_event - *end > gap_ns) ++number;
    end = end ? std::max(*end, file.last_event) : file.last_event;
    cluster[i] = number;
  }
  return cluster;
}

int64_t gap_between_runs(const std::vector<JobClues>& clues, const Rows& rows) {
  Rows by_time = rows;
  sort_by_time(clues, by_time);
  std::erase_if(by_time, [&](size_t i) { return !clues[i].timed(); });
  for (size_t k = 1; k < by_time.size(); ++k) {
    const JobClues &before = clues[by_time[k - 1]], &behind = clues[by_time[k]];
    if (behind.evidence().first_event - before.evidence().last_event <= kSurelyApart_ns) continue;
    if (common_program(before, behind) < kAnotherProgram || share_steps_of_one_clock(before, behind)) {
      return kSurelyApart_ns;
    }
  }
  return kApart_ns;
}

bool may_be_one(const std::vector<JobClues>& clues, const Rows& earlier, const Rows& later) {
  const JobClues &a = clues[earlier.front()], &b = clues[later.front()];
  const FileNameFacts &x = a.evidence().name, &y = b.evidence().name;
  if (!x.capture.empty() && !y.capture.empty() && x.capture != y.capture) return true;
  if (!a.steps.empty() && !b.steps.empty() && a.steps.back() < b.steps.front()) return true;
  if (groups_contradict(a, b)) return false;
  std::set<std::string> hosts;
  for (const size_t i : earlier) hosts.insert(clues[i].evidence().host);
  if (hosts.count("") > 0) return false;
  return std::none_of(later.begin(), later.end(), [&](size_t i) {
    return clues[i].evidence().host.empty() || hosts.count(clues[i].evidence().host) > 0;
  });
}

}  // namespace skewscope::ingest
