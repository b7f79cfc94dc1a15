// Problem: say of each late rank whether it is late all the time, now and then, or only once, because the remedies
// differ (a slow GPU; work that moves between ranks; a checkpoint or a hiccup).
// Idea: cut what a rank took part in into bins and see in how many it was last. Of its late arrivals those count that
// others waited longest for, nine tenths of that wait in all: the rest is jitter, which makes somebody last each time.
//   Bins: the profiler steps of its complete split instances, where these name at least two; else eighths of these
//   instances in order of time, sessions one after the other.
//   one-off    all its late arrivals lie in one step of several, or within one contiguous tenth of the job's window
//   recurring  else, it was last at least once in at least half of its bins
//   rotating   else: it is last now and then, others in between
//   ""         it was never last (it only shared the blame for gaps)
// Ties (arrivals closer than the clocks' uncertainties) count for nobody. Cost: O(members of instances log members).
#include "stragglers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "skewscope/model/clock_components.h"

namespace skewscope::report {
namespace {

constexpr int64_t kBins = 8;
constexpr int64_t kOneOffShare = 10;  // a tenth of the window
constexpr int64_t kJitterShare = 10;  // a tenth of the wait charged to a rank
constexpr int64_t kLeastCause = 4;    // a cause makes at least a quarter of what a rank causes

// One instance a rank took part in.
struct StragglerPart {
  int32_t session;
  int64_t arrival_ns;
  int64_t step;
  int64_t charged_ns;  // what the others waited for it, where it was last; -1: it was not
};

using PartsOfRank = std::map<int32_t, std::vector<StragglerPart>>;

PartsOfRank parts_by_rank(const Sources& sources) {
  PartsOfRank parts;
  for (size_t i = 0; i < sources.instances.instances.size(); ++i) {
    const InstanceView view(sources, i);
    if (!view.instance.complete || !view.split()) continue;
    for (size_t m = 0; m < view.size(); ++m) {
      const RankTrace& trace = view.trace(m);
      int64_t charged_ns = -1;
      if (view.timing.last == view.ref(m).trace) {
        charged_ns = 0;
        for (size_t k = 0; k < view.size(); ++k) charged_ns += view.parts(k).wait_ns;
      }
      parts[trace.rank.value].push_back(
          {trace.session.value, view.timing.last_arrival.ns, view.call(m).step, charged_ns});
    }
  }
  for (auto& [rank, list] : parts) {
    std::sort(list.begin(), list.end(), [](const StragglerPart& a, const StragglerPart& b) {
      return std::tie(a.session, a.arrival_ns, a.step, a.charged_ns) <
             std::tie(b.session, b.arrival_ns, b.step, b.charged_ns);
    });
  }
  return parts;
}

using Bin = std::pair<int32_t, int64_t>;  // session and step, or 0 and the eighth

// The least charge among the late arrivals that count; nullopt: it was never last.
std::optional<int64_t> least_charge(const std::vector<StragglerPart>& parts) {
  std::vector<int64_t> charges;
  int64_t left_ns = 0;
  for (const StragglerPart& p : parts) {
    if (p.charged_ns < 0) continue;
    charges.push_back(p.charged_ns);
    left_ns += p.charged_ns;
  }
  if (charges.empty()) return std::nullopt;
  std::sort(charges.rbegin(), charges.rend());
  left_ns -= left_ns / kJitterShare;
  size_t last = 0;
  for (left_ns -= charges[0]; left_ns > 0; left_ns -= charges[last]) ++last;
  return charges[last];
}

std::optional<LatePattern> pattern_of(const std::vector<StragglerPart>& parts, int64_t window_ns) {
  const std::optional<int64_t> least_ns = least_charge(parts);
  if (!least_ns) return std::nullopt;
  std::set<Bin> steps;
  for (const StragglerPart& p : parts) {
    if (p.step >= 0) steps.insert({p.session, p.step});
  }
  const bool by_step = steps.size() > 1;
  std::set<Bin> bins, late_bins, late_sessions;
  int64_t first_late = INT64_MAX, last_late = INT64_MIN;
  for (size_t i = 0; i < parts.size(); ++i) {
    const StragglerPart& p = parts[i];
    const Bin bin = by_step ? Bin(p.session, p.step) : Bin(0, static_cast<int64_t>(i) * kBins / std::ssize(parts));
    bins.insert(bin);
    if (p.charged_ns < *least_ns) continue;
    late_bins.insert(bin);
    late_sessions.insert({p.session, 0});
    first_late = std::min(first_late, p.arrival_ns);
    last_late = std::max(last_late, p.arrival_ns);
  }
  const bool one_step = by_step && late_bins.size() == 1;
  const bool one_tenth = late_sessions.size() == 1 && last_late - first_late <= window_ns / kOneOffShare;
  if (one_step || one_tenth) return LatePattern::one_off;
  return 2 * late_bins.size() >= bins.size() ? LatePattern::recurring : LatePattern::rotating;
}

// What blame says of a rank, its sessions added up.
struct Blamed {
  int64_t origin_ns = 0;
  CauseBook origin{}, lateness{};
  WhatIf what_if;
};

std::map<int32_t, Blamed> blamed_ranks(const Sources& sources) {
  std::map<int32_t, Blamed> by_rank;
  for (size_t t = 0; t < sources.blame.traces.size(); ++t) {
    const TraceBlame& trace = sources.blame.traces[t];
    Blamed& rank = by_rank[sources.job.traces[t].rank.value];
    rank.origin_ns += trace.origin_ns;
    for (size_t i = 0; i < kLateCauses; ++i) {
      rank.origin[i] += trace.origin_by_cause[i];
      rank.lateness[i] += trace.lateness_by_cause[i];
    }
    rank.what_if = trace.what_if;  // a rank is replayed with all its sessions
  }
  return by_rank;
}

void add_cause(const Blamed& blamed, bool at_least, JobReport::Straggler& s) {
  s.wait_originated_ns = blamed.origin_ns;
  // What differs clearly against ranks of the same program is not the program's. `unknown` is the last cause.
  const LateCause last = blamed.what_if.stands_out ? LateCause::program : LateCause::unknown;
  const int64_t not_asked = blamed.what_if.stands_out ? blamed.origin[static_cast<size_t>(LateCause::program)] : 0;
  const auto most = std::max_element(blamed.origin.begin(), blamed.origin.begin() + static_cast<ptrdiff_t>(last));
  if (*most > 0 && *most * kLeastCause >= blamed.origin_ns - not_asked) {
    s.cause = static_cast<LateCause>(most - blamed.origin.begin());
    s.cause_share = static_cast<double>(*most) / static_cast<double>(blamed.origin_ns);
  }
  if (!blamed.what_if.replayed) return;
  s.standing = blamed.what_if.stands_out ? Standing::cause : Standing::suspect;
  s.saved_ns = std::max<int64_t>(0, blamed.what_if.saved_ns);
  s.saved_at_least = at_least;
  s.saved_share = std::clamp(blamed.what_if.share, 0.0, 1.0);
}

// By rank, of those that it is compared with.
struct ComparedRanks {
  std::map<int32_t, int64_t> window_ns;
  std::map<int32_t, bool> saved_at_least;

