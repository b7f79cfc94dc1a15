#include "read_files.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cassert>
#include <filesystem>
#include <iterator>
#include <optional>

#include "src/ingest/content/memory_budget.h"
#include "src/ingest/content/no_trace.h"
#include "src/ingest/digests/digest_cache.h"
#include "src/ingest/digests/digest_file.h"
#include "src/ingest/link/keep_steps.h"
#include "src/ingest/link/link_calls.h"
#include "src/ingest/link/link_details.h"
#include "src/ingest/ranks/rank_evidence.h"
#include "src/ingest/ranks/rank_resolution.h"
#include "trace_readers.h"

namespace skewscope::ingest {
namespace {

std::vector<size_t> largest_first(const std::vector<std::string>& files) {
  std::vector<std::pair<uintmax_t, size_t>> sizes;
  for (size_t i = 0; i < files.size(); ++i) {
    std::error_code failed;
    const uintmax_t size = std::filesystem::file_size(file_of_part(files[i]), failed);
    sizes.emplace_back(failed ? 0 : size, i);
  }
  std::stable_sort(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<size_t> order;
  for (const auto& [size, i] : sizes) order.push_back(i);
  return order;
}

// From here on the trace is what it would be had nobody asked for details: its strings, too.
void forget_details(LinkedTrace& linked) {
  linked.detail.reset();
  StringTable used;
  for (StringId& name : linked.trace.gpu.name) name = used.intern(linked.strings.view(name));
  linked.strings = std::move(used);
}

// The error where what is made of it would not fit.
std::optional<Error> use_details(const TraceFile& file, const IngestOptions& options, MemoryBudget& budget) {
  const LinkedTrace& linked = file.linked;
  assert(!linked.detail || check_invariants(*linked.detail, linked.trace).empty());
  const bool counts = budget.limit_bytes() > 0 && options.bytes_while_details_last && linked.detail;
  const int64_t visiting = counts ? options.bytes_while_details_last(linked) : 0;
  const bool fits = budget.take(visiting);
  if (fits) options.while_details_last(file);
  budget.give_back(visiting);
  return fits ? std::nullopt : std::optional(budget.exceeded_by(file.path));
}

// What is kept of a trace and its details for some steps; the strings of the file are lent.
TraceFile copy_steps(TraceFile& file, const StepNumbers& steps) {
  const LinkedTrace& linked = file.linked;
  TraceFile shown;
  shown.path = file.path;
  shown.evidence.file = file.evidence.file;
  shown.kind = file.kind;
  shown.usable = file.usable;
  shown.linked.trace = linked.trace;
  shown.linked.groups = linked.groups;
  shown.linked.open_calls = linked.open_calls;
  shown.linked.open_peers = linked.open_peers;
  shown.linked.device_names = linked.device_names;
  shown.linked.first_host_row = linked.first_host_row;
  shown.linked.last_host_row = linked.last_host_row;
  shown.linked.detail = linked.detail;
  shown.linked.strings = std::move(file.linked.strings);
  keep_steps(shown, steps);
  return shown;
}

// Where the file itself keeps all steps.
std::optional<Error> use_details_of_steps(TraceFile& file, const IngestOptions& options, MemoryBudget& budget) {
  const LinkedTrace& linked = file.linked;
  const int64_t copied = ingest::bytes_of(linked.trace) + (linked.detail ? ingest::bytes_of(*linked.detail) : 0);
  const bool fits = budget.take(copied);
  std::optional<Error> error = fits ? std::nullopt : std::optional(budget.exceeded_by(file.path));
  if (fits) {
    TraceFile shown = copy_steps(file, *options.steps);
    error = use_details(shown, options, budget);
    file.linked.strings = std::move(shown.linked.strings);
  }
  budget.give_back(copied);
  return error;
}

// Details are charged until they were used, as they were read: rows that `steps` leaves out still have their memory.
std::optional<Error> keep_and_use(TraceFile& file, const IngestOptions& options, MemoryBudget& budget) {
  LinkedTrace& linked = file.linked;
  const int64_t details = linked.detail ? ingest::bytes_of(*linked.detail) : 0;
  if (options.steps && !options.whole) keep_steps(file, *options.steps);
  if (!options.while_details_last) return std::nullopt;
  const bool copy = options.steps && options.whole && linked.detail;
  if (auto error = copy ? use_details_of_steps(file, options, budget) : use_details(file, options, budget))
    return error;
  if (!linked.detail) return std::nullopt;
  const int64_t strings = bytes_of(linked.strings);
  forget_details(linked);
  budget.give_back(details + strings - bytes_of(linked.strings));
  return std::nullopt;
}

void leave_threads(RankTrace& trace, MemoryBudget& budget) {
  budget.give_back(static_cast<int64_t>(trace.launches.thread.size() * sizeof(int64_t)));
  forget_threads(trace);
}

// The reader leaves the rows of `content` on the budget, whose columns become those of the linked trace.
Result<TraceFile> link_within(MemoryBudget& budget, FileContent content) {
  const std::string name = content.file;
  const int64_t unlinked = bytes_of(content);
  const int64_t details = content.details ? bytes_of(*content.details) : 0;
  TraceFile file = link_file(std::move(content));
  const LinkedTrace& linked = file.linked;
  const int64_t now = ingest::bytes_of(linked.trace) + (linked.detail ? ingest::bytes_of(*linked.detail) : 0);
  const bool fits = budget.take(now - unlinked - details);
  if (!fits) return budget.exceeded_by(name);
  return file;
}

Result<std::vector<TraceFile>> parse_file(const std::string& path, const TraceReaders& readers, MemoryBudget& budget) {
  Result<std::vector<FileContent>> contents = readers.read(path, budget);
  if (!contents.ok()) return contents.error();
  const auto parts = static_cast<int32_t>(contents.value().size());
  std::vector<TraceFile> files;
  for (FileContent& content : contents.value()) {
    if (parts == 1) content.part.clear();
    Result<TraceFile> file = link_within(budget, std::move(content));
    if (!file.ok()) return file.error();
    file.value().evidence.place = static_cast<int32_t>(files.size());
    file.value().evidence.parts = parts;
    set_path(path, file.value());
    files.push_back(std::move(file).value());
  }
  return files;
}

Result<std::vector<TraceFile>> read_digest(const std::string& path, MemoryBudget& budget) {
  Result<TraceFile> digest = read_digest_file(path, budget);
  const bool unreadable = !digest.ok() && digest.error().kind == ErrorKind::unreadable;
  if (!digest.ok() && !unreadable) return digest.error();
  std::vector<TraceFile> files;
  files.push_back(unreadable ? link_file(unreadable_content(path, digest.error().message)) : std::move(digest).value());
  return files;
}

Result<std::vector<TraceFile>> read_all_parts(const std::string& path, const IngestOptions& options,
                                              const TraceReaders& readers, MemoryBudget& budget) {
  if (is_digest_file(path)) return read_digest(path, budget);
  // A digest has no details, and the steps that it was made with.
  if (options.while_details_last || !options.step_range.empty()) return parse_file(path, readers, budget);
  const std::string cached = cached_path(path, options.cache);
  if (std::vector<TraceFile> known = find_cached(path, cached, budget); !known.empty()) return known;
  Result<std::vector<TraceFile>> files = parse_file(path, readers, budget);
  if (files.ok()) store_cached(path, files.value(), cached, options.cache);
  return files;
}

}  // namespace

TraceFile link_file(FileContent content) {
  TraceFile file;
  file.kind = content.kind;
  file.format = content.format;
  file.compression = content.compression;
  file.job_name = content.job_name;
  file.bytes = content.bytes;
  file.events = content.events;
  file.evidence = evidence_of(content);
  const std::string path = content.file;
  file.linked = link_calls(std::move(content));
  set_path(path, file);
  file.evidence.first_event = file.linked.trace.first_event;
  file.evidence.last_event = file.linked.trace.last_event;
  return file;
}

Result<std::vector<TraceFile>> read_whole_file(const std::string& path, const IngestOptions& options,
                                               const TraceReaders& readers, MemoryBudget& budget) {
  const std::string file = file_of_part(path);
  Result<std::vector<TraceFile>> parts = read_all_parts(file, options, readers, budget);
  if (!parts.ok()) return parts;
  for (TraceFile& part : parts.value()) part.path = file;
  if (file == path) return parts;
  std::erase_if(parts.value(), [&](const TraceFile& part) { return part.evidence.file != path; });
  if (!parts.value().empty()) return parts;
  parts.value().push_back(link_file(unreadable_content(path, "its file has no such part")));
  return parts;
}

TraceReaders readers_for(const IngestOptions& options) {
  ReaderSettings settings;
  settings.details = options.while_details_last != nullptr;
  if (options.kernels) settings.kernels = options.kernels.get();
  settings.step_range = options.step_range;
  settings.progress = options.progress.get();
  return TraceReaders(settings);
}

Result<std::vector<TraceFile>> read_files(const std::vector<std::string>& files, const IngestOptions& options) {
  MemoryBudget budget(options.memory_limit_bytes);
  const std::vector<size_t> order = largest_first(files);
  std::vector<std::vector<TraceFile>> read(files.size());
  std::vector<std::optional<Error>> errors(files.size());
  const TraceReaders readers = readers_for(options);
  tbb::enumerable_thread_specific<TracePacker> packers;
  if (options.progress) options.progress->begin(files);
  const auto read_one = [&](size_t k) {
    const size_t i = order[k];
    // Isolated: a thread that waits for chunks of this file must not begin another file on top of it.
    tbb::this_task_arena::isolate([&] {
      Result<std::vector<TraceFile>> parts = read_whole_file(files[i], options, readers, budget);
      if (!parts.ok()) {
        errors[i] = parts.error();
        return;
      }
      read[i] = std::move(parts).value();
      for (TraceFile& part : read[i]) {
        if (!errors[i]) errors[i] = keep_and_use(part, options, budget);
        if (!options.keep_launch_threads) leave_threads(part.linked.trace, budget);
        packers.local().pack(part.linked.trace);
      }
      if (options.progress) options.progress->finish(files[i]);
    });
  };
  tbb::parallel_for(size_t{0}, files.size(), read_one, tbb::simple_partitioner());
  for (const std::optional<Error>& error : errors) {
    if (error) return *error;
  }
  trim_cache(options.cache);
  std::vector<TraceFile> all;
  for (std::vector<TraceFile>& parts : read) std::move(parts.begin(), parts.end(), std::back_inserter(all));
  return all;
}

}  // namespace skewscope::ingest
