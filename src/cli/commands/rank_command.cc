#include "rank_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include "skewscope/efficiency/call_script.h"
#include "skewscope/examine.h"
#include "src/cli/process/interruption.h"
#include "src/cli/process/progress.h"

namespace skewscope::cli {
namespace {

// "aten::mm": its call with most GPU time; "aten::mm@215": the call at that place in traceEvents.
Result<std::string> replay_of(const RankReport& report, const std::string& wanted) {
  const size_t at = wanted.rfind('@');
  const std::string name = wanted.substr(0, at);
  const ArgumentsRow* found = nullptr;
  for (const ArgumentsRow& row : report.operators.arguments) {
    if (row.name != name) continue;
    const bool here = at == std::string::npos ? found == nullptr || row.direct.sum_ns > found->direct.sum_ns
                                              : std::to_string(row.first_place) == wanted.substr(at + 1);
    if (here) found = &row;
  }
  if (!report.tables.detailed) {
    return Error{ErrorKind::usage, fmt::format("{} is a digest: --replay needs the trace itself", report.file)};
  }
  if (found == nullptr) {
    return Error{
        ErrorKind::usage,
        fmt::format("no call of '{}' launched GPU work itself (those that it calls may): --json lists what can "
                    "be replayed as operator_arguments, NAME@first_place names one",
                    wanted)};
  }
  const ArgumentsText& texts = found->arguments;
  std::string kernels;
  for (const KernelPosition& kernel : found->kernels) kernels += kernel.name + "\n";
  return efficiency::replay_script(
      name, {texts.dims, texts.types, texts.strides, texts.values, kernels},
      {fmt::format("trace: {}", report.file), fmt::format("recorded on: {}", report.device_name),
       fmt::format("event: {} in traceEvents, {} calls with these arguments", found->first_place, found->direct.count),
       fmt::format("GPU time of one call: {:.0f} ns", found->direct.mean_ns())});
}

std::string section_names() {
  std::string names;
  for (const std::string& name : rank_sections()) names += (names.empty() ? "" : ",") + name;
  return names + "; default: all but stacks";
}

}  // namespace

void add_rank_options(CLI::App& command, RankOptions& options) {
  add_input_options(command, options.input);
  add_job_option(command, options.input.ingest, "Job whose rank is shown, where several were found");
  add_cache_options(command, options.input.ingest.cache);
  command
      .add_option("-o,--output", options.write.directory,
                  "Write rank.json, tables, page and summary into this directory")
      ->type_name("DIR");
  command
      .add_option("-f,--format", options.write.formats, "What to write, with commas between; default: all but the last")
      ->delimiter(',')
      ->check(CLI::IsMember({"json", "csv", "sqlite", "html", "xlsx"}).description(""))
      ->type_name("json,csv,sqlite,html,xlsx");
  command.add_option("--rules", options.rules, "Change thresholds of findings: JSON as configs/rank_rules.json")
      ->type_name("FILE");
  command.add_option("--devices", options.devices, "Add devices with their peaks: JSON as configs/devices.json")
      ->type_name("FILE");
  command.add_flag("--force", options.write.force,
                   "Replace a report that is not whole, too; a whole one needs no flag");
  command.add_option("--replay", options.replay, "A Python script that runs one call of this operator again")
      ->type_name("OP");
  command.add_option("--sections", options.text.sections, "Print these sections of the summary: " + section_names())
      ->delimiter(',')
      ->check(CLI::IsMember(rank_sections()).description(""))
      ->type_name("LIST");
  command.add_option("-n,--top", options.text.rows, "Rows of each table of the summary; default: a few")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command.add_flag("--json", options.json, "Print every table as JSON instead of the summary");
  add_common_options(command, options.common);
  command.footer(
      "Examples:\n"
      "  skewscope rank traces/rank3_trace.json.gz\n"
      "  skewscope rank traces/ --ranks 3 -o rank3\n"
      "  skewscope rank rank3_trace.json.gz --sections modules,memory -n 40\n"
      "  skewscope rank rank3_trace.json.gz --json | jq .streams\n"
      "  skewscope rank rank3_trace.json.gz --replay aten::mm > mm.py && python3 mm.py\n"
      "A directory is read as a job; --ranks names the one of its ranks that is shown.");
}

ExitCode run_rank(const RankOptions& options) {
  const bool writes = !options.write.directory.empty();
  if (!writes && !options.write.formats.empty()) {
    return fail({ErrorKind::usage, "--format says what is written into the directory of -o, which is not given"});
  }
  if (writes) {
    if (const auto checked = check_output(options.write); !checked.ok()) return fail(checked.error());
    remove_when_interrupted(partial_directory(options.write.directory));
  }
  ExamineOptions examined;
  examined.ingest = options.input.ingest;
  if (!options.rules.empty()) {
    auto rules = load_rules(options.rules);
    if (!rules.ok()) return fail(rules.error());
    examined.rules = std::move(rules).value();
  }
  if (!options.devices.empty()) {
    auto devices = efficiency::load_devices(options.devices);
    if (!devices.ok()) return fail(devices.error());
    examined.devices = std::move(devices).value();
  }
  StageTimer timer;
  const auto report = [&] {
    Progress progress(shows_progress(options.common));
    examined.ingest.progress = progress.reading("making the tables");
    return examine(options.input.paths, examined, timer);
  }();
  if (!report.ok()) return fail(report.error());
  if (writes) {
    const auto written = write_rank(report.value(), SKEWSCOPE_VERSION, options.write);
    if (!written.ok()) return fail(written.error());
  }
  if (options.common.timings) print_timings(timer);
  if (!options.replay.empty()) {
    const Result<std::string> script = replay_of(report.value(), options.replay);
    if (!script.ok()) return fail(script.error());
    return print(script.value()) ? kDone : fail({ErrorKind::output, "cannot write to standard output"});
  }
  if (options.common.quiet && !options.json) return kDone;
  RankTextOptions text = options.text;
  text.rules = options.common.verbose > 0;
  text.columns = terminal_columns(STDOUT_FILENO);
  const bool fine =
      print(options.json ? rank_json(report.value(), SKEWSCOPE_VERSION) : rank_text(report.value(), text));
  return fine ? kDone : fail({ErrorKind::output, "cannot write to standard output"});
}

}  // namespace skewscope::cli
