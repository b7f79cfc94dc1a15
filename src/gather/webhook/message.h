// What is told of a report.
#pragma once

#include <optional>
#include <string>

#include "skewscope/gather.h"
#include "src/gather/history/history.h"

namespace skewscope::gather {

// What a message is made of.
struct ReportEnded {
  enum class Kind { report, hang, failed } kind = Kind::report;
  int generation = 0;
  JobState job;
  std::string owner;                     // name; "": not known
  std::string verdict, hang;             // of the traces, of the dumps; "": none
  std::optional<ReportOutcome> outcome;  // nullopt: not known
};

const char* to_string(ReportEnded::Kind kind);  // as in --webhook-on

// nullopt: no report of this job has ended, or the one that failed is tried again.
std::optional<ReportEnded> report_that_ended(const JobState& job);

// Whether the options ask for it.
bool is_wanted(const ReportEnded& ended, const GatherWebhook& webhook);

// {"type": "job.report", "timestamp": ..., "data": {...}}, as configs/OPERATING.md tells. `base`: of links,
// https://head.example:7475.
std::string message_of(const ReportEnded& ended, const std::string& base);
// The same for this report whenever it is made.
std::string id_of(const ReportEnded& ended, const std::string& base);

}  // namespace skewscope::gather
