// Job totals over ranks, and their shares: what the summary says and what --fail-on asks.
#pragma once

#include <optional>
#include <string>

#include "skewscope/model/job_report.h"

namespace skewscope::report {

struct Figures {
  int64_t calls = 0;    // collective calls
  int64_t call_ns = 0;  // time in collective calls = wait + transfer + unattributed
  int64_t wait_ns = 0, transfer_ns = 0, unattributed_ns = 0;
  int64_t exposed_wait_ns = 0, exposed_transfer_ns = 0, exposed_communication_ns = 0, exposed_memcpy_ns = 0;
  int64_t blocking_communication_ns = 0, coincided_communication_ns = 0;  // of exposed_communication_ns
  int64_t total_ns = 0, compute_ns = 0, idle_ns = 0;                      // of the GPU timelines
  int64_t instances = 0;

  bool any_split() const { return wait_ns + transfer_ns > 0; }
};

Figures figures_of(const JobReport& report);

// part / whole; nullopt where whole is 0.
std::optional<double> share(int64_t part, int64_t whole);
// The same in words: "12 %"; of nothing, "0 %".
std::string percent_of(int64_t part, int64_t whole);
// As a sentence has it: "12 %", "under 1 %", "over 99 %".
std::string spoken_percent(double ratio);

}  // namespace skewscope::report
