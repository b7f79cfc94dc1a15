// The folder of the cache: who may look into it, when a file is as it was, and what goes when it is full.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <vector>

#include "skewscope/ingest/cache.h"

namespace skewscope {
namespace {

namespace fs = std::filesystem;

// Change times count in ticks of the kernel's clock, on some file systems in seconds: two changes within one look like
// one.
constexpr int64_t kSettledNs = 50'000'000, kSettledBySecondsNs = 2'100'000'000;

int64_t now_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

constexpr std::string_view kReportMark = "-report-";

// What may be deleted with all that is in it: folders of this program, and those of other builds of it.
bool is_kept_report(const std::string& name, const std::string& writer) {
  constexpr size_t kLeastDigits = 16;  // of a build id
  const std::string before = name.substr(0, name.find(kReportMark));
  const bool build_id =
      before.size() >= kLeastDigits && before.find_first_not_of("0123456789abcdef") == std::string::npos;
  return before.size() < name.size() && (before == writer || build_id);
}

// The bytes of a file, or of all files below a folder.
uintmax_t bytes_on_disk(const fs::path& path) {
  std::error_code gone;
  if (!fs::is_directory(path, gone)) return gone ? 0 : fs::file_size(path, gone);
  uintmax_t bytes = 0;
  for (fs::recursive_directory_iterator entry(path, gone), end; !gone && entry != end; entry.increment(gone)) {
    std::error_code ignored;
    if (entry->is_regular_file(ignored)) bytes += entry->file_size(ignored);
  }
  return bytes;
}

}  // namespace

std::string mark_of_file(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return "";
  const int64_t changed_ns = int64_t{status.st_ctim.tv_sec} * 1'000'000'000 + status.st_ctim.tv_nsec;
  const int64_t settled_ns = status.st_ctim.tv_nsec == 0 ? kSettledBySecondsNs : kSettledNs;
  if (now_ns() - changed_ns < settled_ns) return "";
  return fmt::format("{:x}-{:x}-{:x}-{:x}", status.st_dev, status.st_ino, status.st_size, changed_ns);
}

bool make_cache_folder(const CacheOptions& cache) {
  std::error_code failed;
  if (fs::create_directories(cache.directory, failed)) {
    fs::permissions(cache.directory, fs::perms::owner_all, failed);
  }
  return !failed;
}

std::string kept_report_name(const CacheOptions& cache, const std::string& key) {
  return fmt::format("{}{}{}{}", cache.writer, kReportMark, key, kCachedSuffix);
}

void trim_cache(const CacheOptions& cache) {
  if (cache.directory.empty()) return;
  struct Kept {
    fs::file_time_type used;
    fs::path path;
    uintmax_t bytes;
  };
  std::vector<Kept> kept;
  std::error_code failed;
  for (fs::directory_iterator entry(cache.directory, failed), end; !failed && entry != end; entry.increment(failed)) {
    std::error_code gone;
    if (entry->path().extension() != kCachedSuffix || entry->is_symlink(gone)) continue;
    if (!entry->is_regular_file(gone) && !is_kept_report(entry->path().filename().string(), cache.writer)) continue;
    kept.push_back({entry->last_write_time(gone), entry->path(), bytes_on_disk(entry->path())});
    if (gone) kept.pop_back();
  }
  std::sort(kept.begin(), kept.end(), [](const Kept& a, const Kept& b) { return a.used > b.used; });
  uintmax_t held = 0;
  for (const Kept& one : kept) {
    held += one.bytes;
    std::error_code gone;
    if (held > static_cast<uintmax_t>(cache.limit_bytes)) fs::remove_all(one.path, gone);
  }
}

}  // namespace skewscope
