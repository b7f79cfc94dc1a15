#include "spool_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <charconv>

#include "skewscope/protocol/names.h"

namespace skewscope::gather {
namespace {

// `letter` and then a number, at least `digits` long, as it is printed.
std::optional<int> numbered(std::string_view name, char letter, int digits, int most) {
  if (name.empty() || name.front() != letter) return std::nullopt;
  int number = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + 1, end, number);
  const bool read = error == std::errc() && stop == end && number >= 0 && number <= most;
  return read && name == fmt::format("{}{:0{}}", letter, number, digits) ? std::optional(number) : std::nullopt;
}

}  // namespace

std::string part_path(const std::string& id) { return "in/" + id + ".part"; }
std::string job_folder(const std::string& job) { return "jobs/" + job; }
std::string ranks_folder(const std::string& job) { return job_folder(job) + "/ranks"; }
std::string capture_folder(const std::string& job, int capture) {
  return fmt::format("{}/c{:04}", ranks_folder(job), capture);
}
std::string rank_path(const std::string& job, int capture, int rank, const std::string& suffix) {
  return fmt::format("{}/r{:05}{}", capture_folder(job, capture), rank, suffix);
}
std::string quarantine_folder(const std::string& job) { return "quarantine/" + job; }
std::string reports_folder(const std::string& job) { return job_folder(job) + "/report"; }
std::string report_name(int generation) { return fmt::format("g{:04}", generation); }
std::string report_folder(const std::string& job, int generation) {
  return reports_folder(job) + "/" + report_name(generation);
}

FlushRank flush_rank(std::string_view path) {
  const std::string_view top = path.substr(0, path.find('/'));
  const auto folder =
      std::find_if(std::begin(kFolders), std::end(kFolders), [&](const SpoolFolder& each) { return each.name == top; });
  assert(folder != std::end(kFolders));
  return folder->rank;
}

bool FlushOrder::operator()(const std::string& a, const std::string& b) const {
  const FlushRank of_a = flush_rank(a), of_b = flush_rank(b);
  return of_a != of_b ? of_a < of_b : a > b;
}

std::string trash_path(const std::string& job, uint32_t owner_uid, const std::string& id) {
  return fmt::format("trash/job.{}.{}-{}", job, owner_uid, id);
}

std::string job_in_trash(std::string_view name) {
  constexpr std::string_view kPrefix = "job.";
  const size_t end = name.rfind('.');
  if (!name.starts_with(kPrefix) || end == std::string_view::npos || end < kPrefix.size()) return "";
  return std::string(name.substr(kPrefix.size(), end - kPrefix.size()));
}

uint32_t owner_in_trash(std::string_view name) {
  const std::string_view owner_and_id = name.substr(name.rfind('.') + 1);
  const size_t dash = owner_and_id.find('-');
  return dash == std::string_view::npos ? 0 : uid_in(owner_and_id.substr(0, dash));
}

uint32_t uid_in(std::string_view text) {
  uint32_t uid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), uid);
  return error == std::errc() && end == text.data() + text.size() ? uid : 0;
}

std::optional<std::string> id_of_part(std::string_view name) {
  if (!name.ends_with(".part")) return std::nullopt;
  name.remove_suffix(5);
  return is_upload_id(name) ? std::optional(std::string(name)) : std::nullopt;
}

std::optional<int> capture_of(std::string_view name) { return numbered(name, 'c', 4, kMostDumpMinute); }

std::optional<RankName> rank_of(std::string_view name) {
  const size_t end = std::min(name.find_first_of("+."), name.size());
  const std::string_view suffix = name.substr(end);
  const std::optional<int> rank = numbered(name.substr(0, end), 'r', 5, kMostRanks - 1);
  const int ranks = ranks_of(suffix);
  const bool known = rank && ranks > 0 && ranks <= kMostRanks - *rank;
  return known ? std::optional(RankName{*rank, std::string(suffix)}) : std::nullopt;
}

std::string suffix_of_ranks(int ranks, std::string_view suffix) {
  return (ranks > 1 ? fmt::format("+{}", ranks) : "") + std::string(suffix);
}

std::string_view kind_of(std::string_view suffix) { return suffix.substr(std::min(suffix.find('.'), suffix.size())); }

int ranks_of(std::string_view suffix) {
  const std::string_view kind = kind_of(suffix), mark = suffix.substr(0, suffix.size() - kind.size());
  if (std::find(std::begin(kSuffixes), std::end(kSuffixes), kind) == std::end(kSuffixes)) return 0;
  if (mark.empty()) return 1;
  return numbered(mark, '+', 1, kMostRanks).value_or(0);
}

std::optional<int> generation_of(std::string_view name) { return numbered(name, 'g', 4, 1 << 30); }

}  // namespace skewscope::gather
