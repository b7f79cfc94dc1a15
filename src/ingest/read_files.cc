#include "read_files.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cassert>
#include <filesystem>
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
    const uintmax_t size = std::filesystem::file_size(files[i], failed);
    sizes.emplace_back(failed ? 0 : size, i);
  }
  std::stable_sort(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<size_t> order;
  for (const auto& [size, i] : sizes) order.push_back(i);
  return order;
}

// Without the details.
int64_t bytes_of(const FileContent& content) {
  int64_t bytes = bytes_of(content.gpu) + bytes_of(content.launches) + content.comm_args.bytes();
  const auto add = [&](const auto& rows) { bytes += static_cast<int64_t>(rows.size() * sizeof(rows[0])); };
  add(content.comm_ops);
  add(content.gpu_annotations);
  add(content.steps);
  add(content.optimizer_steps);
  add(content.modules);
  add(content.splits);
  return bytes;
}

int64_t bytes_of(const StringTable& strings) {
  int64_t bytes = 0;
  for (size_t i = 0; i < strings.size(); ++i) bytes += bytes_of_string(strings.view(StringId(static_cast<int64_t>(i))));
  return bytes;
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

Result<TraceFile> parse_file(const std::string& path, const TraceReaders& readers, MemoryBudget& budget) {
  Result<FileContent> content = readers.read(path, budget);
  if (!content.ok()) return content.error();
  return link_within(budget, std::move(content).value());
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

Result<TraceFile> read_whole_file(const std::string& path, const IngestOptions& options, const TraceReaders& readers,
                                  MemoryBudget& budget) {
  if (is_digest_file(path)) {
    Result<TraceFile> digest = read_digest_file(path, budget);
    const bool unreadable = !digest.ok() && digest.error().kind == ErrorKind::unreadable;
    return unreadable ? link_file(unreadable_content(path, digest.error().message)) : std::move(digest);
  }
  if (options.while_details_last) return parse_file(path, readers, budget);  // a digest has no details
  const std::string cached = cached_path(path, options.cache);
  if (std::optional<TraceFile> known = find_cached(path, cached, budget)) return std::move(*known);
  Result<TraceFile> file = parse_file(path, readers, budget);
  if (file.ok()) store_cached(file.value(), cached, options.cache);
  return file;
}

TraceReaders readers_for(const IngestOptions& options) {
  return TraceReaders(options.while_details_last != nullptr,
                      options.kernels ? *options.kernels : KernelTable::built_in(), options.progress.get());
}

Result<std::vector<TraceFile>> read_files(const std::vector<std::string>& files, const IngestOptions& options) {
  MemoryBudget budget(options.memory_limit_bytes);
  const std::vector<size_t> order = largest_first(files);
  std::vector<TraceFile> read(files.size());
  std::vector<std::optional<Error>> errors(files.size());
  const TraceReaders readers = readers_for(options);
  tbb::enumerable_thread_specific<TracePacker> packers;
  if (options.progress) options.progress->begin(files);
  const auto read_one = [&](size_t k) {
    const size_t i = order[k];
    // Isolated: a thread that waits for chunks of this file must not begin another file on top of it.
    tbb::this_task_arena::isolate([&] {
      Result<TraceFile> file = read_whole_file(files[i], options, readers, budget);
      if (!file.ok()) {
        errors[i] = file.error();
        return;
      }
      read[i] = std::move(file).value();
      read[i].path = files[i];
      errors[i] = keep_and_use(read[i], options, budget);
      if (!options.keep_launch_threads) leave_threads(read[i].linked.trace, budget);
      packers.local().pack(read[i].linked.trace);
      if (options.progress) options.progress->finish(files[i]);
    });
  };
  tbb::parallel_for(size_t{0}, files.size(), read_one, tbb::simple_partitioner());
  for (const std::optional<Error>& error : errors) {
    if (error) return *error;
  }
  trim_cache(options.cache);
  return read;
}

}  // namespace skewscope::ingest
