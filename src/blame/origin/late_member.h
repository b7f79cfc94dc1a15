// By what a member of a collective was later than a peer: the difference of what their GPUs did since all members last
// left a collective together.
#pragma once

#include <optional>
#include <vector>

#include "member_books.h"
#include "skewscope/model/blame.h"

namespace skewscope::blame {

// The members of an instance by arrival on the common clock, earliest first.
class MembersByArrival {
 public:
  // O(n log n), what is asked of it O(1).
  MembersByArrival(const ReplayPlan& plan, size_t id);
  // Rows of table.members.
  const std::vector<size_t>& rows() const { return rows_; }
  // The row in the middle of those at the same place of the same program as the `k`-th, and of all; without the `k`-th.
  // nullopt: there is no other.
  std::optional<size_t> middle_of_alike(size_t k) const;
  std::optional<size_t> middle_of_others(size_t k) const;

 private:
  struct Group {
    size_t begin = 0, size = 0;  // in grouped_
  };
  std::vector<size_t> rows_;
  std::vector<size_t> grouped_;  // rows, by place in the program and arrival
  std::vector<Group> group_of_;  // by arrival
  std::vector<size_t> at_;       // by arrival: in grouped_
};

struct Lateness {
  int64_t ns = 0;       // longer span, or later start: > 0
  bool booked = true;   // false: no earlier collective of both; labels and ns have different beginnings
  LabelTimes by_label;  // differences, sum to ns
  size_t peer = 0;      // row compared with
};

// Against the member in the middle of those that run the same program; for one that is not later than that, of all
// others; else against the first to arrive. `k`: by arrival. nullopt: no earlier collective, or not later than anybody.
std::optional<Lateness> lateness_of(const ReplayPlan& plan, const MemberBooks& books, const MembersByArrival& members,
                                    size_t k);

// Whose time tells what a late member did that is not the program's: its peer, where that runs the same program, else
// the usual row of its place in the program (other stages of a pipeline do other things).
size_t compared_with(const ReplayPlan& plan, const MemberBooks& books, size_t row, const Lateness& lateness);

// The same with computing divided: kernels of equal name in equal number that took longer, against kernels that the
// peer did not run as often (`other_kernels_ns`: kernel_uses.h); the rest is slower. What is late but not later than
// the usual row is the program's. Sums to the lateness.
CauseBook cause_book(const ReplayPlan& plan, const MemberBooks& books, size_t row, const Lateness& lateness,
                     int64_t other_kernels_ns);

}  // namespace skewscope::blame
