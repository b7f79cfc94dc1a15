#include "digest_cache.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <vector>

#include "skewscope/digest.h"
#include "whole_file.h"

namespace skewscope::ingest {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCachedSuffix = ".cached";

// Change times count in ticks of the kernel's clock, on some file systems in seconds: two changes within one look like
// one.
constexpr int64_t kSettledNs = 50'000'000, kSettledBySecondsNs = 2'100'000'000;

int64_t now_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

std::string cached_place(const std::string& trace, const CacheOptions& cache) {
  struct stat status {};
  if (cache.directory.empty() || stat(trace.c_str(), &status) != 0) return "";
  const int64_t changed_ns = int64_t{status.st_ctim.tv_sec} * 1'000'000'000 + status.st_ctim.tv_nsec;
  if (now_ns() - changed_ns < (status.st_ctim.tv_nsec == 0 ? kSettledBySecondsNs : kSettledNs)) return "";
  return fmt::format("{}/{}-{:x}-{:x}-{:x}-{:x}{}", cache.directory, cache.writer, status.st_dev, status.st_ino,
                     status.st_size, changed_ns, kCachedSuffix);
}

std::optional<TraceFile> find_cached(const std::string& trace, const std::string& place, MemoryBudget& budget) {
  if (place.empty() || !is_digest_file(place)) return std::nullopt;
  Result<TraceFile> file = read_digest_file(place, budget);
  if (!file.ok() || file.value().evidence.file == place) return std::nullopt;  // damaged: named by itself
  std::error_code ignored;
  fs::last_write_time(place, fs::file_time_type::clock::now(), ignored);
  set_place(trace, file.value());
  return std::move(file).value();
}

void store_cached(const TraceFile& file, const std::string& place, const CacheOptions& cache) {
  if (place.empty() || !could_be_read(file)) return;
  if (cached_place(file.evidence.file, cache) != place) return;  // it changed while it was read
  std::error_code failed;
  if (fs::create_directories(cache.directory, failed)) {
    fs::permissions(cache.directory, fs::perms::owner_all, failed);  // traces tell what their owner trains
  }
  if (!failed) static_cast<void>(write_whole_file(to_digest(file), place, true));  // a cache may fail
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
    if (entry->path().extension() != kCachedSuffix || !entry->is_regular_file(gone)) continue;
    kept.push_back({entry->last_write_time(gone), entry->path(), entry->file_size(gone)});
    if (gone) kept.pop_back();
  }
  std::sort(kept.begin(), kept.end(), [](const Kept& a, const Kept& b) { return a.used > b.used; });
  uintmax_t held = 0;
  for (const Kept& file : kept) {
    held += file.bytes;
    std::error_code gone;
    if (held > static_cast<uintmax_t>(cache.limit_bytes)) fs::remove(file.path, gone);
  }
}

}  // namespace skewscope::ingest