  explicit ComparedRanks(const Sources& sources) {
    const std::vector<ClockIsland> islands = islands_of(sources.job, sources.clocks);
    for (size_t i = 0; i < islands.size(); ++i) {
      const IslandBlame& blame = sources.blame.islands.empty() ? sources.blame : sources.blame.islands[i];
      for (const TraceIndex trace : islands[i].traces) {
        const int32_t rank = sources.job[trace].rank.value;
        window_ns[rank] = islands.size() == 1 ? sources.clocks.window_ns : islands[i].window_ns;
        saved_at_least[rank] = blame.replay.saved_at_least;
      }
    }
  }
};

}  // namespace

std::vector<JobReport::Straggler> stragglers_of(const Sources& sources) {
  std::map<int32_t, JobReport::Straggler> by_rank;
  for (size_t t = 0; t < sources.job.traces.size(); ++t) {
    const TraceTotals& totals = sources.decomposition.traces[t];
    JobReport::Straggler& s = by_rank[sources.job.traces[t].rank.value];
    s.late_count += totals.late_count;
    s.late_candidates += totals.late_candidates;
    s.wait_caused_ns += totals.delay_caused_ns;
  }
  const PartsOfRank parts = parts_by_rank(sources);
  const std::map<int32_t, Blamed> blamed = blamed_ranks(sources);
  const ComparedRanks compared(sources);
  std::set<int32_t> silent, untimed;  // of which nothing but calls is recorded, and not when these ran
  for (const RankTrace& trace : sources.job.traces) {
    if (trace.calls_only) silent.insert(trace.rank.value);
    if (trace.durations_only) untimed.insert(trace.rank.value);
  }
  std::vector<std::pair<int64_t, JobReport::Straggler>> rows;
  for (auto& [rank, s] : by_rank) {
    const Blamed& own = blamed.at(rank);
    if (s.late_count == 0 && s.wait_caused_ns == 0 && own.origin_ns == 0) continue;
    s.rank = rank;
    if (s.late_candidates > 0)
      s.late_share = static_cast<double>(s.late_count) / static_cast<double>(s.late_candidates);
    if (const auto part = parts.find(rank); part != parts.end()) {
      s.pattern = pattern_of(part->second, compared.window_ns.at(rank));
    }
    add_cause(own, compared.saved_at_least.at(rank), s);
    if (silent.count(rank) > 0) s.cause.reset();
    if (untimed.count(rank) > 0) s.pattern.reset();
    rows.emplace_back(own.origin_ns, s);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    const auto key = [](const auto& row) {
      return std::make_tuple(row.first, row.second.wait_caused_ns, row.second.standing == Standing::cause);
    };
    return key(a) > key(b);
  });
  std::vector<JobReport::Straggler> sorted;
  for (auto& [own_ns, s] : rows) sorted.push_back(s);
  return sorted;
}

std::vector<JobReport::CauseRow> cause_rows(const Sources& sources) {
  std::vector<JobReport::CauseRow> rows;
  for (const auto& [rank, blamed] : blamed_ranks(sources)) {
    for (size_t i = 0; i < kLateCauses; ++i) {
      if (blamed.lateness[i] == 0 && blamed.origin[i] == 0) continue;
      rows.push_back({rank, static_cast<LateCause>(i), blamed.lateness[i], blamed.origin[i]});
    }
  }
  return rows;
}

// By rank, its sessions added up.
std::vector<JobReport::FlowRow> flow_rows(const Sources& sources) {
  std::map<std::tuple<int32_t, int32_t, int32_t>, int64_t> moved;
  for (const BlameFlow& flow : sources.blame.flows) {
    moved[{sources.job[flow.victim].rank.value, flow.late_in.value, flow.waited_in.value}] += flow.moved_ns;
  }
  std::vector<JobReport::FlowRow> rows;
  for (const auto& [way, ns] : moved) rows.push_back({std::get<0>(way), std::get<1>(way), std::get<2>(way), ns});
  return rows;
}

}  // namespace skewscope::report
