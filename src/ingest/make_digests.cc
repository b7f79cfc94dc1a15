// The stage for `skewscope digest`: every file read, linked, written as a digest and forgotten, so that memory holds as
// many files as there are threads.
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <optional>

#include "read_files.h"
#include "skewscope/base/common_folder.h"
#include "skewscope/base/whole_file.h"
#include "skewscope/digest.h"
#include "skewscope/ingest/make_digests.h"
#include "src/ingest/content/memory_budget.h"
#include "src/ingest/digests/digest_file.h"
#include "usable_files.h"

namespace skewscope {
namespace {

namespace fs = std::filesystem;

fs::path normal(const fs::path& path) { return fs::absolute(path).lexically_normal(); }

bool is_below(const fs::path& path, const fs::path& folder) {
  const auto differ = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return differ.first == folder.end() || differ.first->empty();  // "a/" ends in an empty part
}

// A trace and where its digest goes: "a/rank0.json.gz" -> "DIR/a/rank0.json.gz.digest". Hidden folders and files become
// visible: a directory of digests is read without them.
struct Job {
  std::string trace;
  fs::path digest;
};

fs::path digest_path(const std::string& file, const fs::path& folder, const fs::path& directory) {
  fs::path path = directory;
  for (const fs::path& part : normal(file).lexically_relative(folder)) {
    std::string name = part.string();
    if (name.front() == '.') name.front() = '_';
    path /= name;
  }
  if (path.extension() != kDigestSuffix) path += kDigestSuffix;
  return path;
}

// Digests that lie in `directory` already are not made again.
std::vector<Job> plan(const std::vector<std::string>& files, const std::string& directory) {
  std::vector<fs::path> folders;
  for (const std::string& file : files) folders.push_back(normal(file).parent_path());
  const fs::path folder = common_folder(folders);
  std::vector<Job> jobs;
  for (const std::string& file : files) {
    if (fs::path(file).extension() == kDigestSuffix && is_below(normal(file), normal(directory))) continue;
    jobs.push_back({file, digest_path(file, folder, directory)});
  }
  return jobs;
}

Error output_error(const std::string& path, const std::string& why) { return {ErrorKind::output, path + ": " + why}; }

// Every digest has a place of its own, which is no trace's and, without `force`, free.
Result<Done> check_plan(const std::vector<Job>& jobs, bool force) {
  std::map<fs::path, std::string> trace_of, traces;
  std::error_code ignored;
  for (const Job& job : jobs) traces.emplace(fs::weakly_canonical(job.trace, ignored), job.trace);
  for (const Job& job : jobs) {
    const auto [other, free] = trace_of.emplace(job.digest, job.trace);
    if (!free)
      return output_error(job.digest.string(), "would be the digest of " + other->second + " and " + job.trace);
    if (traces.count(fs::weakly_canonical(job.digest, ignored)) > 0) {
      return output_error(job.digest.string(), "is one of the files to be digested");
    }
    if (!force && fs::exists(fs::symlink_status(job.digest, ignored))) {
      return output_error(job.digest.string(), "exists; --force replaces it");
    }
  }
  return Done{};
}

Result<Done> make_folder(const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return output_error(folder.string(), failed.message());
  return Done{};
}

int64_t size_of(const fs::path& path) {
  std::error_code unknown;
  const uintmax_t size = fs::file_size(path, unknown);
  return unknown ? 0 : static_cast<int64_t>(size);
}

// Of one file; it has a digest for each rank in it.
struct Made {
  int64_t digests = 0, traces = 0, bytes = 0;
  std::string foreign;  // the first that is no trace, and what it is
};

// "capture.sqlite.digest" -> "capture.sqlite#pid4242.digest".
std::string place_of_part(const fs::path& digest, const std::string& part) {
  fs::path place = digest;
  return place.replace_extension().string() + part_name("", part) + std::string(kDigestSuffix);
}

Result<Made> make_digest(const Job& job, bool force, const IngestOptions& options, const ingest::TraceReaders& readers,
                         ingest::MemoryBudget& budget) {
  Result<std::vector<TraceFile>> read = ingest::read_whole_file(job.trace, options, readers, budget);
  if (!read.ok()) return read.error();
  Made made;
  for (TraceFile& file : read.value()) {
    budget.give_back(ingest::bytes_of(file.linked.trace));  // gone when it is written
    if (!ingest::could_be_read(file)) return made;
    if (auto folder = make_folder(job.digest.parent_path()); !folder.ok()) return folder.error();
    const std::string digest = place_of_part(job.digest, file.evidence.part);
    if (auto done = write_whole_file(to_digest(file), digest, force); !done.ok()) return done.error();
    ++made.digests;
    made.bytes += size_of(digest);
    if (file.kind == ContentKind::rank_trace || file.kind == ContentKind::front_end) {
      ++made.traces;
    } else if (made.foreign.empty()) {
      ingest::report_left_out(file);
      made.foreign = job.trace + ": " + file.linked.findings.back().message;
    }
  }
  return made;
}

DigestsMade sum_up(const std::vector<Job>& jobs, const std::vector<std::optional<Result<Made>>>& made) {
  DigestsMade all;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (!made[i] || !made[i]->ok()) continue;
    const Made& one = made[i]->value();
    if (one.digests == 0) {
      all.unreadable.push_back(jobs[i].trace);
      continue;
    }
    all.files += one.digests;
    all.traces += one.traces;
    if (all.foreign.empty()) all.foreign = one.foreign;
    all.trace_bytes += size_of(jobs[i].trace);
    all.digest_bytes += one.bytes;
  }
  return all;
}

}  // namespace

Result<DigestsMade> make_digests(const std::vector<std::string>& files, const std::string& directory, bool force,
                                 const IngestOptions& options) {
  const std::vector<Job> jobs = plan(files, directory);
  if (auto fine = check_plan(jobs, force); !fine.ok()) return fine.error();
  if (auto folder = make_folder(directory); !folder.ok()) return folder.error();
  ingest::MemoryBudget budget(options.memory_limit_bytes);
  const ingest::TraceReaders readers = ingest::readers_for(options);
  std::vector<std::optional<Result<Made>>> made(jobs.size());
  std::atomic<bool> failed{false};
  if (options.progress) {
    std::vector<std::string> traces;
    for (const Job& job : jobs) traces.push_back(job.trace);
    options.progress->begin(traces);
  }
  const auto make_one = [&](size_t i) {
    if (failed) return;
    tbb::this_task_arena::isolate([&] { made[i] = make_digest(jobs[i], force, options, readers, budget); });
    if (!made[i]->ok()) failed = true;
    if (options.progress) options.progress->finish(jobs[i].trace);
  };
  tbb::parallel_for(size_t{0}, jobs.size(), make_one, tbb::simple_partitioner());
  const DigestsMade all = sum_up(jobs, made);
  for (const auto& one : made) {
    if (!one || one->ok()) continue;
    return Error{one->error().kind,
                 one->error().message + "; " + std::to_string(all.files) + " digests were made before"};
  }
  return all;
}

}  // namespace skewscope
