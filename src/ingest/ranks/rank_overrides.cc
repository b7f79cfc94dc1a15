#include "rank_overrides.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>

#include "skewscope/base/named_host.h"

namespace skewscope::ingest {
namespace {

constexpr size_t kLongestPath = 4096;  // std::regex recurses per character: a longer subject could exhaust the stack

Error usage(std::string message) { return {ErrorKind::usage, std::move(message)}; }

std::optional<int32_t> to_rank(std::string_view text) {
  int32_t rank = -1;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (failed != std::errc() || end != text.data() + text.size() || rank < 0) return std::nullopt;
  return rank;
}

std::string without_blanks(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return "";
  std::string inner = text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
  if (inner.size() >= 2 && inner.front() == '"' && inner.back() == '"') inner = inner.substr(1, inner.size() - 2);
  return inner;
}

std::string normal(const std::string& path) { return std::filesystem::path(path).lexically_normal().string(); }

// A row without its last field: what is before the last comma, since paths may hold commas.
std::pair<std::string, std::string> cut_last(const std::string& line) {
  const size_t comma = line.rfind(',');
  if (comma == std::string::npos) return {"", without_blanks(line)};
  return {line.substr(0, comma), without_blanks(line.substr(comma + 1))};
}

// path,rank or path,rank,host
struct MapLine {
  std::string path, rank, host;
};

// Without a heading a row has a host where its last field is no number.
MapLine line_of_map(const std::string& line, bool hosts_said) {
  auto [rest, last] = cut_last(line);
  if (!hosts_said && to_rank(last)) return {without_blanks(rest), last, ""};
  auto [path, rank] = cut_last(rest);
  return {without_blanks(path), rank, last};
}

// ECMAScript has no named groups: opens them as plain ones and says which number `rank` got (0: there is none).
std::pair<std::string, size_t> with_plain_groups(const std::string& pattern) {
  std::string plain;
  size_t groups = 0, rank_group = 0;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    plain += c;
    if (c == '\\' && i + 1 < pattern.size()) {
      plain += pattern[++i];
    } else if (c == '[' || c == ']') {
      in_class = c == '[';
    } else if (c == '(' && !in_class) {
      const bool special = i + 1 < pattern.size() && pattern[i + 1] == '?';
      const size_t name = pattern.compare(i, 4, "(?P<") == 0 ? i + 4 : i + 3;
      const bool named = special && (name == i + 4 || (pattern.compare(i, 3, "(?<") == 0 && name < pattern.size() &&
                                                       pattern[name] != '=' && pattern[name] != '!'));
      if (special && !named) continue;  // (?: (?= (?! count for nothing
      ++groups;
      const size_t close = named ? pattern.find('>', name) : std::string::npos;
      if (close == std::string::npos) continue;
      if (pattern.substr(name, close - name) == "rank") rank_group = groups;
      i = close;
    }
  }
  return {plain, rank_group};
}

}  // namespace

Result<RankOverrides::Map> RankOverrides::read_map(const std::string& file) {
  // A device or pipe might never end, or never begin.
  std::error_code failed;
  const std::filesystem::file_status status = std::filesystem::status(file, failed);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return usage("--rank-map: " + file + " is not a regular file");
  }
  std::ifstream in(file);
  if (!in) return usage("--rank-map: cannot read " + file);
  Map rows;
  bool hosts_said = false;
  std::string line;
  for (int row = 1; std::getline(in, line); ++row) {
    if (without_blanks(line).empty()) continue;
    if (row == 1 && cut_last(line).second == "rank") continue;
    const MapLine read = line_of_map(line, hosts_said);
    if (row == 1 && read.rank == "rank" && read.host == "host") {
      hosts_said = true;
      continue;
    }
    const std::optional<int32_t> rank = to_rank(read.rank);
    const bool open = read.rank.empty() && !read.host.empty();  // a host alone
    const std::string where = "--rank-map: " + file + ", line " + std::to_string(row) + ": ";
    if (read.path.empty() || (!rank && !open)) {
      return usage(where + "want \"path,rank\" or \"path,rank,host\", found \"" + line + "\"");
    }
    if (!read.host.empty() && !is_host_name(read.host))
      return usage(where + "no name of a host: \"" + read.host + "\"");
    const MapRow said{rank.value_or(-1), read.host};
    const auto [entry, added] = rows.emplace(normal(read.path), said);
    if (!added && !(entry->second == said)) return usage(where + "second rank or host for " + read.path);
  }
  return rows;
}

Result<RankOverrides> RankOverrides::make(const std::string& rank_map_file, const std::string& rank_regex,
                                          int32_t least_world_size) {
  RankOverrides overrides;
  overrides.least_world_size_ = least_world_size;
  if (!rank_map_file.empty()) {
    Result<Map> rows = read_map(rank_map_file);
    if (!rows.ok()) return rows.error();
    overrides.rows_ = std::move(rows).value();
  }
  if (!rank_regex.empty()) {
    auto [plain, group] = with_plain_groups(rank_regex);
    if (group == 0) return usage("--rank-regex: no group named rank in \"" + rank_regex + "\"; write (?P<rank>\\d+)");
    try {
      overrides.regex_ = std::regex(plain);
    } catch (const std::regex_error& error) {
      return usage("--rank-regex: \"" + rank_regex + "\": " + error.what());
    }
    overrides.rank_group_ = group;
  }
  return overrides;
}

const RankOverrides::MapRow* RankOverrides::row_of(const std::string& path) const {
  const auto by_path = rows_.find(normal(path));
  if (by_path != rows_.end()) return &by_path->second;
  const auto by_name = rows_.find(std::filesystem::path(path).filename().string());
  return by_name == rows_.end() ? nullptr : &by_name->second;
}

int32_t RankOverrides::from_map(const RankEvidence& file) const {
  const MapRow* own = row_of(file.file);
  if (own != nullptr && own->rank >= 0) return own->rank;
  const MapRow* of_file = row_of(file.whole_file());
  return of_file == nullptr || of_file->rank < 0 ? -1 : of_file->rank + file.place;
}

std::string RankOverrides::host_from_map(const RankEvidence& file) const {
  for (const std::string& path : {file.file, file.whole_file()}) {
    const MapRow* row = row_of(path);
    if (row != nullptr && !row->host.empty()) return row->host;
  }
  return "";
}

int32_t RankOverrides::from_regex(const RankEvidence& file) const {
  const std::string path = file.whole_file();
  if (!has_regex() || path.size() > kLongestPath) return -1;
  try {
    std::smatch hit;
    if (!std::regex_search(path, hit, regex_)) return -1;
    const std::optional<int32_t> first = to_rank(hit[rank_group_].str());
    return first ? *first + file.place : -1;
  } catch (const std::regex_error&) {  // too complex for this path: as if it did not match
    return -1;
  }
}

}  // namespace skewscope::ingest
