// Problem: of each step, how much went to kernels, copies, communication, calls of the runtime, the data loader,
// operators, and none of these, so that the parts sum to the step? They run at the same time on several threads and
// streams.
//
// Idea: the first of them that runs counts, in the order of ExecutionPart. A part is a set of times: of the host, of
// the outermost rows of each thread; one sweep over the begins and ends of all sets keeps how many of each run, and
// adds what passes until the next one to the first part that runs.
//
// Why it is right: that is how tb_plugin subtracts its lists of ranges, one after the other, from the steps.
//
// Cost: a sort of the outermost rows and the GPU rows; 16 bytes for each begin and end.
// Source: torch_tb_profiler's overall view.
#include "execution_summary.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "critical_path.h"
#include "host_lines.h"

namespace skewscope::summarize {
namespace {

struct PartEdge {
  LocalNs at;
  int32_t part = 0, change = 0;
};

constexpr size_t kInLoader = kExecutionParts;  // in the data loader, whatever else runs

using RunningParts = std::array<int32_t, kExecutionParts + 1>;

ExecutionPart part_of(GpuWork work) {
  switch (work) {
    case GpuWork::compute:
      return ExecutionPart::kernel;
    case GpuWork::communication:
      return ExecutionPart::communication;
    case GpuWork::memcpy:
      return ExecutionPart::copy;
    case GpuWork::memset:
      return ExecutionPart::fill;
  }
  return ExecutionPart::kernel;
}

class PartEdges {
 public:
  void add(LocalNs start, LocalNs end, size_t part) {
    if (end <= start) return;
    edges_.push_back({start, static_cast<int32_t>(part), 1});
    edges_.push_back({end, static_cast<int32_t>(part), -1});
  }
  std::vector<PartEdge> sorted() {
    std::sort(edges_.begin(), edges_.end(), [](const PartEdge& a, const PartEdge& b) { return a.at < b.at; });
    return std::move(edges_);
  }

 private:
  std::vector<PartEdge> edges_;
};

bool in_a_window(const std::vector<PathWindow>& windows, int32_t thread, LocalNs at) {
  return std::any_of(windows.begin(), windows.end(), [&](const PathWindow& window) {
    return window.thread == thread && at >= window.start && at < window.end;
  });
}

// Rows of a thread come by start, the longest first: what ends by the end of the last one lies in it.
void add_host(const OperatorView& view, const std::vector<PathWindow>& windows, PartEdges& edges) {
  const HostEvents& host = view.host();
  std::vector<std::array<int8_t, 5>> loader(view.strings.size(), {-1, -1, -1, -1, -1});  // by name and kind; asked once
  int32_t thread = -1;
  std::array<LocalNs, kExecutionParts> until;
  for (size_t i = 0; i < host.size(); ++i) {
    if (host.thread[i] != thread) {
      thread = host.thread[i];
      until.fill(LocalNs{INT64_MIN});
    }
    int8_t& loads = loader[host.name[i].index()][static_cast<size_t>(host.kind[i])];
    if (loads < 0) loads = is_data_loader(view.strings.view(host.name[i]), host.kind[i]) ? 1 : 0;
    const bool loading = loads == 1 && in_a_window(windows, thread, host.start[i]);
    if (!loading && host.kind[i] != HostKind::op && host.kind[i] != HostKind::call) continue;
    const ExecutionPart part = loading                          ? ExecutionPart::data_loader
                               : host.kind[i] == HostKind::call ? ExecutionPart::runtime
                                                                : ExecutionPart::host_operator;
    LocalNs& end = until[static_cast<size_t>(part)];
    if (host.end(i) <= end) continue;
    edges.add(std::max(end, host.start[i]), host.end(i), static_cast<size_t>(part));
    if (loading) edges.add(std::max(end, host.start[i]), host.end(i), kInLoader);
    end = host.end(i);
  }
}

void add_stretch(const RunningParts& running, int64_t ns, ExecutionRow& row) {
  size_t part = 0;
  while (part + 1 < kExecutionParts && running[part] == 0) ++part;
  row.parts_ns[part] += ns;
  if (running[kInLoader] > 0) row.in_data_loader_ns += ns;
}

}  // namespace

bool is_data_loader(std::string_view name, HostKind kind) {
  if (kind == HostKind::python) {
    return name.find("torch/utils/data/dataloader.py") != std::string_view::npos && name.ends_with(": __next__");
  }
  if (kind != HostKind::annotation && kind != HostKind::op) return false;
  constexpr std::string_view kWord = "dataloader";
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  return std::search(name.begin(), name.end(), kWord.begin(), kWord.end(), same) != name.end();
}

void add_execution_summary(const OperatorView& view, OperatorTables& tables) {
  const std::vector<PathWindow> windows = path_windows(view, HostLines(view, false).busiest_thread());
  if (windows.empty()) return;
  PartEdges all;
  for (size_t i = 0; i < view.gpu().size(); ++i) {
    all.add(view.gpu().start[i], view.gpu().start[i] + view.gpu().duration_ns[i],
            static_cast<size_t>(part_of(view.gpu().work[i])));
  }
  add_host(view, windows, all);
  const std::vector<PartEdge> edges = all.sorted();
  RunningParts running{};
  auto edge = edges.begin();
  const auto pass_edges = [&](LocalNs at) {
    for (; edge != edges.end() && edge->at <= at; ++edge) running[static_cast<size_t>(edge->part)] += edge->change;
  };
  for (const PathWindow& window : windows) {
    ExecutionRow& row = tables.execution.emplace_back();
    row.step = window.step;
    row.length_ns = window.end - window.start;
    pass_edges(window.start);
    for (LocalNs now = window.start; now < window.end;) {
      const LocalNs next = edge == edges.end() ? window.end : std::min(window.end, edge->at);
      add_stretch(running, next - now, row);
      now = next;
      if (now < window.end) pass_edges(now);
    }
  }
}

}  // namespace skewscope::summarize
