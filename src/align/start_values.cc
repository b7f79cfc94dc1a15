#include "start_values.h"

#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "skewscope/base/disjoint_sets.h"

namespace skewscope::align {
namespace {

// Ties between two traces of one component, for the starting values.
struct Link {
  int32_t from, to;
  ClockLine line;  // maps `to` onto `from`
  size_t ties;
};

std::vector<Link> links_of(const Beacons& beacons, const std::vector<bool>& use) {
  struct Seen {
    int32_t from, to;    // traces
    int32_t hub, other;  // their ends
  };
  std::vector<Seen> seen;
  for (size_t c = 0; c < beacons.rows(); ++c) {
    if (!use[c]) continue;
    const size_t hub = beacons.begin(c);  // members are sorted by trace
    for (size_t k = hub + 1; k < beacons.end(c); ++k) {
      seen.push_back({beacons.trace[hub], beacons.trace[k], static_cast<int32_t>(hub), static_cast<int32_t>(k)});
    }
  }
  tbb::parallel_sort(seen, [](const Seen& a, const Seen& b) {
    return std::tie(a.from, a.to, a.other) < std::tie(b.from, b.to, b.other);
  });
  std::vector<size_t> begin;  // of each pair's ends
  for (size_t i = 0; i < seen.size(); ++i) {
    if (i == 0 || seen[i].from != seen[i - 1].from || seen[i].to != seen[i - 1].to) begin.push_back(i);
  }
  std::vector<Link> links(begin.size());
  begin.push_back(seen.size());
  tbb::parallel_for(size_t{0}, links.size(), [&](size_t l) {
    std::vector<ClockTie> ties;
    for (size_t i = begin[l]; i < begin[l + 1]; ++i) {
      const int64_t other = beacons.end_ns[static_cast<size_t>(seen[i].other)];
      ties.push_back({other, beacons.end_ns[static_cast<size_t>(seen[i].hub)] - other});
    }
    const size_t n = ties.size();
    links[l] = {seen[begin[l]].from, seen[begin[l]].to, resistant_line(std::move(ties)), n};
  });
  std::sort(links.begin(), links.end(), [](const Link& a, const Link& b) {
    return std::tie(b.ties, a.from, a.to) < std::tie(a.ties, b.from, b.to);
  });
  return links;
}

// Calls visit(from, step) along the forest, from each component's smallest trace outwards.
template <class Visit>
void walk(const std::vector<std::vector<ForestStep>>& forest, const Visit& visit) {
  std::vector<bool> seen(forest.size(), false);
  for (size_t first = 0; first < forest.size(); ++first) {
    if (seen[first]) continue;
    std::vector<size_t> open{first};
    seen[first] = true;
    while (!open.empty()) {
      const size_t t = open.back();
      open.pop_back();
      for (const ForestStep& step : forest[t]) {
        if (seen[step.to]) continue;
        seen[step.to] = true;
        visit(t, step);
        open.push_back(step.to);
      }
    }
  }
}

void set_window(const Beacons& beacons, const std::vector<bool>& use, Fit& fit) {
  int64_t low = INT64_MAX, high = INT64_MIN;
  for (size_t c = 0; c < beacons.rows(); ++c) {
    if (!use[c]) continue;
    for (size_t k = beacons.begin(c); k < beacons.end(c); ++k) {
      const int64_t end = beacons.end_ns[k] + fit.base_ns[static_cast<size_t>(beacons.trace[k])];
      low = std::min(low, end);
      high = std::max(high, end);
    }
  }
  if (low > high) return;
  fit.center_ns = std::midpoint(low, high);
  fit.half_window_ns = std::max(1e6, (static_cast<double>(high) - static_cast<double>(low)) / 2);
}

}  // namespace

TiedRows tie_rows(const Beacons& beacons, std::vector<bool> use) {
  const size_t traces = beacons.traces.size();
  TiedRows rows{std::move(use), std::vector<std::vector<ForestStep>>(traces), std::vector<int32_t>(traces)};
  DisjointSets sets(traces);
  for (const Link& link : links_of(beacons, rows.use)) {
    if (!sets.unite(static_cast<size_t>(link.from), static_cast<size_t>(link.to))) continue;
    rows.forest[static_cast<size_t>(link.from)].push_back({static_cast<size_t>(link.to), link.line, true});
    rows.forest[static_cast<size_t>(link.to)].push_back({static_cast<size_t>(link.from), link.line, false});
  }
  for (size_t t = 0; t < traces; ++t) rows.component[t] = static_cast<int32_t>(sets.root(t));
  return rows;
}

void start_values(const Beacons& beacons, const TiedRows& rows, Fit& fit) {
  fit.base_ns.assign(beacons.traces.size(), 0);
  fit.terms_ns.assign(beacons.traces.size(), {});
  fit.component = rows.component;
  // Whole offsets first, then the window they leave, then the lines within it.
  if (fit.freedom != Freedom::identity) {
    walk(rows.forest, [&](size_t from, const ForestStep& step) {
      const int64_t offset = std::llround(step.line.offset_ns);
      fit.base_ns[step.to] = fit.base_ns[from] + (step.forward ? offset : -offset);
    });
  }
  set_window(beacons, rows.use, fit);
  if (terms_of(fit.freedom) < 2) return;
  walk(rows.forest, [&](size_t from, const ForestStep& step) {
    // The line's own centre, on the common clock: it was read on the clock that the line maps.
    const size_t mapped = step.forward ? step.to : from;
    const int64_t center = step.line.center_ns + fit.base_ns[mapped];
    const double sign = step.forward ? 1 : -1;
    const double rest = step.line.slope * static_cast<double>(fit.center_ns - center);
    fit.terms_ns[step.to][0] = fit.terms_ns[from][0] + sign * rest;
    fit.terms_ns[step.to][1] = fit.terms_ns[from][1] + sign * step.line.slope * fit.half_window_ns;
  });
}

}  // namespace skewscope::align
