#include "digest_cache.h"

#include <fmt/format.h>

#include <filesystem>

#include "skewscope/base/whole_file.h"
#include "skewscope/digest.h"

namespace skewscope::ingest {

std::string cached_path(const std::string& trace, const CacheOptions& cache) {
  if (cache.directory.empty()) return "";
  const std::string mark = mark_of_file(trace);
  return mark.empty() ? "" : fmt::format("{}/{}-{}{}", cache.directory, cache.writer, mark, kCachedSuffix);
}

std::optional<TraceFile> find_cached(const std::string& trace, const std::string& cached, MemoryBudget& budget) {
  if (cached.empty() || !is_digest_file(cached)) return std::nullopt;
  Result<TraceFile> file = read_digest_file(cached, budget);
  if (!file.ok() || file.value().evidence.file == cached) return std::nullopt;  // damaged: named by itself
  std::error_code ignored;
  std::filesystem::last_write_time(cached, std::filesystem::file_time_type::clock::now(), ignored);
  set_path(trace, file.value());
  return std::move(file).value();
}

void store_cached(const TraceFile& file, const std::string& cached, const CacheOptions& cache) {
  if (cached.empty() || !could_be_read(file)) return;
  if (cached_path(file.evidence.file, cache) != cached) return;  // it changed while it was read
  if (!make_cache_folder(cache)) return;
  static_cast<void>(write_whole_file(to_digest(file), cached, true));  // a cache may fail
}

}  // namespace skewscope::ingest
