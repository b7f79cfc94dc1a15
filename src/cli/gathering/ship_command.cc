#include "ship_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "gatherer_connection.h"
#include "skewscope/base/human_units.h"
#include "skewscope/base/printable.h"
#include "skewscope/protocol/names.h"
#include "src/cli/options/option_values.h"
#include "src/cli/process/program_identity.h"
#include "src/cli/process/progress.h"

namespace skewscope::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kGiveUpOnce_s = 600;
constexpr int64_t kLongestPause_s = int64_t{365} * 24 * 3600;

void add_pause(CLI::App& command, const std::string& flag, std::chrono::seconds& value, const std::string& help) {
  command
      .add_option_function<int64_t>(
          flag, [&value](const int64_t& seconds) { value = std::chrono::seconds(seconds); },
          help + fmt::format(" [{}]", value.count()))
      ->check(CLI::Range(int64_t{0}, kLongestPause_s).description(""))
      ->type_name("SECONDS");
}

void add_bytes(CLI::App& command, const std::string& flag, uint64_t& value, const std::string& help) {
  command
      .add_option_function<std::string>(
          flag,
          [&value, flag](const std::string& text) {
            const auto bytes = parse_size(text);
            if (!bytes || *bytes < 1) throw CLI::ValidationError(flag, "'" + text + "' is no size, such as 64M");
            value = static_cast<uint64_t>(*bytes);
          },
          help)
      ->type_name("BYTES");
}

// PyTorch reads where to write dumps from the first of these variables that is set.
std::string dumps_of_environment() {
  for (const char* name : {"TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"}) {
    const char* text = std::getenv(name);
    if (text != nullptr && *text != '\0') return text;
  }
  return "";
}

// As configs/slurm names it for the gatherer; "" where this is no job of Slurm.
std::string job_of_slurm() {
  const auto value = [](const char* name, const char* otherwise) {
    const char* text = std::getenv(name);
    return std::string(text != nullptr && *text != '\0' ? text : otherwise);
  };
  const std::string id = value("SLURM_JOB_ID", "");
  if (id.empty()) return "";
  return value("SLURM_CLUSTER_NAME", "cluster") + "-" + id + "." + value("SLURM_RESTART_COUNT", "0");
}

void add_what(CLI::App& command, ShipOptions& ship, bool& report_again) {
  command.add_option("PATH", ship.paths, "Folders to watch, or files")->type_name("");
  ship.dumps = dumps_of_environment();
  command
      .add_option("--dumps", ship.dumps,
                  "Send flight recorder dumps, too: files whose path is PREFIX and a rank; default: "
                  "$TORCH_FR_DUMP_TEMP_FILE, or $TORCH_NCCL_DEBUG_INFO_TEMP_FILE")
      ->type_name("PREFIX");
  ship.job = job_of_slurm();
  command.add_option("--job", ship.job, "The job's name; default within a job of Slurm: CLUSTER-ID.RESTARTS")
      ->required(ship.job.empty())
      ->type_name("NAME");
  command
      .add_option(
          "--host", ship.host,
          "Host of traces that do not name theirs, such as $SLURMD_NODENAME; default: this system's name, of files on "
          "its own disks")
      ->type_name("NAME");
  command.add_option("--world-size", ship.world_size, "Ranks of the job; default: as the traces tell")
      ->check(CLI::Range(1, kMostRanks).description(""))
      ->type_name("N");
  command.add_option("--capture", ship.capture, "Which capture of the job, when it makes several [0]")
      ->check(CLI::Range(0, kMostCaptures).description(""))
      ->type_name("N");
  command.add_option("--rank-regex", ship.rank_regex, "Pattern with a group named rank, searched in the path")
      ->type_name("RE");
  command.add_flag("--digest", ship.digest, "Send a digest instead of each trace");
  command.add_flag("--replace", ship.replace, "Other content for a rank that is there already is wanted");
  command.add_flag("--verify", ship.verify,
                   "Ask the gatherer again for what was sent before: it may have lost it, or deleted the job");
  command.add_flag("--dry-run", ship.dry_run, "Say what would be sent; asks nobody, changes nothing");
  command.add_flag("--report-again", report_again,
                   "Without PATH: have the gatherer make the job's report again, one that failed, too");
  command.add_flag("--delete-source", ship.delete_source, "Remove a trace once the gatherer holds all of it");
}

void add_how(CLI::App& command, ShipCommandOptions& options) {
  ShipOptions& ship = options.ship;
  command.add_flag("--once", ship.once, "Send what is finished and end; default: go on watching");
  command
      .add_option("--state", ship.state_directory,
                  "Folder of the agent's own; default: .skewscope-ship in the first path")
      ->type_name("DIR");
  add_bytes(command, "--rate", ship.rate_bytes_per_s, "Bytes a second, of all uploads together [100000000]");
  add_bytes(command, "--piece", ship.piece_bytes, "Largest body of a request; a cut costs one of each upload [32M]");
  command
      .add_option("--cpu", ship.cpu_percent,
                  "Percent of one processor, on average, that all of it takes; 0: no bound [100]")
      ->check(CLI::Range(0.0, 1600.0).description(""))
      ->type_name("PERCENT");
  add_bytes(command, "--digest-memory", ship.digest_memory_bytes,
            "Memory that making or checking a digest may take [2G]");
  add_pause(command, "--digest-time", ship.digest_time, "Time of a processor that making a digest may take");
  command.add_option("--uploads", ship.uploads, "Uploads at a time [2]")
      ->check(CLI::Range(1, 16).description(""))
      ->type_name("N");
  add_pause(command, "--settle", ship.settle,
            "Time without a change after which a file counts as finished, where nothing shows it closed");
  add_pause(command, "--spread", ship.spread,
            "Without --once, after a pause, the first request comes at a random moment within this time");
  add_pause(command, "--rescan", ship.rescan, "Look through the folders as often as this");
  add_pause(command, "--patience", ship.patience, "A file that is empty, cut or cannot be read for so long is bad");
  command
      .add_option("--give-up", options.give_up_s,
                  "Give a file up after this time of failures; with --once, of all files without progress; default: "
                  "600, else 3 days")
      ->check(CLI::Range(int64_t{1}, kLongestPause_s).description(""))
      ->type_name("SECONDS");
  command.add_flag("--no-compress", options.no_compress, "Send .json as it is, not as gzip");
}

