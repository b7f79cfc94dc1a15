// Problem: traces rarely record what a cudaStreamWaitEvent or a cudaStreamSynchronize waited for (cuda_sync events are
// off unless asked for): the call has a name and a time, no stream and no event.
//
// Idea: who waits goes on as soon as what he waited for has ended. So what a call waited for is the last row that ended
// while it waited, of those launched before it; a copy waits for itself: cudaMemcpyAsync from or to pageable memory
// returns when the copy has ended. A stream that has to wait does so before the next row that the thread launches,
// for the last row of another stream that ended before that began.
//
// Why it is right: of rows that had been launched, none that ends later can be what was waited for, and one that ends
// earlier is not what held it up. A row that ends at the right time by chance can be taken for it: a bound on the delay
// then still holds.
//
// Cost: one sort of the rows by end. A walk back in time asks for intervals that do not overlap, so that all questions
// together look at each row once. 8 bytes per GPU row, 8 per copy, a bit per host row.
#include "gpu_arrivals.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "src/summarize/gpu/host_calls.h"

namespace skewscope::summarize {

GpuArrivals::GpuArrivals(const OperatorView& view)
    : view_(view),
      stream_waits_{view.strings.find("cudaStreamWaitEvent"), view.strings.find("hipStreamWaitEvent"),
                    view.strings.find("cuStreamWaitEvent")} {
  const GpuEvents& gpu = view.gpu();
  before_.assign(gpu.size(), -1);
  launches_.assign(view.host().size(), false);
  std::map<std::pair<int32_t, int32_t>, int32_t> latest;  // by device and stream: the row that ended last
  for (size_t i = 0; i < gpu.size(); ++i) {
    const auto row = static_cast<int32_t>(i);
    const auto [stream, first] = latest.try_emplace({gpu.device[i], gpu.stream[i]}, row);
    if (!first) before_[i] = stream->second;
    if (end(row) >= end(stream->second)) stream->second = row;
    const int32_t caller = view.detail.gpu.caller[i];
    if (caller < 0) continue;
    launches_[static_cast<size_t>(caller)] = true;
    if (gpu.work[i] == GpuWork::memcpy) copies_.emplace_back(caller, row);
  }
  by_end_.resize(gpu.size());
  std::iota(by_end_.begin(), by_end_.end(), 0);
  std::sort(by_end_.begin(), by_end_.end(),
            [&](int32_t a, int32_t b) { return std::make_pair(end(a), a) < std::make_pair(end(b), b); });
  std::sort(copies_.begin(), copies_.end(), [&](const auto& a, const auto& b) {
    return std::make_tuple(a.first, end(a.second), a.second) < std::make_tuple(b.first, end(b.second), b.second);
  });
}

LocalNs GpuArrivals::end(int32_t row) const {
  const auto at = static_cast<size_t>(row);
  return view_.gpu().start[at] + view_.gpu().duration_ns[at];
}

bool GpuArrivals::same_stream(int32_t a, int32_t b) const {
  const GpuEvents& gpu = view_.gpu();
  const auto left = static_cast<size_t>(a), right = static_cast<size_t>(b);
  return gpu.stream[left] == gpu.stream[right] && gpu.device[left] == gpu.device[right];
}

int32_t GpuArrivals::last_ended(const Asked& asked) const {
  auto at = std::upper_bound(by_end_.begin(), by_end_.end(), asked.until,
                             [&](LocalNs t, int32_t row) { return t < end(row); });
  while (at != by_end_.begin()) {
    const int32_t row = *--at;
    if (end(row) <= asked.after) break;
    const int32_t caller = view_.detail.gpu.caller[static_cast<size_t>(row)];
    const bool in_time = caller < 0 || view_.host().start[static_cast<size_t>(caller)] <= asked.launched_by;
    if (in_time && (asked.not_beside < 0 || !same_stream(row, asked.not_beside))) return row;
  }
  return -1;
}

bool GpuArrivals::told_to_wait(int32_t caller, LocalNs& when) const {
  const HostEvents& host = view_.host();
  for (auto row = static_cast<size_t>(caller); row-- > 0;) {
    if (host.thread[row] != host.thread[static_cast<size_t>(caller)] || launches_[row]) return false;
    if (host.kind[row] != HostKind::call) continue;
    for (const StringId name : stream_waits_) {
      if (!name.known() || host.name[row] != name) continue;
      when = host.start[row];
      return true;
    }
  }
  return false;
}

int32_t GpuArrivals::awaited_by_row(int32_t row, LocalNs bound) const {
  const int32_t caller = view_.detail.gpu.caller[static_cast<size_t>(row)];
  LocalNs when;
  if (caller < 0 || !told_to_wait(caller, when)) return -1;
  return last_ended({bound, view_.gpu().start[static_cast<size_t>(row)], when, row});
}

int32_t GpuArrivals::ran_meanwhile(int32_t row, LocalNs bound) const {
  const GpuEvents& gpu = view_.gpu();
  const LocalNs start = gpu.start[static_cast<size_t>(row)];
  const int32_t caller = view_.detail.gpu.caller[static_cast<size_t>(row)];
  const LocalNs launched = caller < 0 ? start : view_.host().start[static_cast<size_t>(caller)];
  const int32_t other = last_ended({bound, start, launched, row});
  if (other < 0 || gpu.device[static_cast<size_t>(other)] != gpu.device[static_cast<size_t>(row)]) return -1;
  return gpu.start[static_cast<size_t>(other)] < start ? other : -1;
}

int32_t GpuArrivals::awaited_by_call(int32_t host_row, LocalNs until) const {
  const HostEvents& host = view_.host();
  const auto call = static_cast<size_t>(host_row);
  const LocalNs start = host.start[call], returned = std::min(until, host.end(call));
  auto own = std::upper_bound(copies_.begin(), copies_.end(), host_row,
                              [](int32_t row, const auto& copy) { return row < copy.first; });
  if (own != copies_.begin() && std::prev(own)->first == host_row) {
    const int32_t copy = std::prev(own)->second;
    if (end(copy) > start && end(copy) <= returned) return copy;
  }
  if (!waits_for_gpu(view_.name(host_row))) return -1;
  return last_ended({start, returned, start, -1});
}

}  // namespace skewscope::summarize
