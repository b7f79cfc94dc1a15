#include "message.h"
#include "src/gather/kept/aging.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace skewscope::gather {
namespace {

using nlohmann::json;

constexpr size_t kLateRanksTold = 4;

json text_or_null(const std::string& text) { return text.empty() ? json() : json(text); }
json share_or_null(double share) { return share < 0 ? json() : json(share); }
json index_or_null(int32_t index) { return index < 0 ? json() : json(index); }

json late_in(const ReportOutcome& outcome) {
  json late = json::array();
  for (size_t i = 0; i < std::min(outcome.causes.size(), kLateRanksTold); ++i) {
    const ReportOutcome::Cause& cause = outcome.causes[i];
    late.push_back({{"part", to_string(cause.part)},
                    {"rank", index_or_null(cause.rank)},
                    {"node", text_or_null(cause.host)},
                    {"share", share_or_null(cause.share)},
                    {"why", text_or_null(cause.why)}});
  }
  return late;
}

}  // namespace

const char* to_string(ReportEnded::Kind kind) {
  switch (kind) {
    case ReportEnded::Kind::hang:
      return "hang";
    case ReportEnded::Kind::failed:
      return "failed";
    case ReportEnded::Kind::report:
      break;
  }
  return "report";
}

std::optional<ReportEnded> report_that_ended(const JobState& job) {
  ReportEnded ended;
  ended.job = job;
  const bool failed = job.report == ReportState::failed;
  ended.generation = failed ? job.ended_generation : job.report_generation;
  if (ended.generation == 0) return std::nullopt;
  ended.kind = failed ? ReportEnded::Kind::failed : job.dumps > 0 ? ReportEnded::Kind::hang : ReportEnded::Kind::report;
  return ended;
}

// A log that grows has its report made every minute: while its job runs, the first one is told of.
bool is_wanted(const ReportEnded& ended, const GatherWebhook& webhook) {
  const bool asked = std::find(webhook.on.begin(), webhook.on.end(), to_string(ended.kind)) != webhook.on.end();
  if (!asked || ended.kind != ReportEnded::Kind::report) return asked;
  if (ended.job.grows && !ended.job.ended && ended.generation > 1) return false;
  return webhook.least_gain == 0 || (ended.outcome && ended.outcome->gain >= webhook.least_gain);
}

std::string message_of(const ReportEnded& ended, const std::string& base) {
  const JobState& job = ended.job;
  const ReportOutcome outcome = ended.outcome.value_or(ReportOutcome());
  const bool made = ended.kind != ReportEnded::Kind::failed;
  const std::string api = base + "/v1/jobs/" + job.name;
  const bool hangs = ended.kind == ReportEnded::Kind::hang;
  json data = {{"job", job.name},
               {"owner", text_or_null(ended.owner)},
               {"owner_uid", job.owner_uid},
               {"created", utc_text(job.created)},
               {"generation", ended.generation},
               {"partial", made && job.report == ReportState::partial},
               {"ranks", ended.outcome ? int64_t{ended.outcome->ranks} : job.arrived},
               {"expected_ranks", job.expected == 0 ? json() : json(files_expected(job))},
               {"verdict", text_or_null(hangs  ? ended.hang
                                        : made ? ended.verdict
                                               : "")},
               {"waiting", share_or_null(made ? outcome.waiting : -1)},
               {"gain", share_or_null(made ? outcome.gain : -1)},
               {"loss", text_or_null(made ? outcome.loss : "")},
               {"late", made ? late_in(outcome) : json::array()},
               {"page", base + "/jobs/" + job.name},
               {"report", api + (hangs  ? "/hang.html"
                                 : made ? "/report.html"
                                        : "/report.log")}};
  if (!made) data["exit_code"] = job.report_exit_code;
  const json message = {
      {"type", std::string("job.") + to_string(ended.kind)}, {"timestamp", utc_text(job.reported_at)}, {"data", data}};
  return message.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string id_of(const ReportEnded& ended, const std::string& base) {
  const std::string what = fmt::format("{}\n{}\n{}\n{}", base, ended.job.name,
                                       ended.job.created.time_since_epoch().count(), ended.generation);
  return "msg_" + hex(sha256(what)).substr(0, 32);
}

}  // namespace skewscope::gather
