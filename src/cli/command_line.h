// The program's commands and their flags.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/cli/commands/compare_command.h"
#include "src/cli/commands/digest_command.h"
#ifdef SKEWSCOPE_GATHERER
#include "src/cli/gathering/gather_command.h"
#include "src/cli/gathering/jobs_command.h"
#endif
#include "src/cli/commands/hang_command.h"
#include "src/cli/commands/help_command.h"
#include "src/cli/commands/inspect_command.h"
#include "src/cli/commands/merge_command.h"
#include "src/cli/commands/rank_command.h"
#include "src/cli/commands/report_command.h"
#include "src/cli/commands/scale_command.h"
#ifdef SKEWSCOPE_GATHERER
#include "src/cli/gathering/ship_command.h"
#endif
#include "skewscope/distribute.h"
#include "src/cli/commands/simulate_command.h"

namespace skewscope::cli {

class CommandLine {
 public:
  CommandLine();
  // Parses and runs the command given. --help and -V print and give 0; what cannot be parsed gives 2.
  ExitCode run(int argc, const char* const* argv);
  // The command is a daemon: it waits for signals itself, and starts with one thread.
  static bool serves(int argc, const char* const* argv);

 private:
  struct Command {
    const CLI::App* app;
    const CommonOptions* common;
    std::function<ExitCode(const std::string& typed)> run;
    std::function<void()> describe;  // adds its flags, once
  };
  template <class Options>
  void add(const std::string& name, const std::string& purpose, Options& options, void (*describe)(CLI::App&, Options&),
           std::function<ExitCode(const std::string& typed)> run);

  // With the flags of all commands, which are otherwise added to the one that is given alone.
  const CLI::App& described();

  // What is wrong with the command line, and where to read on.
  void explain(const CLI::ParseError& error, int argc, const char* const* argv) const;

  // The first word, where it is in a command's place and is none; else "".
  std::string unknown_command(int argc, const char* const* argv) const;

  std::unique_ptr<Exchange> exchange_ = join_processes();  // process 0 speaks for all
  CLI::App app_{
      "Reads the profiler traces of all ranks of a GPU job and says where the time went and who caused the waiting."};
  ReportOptions report_;
  InspectOptions inspect_;
  RankOptions rank_;
  MergeCommandOptions merge_;
  ScaleOptions scale_;
  CompareOptions compare_;
  DigestOptions digest_;
  SimulateCommandOptions simulate_;
  HangOptions hang_;
  HelpOptions help_;
  VersionOptions version_;
  CompletionOptions completion_;
#ifdef SKEWSCOPE_GATHERER
  GatherCommandOptions gather_;
  ShipCommandOptions ship_;
  JobsCommandOptions jobs_;
#endif
  std::vector<std::string> arguments_;
  std::vector<Command> commands_;
};

}  // namespace skewscope::cli
