#include "inspect_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "skewscope/base/printable.h"

namespace skewscope::cli {
namespace {

constexpr size_t kProblemsShown = 20;

using Json = nlohmann::ordered_json;
using Row = std::array<std::string, 9>;

// "100-109"; "3 in 100-109" where some are absent; "-" for none.
std::string steps_text(const std::vector<int64_t>& steps) {
  if (steps.empty()) return "-";
  const auto [first, last] = std::minmax_element(steps.begin(), steps.end());
  if (*first == *last) return fmt::format("{}", *first);
  const bool dense = *last - *first + 1 == std::ssize(steps);
  return dense ? fmt::format("{}-{}", *first, *last) : fmt::format("{} in {}-{}", steps.size(), *first, *last);
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : printable(text); }

Row row_of(const FileSummary& file) {
  const double span_s = static_cast<double>(file.last_event - file.first_event) * 1e-9;
  return {printable(file.file),
          file.compression.empty() ? file.format : file.format + ", " + file.compression,
          file.rank.known() ? fmt::format("{}", file.rank.value) : "-",
          file.world_size > 0 ? fmt::format("{}", file.world_size) : "-",
          or_dash(file.host),
          steps_text(file.steps),
          file.usable ? fmt::format("{:.3f} s", span_s) : "-",
          file.usable ? fmt::format("{}", file.collective_calls) : "-",
          file.problems.empty() ? "-" : fmt::format("{}", file.problems.size())};
}

std::string table_text(const std::vector<FileSummary>& files) {
  std::vector<Row> rows = {{"FILE", "FORMAT", "RANK", "WORLD", "HOST", "STEPS", "SPAN", "CALLS", "PROBLEMS"}};
  for (const FileSummary& file : files) rows.push_back(row_of(file));
  std::array<size_t, std::tuple_size_v<Row>> widths{};
  for (const Row& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const Row& row : rows) {
    for (size_t c = 0; c + 1 < row.size(); ++c) text += fmt::format("{:<{}}", row[c], widths[c] + 2);
    text += row.back() + "\n";
  }
  return text;
}

std::string problems_text(const std::vector<FileSummary>& files) {
  std::string text;
  size_t problems = 0;
  for (const FileSummary& file : files) {
    for (const std::string& problem : file.problems) {
      if (++problems <= kProblemsShown) text += fmt::format("{}: {}\n", printable(file.file), printable(problem));
    }
  }
  if (problems > kProblemsShown) text += fmt::format("and {} more; --json has all\n", problems - kProblemsShown);
  return text;
}

std::string totals_text(const IngestedJob& ingested) {
  std::set<int32_t> ranks;
  for (const RankTrace& trace : ingested.job.traces) ranks.insert(trace.rank.value);
  return fmt::format("{} files; {} of {} ranks; sessions: {}; vendor: {}\n", ingested.files.size(), ranks.size(),
                     ingested.job.world_size, ingested.job.sessions, or_dash(ingested.job.vendor));
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json json_of(const FileSummary& file) {
  return {{"file", file.file},
          {"format", file.format},
          {"compression", text_or_null(file.compression)},
          {"usable", file.usable},
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
  command.add_flag("--json", options.json, "JSON in place of the table");
  add_common_options(command, options.common);
  command.footer("Example:\n  skewscope inspect traces/");
}

ExitCode run_inspect(const InspectOptions& options) {
  const auto files = discover_files(options.input.paths);
  if (!files.ok()) return fail(files.error());
  StageTimer timer;
  const auto ingested = ingest_job(files.value(), options.input.ingest, timer);
  if (!ingested.ok()) return fail(ingested.error());
  if (options.common.timings) print_timings(timer);
  const std::vector<FileSummary>& rows = ingested.value().files;
  const bool fine =
      print(options.json ? json_text(rows) : table_text(rows) + totals_text(ingested.value()) + problems_text(rows));
  return fine ? kDone : fail({ErrorKind::output, "cannot write to standard output"});
}

}  // namespace skewscope::cli
