#include "rank_line.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <functional>

namespace skewscope::blame {
namespace {

// The traces held here, as their launches lie in memory: what they share a block with is given back soon after them.
std::vector<TraceIndex> in_order_of_memory(const JobTrace& job) {
  std::vector<TraceIndex> traces;
  for (size_t t = 0; t < job.traces.size(); ++t) {
    const TraceIndex trace(static_cast<int64_t>(t));
    if (job.holds(trace)) traces.push_back(trace);
  }
  std::sort(traces.begin(), traces.end(), [&](TraceIndex a, TraceIndex b) {
    return std::less<>()(job[a].launches.start.data(), job[b].launches.start.data());
  });
  return traces;
}

// What processes send each other of a line.
template <class Line, class Visit>
void visit_fields(Line& line, const Visit& visit) {
  visit(line.forks);
  visit(line.stops);
  visit(line.host.first_ns);
  visit(line.host.forks);
  visit(line.host.pauses);
  visit(line.host.waits);
  visit(line.first);
  visit(line.first_ns);
  visit(line.last_ns);
  visit(line.blind);
  visit(line.begin);
}

}  // namespace

LocalNs first_launched(const RankTrace& trace) {
  LocalNs first{INT64_MAX};
  for (size_t i = 0; i < trace.gpu.size() && first.ns == INT64_MAX; ++i) {
    const bool on_line = trace.gpu.work[i] != GpuWork::communication && trace.gpu.duration_ns[i] > 0;
    if (on_line && trace.gpu.launch[i] >= 0) first = trace.gpu.start[i];
  }
  for (const CollectiveCall& call : trace.calls) {
    if (call.launched) first = std::min(first, call.start);
  }
  return first.ns == INT64_MAX ? LocalNs{INT64_MIN} : first;
}

std::vector<RankLine> rank_lines(const JobView& view, Exchange& exchange,
                                 const std::function<void(TraceIndex, const RankLine&)>& made) {
  std::vector<RankLine> lines(view.job.traces.size());
  tbb::enumerable_thread_specific<ColumnPacker> packers;
  const std::vector<TraceIndex> traces = in_order_of_memory(view.job);
  tbb::parallel_for(size_t{0}, traces.size(), [&](size_t k) {
    const TraceIndex trace = traces[k];
    const size_t t = trace.index();
    RankLine& line = lines[t] = build_line(view, trace);
    made(trace, line);
    ColumnPacker& packer = packers.local();
    packer.pack(line.forks);
    packer.pack(line.stops);
    packer.pack(line.host.waits);
  });
  tell_first(
      exchange, lines.size(), [&](size_t t) { return view.job.traces[t].process; },
      [&](ByteWriter& writer, size_t t) { visit_fields(lines[t], [&](const auto& field) { writer.put(field); }); },
      [&](ByteReader& reader, size_t t) { visit_fields(lines[t], [&](auto& field) { reader.get(field); }); });
  return lines;
}

}  // namespace skewscope::blame
