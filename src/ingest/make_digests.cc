// The stage for `skewscope digest`: every file read, linked, written as a digest and forgotten, so that memory holds as
// many files as there are threads.
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "digest_file.h"
#include "memory_budget.h"
#include "read_files.h"
#include "skewscope/digest.h"
#include "skewscope/ingest.h"

namespace skewscope {
namespace {

namespace fs = std::filesystem;

// The deepest folder that holds all files.
fs::path common_folder(const std::vector<std::string>& files) {
  fs::path common = fs::path(files.front()).parent_path();
  for (const std::string& file : files) {
    const fs::path folder = fs::path(file).parent_path();
    const auto differ = std::mismatch(common.begin(), common.end(), folder.begin(), folder.end());
    fs::path shared;
    for (auto part = common.begin(); part != differ.first; ++part) shared /= *part;
    common = shared;
  }
  return common;
}

// The trace's place below `folder`, in `directory`: "a/rank0.json.gz" -> "DIR/a/rank0.json.gz.digest".
fs::path digest_path(const std::string& file, const fs::path& folder, const fs::path& directory) {
  fs::path path = directory / (folder.empty() ? fs::path(file) : fs::path(file).lexically_relative(folder));
  if (path.extension() != kDigestSuffix) path += kDigestSuffix;
  return path;
}

int64_t size_of(const fs::path& path) {
  std::error_code unknown;
  const uintmax_t size = fs::file_size(path, unknown);
  return unknown ? 0 : static_cast<int64_t>(size);
}

Result<bool> make_digest(const std::string& file, const fs::path& path, const IngestOptions& options) {
  ingest::MemoryBudget budget(options.memory_limit_bytes);
  Result<TraceFile> read = ingest::read_whole_file(file, options, budget);
  if (!read.ok()) return read.error();
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  if (failed || !ingest::write_digest_file(read.value(), path.string())) {
    return Error{ErrorKind::output, path.string() + ": cannot be written"};
  }
  return read.value().kind == ContentKind::rank_trace || read.value().kind == ContentKind::front_end;
}

}  // namespace

Result<DigestsMade> make_digests(const std::vector<std::string>& files, const std::string& directory, bool force,
                                 const IngestOptions& options) {
  const fs::path folder = common_folder(files);
  std::vector<fs::path> paths;
  for (const std::string& file : files) {
    paths.push_back(digest_path(file, folder, directory));
    std::error_code ignored;
    if (!force && fs::exists(paths.back(), ignored)) {
      return Error{ErrorKind::output, paths.back().string() + " exists; --force replaces it"};
    }
  }
  std::vector<std::optional<Result<bool>>> made(files.size());
  tbb::parallel_for(
      size_t{0}, files.size(),
      [&](size_t i) { tbb::this_task_arena::isolate([&] { made[i] = make_digest(files[i], paths[i], options); }); },
      tbb::simple_partitioner());
  DigestsMade all;
  for (size_t i = 0; i < files.size(); ++i) {
    if (!made[i]->ok()) return made[i]->error();
    ++all.files;
    if (made[i]->value()) ++all.traces;
    all.trace_bytes += size_of(files[i]);
    all.digest_bytes += size_of(paths[i]);
  }
  return all;
}

}  // namespace skewscope
