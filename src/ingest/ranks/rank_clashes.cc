#include "rank_clashes.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "src/ingest/text/number_text.h"

namespace skewscope::ingest {
namespace {

// "node10" comes behind "node9".
struct NumbersByValue {
  bool operator()(const std::string& a, const std::string& b) const { return key(a) < key(b); }

  // Each run of digits with its length before it.
  static std::pair<std::string, std::string> key(const std::string& text) {
    std::string key;
    for (size_t at = 0; at < text.size();) {
      size_t end = at;
      while (end < text.size() && is_digit(text[end])) ++end;
      if (end == at) {
        key += text[at++];
        continue;
      }
      while (at + 1 < end && text[at] == '0') ++at;
      key += '0';
      key += static_cast<char>(std::min<size_t>(end - at, 100));
      key.append(text, at, end - at);
      at = end;
    }
    return {key, text};
  }
};

}  // namespace

int64_t first_clash(const std::vector<RankEvidence>& evidence, const std::vector<int64_t>& numbers) {
  std::map<int64_t, std::vector<size_t>> files_of;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] >= 0) files_of[numbers[i]].push_back(i);
  }
  for (auto& [number, files] : files_of) {
    std::stable_sort(files.begin(), files.end(),
                     [&](size_t a, size_t b) { return evidence[a].first_event < evidence[b].first_event; });
    LocalNs end = evidence[files.front()].last_event;
    for (size_t k = 1; k < files.size(); ++k) {
      if (evidence[files[k]].first_event < end) return static_cast<int64_t>(files[k]);
      end = std::max(end, evidence[files[k]].last_event);
    }
  }
  return -1;
}

bool in_all_groups(const RankEvidence& file, int64_t number) {
  const auto lacks = [number](const RankRuns& group) { return !group.empty() && !group.contains(number); };
  const std::vector<ProcessGroup>& config = file.distributed.groups;
  return std::none_of(file.call_groups.begin(), file.call_groups.end(), lacks) &&
         std::none_of(config.begin(), config.end(), [&](const ProcessGroup& group) { return lacks(group.ranks); });
}

std::vector<int64_t> ranks_by_folder(const std::vector<RankEvidence>& evidence, const std::vector<int64_t>& places,
                                     int64_t world_size) {
  std::map<std::string, std::set<int64_t>, NumbersByValue> folders;
  for (size_t i = 0; i < evidence.size(); ++i) {
    if (places[i] < 0 || !folders[evidence[i].folder].insert(places[i]).second) return {};
  }
  const auto per_folder = static_cast<int64_t>(folders.begin()->second.size());
  if (folders.size() < 2 || static_cast<int64_t>(folders.size()) * per_folder != world_size) return {};
  for (const auto& [folder, found] : folders) {
    if (static_cast<int64_t>(found.size()) != per_folder || *found.rbegin() != per_folder - 1) return {};
  }
  std::vector<int64_t> ranks;
  for (size_t i = 0; i < evidence.size(); ++i) {
    const int64_t node = std::distance(folders.begin(), folders.find(evidence[i].folder));
    ranks.push_back(node * per_folder + places[i]);
    if (!in_all_groups(evidence[i], ranks.back())) return {};
  }
  return ranks;
}

}  // namespace skewscope::ingest
