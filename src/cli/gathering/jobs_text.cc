#include "jobs_text.h"

#include <fmt/format.h>
#include <pwd.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "skewscope/base/human_units.h"
#include "skewscope/base/printable.h"
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

// Every cell is ASCII or counts a byte a column; the last one is cut.
std::string table_of(const std::vector<Cells>& rows, size_t columns) {
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const Cells& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  const size_t before = std::accumulate(widths.begin(), widths.end() - 1, 2 * (widths.size() - 1));
  const size_t last = columns > before + 8 ? columns - before : 8;
  std::string text;
  for (const Cells& row : rows) {
    std::string line;
    for (size_t i = 0; i + 1 < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    line += row.back().size() <= last ? row.back() : printable(row.back().substr(0, last - 3)) + "...";
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
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
  const auto missing = job.value("missing_ranks", std::vector<int32_t>());
  if (!missing.empty()) text += ", missing " + human_ranks(missing);
  return text + "; report " + field_text(job, "report_state");
}

std::string one_line(const Document& job) {
  const std::string verdict = field_text(job, "verdict");
  return fmt::format("{}: {}{}\n", field_text(job, "job"), state_line(job), verdict.empty() ? "" : ". " + verdict);
}

std::string job_text(const Document& job, const std::string& base) {
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
  std::vector<Cells> rows = {{"CREATED", "STEP", "EFFIC.", "WAITING", "GAIN", "CHANGE", "JOB"}};
  for (const Document& run : runs) {
    const auto step = number_in(run, "step_ns"), change = number_in(run, "step_change");
    rows.push_back({minute_of(field_text(run, "created")), step ? human_duration(static_cast<int64_t>(*step)) : "-",
                    percent_in(run, "efficiency"), percent_in(run, "waiting"), percent_in(run, "gain"),
                    change ? fmt::format("{:+.0f} %", *change * 100) : "-", field_text(run, "job")});
  }
  return table_of(rows, columns);
}

}  // namespace skewscope::cli
