#include "runs.h"

#include <filesystem>
#include <set>

#include "skewscope/correlate.h"
#include "src/cli/options/choice.h"
#include "src/cli/process/progress.h"

namespace skewscope::cli {
namespace {

// Its last `count` parts, fewer where it has no more.
std::string last_parts(const std::string& path, size_t count) {
  std::error_code failed;
  const std::filesystem::path absolute = std::filesystem::absolute(path, failed);
  std::filesystem::path rest = (failed ? std::filesystem::path(path) : absolute).lexically_normal();
  if (!rest.has_filename() || rest.filename() == "report.json") rest = rest.parent_path();
  std::filesystem::path parts;
  for (; count > 0 && rest.has_filename(); --count) {
    parts = parts.empty() ? rest.filename() : rest.filename() / parts;
    rest = rest.parent_path();
  }
  return parts.string();
}

// Calls are not compared, and there may be millions.
void drop_calls(JobReport& report) {
  report.calls = {};
  report.unmatched = {};
  report.kernel_names = {};
}

}  // namespace

void add_runs_options(CLI::App& command, RunsOptions& options) {
  command.add_option("-o,--output", options.write.directory, "Write a report directory")->type_name("DIR");
  command
      .add_option("-f,--format", options.write.formats, "What to write, with commas between; default: the first four")
      ->check(CLI::IsMember({"json", "csv", "sqlite", "html", "xlsx"}).description(""))
      ->delimiter(',')
      ->type_name("json,csv,sqlite,html,xlsx");
  command.add_flag("--force", options.write.force,
                   "Replace a report that is not whole, too; a whole one needs no flag");
  add_input_filters(command, options.ingest);
  add_job_option(command, options.ingest, "Job to use, where a run's folder holds several");
  add_cache_options(command, options.ingest.cache);
  add_align_option(command, options.align);
  add_rank_tables_option(command, options.rank_tables);
  add_judgement_options(command, options.judged, "Exit 4 when input of a run was missing, damaged or left out");
  command.add_flag("--json", options.json, "Print the document instead of the summary");
  add_common_options(command, options.common);
  command.get_option("--format")->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

std::vector<std::string> names_of_runs(const std::vector<std::string>& paths) {
  constexpr size_t kMostParts = 32;
  std::vector<std::string> names;
  for (size_t parts = 1; parts <= kMostParts; ++parts) {
    names.clear();
    for (const std::string& path : paths) names.push_back(last_parts(path, parts));
    if (std::set<std::string>(names.begin(), names.end()).size() == names.size()) return names;
  }
  for (std::string& name : names) name = name.substr(name.rfind('/') + 1);  // one path given twice
  return names;
}

Result<Done> check_apart(const std::vector<std::string>& paths, const WriteOptions& write) {
  namespace fs = std::filesystem;
  std::error_code absent;
  for (const std::string& path : paths) {
    const fs::path folder = fs::is_directory(path, absent) ? fs::path(path) : fs::absolute(path).parent_path();
    if (write.directory.empty() || !fs::equivalent(folder, write.directory, absent)) continue;
    return Error{ErrorKind::output, write.directory + ": is one of the runs; choose another -o"};
  }
  return Done{};
}

Result<std::vector<NamedReport>> read_runs(const std::vector<std::string>& paths, const RunsOptions& options,
                                           StageTimer& timer) {
  std::vector<NamedReport> runs;
  const std::vector<std::string> names = names_of_runs(paths);
  for (const std::string& path : paths) {
    Result<JobReport> report = [&] {
      Progress progress(shows_progress(options.common));
      if (is_report(path)) {
        progress.doing("reading " + path);
        return load_report(path);
      }
      IngestOptions ingest = options.ingest;
      ingest.progress = progress.reading("correlating the traces of " + path);
      return correlate({path}, {ingest, options.align, options.rank_tables}, timer);
    }();
    if (!report.ok() && paths.size() > 1 && report.error().kind == ErrorKind::no_input) {
      return Error{ErrorKind::no_input, path + ": " + report.error().message};
    }
    if (!report.ok()) return report.error();
    runs.push_back({names[runs.size()], std::move(report).value()});
    drop_calls(runs.back().report);
  }
  return runs;
}

}  // namespace skewscope::cli
