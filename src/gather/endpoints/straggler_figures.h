// Metrics name who made the others wait in the last windows of time, by the newest reports of jobs whose logs grow.
// Lines of the reports' own report.prom go out with the daemon's metrics, so that one rule alarms on both.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "src/gather/kept/store.h"

namespace skewscope::gather {

// The worst rank of a job's last windows; no rank: there is nothing to say.
struct Straggler {
  std::string rank, host;
  double waiting = 0;  // share of their time that the others waited for it
  double worst = 0;    // share of the windows in which it was the worst
};
// Reads a report.prom.
Straggler straggler_in(std::string_view prometheus_text);

class StragglerFigures {
 public:
  // Prometheus' text format, with the 100 jobs that grew last and the four worst ranks of each.
  std::string text(const Store& store);
  static Straggler of_job(const Store& store, const JobState& job);

 private:
  std::mutex mutex_;
  std::map<std::string, std::pair<int, std::string>> known_;  // by job: generation, its lines
};

}  // namespace skewscope::gather
