// Problem: NCCL counts the calls of each operation in a communicator from its first one on, a trace shows some of them
// without a number. Idea: in a window without gaps the numbers go up by one, so one number says all. It is the one at
// which sizes and durations agree: both tracers measure the same kernel, and how long a rank waits differs from call
// to call. Where durations do not tell numbers apart, the ends do, if the log has times.
// Why it is right: a number counts only where it is clearly better than any other, and most of what is compared agrees;
// else nothing is said. A kernel of several calls at once, or a kernel that the trace lost, moves the numbers behind
// it: so blocks are placed one after the other, each first where the one before leads, else anew.
// Cost: O(log + trace) where calls go on; to place a block, kSamples comparisons for each number it may begin with.
#include "call_numbers.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace skewscope::ingest {
namespace {

constexpr size_t kCallsInBlock = 256, kSamples = 64, kMostSearches = 4;
constexpr size_t kStride = 37;  // has no divisor in common with kSamples
constexpr int64_t kFirstLook = 8;
constexpr int64_t kClocksApart_ns = 50'000'000;  // a tracer's clock and the host's
constexpr int64_t kSameEnd_ns = 1'000'000;       // ends that agree without anything else
constexpr int64_t kShortest_ns = 5'000;          // durations are whole microseconds and end at different moments
constexpr int64_t kDurationShare = 64;

bool is_same_call(const ComparedCall& log, const ComparedCall& trace) {
  if (log.bytes > 0 && trace.bytes > 0 && log.bytes != trace.bytes) return false;
  const int64_t apart = std::abs(log.duration_ns - trace.duration_ns);
  return apart <= std::max(kShortest_ns, trace.duration_ns / kDurationShare);
}

// How a block lies in the log if its first call has the number.
struct Placed {
  int64_t number = -1, agree = 0, compared = 0, ends_apart_ns = 0;

  bool fits() const { return compared > 0 && 10 * agree >= 7 * compared; }
  int64_t margin() const { return std::max<int64_t>(2, compared / 10); }
};

class Numbering {
 public:
  Numbering(const std::vector<ComparedCall>& log, const std::vector<ComparedCall>& trace, bool timed)
      : log_(log), trace_(trace), timed_(timed) {
    result_.log_row.assign(trace.size(), -1);
    first_ = log.empty() ? 0 : log.front().number;
    const int64_t span = log.empty() ? 0 : log.back().number - first_ + 1;
    dense_ = span <= 4 * static_cast<int64_t>(log.size()) + 1024;
    if (!dense_) return;
    row_of_.assign(static_cast<size_t>(span), -1);
    for (size_t i = 0; i < log.size(); ++i)
      row_of_[static_cast<size_t>(log[i].number - first_)] = static_cast<int32_t>(i);
  }

  NumberedCalls number() {
    if (!dense_ || log_.empty()) return std::move(result_);
    int64_t expected = -1;
    size_t searches = 0;
    for (size_t begin = 0; begin < trace_.size(); begin += kCallsInBlock) {
      const size_t end = std::min(begin + kCallsInBlock, trace_.size());
      Placed placed = expected < 0 ? Placed() : place(begin, end, expected);
      if (!placed.fits() && searches < kMostSearches) {
        placed = search(begin, end);
        ++searches;
      }
      if (!placed.fits()) continue;
      join(begin, end, placed.number);
      expected = placed.number + static_cast<int64_t>(end - begin);
    }
    return std::move(result_);
  }

 private:
  int32_t row_with(int64_t number) const {
    const int64_t at = number - first_;
    return at < 0 || at >= static_cast<int64_t>(row_of_.size()) ? -1 : row_of_[static_cast<size_t>(at)];
  }

