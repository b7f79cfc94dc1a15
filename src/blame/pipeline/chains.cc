#include "chains.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace skewscope::blame {
namespace {

// How many messages go from one trace to another.
class MessageCounts {
 public:
  MessageCounts(const std::vector<Message>& messages, size_t traces) : neighbours_(traces) {
    for (const Message& m : messages) {
      if (++counts_[{m.from, m.to}] > 1 || m.from == m.to) continue;
      if (counts_.contains({m.to, m.from})) continue;
      neighbours_[m.from].push_back(m.to);
      neighbours_[m.to].push_back(m.from);
    }
  }
  const std::vector<uint32_t>& neighbours(uint32_t trace) const { return neighbours_[trace]; }
  double of(uint32_t from, uint32_t to) const {
    const auto found = counts_.find({from, to});
    return found == counts_.end() ? 0 : static_cast<double>(found->second);
  }
  double both_ways(uint32_t a, uint32_t b) const { return of(a, b) + of(b, a); }

 private:
  std::map<std::pair<uint32_t, uint32_t>, int64_t> counts_;
  std::vector<std::vector<uint32_t>> neighbours_;
};

bool about(double value, double expected) { return std::abs(value - expected) <= kMostMissing * expected; }

// From `first` over neighbours not seen yet.
std::vector<uint32_t> walk(const MessageCounts& counts, uint32_t first, uint32_t next, std::vector<bool>& seen) {
  std::vector<uint32_t> way = {first};
  seen[first] = true;
  for (bool more = true; more;) {
    way.push_back(next);
    seen[next] = true;
    more = false;
    for (const uint32_t neighbour : counts.neighbours(way.back())) {
      if (seen[neighbour]) continue;
      next = neighbour;
      more = true;
    }
  }
  return way;
}

// Neighbours are side by side.
struct Way {
  std::vector<uint32_t> traces;
  bool circle = false;
};

// Groups of traces that messages join into a path or a circle. Where two neighbours of a trace were not seen yet,
// walk() takes the one with the higher number, at both ends of a circle's edge that is left out the same.
std::vector<Way> ways_of(const MessageCounts& counts, size_t traces) {
  std::vector<Way> ways;
  std::vector<bool> seen(traces, false);
  for (const bool ends : {true, false}) {
    for (uint32_t t = 0; t < traces; ++t) {
      const std::vector<uint32_t>& neighbours = counts.neighbours(t);
      if (seen[t] || neighbours.empty() || (ends && neighbours.size() != 1)) continue;
      Way way{walk(counts, t, neighbours.front(), seen), !ends};
      const auto degree = [&](uint32_t trace) { return counts.neighbours(trace).size(); };
      const bool line = std::all_of(way.traces.begin(), way.traces.end(), [&](uint32_t trace) {
        const bool end = trace == way.traces.front() || trace == way.traces.back();
        return degree(trace) == (end && ends ? 1U : 2U);
      });
      if (line) ways.push_back(std::move(way));
    }
  }
  return ways;
}

// Turned so that the edge with the fewest messages joins the last to the first.
void open_circle(const MessageCounts& counts, Way& circle) {
  std::vector<uint32_t>& way = circle.traces;
  size_t least = 0;
  const auto messages = [&](size_t k) { return counts.both_ways(way[k], way[(k + 1) % way.size()]); };
  for (size_t k = 1; k < way.size(); ++k) least = messages(k) < messages(least) ? k : least;
  std::rotate(way.begin(), way.begin() + static_cast<ptrdiff_t>((least + 1) % way.size()), way.end());
}

// Stages per rank; 0: the numbers are not those of a pipeline. For two ranks 1, not known yet.
int32_t virtual_stages_of(const MessageCounts& counts, const Way& of) {
  const std::vector<uint32_t>& way = of.traces;
  const double wrap = of.circle ? counts.both_ways(way.back(), way.front()) / 2 : 0;
  double inner = 0;
  for (size_t k = 0; k + 1 < way.size(); ++k) inner += counts.both_ways(way[k], way[k + 1]) / 2;
  inner /= static_cast<double>(way.size() - 1);
  for (size_t k = 0; k + 1 < way.size(); ++k) {
    if (!about(counts.of(way[k], way[k + 1]), inner) || !about(counts.of(way[k + 1], way[k]), inner)) return 0;
  }
  if (!of.circle) return 1;
  const double each = inner - wrap;  // between each two stages of the model
  if (each <= 0) return 0;
  const double stages = inner / each;
  const double rounded = std::round(stages);
  if (rounded < 2 || rounded > kMostVirtualStages || std::abs(stages - rounded) > 0.25) return 0;
  const bool both = about(counts.of(way.back(), way.front()), wrap) && about(counts.of(way.front(), way.back()), wrap);
  return both ? static_cast<int32_t>(rounded) : 0;
}

// Whether a trace sends before anything has come, in most steps; nullopt: it does neither.
std::optional<bool> sends_first(const JobView& view, const std::vector<MessageEvent>& events) {
  struct First {
    LocalNs sent{INT64_MAX}, come{INT64_MAX};
  };
  std::map<int64_t, First> by_step;
  for (const MessageEvent& event : events) {
    const CollectiveCall& call = view.call(event.row);
    First& first = by_step[call.step];
    if (event.sends) {
      first.sent = std::min(first.sent, call.start);
    } else {
      first.come = std::min(first.come, call.end());
    }
  }
  int64_t votes = 0;
  for (const auto& [step, first] : by_step) votes += first.sent < first.come ? 1 : -1;
  if (votes == 0) return std::nullopt;
  return votes > 0;
}

// The first stage in front; false: its ends are none of a pipeline.
bool direct(const JobView& view, const std::vector<std::vector<MessageEvent>>& events, Way& way) {
  const std::optional<bool> front = sends_first(view, events[way.traces.front()]);
  const std::optional<bool> back = sends_first(view, events[way.traces.back()]);
  if (!front || !back || *front == *back) return false;
  if (*back) std::reverse(way.traces.begin(), way.traces.end());
  return true;
}

}  // namespace

std::vector<Chain> pipeline_chains(const JobView& view, const std::vector<Message>& messages,
                                   const std::vector<std::vector<MessageEvent>>& events,
                                   const std::vector<int64_t>& lone) {
  const MessageCounts counts(messages, view.job.traces.size());
  std::vector<Chain> chains;
  for (Way& way : ways_of(counts, view.job.traces.size())) {
    const bool whole = std::none_of(way.traces.begin(), way.traces.end(), [&](uint32_t trace) {
      return static_cast<double>(lone[trace]) > kMostMissing * static_cast<double>(events[trace].size());
    });
    if (way.circle) open_circle(counts, way);
    const int32_t virtual_stages = whole ? virtual_stages_of(counts, way) : 0;
    if (virtual_stages == 0 || !direct(view, events, way)) continue;
    chains.push_back({std::move(way.traces), virtual_stages});
  }
  return chains;
}

}  // namespace skewscope::blame
