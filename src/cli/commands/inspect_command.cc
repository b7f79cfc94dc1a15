#include "inspect_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "jobs_found.h"
#include "skewscope/base/common_folder.h"
#include "skewscope/base/printable.h"
#include "skewscope/base/text_columns.h"

namespace skewscope::cli {
namespace {

constexpr size_t kProblemsShown = 20, kLineWidth = 80, kFormat = 1, kJob = 2;  // the last two: columns

using Json = nlohmann::ordered_json;
using Row = std::array<std::string, 10>;

// "100-109"; "3 in 100-109" where some are absent; "-" for none.
std::string steps_text(const std::vector<int64_t>& steps) {
  if (steps.empty()) return "-";
  const auto [first, last] = std::minmax_element(steps.begin(), steps.end());
  if (*first == *last) return fmt::format("{}", *first);
  const bool dense = *last - *first + 1 == std::ssize(steps);
  return dense ? fmt::format("{}-{}", *first, *last) : fmt::format("{} in {}-{}", steps.size(), *first, *last);
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : printable(text); }

// The deepest one that holds all files, as they were named; empty for none.
std::filesystem::path directory_of(const std::vector<FileSummary>& files) {
  std::vector<std::filesystem::path> folders;
  for (const FileSummary& file : files) folders.push_back(std::filesystem::path(file.file).parent_path());
  return common_folder(folders);
}

// For tables: each file named relative to `directory`.
std::vector<FileSummary> named_below(const std::filesystem::path& directory, std::vector<FileSummary> files) {
  const std::string prefix = directory.empty() ? "" : (directory / "").string();
  for (FileSummary& file : files) {
    if (file.file.rfind(prefix, 0) == 0) file.file.erase(0, prefix.size());
  }
  return files;
}

std::string format_of(const FileSummary& file) {
  return file.compression.empty() ? file.format : file.format + ", " + file.compression;
}

Row row_of(const FileSummary& file) {
  const double span_s = static_cast<double>(file.last_event - file.first_event) * 1e-9;
  return {printable(file.file),
          format_of(file),
          or_dash(file.job),
          file.rank.known() ? fmt::format("{}", file.rank.value) : "-",
          file.world_size > 0 ? fmt::format("{}", file.world_size) : "-",
          or_dash(file.host),
          steps_text(file.steps),
          file.usable ? fmt::format("{:.3f} s", span_s) : "-",
          file.usable ? fmt::format("{}", file.collective_calls) : "-",
          file.problems.empty() ? "-" : fmt::format("{}", file.problems.size())};
}

// The format is a column only where files differ in it.
bool one_format(const std::vector<FileSummary>& files) {
  return std::all_of(files.begin(), files.end(),
                     [&](const FileSummary& file) { return format_of(file) == format_of(files.front()); });
}

std::string heading_text(const std::filesystem::path& directory, const std::vector<FileSummary>& files) {
  std::string text = directory.empty() ? "Files" : "Files in " + printable(directory.string());
  if (!files.empty() && one_format(files)) text += ", all " + format_of(files.front());
  return text + "\n";
}

std::string table_text(const std::vector<FileSummary>& files, bool several_jobs) {
  const bool no_format = one_format(files);
  std::vector<Row> rows = {{"FILE", "FORMAT", "JOB", "RANK", "WORLD", "HOST", "STEPS", "SPAN", "CALLS", "PROBLEMS"}};
  for (const FileSummary& file : files) rows.push_back(row_of(file));
  std::array<size_t, std::tuple_size_v<Row>> widths{};
  for (const Row& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], text_width(row[c]));
  }
  std::string text;
  for (const Row& row : rows) {
    for (size_t c = 0; c + 1 < row.size(); ++c) {
      const bool hidden = (c == kFormat && no_format) || (c == kJob && !several_jobs);
      if (!hidden) text += pad(row[c], widths[c] + 2);
    }
    text += row.back() + "\n";
  }
  return text;
}

// In lines of kLineWidth, two blanks ahead of each.
std::string wrapped(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    size_t cut = text.size();
    if (cut > kLineWidth - 2) cut = text.rfind(' ', kLineWidth - 2);
    if (cut == std::string_view::npos || cut == 0) cut = std::min(text.find(' '), text.size());
    lines += fmt::format("  {}\n", text.substr(0, cut));
    text.remove_prefix(std::min(text.size(), cut + 1));
  }
  return lines;
}

