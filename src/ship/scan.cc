#include "scan.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "skewscope/ingest.h"

namespace skewscope::ship {
namespace {

namespace fs = std::filesystem;

bool is_below(const std::string& path, const std::string& folder) {
  const fs::path inner = fs::absolute(path).lexically_normal(), outer = fs::absolute(folder).lexically_normal();
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

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

Scan scan(const std::vector<std::string>& paths, const std::string& state_directory) {
  Scan result;
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

}  // namespace skewscope::ship
