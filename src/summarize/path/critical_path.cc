// Each step's path is walked once; its parts are summed by kind, and over all steps by kind and name.
#include "critical_path.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>

#include "path_walk.h"
#include "src/summarize/gpu/profiler_work.h"
#include "src/summarize/gpu/rank_tables.h"

namespace skewscope::summarize {
namespace {

LocalNs end_of(const GpuEvents& gpu, int32_t row) {
  return gpu.start[static_cast<size_t>(row)] + gpu.duration_ns[static_cast<size_t>(row)];
}

// The row that ends last, of those that end after `t`; -1: none.
template <class Rows>
int32_t last_after(const GpuEvents& gpu, const Rows& rows, LocalNs t) {
  int32_t last = -1;
  for (const int32_t row : rows) {
    if (end_of(gpu, row) <= t) continue;
    if (last < 0 || end_of(gpu, row) > end_of(gpu, last)) last = row;
  }
  return last;
}

// Per step: the thread of its range.
std::vector<int32_t> step_threads(const OperatorView& view, int32_t otherwise) {
  const std::vector<StepRange>& steps = view.trace.steps;
  std::vector<int32_t> threads(steps.size(), otherwise);
  const HostEvents& host = view.host();
  for (size_t row = 0; row < host.size(); ++row) {
    if (host.kind[row] != HostKind::annotation) continue;
    const auto step = std::lower_bound(steps.begin(), steps.end(), host.start[row],
                                       [](const StepRange& s, LocalNs t) { return s.start < t; });
    if (step == steps.end() || step->start != host.start[row] || step->duration_ns != host.duration_ns[row]) continue;
    if (view.name(static_cast<int32_t>(row)).rfind("ProfilerStep", 0) != 0) continue;
    threads[static_cast<size_t>(step - steps.begin())] = host.thread[row];
  }
  return threads;
}

PathWindow whole_trace(const OperatorView& view, int32_t busiest_thread) {
  PathWindow window;
  window.thread = busiest_thread;
  bool any = false;
  const auto widen = [&](LocalNs start, LocalNs end) {
    window.start = any ? std::min(window.start, start) : start;
    window.end = any ? std::max(window.end, end) : end;
    any = true;
  };
  const HostEvents& host = view.host();
  for (size_t row = 0; row < host.size(); ++row) {
    if (host.kind[row] != HostKind::op && host.kind[row] != HostKind::call) continue;
    if (host.thread[row] == busiest_thread) widen(host.start[row], host.end(row));
  }
  const LocalNs host_end = window.end;
  std::vector<int32_t> rows(view.gpu().size());
  for (size_t row = 0; row < rows.size(); ++row) {
    rows[row] = static_cast<int32_t>(row);
    widen(view.gpu().start[row], end_of(view.gpu(), rows[row]));
  }
  window.gpu_row =
      last_after(view.gpu(), rows, busiest_thread < 0 ? LocalNs{std::numeric_limits<int64_t>::min()} : host_end);
  return window;
}

// While these pass, the GPU has nothing to do.
bool is_delay(PathKind kind) {
  return kind == PathKind::launch_delay || kind == PathKind::kernel_delay || kind == PathKind::unexplained;
}

// Sums of parts by kind and name.
class PathSums {
 public:
  explicit PathSums(const OperatorView& view)
      : view_(view), buffers_(view.host(), view.strings), met_(view.host().size(), false) {}

  void add(const PathPart& part) {
    const int64_t ns = part.end - part.start;
    of_step_[static_cast<size_t>(part.kind)] += ns;
    if (is_delay(part.kind)) profiler_[static_cast<size_t>(part.kind)] += buffers_.covered_ns(part.start, part.end);
    if (ns == 0) return;
    Sum& sum = by_name_[{part.kind, name_of(part)}];
    sum.time_ns += ns;
    sum.count += first_time(part);
  }

