#include "digest_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "skewscope/base/whole_file.h"
#include "skewscope/digest.h"

namespace skewscope::ingest {

namespace {

std::string cached_part(const std::string& cached, int32_t part) {
  if (part == 0) return cached;
  std::string path = cached;
  return path.insert(path.size() - std::string_view(kCachedSuffix).size(), fmt::format(".{}", part));
}

std::optional<TraceFile> find_part(const std::string& trace, const std::string& cached, MemoryBudget& budget) {
  if (!is_digest_file(cached)) return std::nullopt;
  Result<TraceFile> file = read_digest_file(cached, budget);
  if (!file.ok() || file.value().evidence.file == cached) return std::nullopt;  // damaged: named by itself
  std::error_code ignored;
  std::filesystem::last_write_time(cached, std::filesystem::file_time_type::clock::now(), ignored);
  set_path(trace, file.value());
  return std::move(file).value();
}

}  // namespace

std::string cached_path(const std::string& trace, const CacheOptions& cache) {
  if (cache.directory.empty()) return "";
  const std::string mark = mark_of_file(trace);
  return mark.empty() ? "" : fmt::format("{}/{}-{}{}", cache.directory, cache.writer, mark, kCachedSuffix);
}

std::vector<TraceFile> find_cached(const std::string& trace, const std::string& cached, MemoryBudget& budget) {
  std::vector<TraceFile> parts;
  if (cached.empty()) return parts;
  for (int32_t i = 0; parts.empty() || i < parts.front().evidence.parts; ++i) {
    std::optional<TraceFile> part = find_part(trace, cached_part(cached, i), budget);
    if (!part) {
      for (const TraceFile& read : parts) budget.give_back(bytes_of(read.linked.trace));
      return {};
    }
    parts.push_back(std::move(*part));
  }
  return parts;
}

void store_cached(const std::string& trace, const std::vector<TraceFile>& parts, const std::string& cached,
                  const CacheOptions& cache) {
  if (cached.empty() || !std::all_of(parts.begin(), parts.end(), could_be_read)) return;
  if (cached_path(trace, cache) != cached) return;  // it changed while it was read
  if (!make_cache_folder(cache)) return;
  // The first, which is asked for first, is written last. A cache may fail.
  for (size_t i = parts.size(); i-- > 0;) {
    static_cast<void>(write_whole_file(to_digest(parts[i]), cached_part(cached, static_cast<int32_t>(i)), true));
  }
}

}  // namespace skewscope::ingest
