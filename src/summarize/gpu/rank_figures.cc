// The figures of a rank that are worth a comparison with its peers: sums and counts, no means.
#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include "skewscope/summarize.h"

namespace skewscope {
namespace summarize {
namespace {

void add_timeline(const TimelineRow& row, RankFigures& figures) {
  const std::string key = row.step >= 0                  ? fmt::format("step {}", row.step)
                          : row.device >= 0              ? fmt::format("device {}", row.device)
                          : row.place != StepPlace::step ? fmt::format("{} steps", to_string(row.place))
                                                         : "";
  const auto add = [&](const char* metric, int64_t value) { figures.push_back({"timeline", key, metric, value}); };
  const RankSummary& t = row.timeline;
  if (row.step >= 0) add("host_ns", row.host_ns);
  add("gpu_rows", row.gpu_rows);
  add("total_ns", t.total_ns);
  add("compute_ns", t.compute_ns);
  add("communication_ns", t.communication_ns);
  add("exposed_communication_ns", t.exposed_communication_ns);
  add("memcpy_ns", t.memcpy_ns);
  add("exposed_memcpy_ns", t.exposed_memcpy_ns);
  add("busy_ns", t.busy_ns);
  add("idle_ns", t.idle_ns);
  add("micro_idle_ns", t.micro_idle_ns);
}

// Peers have other devices: its number names a row only where a rank has several.
bool one_device(const RankTables& tables) { return tables.launch_bound.size() < 2; }

void add_streams(const RankTables& tables, RankFigures& figures) {
  for (size_t i = 0; i < tables.streams.size(); ++i) {
    const StreamIdle& s = tables.streams[i];
    const std::string key =
        one_device(tables) ? fmt::format("stream {}", s.stream) : fmt::format("stream {}.{}", s.device, s.stream);
    figures.push_back({"streams", key, "busy_ns", s.busy_ns});
    figures.push_back({"streams", key, "host_wait_ns", s.host_wait.total_ns});
    figures.push_back({"streams", key, "kernel_wait_ns", s.kernel_wait.total_ns});
    figures.push_back({"streams", key, "other_ns", s.other.total_ns});
    figures.push_back({"queues", key, "most_depth", static_cast<int64_t>(tables.queues[i].depth.most)});
    figures.push_back({"queues", key, "full_ns", tables.queues[i].full_ns});
  }
}

void add_launches(const RankTables& tables, RankFigures& figures) {
  const LaunchTotals& l = tables.launches;
  const auto add = [&](const char* metric, int64_t value) { figures.push_back({"launches", "", metric, value}); };
  add("rows", l.rows);
  add("host_ns", l.host_ns);
  add("delay_ns", l.delay_ns);
  add("longest_delay_ns", l.longest_delay_ns);
  add("short_rows", l.short_rows);
  add("slow_calls", l.slow_calls);
  add("late_starts", l.late_starts);
  for (const LaunchBound& bound : tables.launch_bound) {
    const std::string key = one_device(tables) ? "" : fmt::format("device {}", bound.device);
    figures.push_back({"launch_bound", key, "rows", bound.rows});
    figures.push_back({"launch_bound", key, "idle_ns", bound.idle_ns});
    figures.push_back({"launch_bound", key, "longest_ns", bound.longest_ns});
  }
}

}  // namespace
}  // namespace summarize

RankFigures figures_of(const RankTables& tables) {
  RankFigures figures;
  for (const TimelineRow& row : tables.timeline) summarize::add_timeline(row, figures);
  summarize::add_streams(tables, figures);
  summarize::add_launches(tables, figures);
  for (const KernelTotals& k : tables.kernels) {
    figures.push_back({"kernels", k.name, "count", k.count});
    figures.push_back({"kernels", k.name, "total_ns", k.total_ns});
    figures.push_back({"kernels", k.name, "longest_ns", k.longest_ns});
  }
  for (const CopyTotals& c : tables.copies) {
    figures.push_back({"copies", c.name, "bytes", c.bytes});
    figures.push_back({"copies", c.name, "total_ns", c.total_ns});
  }
  for (const HostCallTotals& call : tables.calls) {
    figures.push_back({"host_calls", call.name, "count", call.count});
    figures.push_back({"host_calls", call.name, "total_ns", call.total_ns});
    if (call.waits) figures.push_back({"host_calls", call.name, "idle_after_ns", call.idle_after_ns});
  }
  return figures;
}

RankFigures figures_of(const OperatorTables& tables) {
  RankFigures figures;
  for (const CategoryRow& row : tables.categories) {
    const std::string key = row.category + (row.recompute ? " (recompute)" : "");
    figures.push_back({"operator_categories", key, "direct_ns", row.direct_ns});
  }
  for (const OperatorRow& row : tables.operators) {
    const std::string key = row.name + (row.recompute ? " (recompute)" : "");
    figures.push_back({"operators", key, "calls", row.calls});
    figures.push_back({"operators", key, "direct_ns", row.direct_ns});
    figures.push_back({"operators", key, "host_self_ns", row.host_self_ns});
  }
  for (const ModuleRow& row : tables.modules) {
    figures.push_back({"modules", row.name, "gpu_ns", row.gpu_ns + row.backward_gpu_ns});
    figures.push_back({"modules", row.name, "host_total_ns", row.host_total_ns});
  }
  int64_t path_ns[kPathKinds] = {};
  for (const PathKindRow& row : tables.critical_path.kinds) path_ns[static_cast<size_t>(row.kind)] += row.time_ns;
  for (size_t kind = 0; kind < kPathKinds && !tables.critical_path.kinds.empty(); ++kind) {
    figures.push_back({"critical_path", to_string(PathKind(kind)), "time_ns", path_ns[kind]});
  }
  return figures;
}

std::vector<RankFigures> figures_of_job(const JobTrace& job, std::map<std::string, RankFigures> known,
                                        Exchange& exchange) {
  std::vector<RankFigures> figures(job.traces.size());
  tbb::parallel_for(size_t{0}, job.traces.size(), [&](size_t t) {
    if (!job.holds(TraceIndex(static_cast<int64_t>(t)))) return;
    const auto found = known.find(job.traces[t].file);
    figures[t] =
        found != known.end() ? std::move(found->second) : figures_of(tabulate_trace(job.traces[t], job.strings));
  });
  const auto put = [&](ByteWriter& writer, size_t t) {
    writer.put(figures[t].size());
    for (const RankFigure& figure : figures[t]) {
      for (const std::string* text : {&figure.table, &figure.key, &figure.metric}) writer.put(*text);
      writer.put(figure.value);
    }
  };
  const auto get = [&](ByteReader& reader, size_t t) {
    figures[t].resize(reader.get<size_t>());
    for (RankFigure& figure : figures[t]) {
      for (std::string* text : {&figure.table, &figure.key, &figure.metric}) reader.get(*text);
      reader.get(figure.value);
    }
  };
  tell_first(
      exchange, figures.size(), [&](size_t t) { return job.traces[t].process; }, put, get);
  return figures;
}

}  // namespace skewscope
