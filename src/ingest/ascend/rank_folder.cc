#include "rank_folder.h"

#include <simdjson.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <system_error>
#include <vector>

#include "hccl_name.h"
#include "profile_files.h"
#include "src/ingest/text/number_text.h"

namespace skewscope::ingest {
namespace {

namespace fs = std::filesystem;

constexpr std::streamsize kLargestSideFile = 16 << 20;  // a few hundred bytes for each group
constexpr int64_t kLargestRankOfGroup = 1'000'000;

// The text of a small file; "": it cannot be read.
std::string side_text(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text;
  for (std::string block(1 << 16, '\0'); in && std::ssize(text) < kLargestSideFile;) {
    in.read(block.data(), std::ssize(block));
    text.append(block, 0, static_cast<size_t>(in.gcount()));
  }
  return text;
}

int64_t number_in(const simdjson::dom::element& value) {
  int64_t number = -1;
  if (value.get(number) == simdjson::SUCCESS) return number;
  std::string_view text;
  return value.get(text) == simdjson::SUCCESS && read_integer(text, number) ? number : -1;
}

// N of "profiler_info_N.json"; -1: another name.
int64_t rank_in_name(const std::string& name) {
  static const std::regex kInfo(R"(^profiler_info_(\d{1,6})\.json$)");
  std::smatch hit;
  return std::regex_match(name, hit, kInfo) ? std::stoll(hit[1].str()) : -1;
}

// Of several the smallest: two ranks in a folder are no rank's folder, but one of them is read.
int64_t rank_in_folder(const fs::path& folder) {
  int64_t rank = -1;
  std::error_code failed;
  fs::directory_iterator entry(folder, failed);
  for (const fs::directory_iterator end; !failed && entry != end; entry.increment(failed)) {
    const int64_t own = rank_in_name(entry->path().filename().string());
    if (own >= 0 && (rank < 0 || own < rank)) rank = own;
  }
  return rank;
}

void add_told_group(const simdjson::dom::object& object, std::string_view key, FileContent& content) {
  ProcessGroup group;
  group.name = hash_of_group(key);
  if (group_called(content, group.name) != nullptr) return;
  std::string_view description;
  if (object["group_name"].get(description) == simdjson::SUCCESS) group.description = description;
  simdjson::dom::array ranks;
  std::vector<int64_t> members;
  if (object["global_ranks"].get(ranks) == simdjson::SUCCESS) {
    for (const simdjson::dom::element rank : ranks) {
      const int64_t number = number_in(rank);
      if (number >= 0 && number < kLargestRankOfGroup) members.push_back(number);
    }
  }
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  if (!members.empty()) group.size = std::ssize(members);
  group.ranks = RankRuns(members);
  content.distributed.groups.push_back(std::move(group));
}

void add_told_groups(const simdjson::dom::element& groups, FileContent& content) {
  simdjson::dom::object all;
  if (groups.get(all) != simdjson::SUCCESS) return;
  for (const auto& [key, value] : all) {
    simdjson::dom::object group;
    if (value.get(group) == simdjson::SUCCESS) add_told_group(group, key, content);
  }
}

// "<host>_<pid>_<stamp>_ascend_pt"; the host may have underscores of its own.
void read_folder_name(const std::string& name, FileContent& content) {
  static const std::regex kFolder(R"(^(.+)_(\d{1,10})_(\d{10,20})_ascend_(?:pt|ms)$)");
  std::smatch hit;
  if (!std::regex_match(name, hit, kFolder)) return;
  if (content.host_name.empty()) content.host_name = hit[1].str();
  if (content.process_id < 0) content.process_id = std::stoll(hit[2].str());
}

}  // namespace

fs::path rank_folder_of(const std::string& file) {
  const fs::path folder = fs::path(place_of(file)).parent_path();
  return folder.filename() == "ASCEND_PROFILER_OUTPUT" ? folder.parent_path() : folder;
}

void read_rank_folder(const fs::path& folder, FileContent& content) {
  DistributedInfo& distributed = content.distributed;
  const int64_t rank = rank_in_folder(folder);
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  const std::string text = side_text(folder / "profiler_metadata.json");
  if (!text.empty() && parser.parse(text).get(document) == simdjson::SUCCESS) {
    simdjson::dom::object arguments;
    if (document["distributed_args"].get(arguments) == simdjson::SUCCESS) {
      simdjson::dom::element number;
      if (arguments["world_size"].get(number) == simdjson::SUCCESS) distributed.world_size = number_in(number);
      if (distributed.rank < 0 && arguments["rank"].get(number) == simdjson::SUCCESS) {
        distributed.rank = number_in(number);
      }
    }
    simdjson::dom::element groups;
    if (document["parallel_group_info"].get(groups) == simdjson::SUCCESS) add_told_groups(groups, content);
  }
  if (rank >= 0) distributed.rank = rank;
  distributed.present = distributed.rank >= 0 || !distributed.groups.empty();
  distributed.backend = "hccl";
  std::error_code failed;
  const fs::path whole = fs::absolute(folder, failed);
  read_folder_name((failed ? folder : whole).lexically_normal().filename().string(), content);
}

void add_parallel_groups(std::string_view json, FileContent& content) {
  simdjson::dom::parser parser;
  simdjson::dom::element groups;
  if (parser.parse(json.data(), json.size()).get(groups) == simdjson::SUCCESS) add_told_groups(groups, content);
}

const ProcessGroup* group_called(const FileContent& content, std::string_view hash) {
  const std::vector<ProcessGroup>& groups = content.distributed.groups;
  const auto group =
      std::find_if(groups.begin(), groups.end(), [&](const ProcessGroup& each) { return each.name == hash; });
  return group == groups.end() ? nullptr : &*group;
}

}  // namespace skewscope::ingest
