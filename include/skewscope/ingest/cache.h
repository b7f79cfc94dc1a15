// The folder in which digests of traces, and reports, are kept for the next run.
#pragma once

#include <cstdint>
#include <string>

namespace skewscope {

// Where digests of traces that were read are kept, to be read in place of the traces while these do not change.
struct CacheOptions {
  std::string directory;  // empty: no cache
  int64_t limit_bytes = 0;
  std::string writer;  // names the build of the program: it finds only what it wrote itself; letters and digits
};

// Names a file as it is now, by device, inode, size and change time. "": there is none, or it changed within the last
// instants, so that its next change could go unseen.
std::string mark_of_file(const std::string& path);

// Makes the cache's folder where it is not there, for its owner alone: traces tell what he trains.
bool make_cache_folder(const CacheOptions& cache);

// Deletes from the cache's folder what was used least recently, beyond its limit: files whose names end in
// kCachedSuffix, and folders called by kept_report_name.
void trim_cache(const CacheOptions& cache);
constexpr const char* kCachedSuffix = ".cached";

// What a folder in the cache is called that holds a report; `key`: letters, digits and '-'.
std::string kept_report_name(const CacheOptions& cache, const std::string& key);

}  // namespace skewscope
