// A rank's line and its host's that are being replayed: how far they are, in recorded and in new time.
//
// The line runs to the forks as they are asked for and is idle at its stops until the joined call has ended and
// the row behind is launched. The host runs to the launches as they are asked for and waits until
// the line has been where it waited for. As fast as its peers, the host's longest pause between two launches of calls
// is what is cut first: what stalls a host does so at one place. Whatever is asked for was recorded behind what it
// depends on.
//
// Several changed jobs are replayed abreast: what is looked at next depends on recorded times alone, which they share,
// so that the line is read once for all of them. Only their new times differ.
#pragma once

#include <array>
#include <vector>

#include "src/blame/line/rank_line.h"

namespace skewscope::blame {

constexpr size_t kAbreast = 4;
using Abreast = std::array<int64_t, kAbreast>;  // ns, per job that is replayed

// The speed of ranks at the same place of the same program: medians of what their forks have.
struct Pace {
  int64_t work_ns = 0, host_ns = 0, delay_ns = 0;
};
struct Paces {
  std::vector<Pace> of_place;
  std::vector<int32_t> place_of_row;  // of table.members; -1: nobody else is there

  // Null: nobody else is there.
  const Pace* of(const Fork& fork) const {
    const int32_t place = fork.row < 0 ? -1 : place_of_row[static_cast<size_t>(fork.row)];
    return place < 0 ? nullptr : &of_place[static_cast<size_t>(place)];
  }
};

class LineRunner {
 public:
  // How a job changes the line.
  struct Change {
    bool at_peers_pace = false;
    double factor = 1;       // on its work; its host takes less time for less, and launches more besides
    int64_t earlier_ns = 0;  // begins so much earlier than recorded
    const std::vector<double>* work_by_fork = nullptr;  // factors on the work in front of each fork; null: none
  };
  LineRunner(const RankLine& line, const Paces& paces, const std::array<Change, kAbreast>& changes);

  // When the call of a fork starts; asked before its end is set.
  const Abreast& start_of(size_t fork);
  void set_end(size_t fork, const Abreast& ns);
  // When the line begins.
  const Abreast& first() const { return first_; }
  // When all is done.
  Abreast finish();

 private:
  using Factors = std::array<double, kAbreast>;

  void pass_fork();
  void start_behind(const Fork& fork, Abreast& start) const;
  void add_delay(const Fork& fork, Abreast& ready) const;
  void pass_as_recorded(const Fork& fork);
  void leave_fork(const Fork& fork);
  void wait_for_end(size_t fork, Abreast& times) const;
  void advance(int64_t to);
  void pass(const Stop& stop);
  void work(int64_t to);
  void work_on(int64_t to);
  void pass_marks(int64_t to);
  Abreast arrival_of(const Launch& launch);
  void host_advance(int64_t to);
  void host_work(int64_t to);
  void host_work_on(int64_t to);
  void take_work_pace();
  void take_host_pace();
  void set_factors();

  const RankLine& line_;
  const Paces& paces_;
  const std::array<Change, kAbreast> changes_;
  bool paced_;   // any of them changes from fork to fork
  bool steady_;  // all factors are 1, always
  int64_t recorded_, host_recorded_;
  Abreast now_, host_now_, first_;
  Factors work_factor_, host_factor_;     // of the time up to the next fork, the next launch of a call
  Factors pause_factor_;                  // of the host's longest pause there
  double work_pace_ = 1, host_pace_ = 1;  // what of it the speed of its peers makes, at most 1
  double pause_pace_ = 1;
  int64_t pause_begin_ns_ = INT64_MIN, pause_end_ns_ = INT64_MIN;     // recorded
  int64_t next_mark_ns_ = 0, next_launch_ns_ = 0, next_wait_ns_ = 0;  // recorded
  size_t next_fork_ = 0, next_stop_ = 0, next_mark_ = 0, next_launch_ = 0, next_wait_ = 0;
  std::vector<Abreast> call_;         // by fork: when its call starts; once that has ended, when it ended
  std::vector<bool> ended_;           // by fork
  std::vector<bool> behind_running_;  // by fork: when the line came to it, the call it waits for had not ended
  std::vector<Abreast> marks_;        // when the line was where a host waits for it, by wait
};

}  // namespace skewscope::blame