std::string not_sent(const Shipped& shipped) {
  std::string text;
  for (const std::string& line : shipped.bad) text += "bad   " + printable(line) + "\n";
  for (const std::string& line : shipped.left) text += "left  " + printable(line) + "\n";
  return text;
}

// The runs that have the files; the name that was given where nothing was sent.
std::vector<std::string> jobs_of(const Shipped& shipped, const ShipOptions& ship) {
  std::vector<std::string> jobs(shipped.jobs.begin(), shipped.jobs.end());
  if (jobs.empty()) jobs.push_back(ship.job);
  std::sort(jobs.begin(), jobs.end(),
            [](const std::string& a, const std::string& b) { return number_of_run(a) < number_of_run(b); });
  return jobs;
}

std::string text_of(const Shipped& shipped, const ShipOptions& ship) {
  if (ship.dry_run) {
    std::string plan = fmt::format("{} files would go to {} for job {}\n", shipped.planned.size(), ship.url, ship.job);
    for (const std::string& line : shipped.planned) plan += "send  " + printable(line) + "\n";
    return plan + not_sent(shipped);
  }
  std::string text =
      fmt::format("{} files, {} accepted by {} for job {}", shipped.files,
                  human_bytes(static_cast<int64_t>(shipped.bytes)), ship.url, fmt::join(jobs_of(shipped, ship), ", "));
  if (shipped.before > 0) text += fmt::format("; {} were before", shipped.before);
  return text + "\n" + not_sent(shipped);
}

std::string json_of(const Shipped& shipped, const ShipOptions& ship) {
  const std::vector<std::string> jobs = jobs_of(shipped, ship);
  const Json json = {{"schema", "skewscope.ship/1"}, {"gatherer", ship.url},
                     {"job", jobs.back()},           {"jobs", jobs},
                     {"files", shipped.files},       {"bytes", shipped.bytes},
                     {"before", shipped.before},     {"planned", shipped.planned},
                     {"bad", shipped.bad},           {"left", shipped.left}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

ExitCode have_report_made(const ShipCommandOptions& options) {
  if (!options.ship.paths.empty()) return fail({ErrorKind::usage, "--report-again sends nothing: give no PATH"});
  if (!is_job(options.ship.job)) return fail({ErrorKind::usage, options.ship.job + " is not a job name"});
  Result<GathererClient> client = GathererClient::make(options.ship);
  if (!client.ok()) return fail(client.error());
  const auto asked = body_of(client.value(), "POST", "/v1/jobs/" + options.ship.job + "/report");
  if (!asked.ok()) return fail(asked.error());
  const std::string text = fmt::format("{} makes the report of {} again\n", options.ship.url, options.ship.job);
  return options.common.quiet || print(text) ? kDone : fail({ErrorKind::output, "cannot write to standard output"});
}

}  // namespace

void add_ship_options(CLI::App& command, ShipCommandOptions& options) {
  add_what(command, options.ship, options.report_again);
  add_connection_options(command, options.ship);
  add_how(command, options);
  command.add_flag("--json", options.json, "Print JSON instead of the text");
  add_common_options(command, options.common);
  command.footer(
      "Example:\n"
      "  skewscope ship traces/ --to https://head:7475 --job pretrain-7b --token-file token --once\n"
      "A second run under a used name is job NAME~2 of the gatherer; the summary names the run that has the files.\n"
      "Exit code 0: everything is stored durably; 4: something is left or was refused, named on standard output.");
}

ExitCode run_ship(ShipCommandOptions options) {
  ShipOptions& ship = options.ship;
  if (options.give_up_s > 0 || ship.once) {
    ship.give_up = std::chrono::seconds(options.give_up_s > 0 ? options.give_up_s : kGiveUpOnce_s);
  }
  ship.compress = !options.no_compress;
  ship.program = own_program();
  ship.say = [](Severity severity, const std::string& line) {
    spdlog::log(severity == Severity::info      ? spdlog::level::info
                : severity == Severity::warning ? spdlog::level::warn
                                                : spdlog::level::err,
                "{}", line);
  };
  if (options.report_again) return have_report_made(options);
  auto progress = std::make_unique<Progress>(use_progress(options.common.progress) && !options.common.quiet);
  ship.progress = [&](const ShipProgress& at) { progress->sent({at.files, at.all_files, at.bytes, at.all_bytes}); };
  // A signal ends the program at once (interruption.h): the state directory tells the next run where to go on.
  const auto shipped = ship_traces(ship, [] { return false; });
  progress.reset();
  if (!shipped.ok()) return fail(shipped.error());
  const std::string text = options.json ? json_of(shipped.value(), ship) : text_of(shipped.value(), ship);
  const bool shown = (options.common.quiet && !options.json) || print(text);
  if (!shown) return fail({ErrorKind::output, "cannot write to standard output"});
  return shipped.value().bad.empty() && shipped.value().left.empty() ? kDone : kInPart;
}

}  // namespace skewscope::cli
