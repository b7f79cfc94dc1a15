#include "history_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "src/gather/history/compare_runs.h"
#include "src/gather/history/trend.h"
#include "src/gather/kept/aging.h"

namespace skewscope::gather {
namespace {

using nlohmann::json;

constexpr size_t kMostNodesTold = 1000, kMostNodesOfMetrics = 100, kUsualRuns = 100;

json known(double share) { return share < 0 ? json() : json(share); }

json as_json(const NodeRecord& record) {
  return {{"node", record.node},
          {"part", to_string(record.part)},
          {"recent_jobs", record.recent},
          {"caused_jobs", record.caused},
          {"caused_ever", record.caused_ever},
          {"since", utc_text(record.since)},
          {"since_job", record.since_job},
          {"last", utc_text(record.last)},
          {"jobs", record.jobs},
          {"owner_uids", record.owners},
          {"devices", record.devices},
          {"worst_gain", record.worst},
          {"sentence", sentence_of(record)}};
}

// `older`: the run before it; null: there is none.
json as_json(const Run& run, const double* change, const Run* older) {
  const ReportOutcome& outcome = run.outcome;
  json causes = json::array();
  for (const ReportOutcome::Cause& cause : outcome.causes) {
    causes.push_back({{"part", to_string(cause.part)},
                      {"node", cause.host},
                      {"rank", cause.rank < 0 ? json() : json(cause.rank)},
                      {"device", cause.device < 0 ? json() : json(cause.device)},
                      {"share", known(cause.share)},
                      {"why", cause.why.empty() ? json() : json(cause.why)}});
  }
  json groups = json::array();
  for (const ReportOutcome::Group& group : outcome.groups)
    groups.push_back({{"group", group.name}, {"exposed_share", group.share}});
  return {{"job", run.job},
          {"owner_uid", run.owner_uid},
          {"created", utc_text(run.created)},
          {"reported", utc_text(run.reported)},
          {"ranks", outcome.ranks},
          {"nodes", outcome.hosts.size()},
          {"gpu", outcome.gpu.empty() ? json() : json(outcome.gpu)},
          {"steps", outcome.steps},
          {"step_ns", outcome.step_ns == 0 ? json() : json(outcome.step_ns)},
          {"efficiency", known(outcome.efficiency)},
          {"waiting", known(outcome.waiting)},
          {"gain", known(outcome.gain)},
          {"loss", outcome.loss.empty() ? json() : json(outcome.loss)},
          {"verdict", run.verdict},
          {"causes", causes},
          {"groups", groups},
          {"software", outcome.software},
          {"step_change", change == nullptr ? json() : json(*change)},
          {"software_changes", older == nullptr ? std::vector<std::string>() : software_changes(*older, run)}};
}

std::string label_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string sentence_of(const NodeRecord& record) {
  const char* const who = record.part == ReportOutcome::Part::link ? "A link of " : "";
  const std::string day = utc_text(record.since).substr(0, sizeof "2026-11-29" - 1);
  return fmt::format("{}{} was the cause in {} of its last {} jobs, since {} ({}).", who, record.node, record.caused,
                     record.recent, record.since_job, day);
}

std::map<size_t, double> changes_of_steps(const std::vector<Run>& runs) {
  std::vector<double> steps;
  std::vector<size_t> places;
  for (size_t i = runs.size(); i-- > 0;) {
    if (runs[i].outcome.step_ns == 0) continue;
    steps.push_back(static_cast<double>(runs[i].outcome.step_ns));
    places.push_back(i);
  }
  std::map<size_t, double> changes;
  for (const TrendChange& change : changes_in(steps)) changes[places[change.at]] = change.relative;
  return changes;
}

std::string nodes_json(const History& history) {
  json list = json::array();
  for (const NodeRecord& record : history.nodes(kMostNodesTold)) list.push_back(as_json(record));
  return json({{"nodes", list}}).dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

Response runs_of_series(const Store& store, const History& history, const Call& call) {
  std::string job;
  size_t most = kUsualRuns;
  for (const auto& [key, value] : call.request.query) {
    if (key == "job") job = value;
    if (key == "limit") most = std::stoul(value);
  }
  if (job.empty()) return problem(400, "the query needs job=NAME");
  const std::string series = series_of(job);
  const std::vector<Run> runs = readable_runs(store, history, call, series, most);
  const std::map<size_t, double> changes = changes_of_steps(runs);
  const std::optional<GroupRecord> group = costliest_group(runs);
  json list = json::array();
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto change = changes.find(i);
    list.push_back(as_json(runs[i], change == changes.end() ? nullptr : &change->second,
                           i + 1 < runs.size() ? &runs[i + 1] : nullptr));
  }
  return document(
      200, "application/json",
      json({{"series", series}, {"runs", list}, {"costliest_group", group ? json(sentence_of(*group)) : json()}})
              .dump(-1, ' ', false, json::error_handler_t::replace) +
          "\n");
}

std::string node_metrics(const History& history) {
  std::string jobs, caused;
  for (const NodeRecord& record : history.nodes(kMostNodesOfMetrics)) {
    const std::string labels =
        fmt::format("{{node=\"{}\",part=\"{}\"}}", label_text(record.node), to_string(record.part));
    jobs += fmt::format("skewscope_node_jobs{} {}\n", labels, record.recent);
    caused += fmt::format("skewscope_node_caused_jobs{} {}\n", labels, record.caused);
  }
  if (jobs.empty()) return "";
  return "# HELP skewscope_node_jobs Jobs of late in which the node took part, eight at most\n"
         "# TYPE skewscope_node_jobs gauge\n" +
         jobs +
         "# HELP skewscope_node_caused_jobs Those of them in which it was the cause of waiting\n"
         "# TYPE skewscope_node_caused_jobs gauge\n" +
         caused;
}

std::string webhook_metrics(const History& history) {
  const Deliveries::Figures figures = history.deliveries().figures();
  std::string out;
  const auto add = [&out](const char* name, const char* type, const char* help, uint64_t value) {
    out += fmt::format(
        "# HELP skewscope_gather_webhook_{0} {1}\n# TYPE skewscope_gather_webhook_{0} {2}\n"
        "skewscope_gather_webhook_{0} {3}\n",
        name, help, type, value);
  };
  add("waiting", "gauge", "Messages that are not delivered yet", figures.waiting);
  add("delivered_total", "counter", "Messages that the receiver has taken", figures.delivered);
  add("dropped_total", "counter", "Messages that nobody took in time, or that were too many", figures.dropped);
  add("failed_tries_total", "counter", "Tries after which a message is sent again", figures.failed_tries);
  return out;
}

}  // namespace skewscope::gather
