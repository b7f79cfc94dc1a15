#include "skewscope/model/clock_components.h"

#include <algorithm>
#include <numeric>
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

int32_t most_components(const JobTrace& job, const ClockModel& clocks) {
  std::map<SessionId, int32_t> of_session;
  int32_t most = 0;
  for (const ClockComponent& component : components_of(job, clocks)) {
    most = std::max(most, ++of_session[component.session]);
  }
  return most;
}

std::vector<ClockIsland> islands_of(const JobTrace& job, const ClockModel& clocks) {
  const std::vector<ClockComponent> components = components_of(job, clocks);
  std::vector<size_t> island(components.size());  // the lowest component that is compared with it
  std::iota(island.begin(), island.end(), size_t{0});
  const auto root = [&](size_t c) {
    while (island[c] != c) c = island[c];
    return c;
  };
  std::map<Rank, size_t> component_of;
  for (size_t c = 0; c < components.size(); ++c) {
    for (const TraceIndex trace : components[c].traces) {
      const size_t known = root(component_of.emplace(job[trace].rank, c).first->second), own = root(c);
      island[std::max(known, own)] = std::min(known, own);
    }
  }
  std::map<size_t, ClockIsland> found;
  std::map<std::pair<size_t, SessionId>, int64_t> longest_ns;
  for (size_t c = 0; c < components.size(); ++c) {
    std::vector<TraceIndex>& traces = found[root(c)].traces;
    traces.insert(traces.end(), components[c].traces.begin(), components[c].traces.end());
    int64_t& ns = longest_ns[{root(c), components[c].session}];
    ns = std::max(ns, components[c].window_ns);
  }
  for (const auto& [key, ns] : longest_ns) found[key.first].window_ns += ns;
  std::vector<ClockIsland> islands;
  for (auto& [number, one] : found) {
    std::sort(one.traces.begin(), one.traces.end());
    islands.push_back(std::move(one));
  }
  std::sort(islands.begin(), islands.end(), [](const ClockIsland& a, const ClockIsland& b) {
    const auto key = [](const ClockIsland& i) {
      return std::make_tuple(i.traces.size() == 1, -i.window_ns, i.traces.front());
    };
    return key(a) < key(b);
  });
  return islands;
}

std::vector<bool> in_longest_component(const JobTrace& job, const ClockModel& clocks) {
  const auto weight = [](const ClockComponent& c) { return std::make_pair(c.traces.size() > 1, c.window_ns); };
  std::map<SessionId, ClockComponent> longest;
  for (ClockComponent& component : components_of(job, clocks)) {
    ClockComponent& of_session = longest[component.session];
    if (of_session.traces.empty() || weight(component) > weight(of_session)) of_session = std::move(component);
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
