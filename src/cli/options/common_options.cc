#include "common_options.h"

#include <fmt/format.h>

#include <cstdlib>

#include "choice.h"
#include "option_values.h"
#include "src/cli/process/program_identity.h"

namespace skewscope::cli {
namespace {

constexpr int64_t kCacheBytes = int64_t{2} << 30;

void add_when(CLI::App& command, const std::string& flag, When& when, const std::string& help) {
  add_choice<When>(command, flag, when, {{"auto", When::automatic}, {"always", When::always}, {"never", When::never}},
                   help);
}

// An option whose text `parse` turns into a value, or not: then the usage error shows `example`.
template <class Value>
void add_parsed(CLI::App& command, const std::string& flag, const std::string& type,
                std::optional<Value> (*parse)(const std::string&), std::function<void(Value)> store,
                const std::string& example, const std::string& help) {
  command
      .add_option_function<std::string>(
          flag,
          [=](const std::string& text) {
            std::optional<Value> value = parse(text);
            if (!value)
              throw CLI::ValidationError(flag, fmt::format("expected {} such as {}, got '{}'", type, example, text));
            store(std::move(*value));
          },
          help)
      ->type_name(type);
}

CacheOptions default_cache() {
  const char* folder = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  CacheOptions cache{"", kCacheBytes, build_id()};
  if (cache.writer.empty()) return cache;
  if (folder != nullptr && *folder == '/') {
    cache.directory = fmt::format("{}/skewscope", folder);
  } else if (home != nullptr && *home == '/') {
    cache.directory = fmt::format("{}/.cache/skewscope", home);
  }
  return cache;
}

}  // namespace

bool shows_progress(const CommonOptions& options) { return !options.quiet && use_progress(options.progress); }

void add_common_options(CLI::App& command, CommonOptions& options) {
  command.add_option("-j,--threads", options.threads, "Threads; default: all cores")
      ->check(CLI::Range(1, 4096).description(""))
      ->type_name("N");
  add_when(command, "--color", options.color, "Colours; auto: on a terminal, unless NO_COLOR is set");
  add_when(command, "--progress", options.progress, "Show on standard error how far the work is; auto: on a terminal");
  command.add_flag("-q,--quiet", options.quiet, "Only errors on standard error, no summary");
  command.add_flag("-v,--verbose", options.verbose, "More on standard error; twice: more yet");
  command.add_flag("--timings", options.timings, "Time per stage on standard error");
}

void add_memory_limit(CLI::App& command, IngestOptions& ingest) {
  add_parsed<int64_t>(
      command, "--memory-limit", "SIZE", parse_size, [&ingest](int64_t bytes) { ingest.memory_limit_bytes = bytes; },
      "8G", "Stop with an error rather than use more memory, such as 8G");
}

void add_kernels_option(CLI::App& command, IngestOptions& ingest) {
  command
      .add_option_function<std::string>(
          "--kernels",
          [&ingest](const std::string& path) {
            Result<KernelTable> table = KernelTable::load(path);
            if (!table.ok()) throw CLI::ValidationError("--kernels", table.error().message);
            ingest.kernels = std::make_shared<const KernelTable>(std::move(table).value());
            if (!ingest.cache.writer.empty()) ingest.cache.writer += ingest.kernels->mark();
          },
          "Say which kernels communicate: JSON as configs/kernels.json")
      ->type_name("FILE");
}

void add_input_options(CLI::App& command, InputOptions& options) {
  command.add_option("PATH", options.paths, "Traces: files, directories, or patterns in quotes")
      ->required()
      ->type_name("");
  add_input_filters(command, options.ingest);
}

void add_input_filters(CLI::App& command, IngestOptions& ingest) {
  add_parsed<std::vector<int32_t>>(
      command, "--ranks", "SET", parse_ranks,
      [&ingest](std::vector<int32_t> ranks) { ingest.ranks = std::move(ranks); }, "0-7,12",
      "Only these ranks, such as 0-7,12");
  add_parsed<std::pair<int64_t, int64_t>>(
      command, "--steps", "A:B", parse_steps, [&ingest](std::pair<int64_t, int64_t> steps) { ingest.steps = steps; },
      "10:20", "Only steps A to B-1 (B is not included); A: or :B leaves an end open");
  command
      .add_option("--step-range", ingest.step_range,
                  "Steps are the ranges (NVTX) of this name, numbers aside; default: found by itself")
      ->type_name("NAME");
  command.add_option("--rank-regex", ingest.rank_regex, "Rank from the path: expression with a group named rank")
      ->type_name("RE");
  command.add_option("--rank-map", ingest.rank_map, "Rank, and host, from a CSV file of path,rank or path,rank,host")
      ->type_name("CSV");
  add_kernels_option(command, ingest);
  add_memory_limit(command, ingest);
}

void add_align_option(CLI::App& command, AlignMode& mode) {
  add_choice<AlignMode>(command, "--align", mode,
                        {{"auto", AlignMode::automatic},
                         {"collectives", AlignMode::collectives},
                         {"wallclock", AlignMode::wallclock},
                         {"none", AlignMode::none}},
                        "What aligns the clocks of the ranks; default: auto");
}

void add_cache_options(CLI::App& command, CacheOptions& options) {
  options = default_cache();
  const std::string folder = options.directory.empty() ? "off" : options.directory;
  command
      .add_option_function<std::string>(
          "--cache", [&options](const std::string& text) { options.directory = text == "off" ? "" : text; },
          "Cache directory; 'off' disables it; default: " + folder)
      ->type_name("DIR");
  add_parsed<int64_t>(
      command, "--cache-limit", "SIZE", parse_size, [&options](int64_t bytes) { options.limit_bytes = bytes; }, "2G",
      "Largest size of the cache; the oldest entries are removed; default: 2G");
}

void add_rank_tables_option(CLI::App& command, RankTableChoice& choice) {
  add_choice<RankTableChoice>(
      command, "--rank-tables", choice,
      {{"none", RankTableChoice::none}, {"gpu", RankTableChoice::gpu}, {"all", RankTableChoice::all}},
      "Compare the ranks' own tables: min, median, max, outliers; all: operators, too, which reads more");
}

void add_job_option(CLI::App& command, IngestOptions& ingest, const std::string& help) {
  command.add_option("--job", ingest.job, help)->type_name("NAME");
}

}  // namespace skewscope::cli
