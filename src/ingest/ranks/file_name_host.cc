#include "file_name_host.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <regex>

#include "skewscope/base/named_host.h"

namespace skewscope::ingest {
namespace {

constexpr size_t kLongestName = 1024;  // std::regex recurses per character

// Programs put other words in front of a process id ("trainer_2215"), for all their ranks the same. Machines of a
// cluster have a number.
std::string before_process_id(const RankEvidence& file) {
  static const std::regex kHostAndPid(R"(^([A-Za-z0-9][A-Za-z0-9.-]*)_(\d{2,8})$)");
  const FileNameFacts& name = file.name;
  const bool chosen = name.rank >= 0 || name.local_rank >= 0 || name.coordinates.any() || !name.capture.empty();
  std::smatch hit;
  if (chosen || name.worker.size() > kLongestName || !std::regex_match(name.worker, hit, kHostAndPid)) return "";
  std::string host = hit[1].str();
  const bool numbered = std::any_of(host.begin(), host.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  return numbered && is_host_name(host) && std::stoll(hit[2].str()) == file.process_id ? host : "";
}

}  // namespace

std::string host_in_name(const RankEvidence& file) {
  std::string host = host_behind_at(std::filesystem::path(file.file).filename().string());
  return host.empty() ? before_process_id(file) : host;
}

}  // namespace skewscope::ingest
