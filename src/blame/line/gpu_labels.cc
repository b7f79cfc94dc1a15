#include "gpu_labels.h"

#include <algorithm>
#include <optional>

#include "host_line.h"
#include "skewscope/base/first_after.h"
#include "skewscope/base/sort_runs.h"

namespace skewscope::blame {
namespace {

// Something starts or ends on the GPU.
struct Edge {
  int64_t ns;
  int32_t change;  // +1 start, -1 end
  Label label;
  int64_t launched_ns;  // of a start: when its launch returned; INT64_MIN: not known
};

// Spans under one label, in order of their starts.
struct Spans {
  Label label = Label::computing;
  std::vector<int64_t> begin, end, launched_ns;

  void add(int64_t from, int64_t to, int64_t launched) {
    if (from >= to) return;
    begin.push_back(from);
    end.push_back(to);
    launched_ns.push_back(launched);
  }
  // The same for spans in order of their starts: those that touch become one.
  void join(int64_t from, int64_t to, int64_t launched) {
    if (from >= to) return;
    if (begin.empty() || from > end.back()) return add(from, to, launched);
    if (from == begin.back()) launched_ns.back() = std::max(launched_ns.back(), launched);
    end.back() = std::max(end.back(), to);
  }
};

std::array<Spans, 5> spans_of(const RankTrace& trace, const std::vector<CallSplit>& splits) {
  std::array<Spans, 5> spans;
  for (size_t i = 0; i < spans.size(); ++i) spans[i].label = static_cast<Label>(i);
  const auto under = [&](Label label) -> Spans& { return spans[static_cast<size_t>(label)]; };
  const GpuEvents& gpu = trace.gpu;
  Spans& computing = under(Label::computing);
  for (std::vector<int64_t>* column : {&computing.begin, &computing.end, &computing.launched_ns}) {
    column->reserve(gpu.size() + 1);  // and the one that ends them all
  }
  for (size_t i = 0; i < gpu.size(); ++i) {
    if (gpu.work[i] == GpuWork::communication) continue;
    int64_t launched_ns = INT64_MIN;
    if (gpu.launch[i] >= 0) {
      const auto launch = static_cast<size_t>(gpu.launch[i]);
      launched_ns = trace.launches.start[launch].ns + trace.launches.duration_ns[launch];
    }
    const int64_t begin = gpu.start[i].ns, end = begin + gpu.duration_ns[i];
    if (gpu.work[i] == GpuWork::memcpy) {
      under(Label::copying).add(begin, end, launched_ns);
    } else {
      computing.join(begin, end, launched_ns);
    }
  }
  for (size_t c = 0; c < trace.calls.size(); ++c) {
    const CollectiveCall& call = trace.calls[c];
    const int64_t middle = call.start.ns + splits[c].wait_ns;
    under(Label::waiting).add(call.start.ns, middle, launched_ns(call));
    under(splits[c].rest).add(middle, call.end().ns, launched_ns(call));
  }
  return spans;
}

// The edges of all labels but computing, by time; made of runs that nearly are in order.
std::vector<Edge> edges_of(const std::array<Spans, 5>& spans) {
  std::vector<Edge> edges;
  for (const Spans& of_label : spans) {
    if (of_label.label == Label::computing) continue;
    for (size_t i = 0; i < of_label.begin.size(); ++i) {
      edges.push_back({of_label.begin[i], 1, of_label.label, of_label.launched_ns[i]});
    }
    for (const int64_t end : of_label.end) edges.push_back({end, -1, of_label.label, INT64_MIN});
  }
  sort_runs(edges, [](const Edge& a, const Edge& b) { return a.ns < b.ns; });
  return edges;
}

std::optional<Label> label_of(const std::array<int32_t, 5>& running) {
  for (const Label label : {Label::computing, Label::copying, Label::transfer, Label::waiting, Label::unsplit}) {
    if (running[static_cast<size_t>(label)] > 0) return label;
  }
  return std::nullopt;
}

}  // namespace

GpuLabels::GpuLabels(const RankTrace& trace, const std::vector<CallSplit>& splits) {
  constexpr int64_t kNever = INT64_MAX;
  std::array<Spans, 5> spans = spans_of(trace, splits);
  std::vector<Edge> edges = edges_of(spans);
  Spans& computing = spans[static_cast<size_t>(Label::computing)];  // nearly all time; none touches another
  begin_.reserve(2 * computing.begin.size() + edges.size());
  label_.reserve(begin_.capacity());
  before_.reserve(begin_.capacity() / kStride + 1);
  computing.add(kNever - 1, kNever, INT64_MIN);
  edges.push_back({kNever, 0, Label::computing, INT64_MIN});
  std::array<int32_t, 5> running{};
  int32_t& computes = running[static_cast<size_t>(Label::computing)];
  int32_t others = 0;  // of `running`
  std::optional<Label> was;
  const auto turn_to = [&](std::optional<Label> is, int64_t now, int64_t launched_ns) {
    // An idle span is divided by the launch of what ends it.
    if (!was && !begin_.empty() && launched_ns > begin_.back()) {
      label_.back() = Label::host;
      if (launched_ns < now - kLaunchDelay_ns) add_span(launched_ns, Label::idle);
    }
    if (is != was || begin_.empty()) add_span(now, is.value_or(Label::idle));
    was = is;
  };
  size_t next = 0, edge = 0;
  while (true) {
    if (others == 0 && computes == 0) {
      for (; computing.end[next] < edges[edge].ns; ++next) {
        turn_to(Label::computing, computing.begin[next], computing.launched_ns[next]);
        turn_to(std::nullopt, computing.end[next], INT64_MIN);
      }
    }
    int64_t launched_ns = INT64_MIN;
    const int64_t now = std::min(computes > 0 ? computing.end[next] : computing.begin[next], edges[edge].ns);
    if (now >= kNever - 1) break;
    if (computes > 0 && computing.end[next] == now) {
      computes = 0;
      ++next;
    } else if (computes == 0 && computing.begin[next] == now) {
      computes = 1;
      launched_ns = computing.launched_ns[next];
    }
    for (; edges[edge].ns == now; ++edge) {
      running[static_cast<size_t>(edges[edge].label)] += edges[edge].change;
      others += edges[edge].change;
      launched_ns = std::max(launched_ns, edges[edge].launched_ns);
    }
    turn_to(label_of(running), now, launched_ns);
  }
}

// Ends the last span where this one begins.
void GpuLabels::add_span(int64_t begin, Label label) {
  if (!begin_.empty()) sum_[static_cast<size_t>(label_.back())] += begin - begin_.back();
  if (begin_.size() % kStride == 0) before_.push_back(sum_);
  begin_.push_back(begin);
  label_.push_back(label);
}

LabelTimes GpuLabels::Walk::up_to(LocalNs instant) {
  const std::vector<int64_t>& begin = labels_.begin_;
  const std::vector<Label>& label = labels_.label_;
  const int64_t ns = instant.ns;
  LabelTimes times{};
  if (begin.empty() || ns <= begin.front()) {
    times[static_cast<size_t>(Label::idle)] = begin.empty() ? ns : ns - begin.front();
    return times;
  }
  const size_t i = near_ = first_after(begin, ns, near_) - 1;
  times = labels_.before_[i / kStride];
  for (size_t k = i - i % kStride; k < i; ++k) times[static_cast<size_t>(label[k])] += begin[k + 1] - begin[k];
  times[static_cast<size_t>(label[i])] += ns - begin[i];
  return times;
}

LabelTimes operator-(const LabelTimes& a, const LabelTimes& b) {
  LabelTimes difference;
  for (size_t i = 0; i < kLabels; ++i) difference[i] = a[i] - b[i];
  return difference;
}

}  // namespace skewscope::blame
