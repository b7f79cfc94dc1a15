// `skewscope report`: the main job.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "judgement.h"
#include "skewscope/base/exchange.h"
#include "skewscope/correlate.h"
#include "src/cli/options/common_options.h"
#include "src/cli/process/exit_code.h"

namespace skewscope::cli {

constexpr int kLargestWorldSize = 1'000'000;

struct ReportOptions {
  CommonOptions common;
  InputOptions input;
  AlignMode align = AlignMode::automatic;
  std::string output;  // "" = not given
  std::vector<std::string> formats;
  JudgementOptions judged;
  bool force = false, json = false;
  RankTableChoice rank_tables = RankTableChoice::none;
  double network_gb_per_s = -1;  // peak per GPU; -1: not given
  std::vector<std::string> baselines;
  CorrelatedJob* keep = nullptr;  // as in CorrelateOptions
  // Called with the folder and its report before it takes its name: what else is to lie in it.
  std::function<void(const std::string& folder, const JobReport& report)> also_write;
};

void add_report_options(CLI::App& command, ReportOptions& options);

// How the command was called.
struct Invocation {
  std::string command_line;  // as typed, for report.json
  std::string flags;         // those that matter, by kept_report.h; "": no report is kept
  Exchange& exchange;
};

// One process of several, or alone; all end with the same code.
ExitCode run_report(const ReportOptions& options, const Invocation& invocation);

}  // namespace skewscope::cli
