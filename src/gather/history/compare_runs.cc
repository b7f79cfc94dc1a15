#include "compare_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace skewscope::gather {
namespace {

// Less is not worth a word.
constexpr double kLeastCost = 0.01;

// Versions by what has them: {"CUDA-driver": "13.0"}; of ranks that differ "12.8 and 13.0".
std::map<std::string, std::string> versions_in(const Run& run) {
  std::map<std::string, std::string> versions;
  for (const std::string& named : run.outcome.software) {
    const size_t slash = named.find('/');
    if (slash == std::string::npos) continue;
    std::string& text = versions[named.substr(0, slash)];
    text += (text.empty() ? "" : " and ") + named.substr(slash + 1);
  }
  return versions;
}

bool is_costliest(const std::string& group, const Run& run) {
  const std::vector<ReportOutcome::Group>& groups = run.outcome.groups;
  return !groups.empty() && groups.front().name == group && groups.front().share >= kLeastCost;
}

}  // namespace

std::vector<std::string> software_changes(const Run& older, const Run& newer) {
  std::vector<std::string> changes;
  const std::map<std::string, std::string> before = versions_in(older);
  for (const auto& [library, version] : versions_in(newer)) {
    const auto known = before.find(library);
    if (known == before.end() || known->second == version) continue;
    changes.push_back(fmt::format("{} {} → {}", library, known->second, version));
  }
  return changes;
}

std::optional<GroupRecord> costliest_group(const std::vector<Run>& runs) {
  const size_t recent = std::min<size_t>(runs.size(), kRecentJobs);
  std::map<std::string, int> times;
  for (size_t i = 0; i < recent; ++i) {
    if (!runs[i].outcome.groups.empty() && is_costliest(runs[i].outcome.groups.front().name, runs[i]))
      ++times[runs[i].outcome.groups.front().name];
  }
  const auto most =
      std::max_element(times.begin(), times.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == times.end() || most->second < 2) return std::nullopt;
  GroupRecord record;
  record.group = most->first;
  record.recent = static_cast<int>(recent);
  record.costliest = most->second;
  size_t seen = 0, costliest = 0;
  for (const Run& run : runs) {
    ++seen;
    if (!is_costliest(record.group, run)) continue;
    if (costliest == 0) record.share = run.outcome.groups.front().share;
    ++costliest;
    if (2 * costliest >= seen) record.since_job = run.job;
  }
  return record;
}

std::string sentence_of(const GroupRecord& record) {
  const std::string since = record.since_job.empty() ? "" : ", since " + record.since_job;
  return fmt::format("Group {} cost most in {} of the last {} runs{}: {:.1f} % of GPU time in the newest of them.",
                     record.group, record.costliest, record.recent, since, 100 * record.share);
}

}  // namespace skewscope::gather
