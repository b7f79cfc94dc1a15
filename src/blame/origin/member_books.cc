#include "member_books.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <map>

#include "collectives/synchronization.h"
#include "skewscope/base/middle.h"

namespace skewscope::blame {
namespace {

constexpr int64_t kNearly = 16;  // of a lateness: the part that may be left unexplained
constexpr size_t kMostKept = 8;  // latest collectives, and messages, of each communicator that are looked at

// The rows of the members of `id` in an earlier collective; empty where it does not hold all.
std::vector<size_t> rows_in(const JobView& view, size_t earlier, size_t id) {
  const CollectiveInstance& i = view.instance(id);
  std::vector<size_t> rows;
  for (uint32_t row = i.first_member; row < i.first_member + i.member_count; ++row) {
    const int64_t other = view.row_of(earlier, view.ref(row).trace);
    if (other < 0) return {};
    rows.push_back(static_cast<size_t>(other));
  }
  return rows;
}

bool may_hold_all(const JobView& view, size_t earlier, size_t id) {
  const CollectiveInstance &a = view.instance(earlier), &b = view.instance(id);
  return a.session == b.session && a.member_count >= b.member_count;
}

// Whether the calls in these rows ended together: nearly so, against how far the members of `id` come apart.
bool ended_together(const JobView& view, const std::vector<size_t>& rows, size_t id) {
  JobNs first{INT64_MAX}, last{INT64_MIN};
  for (const size_t row : rows) {
    first = std::min(first, view.end(row));
    last = std::max(last, view.end(row));
  }
  return kNearly * (last - first) <= view.d.instances[id].start_skew_ns;
}

// Whether all members of `id` left an earlier collective together, before they came to this one.
bool meets_before(const JobView& view, size_t earlier, size_t id) {
  if (!may_hold_all(view, earlier, id)) return false;
  const std::vector<size_t> rows = rows_in(view, earlier, id);
  if (rows.empty()) return false;
  const uint32_t first = view.instance(id).first_member;
  for (size_t k = 0; k < rows.size(); ++k) {
    if (view.span(rows[k]).end() > view.span(first + k).start) return false;
  }
  return ends_together(view.instance(earlier).kind) || ended_together(view, rows, id);
}

// The latest collectives of each communicator that a trace took part in, in two kinds.
class Latest {
 public:
  void add(const CollectiveInstance& instance, int32_t id, bool blocking) {
    for (const bool kind : {true, false}) {
      if (kind && !blocking) continue;
      std::vector<int32_t>& ids = latest_[kind][{instance.communicator, ends_together(instance.kind)}];
      if (ids.size() == kMostKept) ids.erase(ids.begin());
      ids.push_back(id);
    }
  }

  // The one that ended last of those that hold all members of `id` and had ended; blocking ones before others.
  int32_t shared_before(const JobView& view, size_t id) const {
    for (const bool kind : {true, false}) {
      int32_t best = -1;
      for (const auto& [group, ids] : latest_[kind]) {
        const auto fits = [&](int32_t earlier) { return meets_before(view, static_cast<size_t>(earlier), id); };
        const auto found = std::find_if(ids.rbegin(), ids.rend(), fits);
        if (found != ids.rend() && (best < 0 || later(view, *found, best))) best = *found;
      }
      if (best >= 0) return best;
    }
    return -1;
  }