// Each problem once, with the first of the files that have it.
std::string problems_text(const std::vector<FileSummary>& files) {
  std::vector<std::string> problems;
  std::map<std::string, std::vector<std::string>> files_of;
  for (const FileSummary& file : files) {
    for (const std::string& problem : file.problems) {
      std::vector<std::string>& having = files_of[problem];
      if (having.empty()) problems.push_back(problem);
      having.push_back(file.file);
    }
  }
  std::string text;
  for (size_t i = 0; i < std::min(problems.size(), kProblemsShown); ++i) {
    const std::vector<std::string>& having = files_of[problems[i]];
    text += printable(having.front());
    if (having.size() > 1) text += fmt::format(" and {} more", having.size() - 1);
    text += ":\n" + wrapped(printable(problems[i]));
  }
  if (problems.size() > kProblemsShown) {
    text += fmt::format("and {} more problems; --json has all\n", problems.size() - kProblemsShown);
  }
  return text;
}

std::string ranks_words(const InspectedJob& job) {
  return fmt::format("{} of {} ranks; sessions: {}; vendor: {}", job.ranks, job.found.world_size, job.sessions,
                     or_dash(to_string(job.vendor)));
}

std::string totals_text(const InspectedFiles& inspected) {
  const std::vector<InspectedJob>& jobs = inspected.jobs;
  std::string text = fmt::format("{} files; ", inspected.files.size());
  if (jobs.size() == 1) return text + ranks_words(jobs.front()) + "\n";
  text += fmt::format("{} jobs, of which --job names one\n", jobs.size());
  std::vector<FoundJob> found;
  for (const InspectedJob& job : jobs) found.push_back(job.found);
  return text + jobs_text(found);
}

std::string text_of(const InspectedFiles& inspected) {
  const std::filesystem::path directory = directory_of(inspected.files);
  const std::vector<FileSummary> files = named_below(directory, inspected.files);
  return heading_text(directory, files) + table_text(files, inspected.jobs.size() > 1) + totals_text(inspected) +
         problems_text(files);
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json json_of(const FileSummary& file) {
  return {{"file", file.file},
          {"format", file.format},
          {"compression", text_or_null(file.compression)},
          {"usable", file.usable},
          {"job", text_or_null(file.job)},
          {"rank", file.rank.known() ? Json(file.rank.value) : Json()},
          {"rank_source", text_or_null(file.rank_source)},
          {"world_size", file.world_size > 0 ? Json(file.world_size) : Json()},
          {"session", file.session},
          {"host", text_or_null(file.host)},
          {"steps", file.steps},
          {"first_event_ns", file.usable ? Json(file.first_event.ns) : Json()},
          {"last_event_ns", file.usable ? Json(file.last_event.ns) : Json()},
          {"gpu_rows", file.gpu_rows},
          {"collective_calls", file.collective_calls},
          {"events", file.events},
          {"bytes", file.bytes},
          {"problems", file.problems}};
}

std::string json_text(const std::vector<FileSummary>& files) {
  Json rows = Json::array();
  for (const FileSummary& file : files) rows.push_back(json_of(file));
  const Json json = {{"schema", "skewscope.inspect/1"}, {"files", std::move(rows)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

void add_inspect_options(CLI::App& command, InspectOptions& options) {
  add_input_options(command, options.input);
  add_cache_options(command, options.input.ingest.cache);
  command.add_flag("--json", options.json, "Print JSON instead of the table");
  add_common_options(command, options.common);
  command.footer("Example:\n  skewscope inspect traces/");
}

ExitCode run_inspect(const InspectOptions& options) {
  StageTimer timer;
  const auto files = discover_files(options.input.paths);
  if (!files.ok()) return fail(files.error());
  const auto inspected = inspect_files(files.value(), options.input.ingest, timer);
  if (!inspected.ok()) return fail(inspected.error());
  if (options.common.timings) print_timings(timer);
  const bool fine = print(options.json ? json_text(inspected.value().files) : text_of(inspected.value()));
  return fine ? kDone : fail({ErrorKind::output, "cannot write to standard output"});
}

}  // namespace skewscope::cli
