#include "divisions.h"

#include <algorithm>
#include <map>
#include <utility>

#include "src/ingest/ranks/communicator_ranks.h"

namespace skewscope::ingest {
namespace {

std::string folder_at(const JobClues& file, size_t depth) {
  return depth >= file.folder.size() || is_capture_folder(file.folder[depth]) ? std::string() : file.folder[depth];
}

constexpr int32_t kJoinedByNone = -1;

// Processes of the largest communicator are missing.
bool lacks_members(const std::vector<JobClues>& files, const Rows& rows) {
  int64_t largest = 0;
  for (const size_t i : rows) {
    for (const ProcessGroup& group : files[i].evidence().distributed.groups) {
      if (group.own_rank >= 0) largest = std::max(largest, group.size);
    }
  }
  return std::cmp_less(rows.size(), largest);
}

}  // namespace

Parts parts_by(const std::vector<JobClues>& clues, const Rows& rows, const DivisionKey& key) {
  std::map<std::string, Rows> parts;
  for (const size_t i : rows) parts[key(clues[i])].push_back(i);
  Parts result;
  for (auto& [value, part] : parts) result.push_back(std::move(part));
  return result;
}

std::vector<DivisionKey> folder_keys(const std::vector<JobClues>& clues, const Rows& rows) {
  size_t deepest = 0;
  for (const size_t i : rows) deepest = std::max(deepest, clues[i].folder.size());
  std::vector<DivisionKey> keys;
  for (size_t depth = 0; depth < deepest; ++depth) {
    keys.emplace_back([depth](const JobClues& file) {
      std::string path;
      for (size_t at = 0; at <= depth; ++at) path += folder_at(file, at) + "/";
      return path;
    });
    keys.emplace_back([depth](const JobClues& file) { return folder_at(file, depth); });
  }
  return keys;
}

std::vector<DivisionKey> other_keys(const std::vector<JobClues>& clues, const Rows& rows) {
  std::vector<DivisionKey> keys = {[](const JobClues& file) { return file.file->format; },
                                   [](const JobClues& file) { return file.file->job_name; },
                                   [](const JobClues& file) { return file.frame; }};
  size_t numbers = 0;
  for (const size_t i : rows) numbers = std::max(numbers, clues[i].numbers.size());
  for (size_t k = 0; k < numbers; ++k) {
    keys.emplace_back([k](const JobClues& file) { return k < file.numbers.size() ? file.numbers[k] : ""; });
  }
  keys.emplace_back([](const JobClues& file) { return file.evidence().host; });
  keys.emplace_back([](const JobClues& file) { return file.file->linked.trace.device_name; });
  keys.emplace_back([](const JobClues& file) { return file.evidence().distributed.backend; });
  return keys;
}

Parts parts_by_communicators(const std::vector<JobClues>& files, const Rows& rows) {
  std::vector<const RankEvidence*> evidence;
  for (const size_t i : rows) evidence.push_back(&files[i].evidence());
  const std::vector<int32_t> joined = joined_by_communicators(evidence);
  std::map<int32_t, Rows> by_number;
  for (size_t k = 0; k < rows.size(); ++k) by_number[joined[k]].push_back(rows[k]);
  std::vector<int32_t> lacking;
  for (const auto& [number, part] : by_number) {
    if (number != kJoinedByNone && lacks_members(files, part)) lacking.push_back(number);
  }
  const auto others = by_number.find(kJoinedByNone);
  if (lacking.size() == 1 && others != by_number.end()) {
    auto part = by_number.extract(lacking.front());
    others->second.insert(others->second.end(), part.mapped().begin(), part.mapped().end());
    std::sort(others->second.begin(), others->second.end());
  }
  Parts parts;
  for (auto& [number, part] : by_number) parts.push_back(std::move(part));
  return parts;
}

}  // namespace skewscope::ingest
