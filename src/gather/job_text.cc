#include "job_text.h"

#include <nlohmann/json.hpp>

#include "skewscope/protocol/names.h"

namespace skewscope::gather {
namespace {

using nlohmann::json;

constexpr int64_t kLongestTime = int64_t{10} * 365 * 24 * 3600;  // s

json as_json(const JobState& job) {
  return {{"job", job.name},
          {"state", state_of(job)},
          {"arrived", job.arrived},
          {"expected", job.expected * job.captures},
          {"missing_ranks", job.missing_ranks},
          {"captures", job.captures},
          {"bytes", job.bytes},
          {"open_uploads", job.open_uploads},
          {"ended", job.ended},
          {"conflict", job.conflict},
          {"report_state", name_of(job.report)},
          {"generation", job.report_generation},
          {"epoch", job.epoch},
          {"report_exit_code", job.report_exit_code}};
}

// A whole number from 1 to `most`.
std::optional<int64_t> number_in(const json& value, int64_t most) {
  if (!value.is_number_unsigned() || value > static_cast<uint64_t>(most) || value == 0) return std::nullopt;
  return value.get<int64_t>();
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

const char* state_of(const JobState& job) {
  if (job.expected > 0 && job.arrived >= job.expected * job.captures) return "complete";
  return job.ended ? "ended" : "receiving";
}

std::string job_json(const JobState& job) { return as_json(job).dump() + "\n"; }

std::string job_list_json(const std::vector<JobState>& jobs, const std::string& next) {
  json list = {{"jobs", json::array()}};
  for (const JobState& job : jobs) list["jobs"].push_back(as_json(job));
  if (!next.empty()) list["next"] = next;
  return list.dump() + "\n";
}

ParsedSettings parse_job_settings(const std::string& text) {
  const json document = text.empty() ? json::object() : json::parse(text, nullptr, false);
  if (!document.is_object()) return {{}, "the body is no JSON object"};
  ParsedSettings parsed;
  JobSettings& settings = parsed.settings;
  for (const auto& [key, value] : document.items()) {
    const bool counts_ranks = key == "world_size", counts_captures = key == "captures";
    const auto number = number_in(value, counts_ranks ? kMostRanks : counts_captures ? kMostCaptures : kLongestTime);
    if (counts_ranks) {
      if (!number) return {{}, "world_size is no number of ranks"};
      settings.world_size = static_cast<int>(*number);
    } else if (counts_captures) {
      if (!number) return {{}, "captures is no number of captures"};
      settings.captures = static_cast<int>(*number);
    } else if (key == "deadline_s") {
      if (!number) return {{}, "deadline_s is no number of seconds"};
      settings.deadline = std::chrono::seconds(*number);
    } else if (key == "retention_s") {
      if (!number) return {{}, "retention_s is no number of seconds"};
      settings.retention = std::chrono::seconds(*number);
    } else {
      return {{}, "a key other than world_size, captures, deadline_s, retention_s"};
    }
  }
  return parsed;
}

}  // namespace skewscope::gather
