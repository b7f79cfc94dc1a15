// The program's commands and their flags.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "inspect_command.h"
#include "report_command.h"
#include "simulate_command.h"

namespace skewscope::cli {

class CommandLine {
 public:
  CommandLine();
  // Parses and runs the command given. --help and --version print and give 0; what cannot be parsed gives 2.
  ExitCode run(int argc, const char* const* argv);

 private:
  const CommonOptions& common() const;  // of the command given
  ExitCode run_command(const std::string& typed);

  CLI::App app_{"Reads the profiler traces of all ranks of a GPU job and tells waiting from transfer."};
  ReportOptions report_;
  InspectOptions inspect_;
  SimulateCommandOptions simulate_;
};

}  // namespace skewscope::cli