  void close_step(const PathWindow& window, CriticalPath& path) {
    const int64_t length_ns = window.end - window.start;
    all_ns_ += length_ns;
    const size_t first = path.kinds.size();
    for (size_t kind = 0; kind < kPathKinds; ++kind) {
      if (of_step_[kind] == 0) continue;
      path.kinds.push_back({window.step, window.start - view_.trace.first_event, length_ns, PathKind(kind),
                            of_step_[kind], static_cast<double>(of_step_[kind]) / static_cast<double>(length_ns),
                            profiler_[kind]});
    }
    std::stable_sort(path.kinds.begin() + static_cast<std::ptrdiff_t>(first), path.kinds.end(),
                     [](const PathKindRow& a, const PathKindRow& b) { return a.time_ns > b.time_ns; });
    of_step_ = {};
    profiler_ = {};
  }

  void finish(CriticalPath& path) const {
    for (const auto& [key, sum] : by_name_) {
      const std::string_view name = key.second.known() ? view_.strings.view(key.second) : std::string_view();
      path.names.push_back({key.first, std::string(name), sum.count, sum.time_ns,
                            static_cast<double>(sum.time_ns) / static_cast<double>(all_ns_)});
    }
    std::sort(path.names.begin(), path.names.end(), [](const PathNameRow& a, const PathNameRow& b) {
      return std::tie(b.time_ns, a.kind, a.name) < std::tie(a.time_ns, b.kind, b.name);
    });
  }

 private:
  struct Sum {
    int64_t count = 0, time_ns = 0;
  };

  StringId name_of(const PathPart& part) const {
    if (part.row < 0) return {};
    const auto row = static_cast<size_t>(part.row);
    return part.on_gpu ? view_.gpu().name[row] : view_.host().name[row];
  }

  // A host row is met in several parts, before and after the rows within it.
  bool first_time(const PathPart& part) {
    if (part.on_gpu || part.row < 0) return true;
    const auto row = static_cast<size_t>(part.row);
    const bool first = !met_[row];
    met_[row] = true;
    return first;
  }

  const OperatorView& view_;
  ProfilerBuffers buffers_;
  std::array<int64_t, kPathKinds> of_step_{}, profiler_{};
  std::map<std::pair<PathKind, StringId>, Sum> by_name_;
  std::vector<bool> met_;
  int64_t all_ns_ = 0;
};

}  // namespace

std::vector<PathWindow> path_windows(const OperatorView& view, int32_t busiest_thread) {
  const std::vector<StepRange>& steps = view.trace.steps;
  std::vector<PathWindow> windows;
  if (steps.empty()) {
    windows.push_back(whole_trace(view, busiest_thread));
  } else {
    const std::vector<std::vector<int32_t>> launched = rows_by_step(view.trace);
    const std::vector<int32_t> threads = step_threads(view, busiest_thread);
    LocalNs last_end = steps.front().start;
    for (size_t s = 0; s < steps.size(); ++s) {
      const LocalNs host_end = steps[s].start + steps[s].duration_ns;
      PathWindow window{steps[s].number, std::max(steps[s].start, last_end), host_end, -1, threads[s]};
      window.gpu_row = last_after(view.gpu(), launched[s], host_end);
      if (window.gpu_row >= 0) window.end = end_of(view.gpu(), window.gpu_row);
      last_end = std::max(last_end, window.end);
      windows.push_back(window);
    }
  }
  windows.erase(std::remove_if(windows.begin(), windows.end(),
                               [](const PathWindow& w) { return w.end <= w.start || (w.thread < 0 && w.gpu_row < 0); }),
                windows.end());
  return windows;
}

void add_critical_path(const OperatorView& view, OperatorTables& tables) {
  PathWalk walk(view);
  PathSums sums(view);
  for (const PathWindow& window : path_windows(view, walk.lines().busiest_thread())) {
    if (window.gpu_row >= 0) {
      walk.begin_on_gpu(window.gpu_row, window.start, window.end);
    } else {
      walk.begin_on_host(window.thread, window.start, window.end);
    }
    for (PathPart part; walk.next(part);) sums.add(part);
    sums.close_step(window, tables.critical_path);
  }
  sums.finish(tables.critical_path);
}

}  // namespace skewscope::summarize
