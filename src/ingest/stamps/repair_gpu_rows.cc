// Problem: tracers wrote negative durations (kineto #646), kernels at time 0 (#109), and on ROCm durations that run
// over the rows behind them by orders of magnitude (TraceLens #669); one such row would be 99 % of GPU time. Idea: rows
// of one stream run one after the other, so a row that covers its successors is wrong. To leave real overlap alone
// (graph branches on one stream id share a correlation; dependent launches overlap by microseconds; copies run next to
// kernels of "stream 0"), a row is cut only when all hold: it is over 100 times the median of its stream or longer than
// the whole trace, over a millisecond, and its successor starts in its first half, ends before it and did not come from
// the same launch. (A dependent launch may start as its predecessor begins to wait for another GPU; it ends behind it.)
// Cost: one sort, nearly linear.
#include "repair_gpu_rows.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include "dependent_rows.h"
#include "median.h"
#include "skewscope/base/sort_runs.h"

namespace skewscope::ingest {
namespace {

constexpr int64_t kDay_ns = 86'400'000'000'000;
constexpr int64_t kAbsurdFactor = 100;
constexpr int64_t kNeverAbsurd_ns = 1'000'000;  // stamps of whole microseconds overlap by rounding
constexpr size_t kRowsForMedian = 8;            // fewer rows on a stream have no meaningful median

// By start, the longest first.
bool runs_before(const GpuEvents& gpu, size_t a, size_t b) {
  return std::tie(gpu.start[a], gpu.duration_ns[b]) < std::tie(gpu.start[b], gpu.duration_ns[a]);
}

// Details keep the order of their rows.
void keep(const std::vector<int32_t>& rows, FileContent& content) {
  keep(rows, content.gpu);
  if (content.details) content.details->gpu = gathered(content.details->gpu, rows);
}

// What one pass over the rows says of them; most need no more.
struct Survey {
  LocalNs first{INT64_MAX}, last{INT64_MIN};  // start
  int64_t negative = 0;                       // durations
  bool sorted = true;
  bool equal = false;  // some row begins and ends with the one before it
};

Survey survey_of(const GpuEvents& gpu) {
  const auto look = [&](const tbb::blocked_range<size_t>& rows, Survey survey) {
    for (size_t i = rows.begin(); i < rows.end(); ++i) {
      survey.first = std::min(survey.first, gpu.start[i]);
      survey.last = std::max(survey.last, gpu.start[i]);
      survey.negative += gpu.duration_ns[i] < 0 ? 1 : 0;
      if (i == 0) continue;
      survey.sorted &= !runs_before(gpu, i, i - 1);
      survey.equal |= gpu.start[i] == gpu.start[i - 1] && gpu.duration_ns[i] == gpu.duration_ns[i - 1];
    }
    return survey;
  };
  return tbb::parallel_reduce(tbb::blocked_range<size_t>(0, gpu.size(), kRowsPerTask), Survey(), look,
                              [](const Survey& a, const Survey& b) {
                                return Survey{std::min(a.first, b.first), std::max(a.last, b.last),
                                              a.negative + b.negative, a.sorted && b.sorted, a.equal || b.equal};
                              });
}

void clear_negative(FileContent& content, int64_t count) {
  if (count == 0) return;
  for (int64_t& ns : content.gpu.events.duration_ns) ns = std::max<int64_t>(ns, 0);
  report(content, Severity::warning, "negative-duration", count, "GPU rows with a negative duration; taken as 0");
}

// Rows are sorted, so alike ones are in one run of equal start and duration. Two rows of a launch's work are alike
// only where stamps are too coarse for short rows, or where the file holds its events twice.
void drop_repeated(FileContent& content) {
  const GpuEvents& gpu = content.gpu.events;
  const auto told_of = [&](size_t i) {
    return std::make_tuple(gpu.device[i], gpu.stream[i], content.gpu.correlation[i], gpu.name[i], gpu.work[i]);
  };
  std::set<decltype(told_of(0))> seen;
  std::vector<int32_t> kept;
  for (size_t first = 0, next = 0; first < gpu.size(); first = next) {
    for (next = first + 1;
         next < gpu.size() && gpu.start[next] == gpu.start[first] && gpu.duration_ns[next] == gpu.duration_ns[first];) {
      ++next;
    }
    const bool may_repeat = next - first > 1 && gpu.duration_ns[first] > content.resolution_ns;
    seen.clear();
    for (size_t i = first; i < next; ++i) {
      const bool repeats = may_repeat && !seen.insert(told_of(i)).second && content.gpu.correlation[i] >= 0;
      if (!repeats) kept.push_back(static_cast<int32_t>(i));
    }
  }
  if (kept.size() == gpu.size()) return;
  report(content, Severity::warning, "repeated-events", std::ssize(gpu.start) - std::ssize(kept),
         "GPU rows are in the file twice, identical in everything; each counts once");
  keep(kept, content);
}

void drop_far_rows(FileContent& content, const Survey& survey) {
  if (content.gpu.empty() || survey.last - survey.first <= kDay_ns) return;
  const LocalNs median = median_of(content.gpu.events.start);
  std::vector<int32_t> kept;
  for (size_t i = 0; i < content.gpu.size(); ++i) {
    const LocalNs start = content.gpu.events.start[i];
    if (start >= median - kDay_ns && start <= median + kDay_ns) kept.push_back(static_cast<int32_t>(i));
  }
  report(content, Severity::warning, "time-out-of-range", static_cast<int64_t>(content.gpu.size()) - std::ssize(kept),
         "GPU rows more than a day away from all others; dropped");
  keep(kept, content);
}

// Whether any row covers the start of the next one of its stream with its first half. Looks only at rows that lie in
// the first half of a long one, and says yes where that takes too long: nothing is cut because of this.
bool any_covers_successor(const GpuEvents& gpu) {
  constexpr size_t kLooksPerRow = 64;
  size_t looks = kLooksPerRow * gpu.size();
  for (size_t i = 0; i < gpu.size(); ++i) {
    const int64_t ns = gpu.duration_ns[i];
    if (ns <= kNeverAbsurd_ns) continue;
    for (size_t next = i + 1; next < gpu.size() && gpu.start[next] - gpu.start[i] < ns / 2; ++next) {
      if (gpu.stream[next] == gpu.stream[i] && gpu.device[next] == gpu.device[i]) return true;
      if (--looks == 0) return true;
    }
  }
  return false;
}

// Rows of one stream by start; `gpu` is sorted.
std::vector<std::vector<size_t>> streams_of(const GpuEvents& gpu) {
  std::vector<size_t> order(gpu.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto stream_of = [&](size_t i) { return std::tie(gpu.device[i], gpu.stream[i]); };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return stream_of(a) < stream_of(b); });
  std::vector<std::vector<size_t>> streams;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || stream_of(order[i - 1]) != stream_of(order[i])) streams.emplace_back();
    streams.back().push_back(order[i]);
  }
  return streams;
}

