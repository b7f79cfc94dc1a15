// Stage: a correlated job -> JobReport -> files and terminal text.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "skewscope/base/result.h"
#include "skewscope/model/advice.h"
#include "skewscope/model/blame.h"
#include "skewscope/model/clock_model.h"
#include "skewscope/model/compare_report.h"
#include "skewscope/model/correlated_job.h"
#include "skewscope/model/decomposition.h"
#include "skewscope/model/job_report.h"
#include "skewscope/model/operator_tables.h"
#include "skewscope/model/rank_figures.h"
#include "skewscope/model/rank_summary.h"
#include "skewscope/model/rank_tables.h"
#include "skewscope/model/scale_report.h"

namespace skewscope {

// Gathers what the stages found into the shape of report.json. Pure; equal for any thread count. `figures`: row =
// trace, or none where they were not asked for.
JobReport build_report(const JobTrace& job, const InstanceTable& instances, const ClockModel& clocks,
                       const Decomposition& decomposition, const Blame& blame,
                       const std::vector<RankSummary>& summaries, const std::vector<RankFigures>& figures = {});

// The trend is that of the job's logs, which go on where its traces end; none where they are too short for one.
void set_logged_trend(const CorrelatedJob& logged, JobReport& report);

// A finding of a report in the one place in time that shows it most.
struct TimedFinding {
  std::string finding;  // straggler, straggler-chain, a loss (exposed-transfer, …), the code of a diagnostic
  std::string words;    // what it says
  int64_t start_ns = 0, end_ns = 0;  // of the calls that show it, since job.window_start_ns, as in the report
  std::vector<int32_t> ranks;        // of these calls; sorted
  int32_t instance = -1;             // whose calls they are; -1: of none, or of several
};

// Stragglers first, in the report's order, then losses, then diagnostics; findings about no time (a file, a rank's
// identity) are left out.
std::vector<TimedFinding> timed_findings(const JobReport& report);

// Mean over the steps that most ranks recorded, as compare and scale have it; 0 without steps.
int64_t mean_step_ns(const JobReport& report);

// Names the link of each communicator and its peak, where the hosts and devices of all members are known. Within a node
// it is the device's, where configs/devices.json says that the GPUs of a node are joined by one; between nodes the
// network, where the caller tells its peak per GPU (negative: not given): a node has as much as the GPUs it takes part
// with.
void name_links(JobReport& report, double network_gb_per_s);

// What nccl-tests printed: a row per size, out of place. Errors: usage, when the file cannot be read or holds no row.
Result<std::vector<JobReport::BaselinePoint>> read_baseline(const std::string& path);

struct ReportStamp {
  std::string tool_version, command, created_utc;  // the only parts of report.json that differ between equal runs
};

// report.json (schema skewscope.report/1, configs/report.schema.json) as text.
std::string to_json(const JobReport& report, const ReportStamp& stamp);

// The document about several jobs, none of which is reported: {"schema": "skewscope.jobs_found/1", ..., "jobs_found":
// rows as in report.json}.
std::string jobs_found_json(const std::vector<FoundJob>& jobs, const std::string& tool_version);

// The width of a summary in a file, or anywhere that has no width of its own.
constexpr size_t kSummaryColumns = 80;

// The terminal summary, about 30 lines of at most `columns` columns: where the time went and what to fix first, who and
// why, next step, confidence; the job; who is waited for; collectives with most waiting; warnings; path. `output` =
// report directory for the last line, "" for none. `color`: ANSI colours.
std::string terminal_summary(const JobReport& report, const std::string& output, bool color,
                             size_t columns = kSummaryColumns);

// A summary that names a report directory, as it is of the same report in the directory `output`.
std::string summary_elsewhere(const std::string& summary, const std::string& output, size_t columns = kSummaryColumns);

struct WriteOptions {
  std::string directory;
  bool force = false;                // replace an existing directory, whatever report it holds
  std::vector<std::string> formats;  // of json, csv, sqlite, html, xlsx, prometheus; empty: the first four
  // Called with where the report lies whole, before it takes its name: nobody else changes it there.
  std::function<void(const std::string& whole)> before_named = nullptr;
};

// What write_report would refuse before writing: an unknown format (usage), an existing directory that is neither empty
// nor a whole report of this program, or with `force` one that is none of its reports at all (output). For callers that
// want to know before the work, not after.
Result<Done> check_output(const WriteOptions& options);

// Where write_report of this process works until the report is whole; whoever interrupts it removes this.
std::string partial_directory(const std::string& directory);

// Writes the report directory (README.md): into a temporary sibling first, COMPLETE last, then renamed. A whole report
// that lies there is replaced. Errors: output, as check_output, and when it cannot be written; nothing half-written
// stays behind.
Result<Done> write_report(const JobReport& report, const ReportStamp& stamp, const WriteOptions& options);

// A file of a report directory: its name below it.
struct ReportFile {
  std::string name;
  uintmax_t bytes = 0;
};
// By name. Empty where there is no such directory.
std::vector<ReportFile> files_of_report(const std::string& directory);

// The report directory `from` again, as if the report were written again, elsewhere and with another stamp. `from`
// stays. Errors: output, as write_report, and where one of `files` is not there as it is said to be, or a document does
// not carry the stamp `old`. A spreadsheet keeps the time it was made.
Result<Done> copy_report(const std::string& from, const std::vector<ReportFile>& files, const ReportStamp& old,
                         const ReportStamp& stamp, const WriteOptions& options);

// A report directory or a report.json, read back for what compares runs: report.json but for clocks, matching and
// the replay; rank_steps, collective_steps and rank_statistics from tables/*.csv where they are there, else empty.
// Calls are left out. Errors: no_input, where it holds no whole report with a report.json.
Result<JobReport> load_report(const std::string& path);
// A report.json as it was written, to be judged: what the names of rules ask for, and the document, which their paths
// mean. Errors: no_input, where it is none; `from`: where it comes from.
struct WrittenReport : JobReport {
  std::string document;
};
Result<WrittenReport> parse_report(const std::string& document, const std::string& from);
// Whether `path` is a directory that `skewscope report` wrote, or a report.json by any name.
bool is_report(const std::string& path);

// The same three for several runs of a job; the directory holds scale.json in the place of report.json.
std::string to_json(const ScaleReport& report, const ReportStamp& stamp);
std::string terminal_summary(const ScaleReport& report, const std::string& output, bool color,
                             size_t columns = kSummaryColumns);
Result<Done> write_scale(const ScaleReport& report, const ReportStamp& stamp, const WriteOptions& options);

// The same three for two runs; the directory holds compare.json.
std::string to_json(const CompareReport& report, const ReportStamp& stamp);
std::string terminal_summary(const CompareReport& report, const std::string& output, bool color,
                             size_t columns = kSummaryColumns);
Result<Done> write_compare(const CompareReport& report, const ReportStamp& stamp, const WriteOptions& options);

// What `skewscope rank` says of one trace.
struct RankReport {
  std::string file, host, device_name;
  int32_t rank = -1, world_size = 0;
  std::string rank_source;
  RankTables tables;
  OperatorTables operators;  // empty where the details of rows were not read
  std::vector<Advice> advice;
  Findings findings;
};

struct RankTextOptions {
  std::vector<std::string> sections;  // of rank_sections(); empty: all but call stacks
  size_t rows = 0;                    // of each table; 0: as many as it has by itself
  size_t columns = 80;                // of the terminal
  bool rules = false;                 // say which rule made a finding
};
// What the text of a rank is made of, in its order.
std::vector<std::string> rank_sections();
// Verdict first; tables show their largest rows.
std::string rank_text(const RankReport& report, const RankTextOptions& options = {});
// Schema skewscope.rank/1, configs/rank.schema.json.
std::string rank_json(const RankReport& report, const std::string& tool_version);
// The same directory as write_report's with rank.json in the place of report.json; the same errors.
Result<Done> write_rank(const RankReport& report, const std::string& tool_version, const WriteOptions& options);

// What a rule of --fail-on says of one report.
struct RuleOutcome {
  // Unknown: what the rule asks for is not determined here, or there is no such row; such a rule does not fail.
  enum class Verdict : uint8_t { passed, failed, unknown } verdict = Verdict::unknown;
  std::string rule;   // as it was given
  std::string words;  // "wait_share = 96.0 % (limit 20 %)"; of an unknown one, why
};

// --fail-on EXPR: METRIC OP NUMBER[%], e.g. "wait_share>20%", "unmatched>0"; METRIC may be the path of any number of
// the JSON document (src/report/json/json_path.h), e.g. "ranks[*].idle_ns>1e6". It fails where any number that it means
// is so; the words give the one farthest out. Error usage for an unknown metric or form.
Result<RuleOutcome> check_rule(const JobReport& report, const std::string& expression);
Result<RuleOutcome> check_rule(const WrittenReport& report, const std::string& expression);
Result<RuleOutcome> check_rule(const ScaleReport& report, const std::string& expression);
Result<RuleOutcome> check_rule(const CompareReport& report, const std::string& expression);

}  // namespace skewscope
