#include "lateness.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace skewscope::blame {
namespace {

struct KernelUse {
  int64_t rows = 0, ns = 0;
};
using KernelUses = std::unordered_map<StringId, KernelUse>;

// Computing rows that start within the span.
KernelUses kernels_of(const RankTrace& trace, const Span& span) {
  const GpuEvents& gpu = trace.gpu;
  const auto begin = std::lower_bound(gpu.start.begin(), gpu.start.end(), span.from) - gpu.start.begin();
  KernelUses uses;
  for (auto i = static_cast<size_t>(begin); i < gpu.size() && gpu.start[i] < span.to; ++i) {
    if (gpu.work[i] == GpuWork::communication || gpu.work[i] == GpuWork::memcpy) continue;
    KernelUse& use = uses[gpu.name[i]];
    ++use.rows;
    use.ns += gpu.duration_ns[i];
  }
  return uses;
}

double mean_ns(const KernelUse& use) { return static_cast<double>(use.ns) / static_cast<double>(use.rows); }

// Time of kernels that one ran and the other did not, or not as often.
int64_t surplus_ns(const KernelUses& late, const KernelUses& peer) {
  double surplus = 0;
  for (const auto& [name, use] : late) {
    const auto other = peer.find(name);
    const int64_t rows = other == peer.end() ? 0 : other->second.rows;
    if (use.rows > rows) surplus += mean_ns(use) * static_cast<double>(use.rows - rows);
  }
  for (const auto& [name, use] : peer) {
    const auto other = late.find(name);
    const int64_t rows = other == late.end() ? 0 : other->second.rows;
    if (use.rows > rows) surplus -= mean_ns(use) * static_cast<double>(use.rows - rows);
  }
  return std::llround(surplus);
}

int64_t length_of(const LabelTimes& times) {
  int64_t sum = 0;
  for (const int64_t ns : times) sum += ns;
  return sum;
}

Lateness difference(const MemberBooks& books, size_t row, size_t peer) {
  Lateness lateness;
  lateness.peer = peer;
  for (size_t i = 0; i < kLabels; ++i) lateness.by_label[i] = books.times[row][i] - books.times[peer][i];
  lateness.ns = length_of(lateness.by_label);
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

std::optional<Lateness> lateness_of(const MemberBooks& books, const JobView& view, const std::vector<size_t>& order,
                                    size_t place) {
  const size_t row = order[place];
  if (order.size() < 2 || books.since[static_cast<size_t>(view.instance_of_row[row])] < 0) return std::nullopt;
  size_t middle = (order.size() - 2) / 2;  // of the others, the lower one
  if (middle >= place) ++middle;
  const Lateness against_middle = difference(books, row, order[middle]);
  if (against_middle.ns > 0) return against_middle;
  const Lateness against_first = difference(books, row, order.front());
  if (place > 0 && against_first.ns > 0) return against_first;
  return std::nullopt;
}

CauseBook cause_book(const JobView& view, const MemberBooks& books, size_t row, const Lateness& lateness) {
  const auto of = [&](Label label) { return lateness.by_label[static_cast<size_t>(label)]; };
  const RankTrace &late = view.job[view.ref(row).trace], &peer = view.job[view.ref(lateness.peer).trace];
  CauseBook book{};
  const auto set = [&](LateCause cause, int64_t ns) { book[static_cast<size_t>(cause)] = ns; };
  if (late.gpu.size() == 0 || peer.gpu.size() == 0) {
    set(LateCause::wait_elsewhere, of(Label::waiting));
    set(LateCause::transfer_elsewhere, of(Label::transfer));
    set(LateCause::unknown, lateness.ns - of(Label::waiting) - of(Label::transfer));
    return book;
  }
  const int64_t other =
      surplus_ns(kernels_of(late, span_of(view, books, row)), kernels_of(peer, span_of(view, books, lateness.peer)));
  set(LateCause::other_kernels, other);
  set(LateCause::slower_kernels, of(Label::computing) - other);
  set(LateCause::copies, of(Label::copying));
  set(LateCause::transfer_elsewhere, of(Label::transfer));
  set(LateCause::wait_elsewhere, of(Label::waiting));
  set(LateCause::host, of(Label::host));
  set(LateCause::idle, of(Label::idle));
  return book;
}

}  // namespace skewscope::blame
