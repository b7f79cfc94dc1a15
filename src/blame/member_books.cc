#include "member_books.h"

#include <tbb/parallel_for.h>

#include <algorithm>

#include "collectives/synchronization.h"

namespace skewscope::blame {
namespace {

constexpr int kMostLookedAt = 256;  // earlier calls of one member; beyond, the span says nothing about this arrival

bool holds_all(const JobView& view, size_t earlier, size_t id) {
  const CollectiveInstance &a = view.instance(earlier), &b = view.instance(id);
  if (a.communicator == b.communicator && a.member_count == b.member_count && a.complete) return true;
  const auto begin = view.table.members.begin();
  return a.member_count >= b.member_count &&
         std::includes(begin + a.first_member, begin + a.first_member + a.member_count, begin + b.first_member,
                       begin + b.first_member + b.member_count,
                       [](const CallRef& x, const CallRef& y) { return x.trace < y.trace; });
}

bool ended_before(const JobView& view, size_t earlier, size_t id) {
  const CollectiveInstance& i = view.instance(id);
  for (uint32_t row = i.first_member; row < i.first_member + i.member_count; ++row) {
    const int64_t other = view.row_of(earlier, view.ref(row).trace);
    if (other < 0 || view.call(static_cast<size_t>(other)).end() > view.call(row).start) return false;
  }
  return true;
}

int32_t shared_before(const JobView& view, size_t id) {
  const CallRef& first = view.ref(view.instance(id).first_member);
  const std::vector<int32_t>& rows = view.row_of_call[first.trace.index()];
  int looked_at = 0;
  for (int32_t call = first.call - 1; call >= 0 && looked_at < kMostLookedAt; --call, ++looked_at) {
    const int32_t row = rows[static_cast<size_t>(call)];
    if (row < 0) continue;
    const auto earlier = static_cast<size_t>(view.instance_of_row[static_cast<size_t>(row)]);
    if (!ends_together(view.instance(earlier).kind) || view.instance(earlier).session != view.instance(id).session) {
      continue;
    }
    if (holds_all(view, earlier, id) && ended_before(view, earlier, id)) return static_cast<int32_t>(earlier);
  }
  return -1;
}

// The first part of each call of a trace that was waiting.
std::vector<int64_t> waits_of(const JobView& view, size_t trace) {
  std::vector<int64_t> waits(view.job.traces[trace].calls.size(), 0);
  for (size_t c = 0; c < waits.size(); ++c) {
    const int32_t row = view.row_of_call[trace][c];
    if (row >= 0) waits[c] = view.d.members[static_cast<size_t>(row)].wait_ns;
  }
  return waits;
}

}  // namespace

Span span_of(const JobView& view, const MemberBooks& books, size_t row) {
  const int32_t since = books.since[static_cast<size_t>(view.instance_of_row[row])];
  const auto earlier = static_cast<size_t>(view.row_of(static_cast<size_t>(since), view.ref(row).trace));
  return {view.call(earlier).end(), view.call(row).start};
}

MemberBooks member_books(const JobView& view) {
  MemberBooks books;
  books.since.assign(view.table.instances.size(), -1);
  books.times.resize(view.table.members.size());
  tbb::parallel_for(size_t{0}, books.since.size(), [&](size_t id) { books.since[id] = shared_before(view, id); });
  tbb::parallel_for(size_t{0}, view.job.traces.size(), [&](size_t t) {
    const GpuLabels labels(view.job.traces[t], waits_of(view, t));
    for (const int32_t row : view.row_of_call[t]) {
      if (row < 0 || books.since[static_cast<size_t>(view.instance_of_row[static_cast<size_t>(row)])] < 0) continue;
      const Span span = span_of(view, books, static_cast<size_t>(row));
      books.times[static_cast<size_t>(row)] = labels.between(span.from, span.to);
    }
  });
  return books;
}

}  // namespace skewscope::blame
