#include "job_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "skewscope/protocol/names.h"
#include "src/gather/kept/aging.h"

namespace skewscope::gather {
namespace {

using nlohmann::json;

constexpr size_t kMostNodes = 1 << 16;
constexpr int64_t kLongestTime = int64_t{10} * 365 * 24 * 3600;  // s

json missing_json(const JobState& job) {
  json out = json::array();
  for (const MissingRanks& missing : job.missing) {
    out.push_back({{"capture", missing.capture}, {"ranks", missing.ranks}});
  }
  return out;
}

json as_json(const JobState& job) {
  return {{"job", job.name},
          {"state", state_of(job)},
          {"arrived", job.arrived},
          {"dumps", job.dumps},
          {"expected", files_expected(job)},
          {"missing_ranks", job.missing_ranks},
          {"missing", missing_json(job)},
          {"captures", job.captures},
          {"capture_numbers", job.capture_numbers},
          {"created", utc_text(job.created)},
          {"bytes", job.bytes},
          {"open_uploads", job.open_uploads},
          {"ended", job.ended},
          {"conflict", job.conflict},
          {"report_state", name_of(job.report)},
          {"report_notes", report_notes(job)},
          {"report_bytes", job.report_bytes},
          {"owner_uid", job.owner_uid},
          {"generation", job.report_generation},
          {"epoch", job.epoch},
          {"report_exit_code", job.report_exit_code}};
}

json with_verdict(const JobState& job, const std::string& verdict) {
  json out = as_json(job);
  if (!verdict.empty()) out["verdict"] = verdict;
  return out;
}

// A whole number from 1 to `most`.
std::optional<int64_t> number_in(const json& value, int64_t most) {
  if (!value.is_number_unsigned() || value > static_cast<uint64_t>(most) || value == 0) return std::nullopt;
  return value.get<int64_t>();
}

// What is wrong with it; null: nothing.
const char* read_setting(const std::string& key, const json& value, JobSettings& settings) {
  if (key == "world_size") {
    const auto ranks = number_in(value, kMostRanks);
    if (!ranks) return "world_size is no number of ranks";
    settings.world_size = static_cast<int>(*ranks);
  } else if (key == "captures") {
    const auto captures = number_in(value, kMostCaptures);
    if (!captures) return "captures is no number of captures";
    settings.captures = static_cast<int>(*captures);
  } else if (key == "deadline_s" || key == "retention_s") {
    const auto time = number_in(value, kLongestTime);
    if (!time) return "deadline_s or retention_s is no number of seconds";
    (key == "deadline_s" ? settings.deadline : settings.retention) = std::chrono::seconds(*time);
  } else {
    return "a key other than world_size, captures, deadline_s, retention_s";
  }
  return nullptr;
}

const char* read_registered(const std::string& key, const json& value, JobSettings& settings) {
  if (key == "owner_uid") {
    if (!value.is_number_unsigned() || value > UINT32_MAX) return "owner_uid is no uid";
    settings.owner_uid = value.get<uint32_t>();
    return nullptr;
  }
  if (key != "nodes") return read_setting(key, value, settings);
  if (!value.is_array() || value.size() > kMostNodes) return "nodes is no list of names";
  for (const json& node : value) {
    if (!node.is_string() || !is_name(node.get<std::string>())) return "nodes is no list of names";
    settings.nodes.push_back(node.get<std::string>());
  }
  return nullptr;
}

}  // namespace

const char* name_of(ReportState state) {
  switch (state) {
    case ReportState::none:
      return "none";
    case ReportState::waiting:
      return "waiting";
    case ReportState::running:
      return "running";
    case ReportState::complete:
      return "complete";
    case ReportState::partial:
      return "partial";
    case ReportState::failed:
      return "failed";
  }
  return "none";
}

std::vector<std::string> report_notes(const JobState& job) {
  std::vector<std::string> notes;
  const bool newest_is_known = job.arrivals <= job.reported_arrivals;
  if (job.report_waits_for_disk) notes.push_back("A report waits until the disk has room for it.");
  if (job.mixed && newest_is_known) {
    notes.push_back("Some ranks were sent again and others were not: the report may mix two runs.");
  } else if (job.mixed) {
    notes.push_back("Some ranks were sent again, others not yet: the next report waits for them, or for its deadline.");
  }
  if (job.report == ReportState::failed && job.report_exit_code == kReportTooLarge) {
    notes.push_back("The report was too large: see --largest-report and the job's quota.");
  }
  if (job.report != ReportState::failed && job.report_exit_code == kReportInPart) {
    notes.push_back("The report leaves out files, or parts of files: its log says which and why.");
  }
  return notes;
}

const char* state_of(const JobState& job) {
  if (is_whole(job)) return "complete";
  return job.ended ? "ended" : "receiving";
}

std::string job_json(const JobState& job, const std::string& verdict, const std::vector<ReportedCapture>& captures,
                     const std::vector<std::string>& runs) {
  json out = with_verdict(job, verdict);
  if (!captures.empty()) out["capture_reports"] = captures_json(captures);
  if (runs.size() > 1) out["runs"] = runs;
  return out.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string found_jobs_json(const std::vector<JobState>& jobs, const std::vector<std::string>& verdicts, size_t found,
                            size_t pages) {
  json list = {{"jobs", json::array()}, {"found", found}, {"pages", pages}};
  for (size_t i = 0; i < jobs.size(); ++i) list["jobs"].push_back(with_verdict(jobs[i], verdicts[i]));
  return list.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string job_list_json(const std::vector<JobState>& jobs, const std::string& next) {
  json list = {{"jobs", json::array()}};
  for (const JobState& job : jobs) list["jobs"].push_back(as_json(job));
  if (!next.empty()) list["next"] = next;
  return list.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

ParsedSettings parse_job_settings(const std::string& text, bool registry) {
  const json document = text.empty() ? json::object() : json::parse(text, nullptr, false);
  if (!document.is_object()) return {{}, "the body is no JSON object"};
  ParsedSettings parsed;
  for (const auto& [key, value] : document.items()) {
    if (value.is_null()) continue;
    parsed.problem =
        registry ? read_registered(key, value, parsed.settings) : read_setting(key, value, parsed.settings);
    if (parsed.problem != nullptr) return parsed;
  }
  return parsed;
}

}  // namespace skewscope::gather
