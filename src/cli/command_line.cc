#include "command_line.h"

#include <tbb/global_control.h>

#include <memory>
#include <string_view>

#include "flat_config.h"
#include "terminal.h"

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

std::string as_typed(int argc, const char* const* argv) {
  std::string typed = "skewscope";
  for (int i = 1; i < argc; ++i) typed += " " + quoted(argv[i]);
  return typed;
}

}  // namespace

CommandLine::CommandLine() {
  app_.name("skewscope");
  app_.set_version_flag("--version", "skewscope " SKEWSCOPE_VERSION);
  app_.require_subcommand(1);
  app_.fallthrough();  // inherited: --config is found after the command, too
  add_config(app_);
  add_report_options(*app_.add_subcommand("report", "Where the time of a job's collectives went, and who was late"),
                     report_);
  add_inspect_options(*app_.add_subcommand("inspect", "What the files are: format, rank, steps, problems"), inspect_);
  add_simulate_command_options(*app_.add_subcommand("simulate", "Write a synthetic job with known truth"), simulate_);
  app_.footer("skewscope COMMAND --help tells a command's flags.");
}

const CommonOptions& CommandLine::common() const {
  if (app_.got_subcommand("report")) return report_.common;
  return app_.got_subcommand("inspect") ? inspect_.common : simulate_.common;
}

ExitCode CommandLine::run(int argc, const char* const* argv) {
  try {
    app_.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app_.exit(error) == 0 ? kDone : kUsage;
  }
  start_log(common().quiet, common().verbose, common().color);
  std::unique_ptr<tbb::global_control> threads;
  if (common().threads > 0) {
    threads = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism,
                                                    static_cast<size_t>(common().threads));
  }
  return run_command(as_typed(argc, argv));
}

ExitCode CommandLine::run_command(const std::string& typed) {
  if (app_.got_subcommand("report")) return run_report(report_, typed);
  return app_.got_subcommand("inspect") ? run_inspect(inspect_) : run_simulate(simulate_);
}

}  // namespace skewscope::cli