  Placed place(size_t begin, size_t end, int64_t number) const {
    Placed placed{number};
    // Spread, so that the first ones are not all ahead of a change.
    const size_t size = end - begin, samples = std::min(size, kSamples), step = size / samples;
    for (size_t k = 0; k < samples; ++k) {
      const size_t i = begin + (samples == kSamples ? k * kStride % kSamples : k) * step;
      const int32_t row = row_with(number + static_cast<int64_t>(i - begin));
      if (row < 0) continue;
      const ComparedCall& line = log_[static_cast<size_t>(row)];
      ++placed.compared;
      placed.agree += is_same_call(line, trace_[i]) ? 1 : 0;
      placed.ends_apart_ns += std::min(std::abs(line.end_ns - trace_[i].end_ns), kClocksApart_ns);
      if (placed.compared == kFirstLook && 2 * placed.agree < placed.compared) return placed;
    }
    if (placed.compared > 0) placed.ends_apart_ns /= placed.compared;
    return placed;
  }

  // A line is written after its call, and a stamp is near its end.
  bool may_begin(size_t begin, size_t end, int64_t number) const {
    for (size_t i = begin; i < end; ++i) {
      const int32_t row = row_with(number + static_cast<int64_t>(i - begin));
      if (row < 0) continue;
      const int64_t later = log_[static_cast<size_t>(row)].end_ns - trace_[i].end_ns;
      return later >= -kClocksApart_ns && (!timed_ || later <= kClocksApart_ns);
    }
    return false;
  }

  Placed search(size_t begin, size_t end) const {
    std::vector<Placed> fitting;
    Placed best;
    const auto length = static_cast<int64_t>(end - begin);
    for (int64_t number = std::max<int64_t>(0, first_ - length + 1); number <= log_.back().number; ++number) {
      if (!may_begin(begin, end, number)) continue;
      const Placed placed = place(begin, end, number);
      if (!placed.fits()) continue;
      fitting.push_back(placed);
      if (placed.agree > best.agree) best = placed;
    }
    std::erase_if(fitting, [&](const Placed& other) { return best.agree - other.agree >= best.margin(); });
    if (fitting.size() == 1 && best.agree > 2) return best;
    return timed_ ? by_ends(fitting) : Placed();
  }

  // The one whose ends are clearly nearest.
  static Placed by_ends(std::vector<Placed>& fitting) {
    if (fitting.empty()) return {};
    std::sort(fitting.begin(), fitting.end(),
              [](const Placed& a, const Placed& b) { return a.ends_apart_ns < b.ends_apart_ns; });
    const bool clear = fitting.size() == 1 || 2 * fitting[0].ends_apart_ns < fitting[1].ends_apart_ns;
    return clear && fitting[0].ends_apart_ns <= kSameEnd_ns ? fitting[0] : Placed();
  }

  // Of calls that lie wrong some agree by chance, but hardly two in a row.
  void join(size_t begin, size_t end, int64_t number) {
    std::vector<std::pair<size_t, int32_t>> lines;  // row of the trace, and of the log
    for (size_t i = begin; i < end; ++i) {
      const int32_t row = row_with(number + static_cast<int64_t>(i - begin));
      if (row >= 0) lines.emplace_back(i, row);
    }
    const auto agrees = [&](size_t k) {
      return k < lines.size() && is_same_call(log_[static_cast<size_t>(lines[k].second)], trace_[lines[k].first]);
    };
    for (size_t k = 0; k < lines.size(); ++k) {
      ++result_.compared;
      const bool near = lines.size() == 1 || agrees(k + 1) || (k > 0 && agrees(k - 1));
      if (!near || !agrees(k)) continue;
      result_.log_row[lines[k].first] = lines[k].second;
      ++result_.found;
    }
  }

  const std::vector<ComparedCall>& log_;
  const std::vector<ComparedCall>& trace_;
  const bool timed_;
  bool dense_ = false;
  int64_t first_ = 0;
  std::vector<int32_t> row_of_;  // by number since the first
  NumberedCalls result_;
};

}  // namespace

NumberedCalls number_calls(const std::vector<ComparedCall>& log, const std::vector<ComparedCall>& trace, bool timed) {
  return Numbering(log, trace, timed).number();
}

}  // namespace skewscope::ingest
