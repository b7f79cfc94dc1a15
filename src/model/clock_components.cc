#include "skewscope/model/clock_components.h"

#include <algorithm>
#include <tuple>

namespace skewscope {

std::vector<ClockComponent> components_of(const JobTrace& job, const ClockModel& clocks) {
  struct Found {
    ClockComponent component;
    JobNs first{INT64_MAX}, last{INT64_MIN};
  };
  std::map<std::pair<SessionId, int32_t>, Found> by_number;
  for (size_t t = 0; t < job.traces.size(); ++t) {
    const RankTrace& trace = job.traces[t];
    const TraceIndex index(static_cast<int64_t>(t));
    Found& found = by_number[{trace.session, component_number(clocks.clocks[t], t)}];
    found.component.session = trace.session;
    found.component.traces.push_back(index);
    found.first = std::min(found.first, clocks.to_job(index, trace.first_event));
    found.last = std::max(found.last, clocks.to_job(index, trace.last_event));
    found.component.window_ns = found.last - found.first;
  }
  std::vector<ClockComponent> components;
  for (auto& [number, found] : by_number) components.push_back(std::move(found.component));
  std::sort(components.begin(), components.end(), [](const ClockComponent& a, const ClockComponent& b) {
    return std::make_tuple(a.session, -std::ssize(a.traces), -a.window_ns, a.traces.front()) <
           std::make_tuple(b.session, -std::ssize(b.traces), -b.window_ns, b.traces.front());
  });
  return components;
}

std::vector<bool> in_longest_component(const JobTrace& job, const ClockModel& clocks) {
  std::map<SessionId, ClockComponent> longest;
  for (ClockComponent& component : components_of(job, clocks)) {
    ClockComponent& of_session = longest[component.session];
    if (of_session.traces.empty() || component.window_ns > of_session.window_ns) of_session = std::move(component);
  }
  std::vector<bool> in_it(job.traces.size(), false);
  for (const auto& [session, component] : longest) {
    for (const TraceIndex trace : component.traces) in_it[trace.index()] = true;
  }
  return in_it;
}

void ComponentSpans::add(SessionId session, int32_t component, int64_t first_ns, int64_t last_ns) {
  const auto [at, fresh] = spans_[session].emplace(component, Span{first_ns, last_ns});
  at->second = {std::min(at->second.first_ns, first_ns), std::max(at->second.last_ns, last_ns)};
}

int64_t ComponentSpans::sum_ns() const {
  int64_t sum_ns = 0;
  for (const auto& [session, components] : spans_) {
    int64_t longest_ns = 0;
    for (const auto& [number, span] : components) longest_ns = std::max(longest_ns, span.last_ns - span.first_ns);
    sum_ns += longest_ns;
  }
  return sum_ns;
}

int64_t ComponentSpans::window_ns() const {
  int64_t first_ns = INT64_MAX, last_ns = INT64_MIN, longest_ns = 0;
  bool one_clock = true;
  for (const auto& [session, components] : spans_) {
    one_clock = one_clock && components.size() == 1;
    for (const auto& [number, span] : components) {
      first_ns = std::min(first_ns, span.first_ns);
      last_ns = std::max(last_ns, span.last_ns);
      longest_ns = std::max(longest_ns, span.last_ns - span.first_ns);
    }
  }
  return one_clock && first_ns <= last_ns ? last_ns - first_ns : longest_ns;
}

}  // namespace skewscope
