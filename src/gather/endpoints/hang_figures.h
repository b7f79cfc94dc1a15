// Metrics name who did not come, by the newest dumps of each job, so that a rule alarms.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "src/gather/kept/store.h"

namespace skewscope::gather {

// The samples of one job by family, out of its hang.json; none where the text is no such document.
std::map<std::string, std::string> hang_samples(const std::string& job, std::string_view hang_json);

class HangFigures {
 public:
  // Prometheus' text format, with the 100 jobs whose dumps came last, within six hours, and four culprits of each.
  std::string text(const Store& store);

 private:
  std::mutex mutex_;
  // By job: the generation of its report, and its samples.
  std::map<std::string, std::pair<int, std::map<std::string, std::string>>> known_;
};

}  // namespace skewscope::gather
