// skewscope jobs: what a gatherer knows of jobs, asked over HTTP. What is printed is in jobs_text.h.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "skewscope/ship/gatherer_client.h"
#include "src/cli/commands/judgement.h"
#include "src/cli/options/common_options.h"
#include "src/cli/process/exit_code.h"

namespace skewscope::cli {

struct JobsCommandOptions {
  GathererConnection gatherer;
  std::string action, job;
  std::string state, owner, node, since;  // of list; "": all
  int limit = 50;
  std::string output;  // of export
  bool traces = false, yes = false, json = false, one_line = false;
  JudgementOptions judged;  // of show and watch
  CommonOptions common;
};

void add_jobs_options(CLI::App& command, JobsCommandOptions& options);
ExitCode run_jobs(const JobsCommandOptions& options);

}  // namespace skewscope::cli
