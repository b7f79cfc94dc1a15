// Problem: tracers wrote negative durations (kineto #646), kernels at time 0 (#109), and on ROCm durations that run
// over the rows behind them by orders of magnitude (TraceLens #669); one such row would be 99 % of GPU time. Idea: rows
// of one stream run one after the other, so a row that covers its successors is wrong. To leave real overlap alone
// (graph branches on one stream id share a correlation; dependent launches overlap by microseconds; copies run beside
// kernels of "stream 0"), a row is cut only when all hold: it is over 100 times the median of its stream or longer than
// the whole trace, over a millisecond, and its successor starts in its first half and did not come from the same
// launch. Cost: one sort, nearly linear.
#include "repair_gpu_rows.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "skewscope/base/sort_runs.h"

namespace skewscope::ingest {
namespace {

constexpr int64_t kDay_ns = 86'400'000'000'000;
constexpr int64_t kAbsurdFactor = 100;
constexpr int64_t kNeverAbsurd_ns = 1'000'000;  // stamps of whole microseconds overlap by rounding
constexpr size_t kMostStreams = 64;             // of a search one by one
constexpr size_t kRowsForMedian = 8;            // fewer rows on a stream have no meaningful median

void report(FileContent& content, const char* code, int64_t count, const char* message) {
  if (count == 0) return;
  add_finding(content.findings, {Severity::warning, code, content.file, Rank(), -1, count, message});
}

// By start, the longest first.
bool runs_before(const GpuRow& a, const GpuRow& b) {
  return std::tie(a.start, b.duration_ns) < std::tie(b.start, a.duration_ns);
}

// What one pass over the rows says of them; most need no more.
struct Survey {
  LocalNs first{INT64_MAX}, last{INT64_MIN};  // start
  int64_t negative = 0;                       // durations
  bool sorted = true;
  bool equal = false;  // some row begins and ends with the one before it
};

Survey survey_of(const std::vector<GpuRow>& gpu) {
  const auto look = [&](const tbb::blocked_range<size_t>& rows, Survey survey) {
    for (size_t i = rows.begin(); i < rows.end(); ++i) {
      survey.first = std::min(survey.first, gpu[i].start);
      survey.last = std::max(survey.last, gpu[i].start);
      survey.negative += gpu[i].duration_ns < 0 ? 1 : 0;
      if (i == 0) continue;
      survey.sorted &= !runs_before(gpu[i], gpu[i - 1]);
      survey.equal |= gpu[i].start == gpu[i - 1].start && gpu[i].duration_ns == gpu[i - 1].duration_ns;
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
  for (GpuRow& row : content.gpu) row.duration_ns = std::max<int64_t>(row.duration_ns, 0);
  report(content, "negative-duration", count, "GPU rows with a negative duration; taken as 0");
}

// Rows are sorted, so alike ones stand in one run of equal start and duration. Of a launch's work two rows are alike
// only where stamps are too coarse for short rows, or where the file holds its events twice.
void drop_repeated(FileContent& content) {
  std::vector<GpuRow>& gpu = content.gpu;
  std::set<decltype(std::tie(gpu[0].device, gpu[0].stream, gpu[0].correlation, gpu[0].name, gpu[0].work))> seen;
  std::vector<size_t> repeated;
  for (size_t first = 0, next = 0; first < gpu.size(); first = next) {
    for (next = first + 1;
         next < gpu.size() && gpu[next].start == gpu[first].start && gpu[next].duration_ns == gpu[first].duration_ns;) {
      ++next;
    }
    if (next - first == 1 || gpu[first].duration_ns <= content.resolution_ns) continue;
    seen.clear();
    for (size_t i = first; i < next; ++i) {
      GpuRow& row = gpu[i];
      const bool is_new = seen.insert(std::tie(row.device, row.stream, row.correlation, row.name, row.work)).second;
      if (!is_new && row.correlation >= 0) repeated.push_back(i);
    }
  }
  if (repeated.empty()) return;
  report(content, "repeated-events", std::ssize(repeated),
         "GPU rows that stand in the file twice, alike in every respect; each counts once");
  auto hole = repeated.begin();
  size_t kept = *hole;
  for (size_t i = kept; i < gpu.size(); ++i) {
    if (hole != repeated.end() && *hole == i) {
      ++hole;
    } else {
      gpu[kept++] = gpu[i];
    }
  }
  gpu.resize(kept);
}

void drop_far_rows(FileContent& content, const Survey& survey) {
  if (content.gpu.empty() || survey.last - survey.first <= kDay_ns) return;
  std::vector<LocalNs> starts;
  for (const GpuRow& row : content.gpu) starts.push_back(row.start);
  const auto middle = starts.begin() + static_cast<ptrdiff_t>(starts.size() / 2);
  std::nth_element(starts.begin(), middle, starts.end());
  const LocalNs median = *middle;
  const auto kept = std::remove_if(content.gpu.begin(), content.gpu.end(), [&](const GpuRow& row) {
    return row.start < median - kDay_ns || row.start > median + kDay_ns;
  });
  report(content, "time-out-of-range", content.gpu.end() - kept,
         "GPU rows more than a day away from all others; dropped");
  content.gpu.erase(kept, content.gpu.end());
}

// Whether any row of a stream covers the start of the next one with its first half: a test without a sort, which the
// rows of most traces do not pass.
bool any_covers_successor(const std::vector<GpuRow>& gpu) {
  std::vector<const GpuRow*> last_of_streams;
  for (const GpuRow& row : gpu) {
    const auto same = [&](const GpuRow* last) { return last->stream == row.stream && last->device == row.device; };
    const auto last = std::find_if(last_of_streams.begin(), last_of_streams.end(), same);
    if (last == last_of_streams.end()) {
      if (last_of_streams.size() == kMostStreams) return true;
      last_of_streams.push_back(&row);
      continue;
    }
    if ((*last)->duration_ns > kNeverAbsurd_ns && row.start - (*last)->start < (*last)->duration_ns / 2) return true;
    *last = &row;
  }
  return false;
}

// Rows of one stream by start; indexes into content.gpu, which is sorted.
std::vector<std::vector<size_t>> streams_of(const std::vector<GpuRow>& gpu) {
  std::vector<size_t> order(gpu.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tie(gpu[a].device, gpu[a].stream) < std::tie(gpu[b].device, gpu[b].stream);
  });
  std::vector<std::vector<size_t>> streams;
  for (size_t i = 0; i < order.size(); ++i) {
    const GpuRow& row = gpu[order[i]];
    const bool same = i > 0 && gpu[order[i - 1]].device == row.device && gpu[order[i - 1]].stream == row.stream;
    if (!same) streams.emplace_back();
    streams.back().push_back(order[i]);
  }
  return streams;
}

int64_t median_duration(const std::vector<GpuRow>& gpu, const std::vector<size_t>& stream) {
  std::vector<int64_t> durations;
  for (const size_t row : stream) durations.push_back(gpu[row].duration_ns);
  const auto middle = durations.begin() + static_cast<ptrdiff_t>(durations.size() / 2);
  std::nth_element(durations.begin(), middle, durations.end());
  return *middle;
}

int64_t clip_stream(std::vector<GpuRow>& gpu, const std::vector<size_t>& stream, int64_t window_ns) {
  int64_t limit = window_ns;
  if (stream.size() >= kRowsForMedian) limit = std::min(limit, kAbsurdFactor * median_duration(gpu, stream));
  limit = std::max(limit, kNeverAbsurd_ns);
  int64_t clipped = 0;
  for (size_t i = 0; i + 1 < stream.size(); ++i) {
    GpuRow& row = gpu[stream[i]];
    if (row.duration_ns <= limit) continue;
    size_t next = i + 1;
    while (next + 1 < stream.size() && gpu[stream[next]].start == row.start) ++next;
    const GpuRow& successor = gpu[stream[next]];
    const int64_t room_ns = successor.start - row.start;
    const bool same_launch = row.correlation >= 0 && row.correlation == successor.correlation;
    if (room_ns <= 0 || room_ns >= row.duration_ns / 2 || same_launch) continue;
    row.duration_ns = room_ns;
    ++clipped;
  }
  return clipped;
}

void sort_rows(std::vector<GpuRow>& gpu) { sort_runs(gpu, runs_before); }

}  // namespace

void repair_gpu_rows(FileContent& content) {
  const Survey survey = survey_of(content.gpu);
  clear_negative(content, survey.negative);
  drop_far_rows(content, survey);
  const bool in_order = survey.sorted && survey.negative == 0;
  if (!in_order) sort_rows(content.gpu);
  if (!in_order || survey.equal) drop_repeated(content);
  if (content.gpu.empty() || !any_covers_successor(content.gpu)) return;
  const int64_t window_ns = std::max<int64_t>(content.gpu.back().start - content.gpu.front().start, 1);
  int64_t clipped = 0;
  for (const std::vector<size_t>& stream : streams_of(content.gpu))
    clipped += clip_stream(content.gpu, stream, window_ns);
  report(
      content, "overlapping-duration", clipped,
      "GPU rows that run over the next row of their stream and are over 100 times the median; cut at the next start");
  if (clipped > 0) sort_rows(content.gpu);
}

}  // namespace skewscope::ingest
