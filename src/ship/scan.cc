#include "scan.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "skewscope/ingest.h"
#include "skewscope/protocol/names.h"

namespace skewscope::ship {
namespace {

namespace fs = std::filesystem;

bool is_below(const std::string& path, const std::string& folder) {
  const fs::path inner = fs::absolute(path).lexically_normal(), outer = fs::absolute(folder).lexically_normal();
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

constexpr int64_t kMinute_ns = 60'000'000'000;
constexpr size_t kEndOfDump = 64;  // bytes in which its last one is, blanks behind it
constexpr const char* kForeign = "belongs to another user";
constexpr const char* kLink = "is a symbolic link";

// "": it is one to send.
std::string why_not(const struct stat& status) {
  if (S_ISLNK(status.st_mode)) return kLink;
  if (!S_ISREG(status.st_mode)) return "is no regular file";
  if (status.st_uid != geteuid()) return kForeign;
  return "";
}

}  // namespace

Scan scan(const std::vector<std::string>& paths, const std::string& state_directory, const std::string& dumps) {
  Scan result;
  for (const std::string& file : dumps_of(dumps)) {
    struct stat status {};
    if (lstat(file.c_str(), &status) == 0 && why_not(status).empty()) result.files.push_back({file, stamp_of(status)});
  }
  for (const std::string& path : paths) {
    std::vector<Error> unlisted;
    const auto found = discover_files({path}, alone(), &unlisted);
    for (const Error& error : unlisted) result.unlisted.push_back(error.message);
    if (!found.ok()) {  // an empty folder, or it was taken away, and may come back
      if (unlisted.empty()) result.empty.push_back(found.error().message);
      continue;
    }
    for (const std::string& file : found.value()) {
      struct stat status {};
      if (lstat(file.c_str(), &status) != 0) continue;
      if (!state_directory.empty() && is_below(file, state_directory)) continue;
      const std::string reason = why_not(status);
      if (reason.empty()) {
        result.files.push_back({file, stamp_of(status)});
      } else if (file == path) {
        result.refused.push_back({file, reason});
      } else if (reason == kForeign) {
        result.foreign.push_back(file);
      } else if (reason == kLink) {
        result.linked.push_back(file);
      }
    }
  }
  return result;
}

std::vector<std::string> folders_of(const std::vector<std::string>& paths) {
  std::vector<std::string> folders;
  for (const std::string& path : paths) {
    std::error_code failed;
    fs::path folder = fs::is_directory(path, failed) ? fs::path(path) : fs::path(path).parent_path();
    while (folder.string().find_first_of("*?[") != std::string::npos && !fs::is_directory(folder, failed)) {
      folder = folder.parent_path();
    }
    folders.push_back(folder.empty() ? "." : folder.string());
  }
  return folders;
}

std::optional<int> rank_of_dump(const std::string& path, const std::string& prefix) {
  if (prefix.empty() || path.size() <= prefix.size() || !path.starts_with(prefix)) return std::nullopt;
  int rank = 0;
  const char* end = path.data() + path.size();
  const auto [stop, error] = std::from_chars(path.data() + prefix.size(), end, rank);
  const bool read = error == std::errc() && stop == end && rank >= 0 && rank < kMostRanks;
  return read && path[prefix.size()] != '-' ? std::optional(rank) : std::nullopt;
}

std::string folder_of_dumps(const std::string& prefix) {
  const size_t slash = prefix.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : prefix.substr(0, slash);
}

std::vector<std::string> dumps_of(const std::string& prefix) {
  std::vector<std::string> found;
  if (prefix.empty()) return found;
  const std::string folder = prefix.substr(0, prefix.rfind('/') + 1);  // "" where it has none
  std::error_code failed;
  fs::directory_iterator entry(folder_of_dumps(prefix), failed);
  for (const fs::directory_iterator end; !failed && entry != end; entry.increment(failed)) {
    const std::string path = folder + entry->path().filename().string();
    if (rank_of_dump(path, prefix)) found.push_back(path);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string why_no_whole_dump(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return "cannot be read";
  if (status.st_size == 0) return "is empty";
  std::string end(std::min<size_t>(kEndOfDump, static_cast<size_t>(status.st_size)), '\0');
  char first = 0;
  const auto from = status.st_size - static_cast<off_t>(end.size());
  const bool read = pread(descriptor, &first, 1, 0) == 1 &&
                    pread(descriptor, end.data(), end.size(), from) == static_cast<ssize_t>(end.size());
  if (!read) return "cannot be read";
  const size_t last = end.find_last_not_of(" \t\r\n");
  const char closes = first == '{' ? '}' : '.';  // the second is a pickle's STOP
  return last != std::string::npos && end[last] == closes ? "" : "is cut: no dump ends so";
}

int minute_of(const FileStamp& stamp) {
  return static_cast<int>(std::clamp<int64_t>(stamp.mtime_ns / kMinute_ns, kMostCaptures + 1, kMostDumpMinute));
}

}  // namespace skewscope::ship
