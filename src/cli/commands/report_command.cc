#include "report_command.h"

#include <fmt/format.h>

#include "jobs_found.h"
#include "kept_report.h"
#include "report_stamp.h"
#include "skewscope/correlate.h"
#include "skewscope/report.h"
#include "src/cli/process/interruption.h"
#include "src/cli/process/progress.h"

namespace skewscope::cli {
namespace {

constexpr const char* kDefaultOutput = "skewscope-report";

// Read before the traces: a wrong file name is reported at once.
Result<std::vector<JobReport::BaselinePoint>> read_baselines(const std::vector<std::string>& files) {
  std::vector<JobReport::BaselinePoint> points;
  for (const std::string& file : files) {
    const auto read = read_baseline(file);
    if (!read.ok()) return read.error();
    points.insert(points.end(), read.value().begin(), read.value().end());
  }
  return points;
}

// What asks for no more than the report itself: judgements and timings are of reports that are made.
bool can_be_copied(const ReportOptions& options, const WriteOptions& write, const Exchange& exchange) {
  return exchange.processes() == 1 && !write.directory.empty() && !options.json && !options.judged.asks() &&
         !options.common.timings && options.common.verbose == 0;
}

// The name that the user gives; where one of several jobs was chosen by it, it has it already.
void call_it(const std::string& name, JobReport& report) {
  if (name.empty()) return;
  report.job.name = name;
  if (report.jobs_found.size() == 1) report.jobs_found.front().name = name;
}

// What can be refused before the traces are read; the baselines. All processes meet the same errors.
Result<std::vector<JobReport::BaselinePoint>> check_arguments(const ReportOptions& options, const WriteOptions& write,
                                                              Exchange& exchange) {
  const auto checked = agree(exchange, exchange.first() ? check_before<JobReport>(options.judged, write) : Done{});
  if (!checked.ok()) return checked.error();
  auto baseline = read_baselines(options.baselines);
  const auto read = agree(exchange, baseline.ok() ? Result<Done>(Done{}) : baseline.error());
  if (!read.ok()) return read.error();
  return baseline;
}

// Lists the jobs where several are found and none is chosen.
Result<JobReport> correlate_or_list(const std::vector<std::string>& files, const ReportOptions& options,
                                    StageTimer& timer, Exchange& exchange) {
  std::vector<FoundJob> several;
  std::optional<Progress> progress(std::in_place, exchange.first() && shows_progress(options.common));
  IngestOptions ingest = options.input.ingest;
  ingest.progress = progress->reading("correlating the traces");
  ingest.several_jobs = [&several](const std::vector<FoundJob>& jobs) { several = jobs; };
  auto report = correlate_files(files, {ingest, options.align, options.rank_tables, options.keep}, timer, exchange);
  progress.reset();
  const bool lists = !report.ok() && exchange.first() && !several.empty() && report.error().kind == ErrorKind::no_input;
  if (lists && !print_jobs(several, options.json)) return no_standard_output();
  return report;
}

// Writes, keeps, prints and judges a report.
ExitCode hand_out(const JobReport& report, const ReportOptions& options, WriteOptions write,
                  const std::string& command_line, const std::optional<KeptReport>& keeper, StageTimer& timer) {
  const ReportStamp stamp = stamp_of(command_line);
  if (!write.directory.empty()) {
    const StageTimer::Scope scope(timer, "write");
    Progress progress(shows_progress(options.common));
    progress.doing("writing " + write.directory);
    write.before_named = [&](const std::string& whole) {
      if (keeper) keeper->keep(whole, report, stamp);
      if (options.also_write) options.also_write(whole, report);
    };
    if (const auto written = write_report(report, stamp, write); !written.ok()) return fail(written.error());
  }
  if (options.common.timings) print_timings(timer);
  const auto printed = print_report(report, stamp, write.directory, options.json, options.common);
  return printed.ok() ? judge(report, options.judged, "report", options.common.quiet) : fail(printed.error());
}

// The part of one process; all meet the same errors. Process 0 writes and prints.
ExitCode own_part(const ReportOptions& options, const Invocation& invocation) {
  Exchange& exchange = invocation.exchange;
  WriteOptions write{options.output, options.force, options.formats};
  if (write.directory.empty() && !options.json) write.directory = kDefaultOutput;
  const auto baseline = check_arguments(options, write, exchange);
  if (!baseline.ok()) return fail(baseline.error());
  if (exchange.first() && !write.directory.empty()) remove_when_interrupted(partial_directory(write.directory));

  const auto files = discover_files(options.input.paths, exchange);
  if (!files.ok()) return fail(files.error());
  std::optional<KeptReport> keeper;
  if (can_be_copied(options, write, exchange)) {
    const KeptReport::Look look = {use_color(options.common.color, STDOUT_FILENO), terminal_columns(STDOUT_FILENO)};
    keeper.emplace(invocation.flags, files.value(), options.input.ingest.cache, look);
    if (const auto summary = keeper->give(stamp_of(invocation.command_line), write)) {
      if (shows_progress(options.common))
        fmt::print(stderr, "skewscope: unchanged traces: report taken from the cache\n");
      return options.common.quiet || print(*summary) ? kDone : fail(no_standard_output());
    }
  }

  StageTimer timer;
  auto report = correlate_or_list(files.value(), options, timer, exchange);
  if (!report.ok()) return fail(report.error());
  if (!exchange.first()) return kDone;
  call_it(options.input.ingest.job, report.value());
  name_links(report.value(), options.network_gb_per_s);
  report.value().baseline = baseline.value();
  return hand_out(report.value(), options, write, invocation.command_line, keeper, timer);
}

}  // namespace

void add_report_options(CLI::App& command, ReportOptions& options) {
  add_input_options(command, options.input);
  add_cache_options(command, options.input.ingest.cache);
  command
      .add_option("-o,--output", options.output,
                  fmt::format("Report directory; default: {}, none with --json", kDefaultOutput))
      ->type_name("DIR");
  command
      .add_option("--world-size", options.input.ingest.world_size,
                  "Ranks that the job has at least; where the traces say more, they count")
      ->check(CLI::Range(1, kLargestWorldSize).description(""))
      ->type_name("N");
  add_job_option(command, options.input.ingest,
                 "Job to report on, where several were found; the name of a single one; default: as in the traces, "
                 "else the folder's name");
  command.add_option("-f,--format", options.formats, "What to write, with commas between; default: the first four")
      ->delimiter(',')
      ->type_name("json,csv,sqlite,html,xlsx,prometheus");
  add_align_option(command, options.align);
  add_judgement_options(command, options.judged, "Exit 4 when input was missing, damaged or left out");
  add_rank_tables_option(command, options.rank_tables);
  command
      .add_option("--network-peak", options.network_gb_per_s,
                  "Network of one GPU, one direction, in GB/s: drawn as a line in the bandwidths between nodes")
      ->check(CLI::Validator(CLI::PositiveNumber).description(""))
      ->type_name("GB/S");
  command
      .add_option("--baseline", options.baselines,
                  "Output of nccl-tests: drawn as a line in the bandwidths; repeatable")
      ->type_name("FILE");
  command.add_flag("--force", options.force, "Replace a report that is not whole, too; a whole one needs no flag");
  command.add_flag("--json", options.json, "Print report.json instead of the summary");
  add_common_options(command, options.common);
  for (const char* once : {"--format", "--baseline"}) {
    command.get_option(once)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  command.footer(
      "Examples:\n"
      "  skewscope report traces/\n"
      "  skewscope report traces/ -o run1 --steps 10:20 --fail-on 'exposed_wait_share>10%'\n"
      "  skewscope report 'traces/rank*.json.gz' --json | jq .stragglers\n"
      "  skewscope report traces/ --network-peak 50 --baseline all_reduce_perf.txt\n"
      "--fail-on also takes the path of any number of report.json, and holds where any number of the path does:\n"
      "  efficiency.transfer<80%   ranks[rank=3].idle_ns>1e6   collectives[op=all_reduce,dtype=float].wait_ns.p99>5e5\n"
      "  [*]: every row, [0]: the first, [KEY=VALUE,...]: rows that are so. A figure that is not determined fulfils no "
      "--fail-on.\n"
      "Where several jobs lie in PATH, they are listed and none is reported (exit 3): --job NAME chooses one.\n"
      "--config FILE: TOML whose keys are these flags.\n"
      "Exit codes: 0 done, 1 --fail-on holds, 2 usage, 3 no usable input, 4 --strict, 5 output, 6 memory, 70 "
      "internal.");
}

ExitCode run_report(const ReportOptions& options, const Invocation& invocation) {
  const ExitCode code = own_part(options, invocation);
  // All end as process 0 does, and not before it.
  ByteWriter writer;
  writer.put(code);
  const Bytes code_of_first = broadcast(invocation.exchange, writer.take());
  return ByteReader(code_of_first).get<ExitCode>();
}

}  // namespace skewscope::cli
