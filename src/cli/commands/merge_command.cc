#include "merge_command.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "judgement.h"
#include "merged_trace.h"
#include "skewscope/base/human_units.h"
#include "skewscope/base/printable.h"
#include "skewscope/base/whole_file.h"
#include "skewscope/correlate.h"
#include "skewscope/report.h"
#include "src/cli/process/interruption.h"
#include "src/cli/process/progress.h"

namespace skewscope::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

enum class Output : uint8_t { bundle, pftrace, json_gz };

Result<Output> output_of(const std::string& path) {
  const auto ends_with = [&](std::string_view suffix) {
    return path.size() > suffix.size() && path.compare(path.size() - suffix.size(), suffix.size(), suffix) == 0;
  };
  if (ends_with(".zip")) return Output::bundle;
  if (ends_with(".pftrace")) return Output::pftrace;
  if (ends_with(".json.gz")) return Output::json_gz;
  return Error{ErrorKind::usage, fmt::format("'{}': -o names a .zip, a .pftrace or a .json.gz", path)};
}

Error output_failure(const fs::path& path, const std::string& why) {
  return {ErrorKind::output, fmt::format("{}: {}", path.string(), why)};
}

Result<Done> check_free(const fs::path& path, bool force) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  if (!fs::exists(status)) return Done{};
  if (!force) return output_failure(path, "exists already: choose another -o, or replace it with --force");
  if (fs::is_directory(path, error)) return output_failure(path, "is a directory");
  return Done{};
}

