// The history in words, JSON and Prometheus' text.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "handlers.h"
#include "src/gather/history/history.h"

namespace skewscope::gather {

// "node17 was the cause in 6 of its last 8 jobs, since pretrain-7b-4711 (2026-11-20)."
std::string sentence_of(const NodeRecord& record);

// Where the time of a step changed for good, by place among the runs, which are the newest first: 0.12 is 12 % more.
std::map<size_t, double> changes_of_steps(const std::vector<Run>& runs);

// {"nodes": [...]}, who was the cause most often first.
std::string nodes_json(const History& history);
// {"series", "runs": [...], "costliest_group"}, the newest first, of the series that the query's job belongs to;
// `step_change` where the time of a step changed for good with that run, `software_changes` against the run before. Of
// these, those that the caller may read.
Response runs_of_series(const Store& store, const History& history, const Call& call);
// skewscope_node_jobs and skewscope_node_caused_jobs, of the nodes that were the cause most often.
std::string node_metrics(const History& history);
// skewscope_gather_webhook_*: what became of messages.
std::string webhook_metrics(const History& history);

}  // namespace skewscope::gather
