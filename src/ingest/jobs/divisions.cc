#include "divisions.h"

#include <algorithm>
#include <map>
#include <utility>

namespace skewscope::ingest {
namespace {

std::string folder_at(const JobClues& file, size_t depth) {
  return depth >= file.folder.size() || is_capture_folder(file.folder[depth]) ? std::string() : file.folder[depth];
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
  std::vector<DivisionKey> keys = {[](const JobClues& file) { return file.file->job_name; },
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

}  // namespace skewscope::ingest
