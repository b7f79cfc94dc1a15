// By what a member of a collective was later than a peer: the difference of what their GPUs did since all members last
// left a collective together.
#pragma once

#include <optional>
#include <vector>

#include "member_books.h"
#include "skewscope/model/blame.h"

namespace skewscope::blame {

// Rows of an instance's members by arrival on the common clock, earliest first.
std::vector<size_t> by_arrival(const JobView& view, size_t id);

struct Lateness {
  int64_t ns = 0;       // longer span: > 0
  LabelTimes by_label;  // differences, sum to ns
  size_t peer = 0;      // row compared with
};

// Against the peer in the middle of the others; for one that is not later than that, against the first to arrive.
// nullopt: no earlier collective, or not later than anybody.
std::optional<Lateness> lateness_of(const MemberBooks& books, const JobView& view, const std::vector<size_t>& order,
                                    size_t place);

// The same with computing told apart: kernels of equal name in equal number that took longer, against kernels that the
// peer did not run as often. `other` = for each name the surplus of rows times their mean duration; the rest is slower.
CauseBook cause_book(const JobView& view, const MemberBooks& books, size_t row, const Lateness& lateness);

}  // namespace skewscope::blame
