// The job's report comes first: once it is whole in its folder, nothing that follows can take it away (report_forker
// keeps it where the process is ended meanwhile).
#include "gathered_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "aligned_trace.h"
#include "gathered_captures.h"
#include "gathered_hang.h"
#include "report_outcome.h"
#include "skewscope/base/exchange.h"
#include "skewscope/base/printable.h"
#include "src/cli/commands/merged_trace.h"
#include "src/cli/commands/report_command.h"
#include "src/cli/process/thread_limit.h"

namespace skewscope::cli {
namespace {

// The files are named by the ranks that their senders gave.
constexpr const char* kRankOfFile = "/r(?<rank>[0-9]+)(\\+[0-9]+)?\\.[^/]*$";

// What the report says of files that it leaves out or takes in part, a line each for its log; how many. These findings
// are what a job's owner has to know before the report is believed: others are in it and change no rank's figures.
int64_t tell_of_files(const std::string& report) {
  std::ifstream in(report + "/diagnostics.json");
  const nlohmann::json document = nlohmann::json::parse(in, nullptr, false);
  int64_t lines = 0;
  if (!document.is_object()) return lines;
  for (const nlohmann::json& finding : document.value("diagnostics", nlohmann::json::array())) {
    const auto text = [&](const char* key) {
      return finding.contains(key) && finding[key].is_string() ? finding[key].get<std::string>() : std::string();
    };
    if (text("severity") == "info" || text("file").empty()) continue;
    const std::filesystem::path file = text("file");
    const std::string capture = file.parent_path().filename().string();
    fmt::print(stderr, "{}\n", printable(fmt::format("{}/{}: {}", capture, file.filename().string(), text("message"))));
    ++lines;
  }
  return lines;
}

// By capture and rank, of lines "CAPTURE FIRST LAST HOST".
std::map<std::pair<int, int>, std::string> hosts_by_rank(const std::string& text) {
  std::map<std::pair<int, int>, std::string> hosts;
  std::istringstream lines(text);
  int capture = -1, first = -1, last = -1;
  for (std::string host; lines >> capture >> first >> last >> host;) {
    for (int rank = first; rank <= last; ++rank) hosts[{capture, rank}] = host;
  }
  return hosts;
}

// The capture and the rank of a file of the spool: "c0001/r00042.json.gz".
std::pair<int, int> capture_and_rank(const std::string& path) {
  std::pair<int, int> found(-1, -1);
  const size_t folder = path.rfind("/c");
  if (folder != std::string::npos) std::sscanf(path.c_str() + folder, "/c%d/r%d", &found.first, &found.second);
  return found;
}

// Of the traces in a folder: those of the job, or of one of its captures.
ReportOptions options_of(const ReportTask& task, const std::string& traces, const std::string& output,
                         const std::string& name) {
  ReportOptions options;
  options.common.quiet = true;
  options.input.paths = {traces};
  options.input.ingest.rank_regex = kRankOfFile;
  options.input.ingest.world_size = std::min(task.world_size, kLargestWorldSize);
  options.input.ingest.host_of = [hosts = hosts_by_rank(task.hosts)](const std::string& path) {
    const auto host = hosts.find(capture_and_rank(path));
    return host == hosts.end() ? "" : host->second;
  };
  options.output = output;
  options.formats = {"json", "csv", "sqlite", "html", "prometheus"};  // the last for the metrics of the daemon
  options.also_write = write_outcome;
  options.input.ingest.job = name;
  options.input.ingest.one_job = true;
  return options;
}

ExitCode make(const ReportOptions& options) {
  Alone alone;
  std::string command = fmt::format("skewscope report {} -o {}", options.input.paths.front(), options.output);
  if (options.input.ingest.world_size > 0) command += fmt::format(" --world-size {}", options.input.ingest.world_size);
  return run_report(options, {command, "", alone});
}

int report_on_traces(const ReportTask& task, const Gathered& gathered) {
  const auto begun = std::chrono::steady_clock::now();
  std::optional<CorrelatedJob> analysis;
  std::vector<MergeWindow> findings;
  ReportOptions options = options_of(task, task.traces, task.output, task.job);
  if (task.with_more && task.aligned_trace != AlignedTrace::off) {
    options.keep = &analysis.emplace();
    options.also_write = [&findings](const std::string& folder, const JobReport& report) {
      write_outcome(folder, report);
      findings = windows_of(report);
    };
  }
  const ExitCode code = make(options);
  if (code != kDone && code != kInPart) return code;
  const auto took = std::chrono::steady_clock::now() - begun;
  const int64_t lines = tell_of_files(task.output);
  if (analysis) write_aligned_trace(task, *analysis, std::move(findings));
  analysis.reset();
  if (task.with_more) {
    report_on_captures(task, gathered.captures, took,
                       [&](const std::string& traces, const std::string& output, const std::string& name) {
                         return make(options_of(task, traces, output, name));
                       });
  }
  return lines > 0 ? kInPart : code;
}

}  // namespace

// A hang is reported on whatever becomes of the traces.
int make_report(const ReportTask& task) {
  limit_threads(std::max(task.threads, 1));
  Gathered gathered = gathered_in(task.traces);
  if (gathered.dumps.empty()) return report_on_traces(task, gathered);
  int of_traces = gathered.captures.empty() ? kDone : report_on_traces(task, gathered);
  if (of_traces != kDone && of_traces != kInPart) {
    gathered.captures.clear();
    of_traces = kInPart;
  }
  const std::string command = fmt::format("skewscope hang {} -o {}/hang", task.traces, task.output);
  const int of_dumps = make_hang(task, gathered, command);
  if (of_dumps != kDone) return gathered.captures.empty() ? of_dumps : kInPart;
  return of_traces;
}

}  // namespace skewscope::cli