int64_t median_duration(const GpuEvents& gpu, const std::vector<size_t>& stream) {
  std::vector<int64_t> durations;
  for (const size_t row : stream) durations.push_back(gpu.duration_ns[row]);
  return median_of(std::move(durations));
}

int64_t clip_stream(GpuRows& rows, const std::vector<size_t>& stream, int64_t window_ns, std::vector<CutRow>& cut) {
  GpuEvents& gpu = rows.events;
  int64_t limit = window_ns;
  if (stream.size() >= kRowsForMedian) limit = std::min(limit, kAbsurdFactor * median_duration(gpu, stream));
  limit = std::max(limit, kNeverAbsurd_ns);
  int64_t clipped = 0;
  size_t successor = stream.back();
  for (size_t i = stream.size() - 1; i-- > 0;) {  // backwards: a successor's own duration is right already
    const size_t row = stream[i];
    if (gpu.start[stream[i + 1]] != gpu.start[row]) successor = stream[i + 1];
    if (gpu.duration_ns[row] <= limit) continue;
    const int64_t room_ns = gpu.start[successor] - gpu.start[row];
    const bool same_launch = rows.correlation[row] >= 0 && rows.correlation[row] == rows.correlation[successor];
    const bool ends_behind = room_ns + gpu.duration_ns[successor] >= gpu.duration_ns[row];
    if (room_ns <= 0 || room_ns >= gpu.duration_ns[row] / 2 || ends_behind || same_launch) continue;
    gpu.duration_ns[row] = room_ns;
    cut.push_back({gpu.start[row], gpu.device[row], gpu.stream[row]});
    ++clipped;
  }
  return clipped;
}

void sort_rows(FileContent& content) {
  const GpuEvents& gpu = content.gpu.events;
  std::vector<int32_t> order(gpu.size());
  std::iota(order.begin(), order.end(), 0);
  sort_runs(order,
            [&](int32_t a, int32_t b) { return runs_before(gpu, static_cast<size_t>(a), static_cast<size_t>(b)); });
  rearrange(order, content.gpu);
  if (content.details) content.details->gpu = gathered(content.details->gpu, order);
}

void clip_rows(FileContent& content) {
  const GpuEvents& gpu = content.gpu.events;
  const int64_t window_ns = std::max<int64_t>(gpu.start.back() - gpu.start.front(), 1);
  int64_t clipped = 0;
  for (const std::vector<size_t>& stream : streams_of(gpu)) {
    clipped += clip_stream(content.gpu, stream, window_ns, content.cut_rows);
  }
  report(content, Severity::warning, "overlapping-duration", clipped,
         "GPU rows run into the next row of their stream and take over 100 times the median; cut at the next start, or "
         "to the usual time of that name");
  if (clipped > 0) sort_rows(content);
}

}  // namespace

void repair_gpu_rows(FileContent& content) {
  const GpuEvents& gpu = content.gpu.events;
  const Survey survey = survey_of(gpu);
  clear_negative(content, survey.negative);
  drop_far_rows(content, survey);
  const bool in_order = survey.sorted && survey.negative == 0;
  if (!in_order) sort_rows(content);
  if (in_order ? survey.equal : survey_of(gpu).equal) drop_repeated(content);
  if (!content.gpu.empty() && any_covers_successor(gpu)) clip_rows(content);
  if (begin_behind_predecessors(content)) sort_rows(content);
}

}  // namespace skewscope::ingest
