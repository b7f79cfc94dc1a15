#include "jobs_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pwd.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "skewscope/base/human_units.h"
#include "skewscope/base/printable.h"
#include "skewscope/base/text_columns.h"
#include "skewscope/protocol/names.h"

namespace skewscope::cli {
namespace {

using Document = nlohmann::json;
using Cells = std::vector<std::string>;

std::optional<double> number_in(const Document& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

int64_t whole_in(const Document& object, const char* key) {
  return static_cast<int64_t>(number_in(object, key).value_or(0));
}

std::string percent_in(const Document& object, const char* key) {
  const auto share = number_in(object, key);
  return share ? fmt::format("{:.0f} %", *share * 100) : "-";
}

std::string user_of(const Document& job) {
  const int64_t uid = whole_in(job, "owner_uid");
  std::vector<char> text(16 << 10);
  passwd entry{};
  passwd* found = nullptr;
  getpwuid_r(static_cast<uid_t>(uid), &entry, text.data(), text.size(), &found);
  return found == nullptr ? std::to_string(uid) : printable(entry.pw_name);
}

// "2026-11-29T10:00:00Z" to the minute.
std::string minute_of(const std::string& moment) {
  std::string text = moment.substr(0, sizeof "2026-11-29T10:00" - 1);
  std::replace(text.begin(), text.end(), 'T', ' ');
  return text;
}

std::string ranks_of(const Document& job) {
  const int64_t expected = whole_in(job, "expected");
  return fmt::format("{}/{}", whole_in(job, "arrived"), expected > 0 ? std::to_string(expected) : "?");
}

// Within `columns` of the terminal: the last cells are cut, to eight columns at least.
std::string table_of(const std::vector<Cells>& rows, size_t columns) {
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const Cells& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], text_width(row[i]));
  }
  const size_t before = std::accumulate(widths.begin(), widths.end() - 1, 2 * (widths.size() - 1));
  const size_t last = columns > before + 8 ? columns - before : 8;
  std::string text;
  for (const Cells& row : rows) {
    std::string line;
    for (size_t i = 0; i + 1 < row.size(); ++i) line += pad(row[i], widths[i]) + "  ";
    line += fit(row.back(), last);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string captures_table(const Document& captures, size_t columns) {
  std::vector<Cells> rows = {{"CAPTURE", "RECORDED", "RANKS", "STEPS", "STEP", "WAITING", "VERDICT"}};
  for (const Document& capture : captures) {
    const auto step = number_in(capture, "step_ns");
    rows.push_back({std::to_string(whole_in(capture, "capture")), minute_of(field_text(capture, "recorded")),
                    std::to_string(whole_in(capture, "ranks")), std::to_string(whole_in(capture, "steps")),
                    step ? human_duration(static_cast<int64_t>(*step)) : "-", percent_in(capture, "waiting"),
                    field_text(capture, "verdict")});
  }
  return table_of(rows, columns);
}

}  // namespace

std::string field_text(const Document& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? printable(found->get<std::string>()) : "";
}

std::string newest_run(const Document& job) {
  const Document runs = job.value("runs", Document::array());
  const bool known =
      runs.is_array() && !runs.empty() && runs.back().is_string() && is_job(runs.back().get<std::string>());
  return known ? runs.back().get<std::string>() : field_text(job, "job");
}

std::string jobs_table(const Document& jobs, size_t columns) {
  constexpr size_t kWide = 120;
  const bool wide = columns >= kWide;
  std::vector<Cells> rows = {wide ? Cells{"JOB", "OWNER", "CREATED", "STATE", "RANKS", "REPORT", "VERDICT"}
                                  : Cells{"JOB", "STATE", "RANKS", "REPORT", "VERDICT"}};
  for (const Document& job : jobs) {
    Cells row = {field_text(job, "job")};
    if (wide) row.insert(row.end(), {user_of(job), minute_of(field_text(job, "created"))});
    row.insert(row.end(),
               {field_text(job, "state"), ranks_of(job), field_text(job, "report_state"), field_text(job, "verdict")});
    rows.push_back(std::move(row));
  }
  return table_of(rows, columns);
}

std::string state_line(const Document& job) {
  const int64_t arrived = whole_in(job, "arrived"), expected = whole_in(job, "expected");
  std::string text = field_text(job, "state") + ": ";
  text += expected > 0 ? fmt::format("{} of {} ranks", arrived, expected)
                       : fmt::format("{} ranks, of an unknown number", arrived);
  if (const int64_t captures = whole_in(job, "captures"); captures > 1)
    text += fmt::format(" of {} captures", captures);
  const auto missing = job.value("missing_ranks", std::vector<int32_t>());
  if (!missing.empty()) text += ", missing " + human_ranks(missing);
  return text + "; report " + field_text(job, "report_state");
}

std::string one_line(const Document& job) {
  const std::string verdict = field_text(job, "verdict");
  return fmt::format("{}: {}{}\n", field_text(job, "job"), state_line(job), verdict.empty() ? "" : ". " + verdict);
}

std::string job_text(const Document& job, const std::string& base, size_t columns) {
  const std::string name = field_text(job, "job");
  std::string text =
      fmt::format("Job      {}, of {}, since {} UTC\n", name, user_of(job), minute_of(field_text(job, "created")));
  if (const std::string newest = newest_run(job); newest != name) {
    text += fmt::format("Runs     {}; the newest is {}\n", job.at("runs").size(), newest);
  }
  text += fmt::format("State    {}\n", state_line(job));
  text += fmt::format("Traces   {}\n", human_bytes(whole_in(job, "bytes")));
  if (const std::string verdict = field_text(job, "verdict"); !verdict.empty()) text += "Verdict  " + verdict + "\n";
  for (const Document& note : job.value("report_notes", Document::array())) {
    if (note.is_string()) text += "Note     " + printable(note.get<std::string>()) + "\n";
  }
  if (const Document captures = job.value("capture_reports", Document::array()); !captures.empty()) {
    text += "\n" + captures_table(captures, columns) + "\n";
  }
  text += fmt::format("Page     {}/jobs/{}\n", base, name);
  if (whole_in(job, "generation") > 0) text += fmt::format("Report   {}/v1/jobs/{}/report.html\n", base, name);
  return text;
}

std::string nodes_text(const Document& nodes, size_t columns) {
  if (nodes.empty()) return "No node was the cause of waiting in two or more of its last eight jobs.\n";
  std::string text;
  std::vector<Cells> rows = {{"NODE", "PART", "JOBS", "SINCE", "AT MOST", "LAST JOB"}};
  for (const Document& node : nodes) {
    text += field_text(node, "sentence") + "\n";
    const Document jobs = node.value("jobs", Document::array());
    rows.push_back({field_text(node, "node"), field_text(node, "part"),
                    fmt::format("{}/{}", whole_in(node, "caused_jobs"), whole_in(node, "recent_jobs")),
                    minute_of(field_text(node, "since")), percent_in(node, "worst_gain"),
                    !jobs.empty() && jobs.front().is_string() ? printable(jobs.front().get<std::string>()) : "-"});
  }
  return text + "\n" + table_of(rows, columns);
}

std::string history_table(const Document& runs, size_t columns) {
  std::vector<Cells> rows = {{"CREATED", "STEP", "EFFIC.", "WAITING", "GAIN", "JOB", "CHANGE"}};
  for (const Document& run : runs) {
    const auto step = number_in(run, "step_ns"), change = number_in(run, "step_change");
    std::vector<std::string> changes;
    if (change) changes.push_back(fmt::format("step {:+.0f} %", *change * 100));
    for (const Document& text : run.value("software_changes", Document::array())) {
      if (text.is_string()) changes.push_back(printable(text.get<std::string>()));
    }
    rows.push_back({minute_of(field_text(run, "created")), step ? human_duration(static_cast<int64_t>(*step)) : "-",
                    percent_in(run, "efficiency"), percent_in(run, "waiting"), percent_in(run, "gain"),
                    field_text(run, "job"), changes.empty() ? "-" : fmt::format("{}", fmt::join(changes, ", "))});
  }
  return table_of(rows, columns);
}

}  // namespace skewscope::cli