Result<MergeOptions> merge_options(const MergeCommandOptions& options) {
  MergeOptions merge;
  merge.ranks = options.input.ingest.ranks;
  merge.steps = options.input.ingest.steps;
  for (size_t i = 0; i < kMergeCategories; ++i) {
    const auto category = static_cast<MergeCategory>(i);
    merge.categories[i] = options.categories.empty() && category != MergeCategory::operators;
  }
  for (const std::string& name : options.categories) {
    size_t i = 0;
    while (i < kMergeCategories && name != to_string(static_cast<MergeCategory>(i))) ++i;
    if (i == kMergeCategories) {
      return Error{ErrorKind::usage,
                   fmt::format("--categories: '{}' is none of gpu, launches, steps, annotations, operators", name)};
    }
    merge.categories[i] = true;
  }
  return merge;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.size() <= 6 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

// The report's findings that `wanted` names; each name must be one of them.
Result<std::vector<MergeWindow>> named_findings(CorrelatedJob& job, const std::set<std::string>& wanted,
                                                StageTimer& timer) {
  std::vector<MergeWindow> windows;
  std::set<std::string> there;
  for (MergeWindow& window : windows_of(explain_job(job, timer))) {
    there.insert(window.finding);
    if (wanted.count("all") > 0 || wanted.count(window.finding) > 0) windows.push_back(std::move(window));
  }
  for (const std::string& name : wanted) {
    if (name == "all" || there.count(name) > 0) continue;
    return Error{ErrorKind::usage,
                 fmt::format("--excerpt: the report has no finding '{}' with a place in time; it has: {}",
                             printable(name), there.empty() ? "none" : fmt::format("{}", fmt::join(there, ", ")))};
  }
  return windows;
}

// What --excerpt asks for.
Result<Done> choose_excerpts(const MergeCommandOptions& options, CorrelatedJob& job, StageTimer& timer,
                             MergeOptions& merge) {
  std::set<std::string> wanted;
  for (const std::string& one : options.excerpts) {
    const bool worst = one == "worst-wait";
    if (!is_number(one) && !worst) wanted.insert(one);
    if (worst || one == "all") merge.excerpts = std::max(merge.excerpts, kWorstWaitsOfAll);
    if (is_number(one)) merge.excerpts = std::max(merge.excerpts, std::stoi(one));
  }
  if (wanted.empty()) return Done{};
  auto findings = named_findings(job, wanted, timer);
  if (!findings.ok()) return findings.error();
  merge.findings = std::move(findings).value();
  return Done{};
}

struct Work {
  const MergeCommandOptions& options;
  MergeOptions merge;
  Output output = Output::pftrace;
  std::vector<std::string> files;               // sorted
  IngestOptions ingest;                         // of everything
  std::map<std::string, int64_t> base_time_ns;  // by file, where a bundle is made
  Progress* progress = nullptr;                 // of the merging
};

bool is_read_itself(const Work& work, const std::string& trace) {
  const auto given = [&](const std::string& file) {
    return std::binary_search(work.files.begin(), work.files.end(), file);
  };
  return given(trace) || given(file_of_part(trace));
}

// The details of one file, read again: those of all files would not fit.
DetailSource detail_source(const Work& work) {
  return [&work, begun = std::make_shared<std::atomic<int64_t>>(0)](const RankTrace& trace,
                                                                    const ShowDetails& show) -> Result<bool> {
    if (!is_read_itself(work, trace.file)) return false;  // a digest
    bool shown = false;
    work.progress->count(++*begun, std::ssize(work.files));
    IngestOptions detailed = work.ingest;
    detailed.while_details_last = [&](const TraceFile& file) {
      if (!file.linked.detail) return;
      show(*file.linked.detail, file.linked.strings);
      shown = true;
    };
    StageTimer timer;
    const auto read = ingest_job({trace.file}, detailed, timer);
    if (!read.ok()) return read.error();
    return shown;
  };
}

Result<CorrelatedJob> read_job(Work& work, StageTimer& timer) {
  IngestOptions ingest = work.ingest;
  std::mutex lock;
  if (work.output == Output::bundle) {
    ingest.while_details_last = [&](const TraceFile& file) {
      if (!file.linked.detail) return;
      const std::scoped_lock held(lock);
      work.base_time_ns[file.evidence.file] = file.linked.detail->base_time_ns;
    };
  }
  return split_job(work.files, ingest, work.options.align, timer);
}

// Writes the file under another name, which it loses once it is whole.
Result<MergeResult> write_merged(const Work& work, const CorrelatedJob& job, const fs::path& path, StageTimer& timer) {
  UnfinishedFolder folder(path.string() + fmt::format(".partial-{}", getpid()));
  remove_when_interrupted(folder.path().string());
  if (const std::error_code failed = folder.make(); failed) return output_failure(path, failed.message());
  const fs::path unfinished = folder.path() / path.filename();
  auto merged = [&] {
    const StageTimer::Scope scope(timer, "merge");
    if (work.output == Output::bundle) {
      return bundle_traces(job, work.merge.ranks, work.base_time_ns, unfinished.string());
    }
    const TraceFormat format = work.output == Output::pftrace ? TraceFormat::pftrace : TraceFormat::json_gz;
    return merge_trace(job, work.merge, detail_source(work), format, unfinished.string());
  }();
  if (!merged.ok()) return merged;
  if (merged.value().traces == 0) return Error{ErrorKind::no_input, "--ranks: none of these ranks has a trace here"};
  if (const auto still_free = check_free(path, work.options.force); !still_free.ok()) return still_free.error();
  std::error_code error;
  fs::rename(unfinished, path, error);
  if (error) return output_failure(path, error.message());
  return merged;
}

struct MergedJob {
  CorrelatedJob job;
  MergeResult result;
};

// All that takes time: the line of progress is gone when it ends.
Result<MergedJob> merge_files(Work& work, const fs::path& path, StageTimer& timer) {
  Progress progress(shows_progress(work.options.common));
  work.progress = &progress;
  work.ingest.progress = progress.reading("correlating the traces");
  auto job = read_job(work, timer);
  work.ingest.progress = nullptr;
  if (!job.ok()) return job.error();
  progress.doing("merging the traces");
  const auto chosen = choose_excerpts(work.options, job.value(), timer, work.merge);
  if (!chosen.ok()) return chosen.error();
  auto merged = write_merged(work, job.value(), path, timer);
  if (!merged.ok()) return merged.error();
  return MergedJob{std::move(job).value(), std::move(merged).value()};
}

std::string json_of(const MergeResult& result, const MergeCommandOptions& options) {
  Json events = Json::object(), windows = Json::array();
  for (size_t i = 0; i < kMergeCategories; ++i) events[to_string(static_cast<MergeCategory>(i))] = result.events[i];
  for (const MergeWindow& window : result.windows) {
    windows.push_back({{"start_ns", window.start.ns},
                       {"end_ns", window.end.ns},
                       {"finding", window.finding},
                       {"words", window.words},
                       {"from_ns", window.from.ns},
                       {"to_ns", window.to.ns},
                       {"ranks", window.ranks},
                       {"instance", window.instance.known() ? Json(window.instance.value) : Json()}});
  }
  const Json json = {{"schema", "skewscope.merge/1"},  {"file", options.output},
                     {"traces", result.traces},        {"events", std::move(events)},
                     {"parts", result.parts},          {"arrows", result.arrows},
                     {"windows", std::move(windows)},  {"without_details", result.without_details},
                     {"components", result.components}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Work> prepare(const MergeCommandOptions& options) {
  const auto output = output_of(options.output);
  if (!output.ok()) return output.error();
  const auto merge = merge_options(options);
  if (!merge.ok()) return merge.error();
  if (output.value() == Output::bundle &&
      (options.input.ingest.steps || !options.excerpts.empty() || !options.categories.empty())) {
    return Error{ErrorKind::usage,
                 "a .zip holds whole files: --steps, --categories and --excerpt need a .pftrace or a .json.gz"};
  }
  Work work{options, merge.value(), output.value(), {}, options.input.ingest, {}, nullptr};
  work.ingest.ranks.clear();
  work.ingest.steps.reset();
  return work;
}

}  // namespace

void add_merge_options(CLI::App& command, MergeCommandOptions& options) {
  add_input_options(command, options.input);
  add_job_option(command, options.input.ingest, "Job to merge, where several were found");
  add_cache_options(command, options.input.ingest.cache);
  command
      .add_option("-o,--output", options.output,
                  "What to write, by its name: .pftrace, .json.gz, or .zip with the traces as they are")
      ->required()
      ->type_name("FILE");
  command
      .add_option("--categories", options.categories, "What to show, with commas between; default: all but operators")
      ->delimiter(',')
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("gpu,launches,steps,annotations,operators");
  command
      .add_option("--excerpt", options.excerpts,
                  "Only windows around these of the report's findings (straggler, straggler-chain, a code of its "
                  "diagnostics), around the N worst waits, or all")
      ->check([](const std::string& one) {
        return one.find_first_not_of('0') == std::string::npos ? std::string("names a finding, a number from 1, or all")
                                                               : std::string();
      })
      ->delimiter(',')
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("FINDING|N|all");
  add_align_option(command, options.align);
  command.add_flag("--strict", options.strict, "Exit 4 when input was missing, damaged or left out");
  command.add_flag("--force", options.force, "Replace an existing file");
  command.add_flag("--json", options.json, "Print what was written as JSON");
  add_common_options(command, options.common);
  command.footer(
      "Examples:\n"
      "  skewscope merge traces/ -o job.pftrace\n"
      "  skewscope merge traces/ -o worst.pftrace --excerpt 5 --categories gpu,launches,steps,annotations,operators\n"
      "  skewscope merge traces/ -o findings.pftrace --excerpt all\n"
      "  skewscope merge traces/ -o job.zip --ranks 0-7\n"
      "Times are the report's. All ranks and steps are analysed; --ranks and --steps say what is written.\n"
      "Annotations and operators read each trace a second time; digests have none.");
}

ExitCode run_merge(const MergeCommandOptions& options) {
  auto prepared = prepare(options);
  if (!prepared.ok()) return fail(prepared.error());
  Work& work = prepared.value();
  const fs::path path = fs::absolute(options.output).lexically_normal();
  if (const auto free = check_free(path, options.force); !free.ok()) return fail(free.error());
  auto files = discover_files(options.input.paths);
  if (!files.ok()) return fail(files.error());
  work.files = std::move(files).value();
  StageTimer timer;
  const auto done = merge_files(work, path, timer);
  if (!done.ok()) return fail(done.error());
  const auto& [job, merged] = done.value();
  if (options.common.timings) print_timings(timer);
  if (const auto& without = merged.without_details; !without.empty()) {
    spdlog::warn("of {} traces only digests are here, such as of {}: no annotations and operators of these",
                 without.size(), printable(without.front()));
  }
  const std::string text =
      options.json ? json_of(merged, options)
      : options.common.quiet
          ? ""
          : printable(options.output) + ": " + words_of(merged, job, options.output, !options.excerpts.empty());
  if (!print(text)) return fail(no_standard_output());
  Findings all;
  for (const Findings* findings : findings_of(job)) all.insert(all.end(), findings->begin(), findings->end());
  return exit_code_of(all, options.strict);
}

}  // namespace skewscope::cli
