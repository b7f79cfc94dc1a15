// A rank's line and its host's that are being replayed: how far they are, in recorded and in new time.
//
// The line runs to the forks as they are asked for and stands still at its stops until the joined call has ended and
// the row behind is launched. The host runs to the launches as they are asked for and stands still at its waits until
// the line has been where it waited for. Whatever is asked for was recorded behind what it depends on.
#pragma once

#include <vector>

#include "rank_line.h"

namespace skewscope::blame {

// The pace of ranks at the same place of the same program: the median of their work and delays. Per fork.
struct Pace {
  double work = 1;       // factor on the work in front of the fork, at most 1
  double host = 1;       // factor on the host's time in front of its launch, at most 1
  int64_t delay_ns = 0;  // at most the fork's own
};

class LineRunner {
 public:
  // `paces`: empty where the rank keeps its own. `factor`: on its work and its host's time. `earlier_ns`: begins so
  // much earlier than recorded.
  LineRunner(const RankLine& line, const std::vector<Pace>* paces, double factor, int64_t earlier_ns);

  // When the call of a fork starts.
  int64_t start_of(size_t fork);
  void set_end(size_t fork, int64_t ns);
  // When the line begins.
  int64_t first() const { return first_ns_; }
  // When all is done.
  int64_t finish();

 private:
  void pass_fork();
  void advance(int64_t to);
  void pass(const Stop& stop);
  void work(int64_t to);
  void work_on(int64_t to);
  void pass_marks(int64_t to);
  int64_t arrival_of(const Launch& launch);
  void host_advance(int64_t to);
  void host_work(int64_t to);
  void set_factors();

  const RankLine& line_;
  const std::vector<Pace>* paces_;
  double factor_;
  int64_t recorded_, now_, first_ns_ = 0;
  int64_t host_recorded_, host_now_;
  double work_factor_ = 1, host_factor_ = 1;  // of the time up to the next fork, the next launch of a call
  int64_t next_mark_ns_ = 0, next_launch_ns_ = 0, next_wait_ns_ = 0;  // recorded
  size_t next_fork_ = 0, next_stop_ = 0, next_mark_ = 0, next_launch_ = 0, next_wait_ = 0;
  std::vector<int64_t> end_;    // of the calls, by fork
  std::vector<int64_t> start_;  // of the calls, by fork
  std::vector<int64_t> marks_;  // when the line was where a host waits for it, by wait
};

}  // namespace skewscope::blame
