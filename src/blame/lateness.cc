#include "lateness.h"

#include <algorithm>

namespace skewscope::blame {
namespace {

// Without an earlier collective of both the starts on the common clock tell how late; the labels since their traces
// began only tell what of it was waiting.
Lateness difference(const ReplayPlan& plan, const MemberBooks& books, size_t row, size_t peer) {
  Lateness lateness;
  lateness.peer = peer;
  for (size_t i = 0; i < kLabels; ++i) lateness.by_label[i] = books.times[row][i] - books.times[peer][i];
  lateness.ns = length_of(lateness.by_label);
  if (books.since[static_cast<size_t>(plan.view.instance_of_row[row])] < 0) {
    lateness.ns = plan.view.start(row) - plan.view.start(peer);
    lateness.booked = false;
  }
  return lateness;
}

}  // namespace

std::vector<size_t> by_arrival(const JobView& view, size_t id) {
  const CollectiveInstance& i = view.instance(id);
  std::vector<std::pair<JobNs, size_t>> arrivals;
  for (size_t row = i.first_member; row < i.first_member + i.member_count; ++row) {
    arrivals.emplace_back(view.start(row), row);
  }
  std::sort(arrivals.begin(), arrivals.end());
  std::vector<size_t> order;
  for (const auto& [start, row] : arrivals) order.push_back(row);
  return order;
}

std::optional<Lateness> lateness_of(const ReplayPlan& plan, const MemberBooks& books, const std::vector<size_t>& order,
                                    size_t place) {
  const size_t row = order[place];
  if (order.size() < 2) return std::nullopt;
  std::vector<size_t> others, alike;
  for (const size_t other : order) {
    if (other == row) continue;
    others.push_back(other);
    if (plan.place_of_row[row] >= 0 && plan.place_of_row[other] == plan.place_of_row[row]) alike.push_back(other);
  }
  for (const std::vector<size_t>* peers : {&alike, &others}) {
    if (peers->empty()) continue;
    const Lateness against_middle = difference(plan, books, row, (*peers)[(peers->size() - 1) / 2]);
    if (against_middle.ns > 0) return against_middle;
  }
  const Lateness against_first = difference(plan, books, row, order.front());
  if (place > 0 && against_first.ns > 0) return against_first;
  return std::nullopt;
}

size_t compared_with(const ReplayPlan& plan, const MemberBooks& books, size_t row, const Lateness& lateness) {
  const bool alike = plan.place_of_row[row] >= 0 && plan.place_of_row[row] == plan.place_of_row[lateness.peer];
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
