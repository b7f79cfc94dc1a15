#include "jobs_command.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "export_job.h"
#include "gatherer_connection.h"
#include "jobs_text.h"
#include "skewscope/base/printable.h"
#include "skewscope/protocol/names.h"
#include "uid_of_user.h"

namespace skewscope::cli {
namespace {

using Document = nlohmann::json;

constexpr std::chrono::seconds kLook{1};
constexpr int kMostFailures = 30;  // of looks at a job that is watched, one after the other

class Jobs {
 public:
  Jobs(const JobsCommandOptions& options, GathererClient& client)
      : options_(options), client_(client), job_("/v1/jobs/" + options.job) {}

  ExitCode list();
  ExitCode show();
  ExitCode watch();
  ExitCode retry();
  ExitCode remove();
  ExitCode fetch();
  ExitCode nodes();
  ExitCode history();

 private:
  Result<Document> document(const std::string& path) {
    const auto body = body_of(client_, "GET", path);
    if (!body.ok()) return body.error();
    Document parsed = Document::parse(body.value(), nullptr, false);
    if (!parsed.is_object()) return Error{ErrorKind::no_input, client_.base() + ": the answer is no JSON object"};
    return parsed;
  }
  ExitCode tell(const Document& shown, const std::string& text) const {
    const std::string printed =
        options_.json ? shown.dump(2, ' ', false, Document::error_handler_t::replace) + "\n" : text;
    return print(printed) ? kDone : fail({ErrorKind::output, "cannot write to standard output"});
  }

  // By the rules of --fail-on and --strict, as `skewscope report` judges it; without any, `otherwise`.
  ExitCode judge_report(ExitCode otherwise) {
    if (!options_.judged.asks()) return otherwise;
    const auto body = body_of(client_, "GET", job_ + "/report.json");
    if (!body.ok()) return fail(body.error());
    const auto report = parse_report(body.value(), options_.job);
    if (!report.ok()) return fail(report.error());
    return judge(report.value(), options_.judged, "jobs", options_.common.quiet);
  }
  // Its first run may have been deleted: the list of jobs has the others.
  Result<std::string> newest_of_name() {
    const auto first = document(job_);
    if (first.ok()) return newest_run(first.value());
    const auto found = document("/v1/jobs?page=1&q=" + options_.job);
    if (!found.ok()) return first.error();
    for (const Document& job : found.value().value("jobs", Document::array())) {
      const std::string name = field_text(job, "job");
      if (is_job(name) && name_of_run(name) == options_.job) return name;
    }
    return first.error();
  }
  bool print_change(const Document& job, std::string& last) const {
    const std::string line = state_line(job);
    if (options_.one_line || std::exchange(last, line) == line) return true;
    return print(line + "\n");
  }