 private:
  static bool later(const JobView& view, int32_t a, int32_t b) {
    return view.d.instances[static_cast<size_t>(a)].last_arrival >
           view.d.instances[static_cast<size_t>(b)].last_arrival;
  }
  // Messages are many: they must not push out the collectives of their group.
  std::array<std::map<std::pair<CommunicatorId, bool>, std::vector<int32_t>>, 2> latest_;
};

// Fills `since` for the instances whose first member is `trace`.
void find_since(const JobView& view, size_t trace, const std::vector<bool>& blocking, std::vector<int32_t>& since) {
  Latest latest;
  for (const int32_t row : view.row_of_call[trace]) {
    if (row < 0) continue;
    const int32_t id = view.instance_of_row[static_cast<size_t>(row)];
    const CollectiveInstance& instance = view.instance(static_cast<size_t>(id));
    if (instance.first_member == static_cast<uint32_t>(row)) {
      since[static_cast<size_t>(id)] = latest.shared_before(view, static_cast<size_t>(id));
    }
    latest.add(instance, id, blocking[static_cast<size_t>(id)]);
  }
}

// From the fork of a call to its start: its stream was busy with the call in front of it, then it waited for its
// launch.
void add_delay(const RankTrace& trace, const std::vector<CallSplit>& splits, const RankLine& line, const Fork& fork,
               LabelTimes& times) {
  const auto add = [&](Label label, int64_t ns) { times[static_cast<size_t>(label)] += std::max<int64_t>(0, ns); };
  const CollectiveCall& call = trace.calls[static_cast<size_t>(fork.call)];
  int64_t at = fork.at.ns;
  if (fork.before >= 0) {
    const auto before = static_cast<size_t>(line.forks[static_cast<size_t>(fork.before)].call);
    const int64_t end = std::min(trace.calls[before].end().ns, call.start.ns);
    const int64_t middle = std::min(trace.calls[before].start.ns + splits[before].wait_ns, end);
    add(Label::waiting, middle - at);
    at = std::max(at, middle);
    add(splits[before].rest, end - at);
    at = std::max(at, end);
  }
  const int64_t launched = launched_ns(call);
  const int64_t host_until = launched >= call.start.ns - kLaunchDelay_ns ? call.start.ns : launched;
  if (launched > at) {
    add(Label::host, host_until - at);
    at = std::max(at, host_until);
  }
  add(Label::idle, call.start.ns - at);
}

// The row of the same trace in the collective that the span of `row` runs from; -1: it runs since the trace began.
int64_t row_before(const JobView& view, const MemberBooks& books, size_t row) {
  const int32_t since = books.since[static_cast<size_t>(view.instance_of_row[row])];
  return since < 0 ? -1 : view.row_of(static_cast<size_t>(since), view.ref(row).trace);
}

// Turns the marks at the forks of a trace into the times of their spans.
Column<LabelTimes> times_of_spans(const ReplayPlan& plan, const MemberBooks& books, size_t t, LabelMarks marks) {
  const JobView& view = plan.view;
  const RankTrace& trace = view.job.traces[t];
  const std::vector<CallSplit> splits = splits_of(view, TraceIndex(static_cast<int64_t>(t)));
  const RankLine& line = plan.lines[t];
  Column<LabelTimes> times = std::move(marks.at_forks);
  for (size_t k = 0; k < line.forks.size(); ++k) {
    if (line.forks[k].row < 0) continue;
    const auto row = static_cast<size_t>(line.forks[k].row);
    const int64_t before = row_before(view, books, row);
    const LabelTimes& from =
        before < 0 ? marks.at_first : marks.at_end[static_cast<size_t>(view.ref(static_cast<size_t>(before)).call)];
    const Span span = span_of(plan, books, row);
    times[k] = span.from < span.fork ? times[k] - from : LabelTimes{};
    Fork fork = line.forks[k];
    fork.at = span.fork;
    add_delay(trace, splits, line, fork, times[k]);
  }
  return times;
}

void set_usual(const ReplayPlan& plan, const Place& place, MemberBooks& books) {
  std::vector<std::pair<int64_t, int32_t>> lengths;
  for (const int32_t row : place.rows) {
    const auto id = static_cast<size_t>(plan.view.instance_of_row[static_cast<size_t>(row)]);
    if (books.since[id] < 0) continue;
    lengths.emplace_back(length_of(times_of(plan, books, static_cast<size_t>(row))), row);
  }
  if (lengths.size() < 2) return;
  const auto middle = take_nth(lengths, (lengths.size() - 1) / 2);
  for (const auto& [length, row] : lengths) books.usual[static_cast<size_t>(row)] = middle.second;
}

}  // namespace

int64_t length_of(const LabelTimes& times) {
  int64_t sum = 0;
  for (const int64_t ns : times) sum += ns;
  return sum;
}

Span span_of(const ReplayPlan& plan, const MemberBooks& books, size_t row) {
  const JobView& view = plan.view;
  const int64_t before = row_before(view, books, row);
  const LocalNs from =
      before < 0 ? view.job[view.ref(row).trace].first_event : view.span(static_cast<size_t>(before)).end();
  const Fork& fork = plan.line_of(row).forks[static_cast<size_t>(plan.fork_of_row[row])];
  return {from, std::max(from, fork.at), view.span(row).start};
}

const LabelTimes& times_of(const ReplayPlan& plan, const MemberBooks& books, size_t row) {
  return books.times[plan.view.ref(row).trace.index()][static_cast<size_t>(plan.fork_of_row[row])];
}

MemberBooks member_books(const ReplayPlan& plan, std::vector<LabelMarks> marks, Exchange& exchange) {
  const JobView& view = plan.view;
  MemberBooks books;
  books.since.assign(view.table.instances.size(), -1);
  if (exchange.first()) {
    books.blocking = blocking_instances(plan);
    tbb::parallel_for(size_t{0}, view.job.traces.size(),
                      [&](size_t t) { find_since(view, t, books.blocking, books.since); });
  }
  follow_first(exchange, books.since);
  books.times.resize(view.job.traces.size());
  tbb::parallel_for(size_t{0}, view.job.traces.size(), [&](size_t t) {
    if (view.job.traces[t].process == exchange.process()) {
      books.times[t] = times_of_spans(plan, books, t, std::move(marks[t]));
    }
  });
  tell_first(
      exchange, books.times.size(), [&](size_t t) { return view.job.traces[t].process; },
      [&](ByteWriter& writer, size_t t) { writer.put(books.times[t]); },
      [&](ByteReader& reader, size_t t) { reader.get(books.times[t]); });
  return books;
}

void find_usual(const ReplayPlan& plan, MemberBooks& books) {
  books.usual.assign(plan.view.table.members.size(), -1);
  tbb::parallel_for(size_t{0}, plan.places.size(), [&](size_t p) { set_usual(plan, plan.places[p], books); });
}

}  // namespace skewscope::blame
