#include "command_line.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <sstream>
#include <string_view>
#include <utility>

#include "src/cli/commands/kept_report.h"
#include "src/cli/manual/help_format.h"
#include "src/cli/options/flat_config.h"
#include "src/cli/process/terminal.h"
#include "src/cli/process/thread_limit.h"

namespace skewscope::cli {
namespace {

// `argument` as a shell would have to be given it.
std::string quoted(std::string_view argument) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!argument.empty() && argument.find_first_not_of(kPlain) == std::string_view::npos) return std::string(argument);
  std::string out = "'";
  for (const char c : argument) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

// Where a command is; "": nowhere.
std::string_view first_word(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--config") ++i;
    if (!word.starts_with('-')) return word;
  }
  return {};
}

std::string as_typed(int argc, const char* const* argv) {
  std::string typed = "skewscope";
  for (int i = 1; i < argc; ++i) typed += " " + quoted(argv[i]);
  return typed;
}

}  // namespace

CommandLine::CommandLine() {
  app_.name("skewscope");
  app_.set_version_flag("-V,--version", "skewscope " SKEWSCOPE_VERSION, "Print the version and exit");
  app_.formatter(help_format(terminal_columns(STDOUT_FILENO)));
  app_.get_formatter()->label("Positionals", "Arguments");
  app_.require_subcommand(1);
  app_.fallthrough();  // inherited: --config is found after the command, too
  add_config(app_);
  add("report", "Where the time of a job's collectives went, and who was late", report_, add_report_options,
      [this](const std::string& typed) {
        return run_report(report_, {typed, flags_that_matter(*app_.get_subcommand("report")), *exchange_});
      });
  add("rank", "One GPU's trace: where its time went, what it launched and ran", rank_, add_rank_options,
      [this](const std::string&) { return run_rank(rank_); });
  add("scale", "One job at several sizes: speed-up, efficiency, what was lost to whom", scale_, add_scale_options,
      [this](const std::string& typed) { return run_scale(scale_, typed); });
  add("compare", "Two runs of the same size: what got slower, where", compare_, add_compare_options,
      [this](const std::string& typed) { return run_compare(compare_, typed); });
  add("inspect", "What the files are: format, rank, steps, problems", inspect_, add_inspect_options,
      [this](const std::string&) { return run_inspect(inspect_); });
  add("merge", "One trace of all ranks, on one clock, for the Perfetto UI", merge_, add_merge_options,
      [this](const std::string&) { return run_merge(merge_); });
  add("digest", "Small extracts of traces, made next to them, to report from", digest_, add_digest_options,
      [this](const std::string&) { return run_digest(digest_); });
  add("hang", "Flight recorder dumps of a job that hangs: which rank did not come", hang_, add_hang_options,
      [this](const std::string& typed) { return run_hang(hang_, typed); });
  add("simulate", "Write a synthetic job with known truth", simulate_, add_simulate_command_options,
      [this](const std::string&) { return run_simulate(simulate_); });
#ifdef SKEWSCOPE_GATHERER
  add("gather", "Receive traces of jobs over HTTP and report on each: the daemon", gather_, add_gather_command_options,
      [this](const std::string&) { return run_gather(gather_, arguments_); });
  add("ship", "Send finished traces to a gatherer, from the node they are on", ship_, add_ship_options,
      [this](const std::string&) { return run_ship(ship_); });
  add("jobs", "Jobs of a gatherer: list, show, watch, retry, delete, export; nodes, history", jobs_, add_jobs_options,
      [this](const std::string&) { return run_jobs(jobs_); });
#endif
  add("help", "What a command does and its flags, or what the words of reports mean", help_, add_help_options,
      [this](const std::string&) { return run_help(help_, described()); });
  add("version", "Print the version", version_, add_version_options, [](const std::string&) { return run_version(); });
  add("completion", "Completion of commands and flags, as a script for a shell", completion_, add_completion_options,
      [this](const std::string&) { return run_completion(completion_, described()); });
  for (const Command& command : commands_) help_.commands.push_back(command.app->get_name());
  app_.footer("skewscope help COMMAND explains a command's flags, skewscope help terms the words of reports.");
}

template <class Options>
void CommandLine::add(const std::string& name, const std::string& purpose, Options& options,
                      void (*describe)(CLI::App&, Options&), std::function<ExitCode(const std::string& typed)> run) {
  CLI::App* command = app_.add_subcommand(name, purpose)->group("Commands");
  const auto once = [=, &options, done = std::make_shared<bool>(false)] {
    if (!std::exchange(*done, true)) describe(*command, options);
  };
  command->preparse_callback([once](size_t) { once(); });  // only the one that is given
  commands_.push_back({command, &options.common, std::move(run), once});
}

const CLI::App& CommandLine::described() {
  for (const Command& command : commands_) command.describe();
  return app_;
}

void CommandLine::explain(const CLI::ParseError& error, int argc, const char* const* argv) const {
  const std::string word(first_word(argc, argv)), wrong = unknown_command(argc, argv);
  const bool none = word.empty() && dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  std::string message = !wrong.empty() ? "no command is called " + wrong : none ? "no command is given" : error.what();
  message.erase(message.find_last_not_of('\n') + 1);
  const bool of_a_command = wrong.empty() && !word.empty();
  fmt::print(stderr, "skewscope: error: {}\nTry: skewscope help{}\n", message, of_a_command ? " " + word : "");
}

std::string CommandLine::unknown_command(int argc, const char* const* argv) const {
  const std::string word(first_word(argc, argv));
  const bool known =
      std::any_of(commands_.begin(), commands_.end(), [&](const Command& one) { return one.app->check_name(word); });
  return known || word.empty() ? "" : quoted(std::string_view(word));
}

bool CommandLine::serves(int argc, const char* const* argv) { return first_word(argc, argv) == "gather"; }

ExitCode CommandLine::run(int argc, const char* const* argv) {
  arguments_.assign(argv, argv + argc);
  try {
    app_.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream nobody;
    const bool speaks = exchange_->first();
    if (error.get_exit_code() == 0) {
      app_.exit(error, speaks ? std::cout : nobody, nobody);
      return kDone;
    }
    if (speaks) explain(error, argc, argv);
    return kUsage;
  }
  const auto command =
      std::find_if(commands_.begin(), commands_.end(), [](const Command& one) { return one.app->parsed(); });
  const CommonOptions& common = *command->common;
  start_log(common.quiet, common.verbose, common.color);
  if (!exchange_->first()) spdlog::set_level(spdlog::level::off);
  // Only a report is the work of several processes.
  if (!exchange_->first() && command->app != app_.get_subcommand("report")) return kDone;
  if (const std::string apart = processes_apart(); !apart.empty() && command->app == app_.get_subcommand("report")) {
    return fail({ErrorKind::usage, apart + ", but skewscope does not join them and each would make the whole report: "
                                           "start skewscope-mpi (built with -DSKEWSCOPE_MPI=ON), or skewscope once"});
  }
  if (common.threads > 0) limit_threads(common.threads);
  return command->run(as_typed(argc, argv));
}

}  // namespace skewscope::cli