  const JobsCommandOptions& options_;
  GathererClient& client_;
  std::string job_;
};

ExitCode Jobs::list() {
  std::string query;
  for (const auto& [key, value] : {std::pair("state", options_.state), std::pair("owner", options_.owner),
                                   std::pair("node", options_.node), std::pair("since", options_.since)}) {
    if (!value.empty()) query += fmt::format("&{}={}", key, value);
  }
  Document jobs = Document::array();
  const auto wanted = static_cast<size_t>(options_.limit);
  for (int64_t page = 1, pages = 1; page <= pages && jobs.size() < wanted; ++page) {
    const auto found = document(fmt::format("/v1/jobs?page={}{}", page, query));
    if (!found.ok()) return fail(found.error());
    pages = found.value().value("pages", int64_t{1});
    for (const Document& job : found.value().value("jobs", Document::array())) {
      if (jobs.size() < wanted) jobs.push_back(job);
    }
  }
  return tell({{"jobs", jobs}}, jobs_table(jobs, terminal_columns(STDOUT_FILENO)));
}

ExitCode Jobs::show() {
  const auto job = document(job_);
  if (!job.ok()) return fail(job.error());
  const size_t columns = terminal_columns(STDOUT_FILENO);
  const ExitCode told =
      tell(job.value(), options_.one_line ? one_line(job.value()) : job_text(job.value(), client_.base(), columns));
  return told == kDone ? judge_report(kDone) : told;
}

// Of a name that was used again the newest run: it is what was sent just now.
ExitCode Jobs::watch() {
  if (is_name(options_.job)) {
    const auto newest = newest_of_name();
    if (!newest.ok()) return fail(newest.error());
    job_ = "/v1/jobs/" + newest.value();
  }
  std::string last;
  bool known = false;
  for (int failures = 0;; std::this_thread::sleep_for(kLook)) {
    const auto job = document(job_);
    if (!job.ok() && (!known || ++failures > kMostFailures)) return fail(job.error());
    if (!job.ok()) continue;
    known = true;
    failures = 0;
    if (!print_change(job.value(), last)) return fail(no_standard_output());
    const std::string report = field_text(job.value(), "report_state");
    if (report != "failed" && report != "complete" && report != "partial") continue;
    const std::string verdict = options_.one_line    ? one_line(job.value())
                                : report == "failed" ? ""
                                                     : field_text(job.value(), "verdict") + "\n";
    if (!print(verdict)) return fail(no_standard_output());
    if (report == "failed") return kConditionHolds;
    return judge_report(report == "complete" ? kDone : kInPart);
  }
}

ExitCode Jobs::retry() {
  const auto asked = body_of(client_, "POST", job_ + "/report");
  if (!asked.ok()) return fail(asked.error());
  return print(fmt::format("{} makes the report of {} again\n", client_.base(), options_.job)) ? kDone : kOutput;
}

ExitCode Jobs::remove() {
  if (!options_.yes) {
    if (isatty(STDIN_FILENO) == 0) return fail({ErrorKind::usage, "delete asks on a terminal; elsewhere give --yes"});
    fmt::print(stderr, "Delete {} with its traces and reports? [y/N] ", options_.job);
    std::string answer;
    std::getline(std::cin, answer);
    if (answer != "y" && answer != "yes") return fail({ErrorKind::usage, "nothing is deleted"});
  }
  const auto deleted = body_of(client_, "DELETE", job_);
  if (!deleted.ok()) return fail(deleted.error());
  return print(options_.job + " is deleted\n") ? kDone : kOutput;
}

ExitCode Jobs::fetch() {
  if (options_.output.empty()) return fail({ErrorKind::usage, "export needs a folder: -o DIR"});
  const auto job = document(job_);
  if (!job.ok()) return fail(job.error());
  const auto exported = export_job(client_, job.value(), options_.output, options_.traces);
  if (!exported.ok()) return fail(exported.error());
  const Exported& done = exported.value();
  std::string text = fmt::format("{} files in {}\n", done.files.size(), options_.output);
  for (const std::string& line : done.left) text += "left  " + printable(line) + "\n";
  const ExitCode told = tell({{"files", done.files}, {"left", done.left}}, text);
  return told != kDone || done.left.empty() ? told : kInPart;
}

ExitCode Jobs::nodes() {
  const auto found = document("/v1/nodes");
  if (!found.ok()) return fail(found.error());
  return tell(found.value(),
              nodes_text(found.value().value("nodes", Document::array()), terminal_columns(STDOUT_FILENO)));
}

ExitCode Jobs::history() {
  const auto found = document(fmt::format("/v1/history?job={}&limit={}", options_.job, options_.limit));
  if (!found.ok()) return fail(found.error());
  const std::string group = field_text(found.value(), "costliest_group");
  return tell(found.value(),
              (group.empty() ? "" : group + "\n\n") +
                  history_table(found.value().value("runs", Document::array()), terminal_columns(STDOUT_FILENO)));
}

struct Action {
  const char* name;
  ExitCode (Jobs::*run)();
  bool of_job;
};
constexpr std::array kActions = {
    Action{"list", &Jobs::list, false},   Action{"show", &Jobs::show, true},       Action{"watch", &Jobs::watch, true},
    Action{"retry", &Jobs::retry, true},  Action{"delete", &Jobs::remove, true},   Action{"export", &Jobs::fetch, true},
    Action{"nodes", &Jobs::nodes, false}, Action{"history", &Jobs::history, true},
};

}  // namespace

void add_jobs_options(CLI::App& command, JobsCommandOptions& options) {
  std::vector<std::string> names;
  for (const Action& action : kActions) names.emplace_back(action.name);
  command.add_option("ACTION", options.action, "What to do, as listed below")
      ->required()
      ->check(CLI::IsMember(names).description(""))
      ->type_name(fmt::format("{}", fmt::join(names, "|")));
  command.add_option("JOB", options.job, "The job's name; for all but list and nodes")->type_name("");
  add_connection_options(command, options.gatherer);
  command.add_option("--state", options.state, "list: jobs in this state")
      ->check(CLI::IsMember({"receiving", "complete", "ended"}).description(""))
      ->type_name("receiving|complete|ended");
  command
      .add_option_function<std::string>(
          "--owner",
          [&options](const std::string& user) { options.owner = std::to_string(uid_of_user("--owner", user)); },
          "list: jobs of this user, by name or UID")
      ->type_name("USER");
  command.add_option("--node", options.node, "list: jobs that this node took part in")
      ->check([](const std::string& text) { return is_name(text) ? "" : text + " is no name of a node"; })
      ->type_name("NAME");
  command.add_option("--since", options.since, "list: jobs that began on this day (UTC) or later")
      ->check([](const std::string& text) {
        const bool plain =
            std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || c == '-'; });
        return plain ? "" : text + " is no day, such as 2026-01-31";
      })
      ->type_name("YYYY-MM-DD");
  command.add_option("-n,--limit", options.limit, "list, history: at most so many [50]")
      ->check(CLI::Range(1, 1000).description(""))
      ->type_name("N");
  command.add_option("-o,--output", options.output, "export: a new folder for the report")->type_name("DIR");
  command.add_flag("--traces", options.traces, "export: the traces of all ranks, too");
  command.add_flag("--yes", options.yes, "delete: do not ask");
  command.add_flag("--one-line", options.one_line,
                   "show, watch: state and verdict on one line alone, such as for Slurm");
  command.add_flag("--json", options.json, "Print JSON instead of the text");
  add_judgement_options(command, options.judged, "Exit 4 when its report lacks input, or has damaged or left out some");
  add_common_options(command, options.common);
  command.footer(
      "Actions:\n"
      "  list         the jobs, the newest first\n"
      "  show JOB     its state, missing ranks, verdict, captures and links\n"
      "  watch JOB    a line for each change, until its report is there; of several runs of a name, the newest\n"
      "  retry JOB    have its report made again\n"
      "  delete JOB   with its traces and reports; needs a token with the scope admin\n"
      "  export JOB   its report as files, with those of its captures\n"
      "  nodes        nodes that were the cause of waiting in several jobs\n"
      "  history JOB  the runs of its name: step time, efficiency, waiting, gain, change\n"
      "JOB is a name, or a later run of it: a second run under a used name is run1~2. A name alone is its first run.\n"
      "Examples:\n"
      "  skewscope jobs list --to https://head:7475 --token-file token --state receiving\n"
      "  skewscope jobs export run1 -o run1 --traces --to https://head:7475 --token-file token\n"
      "  skewscope jobs watch run1 --fail-on 'exposed_wait_share>10%' --junit rules.xml --to https://head:7475 "
      "--token-file token\n"
      "show and watch judge the job's report by --fail-on and --strict as `skewscope report` does, with its exit "
      "codes.\n"
      "Exit code 1: the report of a job that is watched has failed, or a --fail-on holds; 4: without a rule, it is "
      "partial; or a file could not be exported.");
}

ExitCode run_jobs(const JobsCommandOptions& options) {
  const auto* const action =
      std::find_if(kActions.begin(), kActions.end(), [&](const Action& one) { return one.name == options.action; });
  if (action->of_job && !is_job(options.job)) {
    return fail({ErrorKind::usage, options.job.empty() ? options.action + " needs the name of a job"
                                                       : options.job + " is not a job name"});
  }
  if (!action->of_job && !options.job.empty()) return fail({ErrorKind::usage, options.action + " takes no job"});
  const bool judges = options.action == "show" || options.action == "watch";
  if (options.judged.asks() && !judges) return fail({ErrorKind::usage, "only show and watch judge a report"});
  if (const auto known = check_before<JobReport>(options.judged, {}); !known.ok()) return fail(known.error());
  Result<GathererClient> client = GathererClient::make(options.gatherer);
  if (!client.ok()) return fail(client.error());
  Jobs jobs(options, client.value());
  return (jobs.*action->run)();
}

}  // namespace skewscope::cli
