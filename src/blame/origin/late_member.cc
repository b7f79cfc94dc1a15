#include "late_member.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace skewscope::blame {
namespace {

// Without an earlier collective of both the starts on the common clock tell how late; the labels since their traces
// began only tell what of it was waiting.
Lateness difference(const ReplayPlan& plan, const MemberBooks& books, size_t row, size_t peer) {
  Lateness lateness;
  lateness.peer = peer;
  lateness.by_label = times_of(plan, books, row) - times_of(plan, books, peer);
  lateness.ns = length_of(lateness.by_label);
  if (books.since[static_cast<size_t>(plan.view.instance_of_row[row])] < 0) {
    lateness.ns = plan.view.start(row) - plan.view.start(peer);
    lateness.booked = false;
  }
  return lateness;
}

}  // namespace

MembersByArrival::MembersByArrival(const ReplayPlan& plan, size_t id) {
  const CollectiveInstance& i = plan.view.instance(id);
  std::vector<std::pair<JobNs, size_t>> arrivals;
  for (size_t row = i.first_member; row < i.first_member + i.member_count; ++row) {
    arrivals.emplace_back(plan.view.start(row), row);
  }
  std::sort(arrivals.begin(), arrivals.end());
  rows_.reserve(arrivals.size());
  for (const auto& [start, row] : arrivals) rows_.push_back(row);

  const auto place_of = [&](size_t k) { return plan.paces.place_of_row[rows_[k]]; };
  std::vector<size_t> order(rows_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return place_of(a) < place_of(b); });
  group_of_.resize(rows_.size());
  at_.resize(rows_.size());
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    const int32_t place = place_of(order[begin]);
    // Without a place a member is alone.
    for (end = begin + 1; end < order.size() && place >= 0 && place_of(order[end]) == place;) ++end;
    for (size_t at = begin; at < end; ++at) {
      grouped_.push_back(rows_[order[at]]);
      group_of_[order[at]] = {begin, end - begin};
      at_[order[at]] = at;
    }
  }
}

std::optional<size_t> MembersByArrival::middle_of_alike(size_t k) const {
  const Group& group = group_of_[k];
  if (group.size < 2) return std::nullopt;
  const size_t middle = group.begin + (group.size - 2) / 2;
  return grouped_[middle < at_[k] ? middle : middle + 1];
}

std::optional<size_t> MembersByArrival::middle_of_others(size_t k) const {
  if (rows_.size() < 2) return std::nullopt;
  const size_t middle = (rows_.size() - 2) / 2;
  return rows_[middle < k ? middle : middle + 1];
}

std::optional<Lateness> lateness_of(const ReplayPlan& plan, const MemberBooks& books, const MembersByArrival& members,
                                    size_t k) {
  const size_t row = members.rows()[k];
  for (const std::optional<size_t> peer : {members.middle_of_alike(k), members.middle_of_others(k)}) {
    if (!peer) continue;
    const Lateness against_middle = difference(plan, books, row, *peer);
    if (against_middle.ns > 0) return against_middle;
  }
  if (k == 0) return std::nullopt;
  const Lateness against_first = difference(plan, books, row, members.rows().front());
  if (against_first.ns > 0) return against_first;
  return std::nullopt;
}

size_t compared_with(const ReplayPlan& plan, const MemberBooks& books, size_t row, const Lateness& lateness) {
  const bool alike =
      plan.paces.place_of_row[row] >= 0 && plan.paces.place_of_row[row] == plan.paces.place_of_row[lateness.peer];
  return alike || books.usual[row] < 0 ? lateness.peer : static_cast<size_t>(books.usual[row]);
}

CauseBook cause_book(const ReplayPlan& plan, const MemberBooks& books, size_t row, const Lateness& lateness,
                     int64_t other_kernels_ns) {
  const size_t other_row = compared_with(plan, books, row, lateness);
  const Lateness own = difference(plan, books, row, other_row);
  if (!lateness.booked) {
    CauseBook unknown{};
    unknown[static_cast<size_t>(LateCause::unknown)] = lateness.ns;
    return unknown;
  }
  const auto of = [&](Label label) { return own.by_label[static_cast<size_t>(label)]; };
  CauseBook book{};
  const auto set = [&](LateCause cause, int64_t ns) { book[static_cast<size_t>(cause)] = ns; };
  if (plan.line_of(row).blind || plan.line_of(other_row).blind) {
    set(LateCause::wait_elsewhere, of(Label::waiting));
    set(LateCause::transfer_elsewhere, of(Label::transfer));
    set(LateCause::unknown, own.ns - of(Label::waiting) - of(Label::transfer));
    set(LateCause::program, lateness.ns - own.ns);
    return book;
  }
  set(LateCause::program, lateness.ns - own.ns);
  set(LateCause::other_kernels, other_kernels_ns);
  set(LateCause::slower_kernels, of(Label::computing) - other_kernels_ns);
  set(LateCause::copies, of(Label::copying));
  set(LateCause::transfer_elsewhere, of(Label::transfer));
  set(LateCause::wait_elsewhere, of(Label::waiting));
  set(LateCause::unknown, of(Label::unsplit));
  set(LateCause::host, of(Label::host));
  set(LateCause::idle, of(Label::idle));
  return book;
}

}  // namespace skewscope::blame
