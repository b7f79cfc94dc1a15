// Which of the components of ranks on one clock a trace is of: the largest of each session is its first.
#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "skewscope/merge.h"
#include "skewscope/model/clock_components.h"

namespace skewscope::merge {

class ComponentNumbers {
 public:
  explicit ComponentNumbers(const CorrelatedJob& rooms) {
    for (const ClockComponent& component : components_of(rooms.job, rooms.clocks)) {
      const int32_t number = counts_[component.session]++;
      for (const TraceIndex trace : component.traces) {
        number_[{component.session, rooms.job[trace].rank}] = number;
        ranks_[{component.session, number}].push_back(rooms.job[trace].rank.value);
      }
      most_ = std::max(most_, number + 1);
    }
    for (auto& [component, ranks] : ranks_) std::sort(ranks.begin(), ranks.end());
  }

  int32_t most() const { return most_; }  // of one session
  int32_t of_session(SessionId session) const { return counts_.at(session); }
  int32_t of(const RankTrace& trace) const { return number_.at({trace.session, trace.rank}); }
  // On the clock of this one.
  const std::vector<int32_t>& ranks_with(const RankTrace& trace) const { return ranks_.at({trace.session, of(trace)}); }

 private:
  std::map<SessionId, int32_t> counts_;
  std::map<std::pair<SessionId, Rank>, int32_t> number_;
  std::map<std::pair<SessionId, int32_t>, std::vector<int32_t>> ranks_;
  int32_t most_ = 1;
};

}  // namespace skewscope::merge
