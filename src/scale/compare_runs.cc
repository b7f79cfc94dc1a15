// Problem: two runs always differ; which differences mean something, and where are they?
// Idea: everything per step of the job. A figure's steps are a sample in each run; the steps of two runs are no pairs,
// and one run may be more restless than the other: Welch's t test, over as many steps as are independent (sample.cc).
// Among hundreds of rows some differ by chance, so each table is held against a false discovery rate of 5 % (Benjamini
// and Hochberg). Below two steps nothing is determined, and nothing is significant.
// What is summed over ranks is summed over those of the longest component: ranks that share no call share no step.
// Cost: linear in the tables of steps, one sort of each table's p.
// Source: Benjamini and Hochberg, J. R. Stat. Soc. B 57 (1995).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "comparable.h"
#include "longest_component.h"
#include "run_figures.h"

namespace skewscope {
namespace {

using namespace scale;
using Change = CompareReport::Change;

constexpr double kFalseDiscoveries = 0.05;

// The largest p that, with the k smaller ones of the table, is at most k/n of the rate; what is up to it is
// significant.
template <class Row>
void mark_significant(std::vector<Row>& rows) {
  std::vector<double> sorted;
  for (const Row& row : rows) {
    if (row.change.p_value >= 0) sorted.push_back(row.change.p_value);
  }
  std::sort(sorted.begin(), sorted.end());
  double bound = -1;
  for (size_t k = 0; k < sorted.size(); ++k) {
    if (sorted[k] <= kFalseDiscoveries * static_cast<double>(k + 1) / static_cast<double>(sorted.size())) {
      bound = sorted[k];
    }
  }
  for (Row& row : rows) row.change.significant = row.change.p_value >= 0 && row.change.p_value <= bound;
}

// Steps of one run, as places in its samples.
class Steps {
 public:
  explicit Steps(const JobReport& report) {
    for (const JobReport::StepRow* step : whole_steps(report)) places_[{step->session, step->step}] = count_++;
  }
  size_t count() const { return count_; }
  // -1: not a whole step.
  int64_t row_of(int32_t session, int64_t step) const {
    const auto found = places_.find({session, step});
    return found == places_.end() ? -1 : static_cast<int64_t>(found->second);
  }

 private:
  std::map<std::pair<int32_t, int64_t>, size_t> places_;
  size_t count_ = 0;
};

// Values per step of what has a key; steps that add nothing have 0.
template <class Key>
using Series = std::map<Key, std::vector<double>>;

template <class Key>
void add(Series<Key>& series, const Steps& steps, const Key& key, int64_t at, double value) {
  std::vector<double>& values = series[key];
  values.resize(steps.count());
  values[static_cast<size_t>(at)] += value;
}

Change change_of(const std::vector<double>& base, const std::vector<double>& now) {
  const Sample a = sample_of(base), b = sample_of(now);
  Change change;
  change.base_ns = a.mean;
  change.new_ns = b.mean;
  change.p_value = welch_p(a, b);
  return change;
}

// visit(key, change) for every key of either; a run without the key has zeros.
template <class Key, class Visit>
void for_each_change(const Series<Key>& base, const Steps& base_steps, const Series<Key>& now, const Steps& now_steps,
                     const Visit& visit) {
  Series<Key> keys = base;
  keys.insert(now.begin(), now.end());
  for (const auto& [key, unused] : keys) {
    const auto a = base.find(key), b = now.find(key);
    visit(key, change_of(a == base.end() ? std::vector<double>(base_steps.count()) : a->second,
                         b == now.end() ? std::vector<double>(now_steps.count()) : b->second));
  }
}

struct NamedPart {
  TimePart part;
  int64_t JobReport::RankStep::*member;
};
constexpr NamedPart kParts[] = {{TimePart::compute, &JobReport::RankStep::compute_ns},
                                {TimePart::exposed_transfer, &JobReport::RankStep::exposed_transfer_ns},
                                {TimePart::exposed_wait, &JobReport::RankStep::exposed_wait_ns},
                                {TimePart::exposed_unattributed, &JobReport::RankStep::exposed_unattributed_ns},
                                {TimePart::exposed_memcpy, &JobReport::RankStep::exposed_memcpy_ns},
                                {TimePart::idle, &JobReport::RankStep::idle_ns}};
constexpr size_t kPartCount = std::size(kParts);

using RankAndPart = std::pair<int32_t, size_t>;

Series<RankAndPart> rank_series(const JobReport& report, const Steps& steps) {
  Series<RankAndPart> series;
  for (const JobReport::RankStep& row : report.rank_steps) {
    const int64_t at = steps.row_of(row.session, row.step);
    if (at < 0) continue;
    for (size_t p = 0; p < kPartCount; ++p) {
      add(series, steps, {row.rank, p}, at, static_cast<double>(row.*kParts[p].member));
    }
  }
  return series;
}

// Mean over the ranks of the longest component.
Series<size_t> part_series(const JobReport& report, const Steps& steps) {
  const Series<RankAndPart> ranks = rank_series(report, steps);
  Series<size_t> series;
  const double count = static_cast<double>(ranks.size()) / kPartCount;
  for (const auto& [key, values] : ranks) {
    for (size_t at = 0; at < values.size(); ++at) {
      add(series, steps, key.second, static_cast<int64_t>(at), values[at] / count);
    }
  }
  return series;
}

struct NamedCallPart {
  TimePart part;
  int64_t JobReport::CollectiveStep::*member;
};
constexpr NamedCallPart kCallParts[] = {{TimePart::wait, &JobReport::CollectiveStep::wait_ns},
                                        {TimePart::transfer, &JobReport::CollectiveStep::transfer_ns},
                                        {TimePart::exposed_wait, &JobReport::CollectiveStep::exposed_wait_ns},
                                        {TimePart::exposed_transfer, &JobReport::CollectiveStep::exposed_transfer_ns}};

// The same communicator in both runs: role, members, and which of several that are equal in these.
struct CommunicatorKey {
  std::string role;
  std::vector<int32_t> members;
  int32_t ordinal = 0;
  friend auto operator<=>(const CommunicatorKey&, const CommunicatorKey&) = default;
};
using CallKey = std::tuple<CommunicatorKey, std::string, std::string, int64_t, size_t>;  // op, dtype, bytes, part

std::map<int32_t, CommunicatorKey> communicator_keys(const JobReport& report) {
  std::map<CommunicatorKey, int32_t> seen;
  std::map<int32_t, CommunicatorKey> keys;
  for (const JobReport::CommunicatorRow& c : report.communicators) {
    CommunicatorKey key{role_of(c), c.ranks, 0};
    key.ordinal = seen[key]++;
    keys[c.id] = std::move(key);
  }
  return keys;
}

// Per member. `by_operation`: else all operations of a communicator together.
Series<CallKey> call_series(const JobReport& report, const Steps& steps, bool by_operation) {
  const auto keys = communicator_keys(report);
  Series<CallKey> series;
  for (const JobReport::CollectiveStep& row : report.collective_steps) {
    const int64_t at = steps.row_of(row.session, row.step);
    const auto key = keys.find(row.communicator);
    if (at < 0 || key == keys.end() || key->second.members.empty()) continue;
    for (size_t p = 0; p < std::size(kCallParts); ++p) {
      const CallKey full = by_operation ? CallKey(key->second, to_string(row.op), row.dtype, row.bytes, p)
                                        : CallKey(key->second, "", "", 0, p);
      const double members = static_cast<double>(key->second.members.size());
      add(series, steps, full, at, static_cast<double>(row.*kCallParts[p].member) / members);
    }
  }
  return series;
}

struct BothRuns {
  const JobReport &base, &now;
  const JobReport &base_told, &now_told;  // of their longest components
  Steps base_steps, now_steps;
};

std::vector<CompareReport::CollectivePart> compare_calls(const BothRuns& runs, bool by_operation) {
  std::map<CommunicatorKey, int32_t> ids;
  for (const JobReport* report : {&runs.base, &runs.now}) {
    for (const auto& [id, key] : communicator_keys(*report)) ids[key] = id;
  }
  std::vector<CompareReport::CollectivePart> rows;
  for_each_change(call_series(runs.base, runs.base_steps, by_operation), runs.base_steps,
                  call_series(runs.now, runs.now_steps, by_operation), runs.now_steps,
                  [&](const CallKey& key, const Change& change) {
                    const CommunicatorKey& communicator = std::get<0>(key);
                    rows.push_back({ids.at(communicator), communicator.role, communicator.members, std::get<1>(key),
                                    std::get<2>(key), std::get<3>(key), kCallParts[std::get<4>(key)].part, change});
                  });
  mark_significant(rows);
  return rows;
}

void compare_parts(const BothRuns& runs, CompareReport& out) {
  const auto base = rank_series(runs.base, runs.base_steps), now = rank_series(runs.now, runs.now_steps);
  if (base.empty() || now.empty()) return;
  for_each_change(base, runs.base_steps, now, runs.now_steps, [&](const RankAndPart& key, const Change& change) {
    out.ranks.push_back({key.first, kParts[key.second].part, change});
  });
  for_each_change(part_series(runs.base_told, runs.base_steps), runs.base_steps,
                  part_series(runs.now_told, runs.now_steps), runs.now_steps, [&](size_t part, const Change& change) {
                    out.parts.push_back({kParts[part].part, change});
                  });
  mark_significant(out.ranks);
  mark_significant(out.parts);
}

struct HostPart {
  TimePart part;
  int64_t (*ns)(const JobReport::RankStep&);  // -1: not known
};
constexpr HostPart kHostParts[] = {
    {TimePart::host_step, [](const JobReport::RankStep& row) { return row.host_duration_ns; }},
    {TimePart::host_work,
     [](const JobReport::RankStep& row) {
       return row.host_wait_ns < 0 ? -1 : row.host_duration_ns - row.host_wait_ns;
     }},
    {TimePart::host_launch, [](const JobReport::RankStep& row) { return row.host_launch_ns; }},
    {TimePart::host_wait, [](const JobReport::RankStep& row) { return row.host_wait_ns; }}};

// By rank, or of all ranks under -1: their mean. Nothing where one of the rows does not say.
Series<int32_t> host_series(const JobReport& report, const Steps& steps, const HostPart& part, bool by_rank) {
  std::set<int32_t> ranks;
  for (const JobReport::RankStep& row : report.rank_steps) ranks.insert(row.rank);
  Series<int32_t> series;
  for (const JobReport::RankStep& row : report.rank_steps) {
    const int64_t at = steps.row_of(row.session, row.step), ns = part.ns(row);
    if (ns < 0) return {};
    if (at < 0) continue;
    const double shared_by = by_rank ? 1 : static_cast<double>(ranks.size());
    add(series, steps, by_rank ? row.rank : -1, at, static_cast<double>(ns) / shared_by);
  }
  return series;
}

// Per step, of ranks that have GPU rows; without spread.
std::map<int32_t, double> host_bound_idle(const JobReport& report) {
  std::map<int32_t, double> idle;
  const OwnSteps steps(report);
  for (const JobReport::RankRow& rank : report.ranks) {
    if (rank.total_ns > 0) idle[rank.rank] = static_cast<double>(rank.idle_host_wait_ns) / steps.of(rank.rank);
  }
  return idle;
}

double mean_of_ranks(const std::map<int32_t, double>& values) {
  double sum = 0;
  for (const auto& [key, value] : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

void compare_hosts(const BothRuns& runs, CompareReport& out) {
  // Of a job without a GPU, a step is the host's already.
  if (runs.now.job.step_basis == StepBasis::host || runs.base.rank_steps.empty() || runs.now.rank_steps.empty()) return;
  for (const HostPart& part : kHostParts) {
    const auto compare = [&](const JobReport& base, const JobReport& now, bool by_rank, const auto& visit) {
      const auto before = host_series(base, runs.base_steps, part, by_rank);
      const auto after = host_series(now, runs.now_steps, part, by_rank);
      if (!before.empty() && !after.empty()) {
        for_each_change(before, runs.base_steps, after, runs.now_steps, visit);
      }
    };
    compare(runs.base_told, runs.now_told, false, [&](int32_t, const Change& change) {
      out.host.push_back({part.part, change});
    });
    compare(runs.base, runs.now, true, [&](int32_t rank, const Change& change) {
      out.host_ranks.push_back({rank, part.part, change});
    });
  }
  const std::map<int32_t, double> before = host_bound_idle(runs.base), after = host_bound_idle(runs.now);
  for (const auto& [rank, ns] : after) {
    const auto base = before.find(rank);
    if (base != before.end()) out.host_ranks.push_back({rank, TimePart::host_bound_idle, {base->second, ns}});
  }
  out.host.push_back({TimePart::host_bound_idle,
                      {mean_of_ranks(host_bound_idle(runs.base_told)), mean_of_ranks(host_bound_idle(runs.now_told))}});
  mark_significant(out.host);
  mark_significant(out.host_ranks);
}

// What both runs have of one table of the ranks' own.
std::vector<CompareReport::Work> compare_work(const BothRuns& runs, std::string_view table, std::string_view metric) {
  std::map<std::string, Change> changes;
  size_t tables = 0;
  const auto read = [&](const JobReport& report, double Change::*side) {
    bool any = false;
    for (const JobReport::RankStatistic& s : report.rank_statistics) {
      if (s.table != table || s.metric != metric) continue;
      changes[s.key].*side = s.median / steps_in(report);
      any = true;
    }
    tables += any ? 1 : 0;
  };
  read(runs.base_told, &Change::base_ns);
  read(runs.now_told, &Change::new_ns);
  std::vector<CompareReport::Work> rows;
  if (tables < 2) return rows;
  for (const auto& [name, change] : changes) rows.push_back({name, change});
  return rows;
}

CompareReport::Run run_side(const NamedReport& named) {
  const ScaleReport::Run run = run_of(named);
  return {run.name, run.world_size, run.steps, run.step_ns, run.step_error_ns};
}

void find_doubts(const NamedReport& named, const CompareReport::Run& run, CompareReport& out) {
  const auto doubt = [&](FindingCode code, const char* message) {
    out.diagnostics.push_back(finding_of_job(Severity::warning, code, named.name + ": " + message));
  };
  const JobReport& report = named.report;
  if (run.steps == 0) {
    doubt("no-steps",
          "no ProfilerStep was recorded: the whole window counts as one step, and no difference is significant");
  } else if (run.steps == 1) {
    doubt("one-step", "one step shows no variation, so no difference is significant");
  }
  if (run.steps > 0 && report.rank_steps.empty()) {
    doubt("no-step-tables", "its report has no tables/rank_steps.csv: the parts of a step are not compared");
  }
}

// Differences between two programs are no regressions.
void forget_significance(CompareReport& out) {
  const auto forget = [](auto& rows) {
    for (auto& row : rows) row.change.significant = false;
  };
  out.step.significant = false;
  forget(out.parts);
  forget(out.ranks);
  forget(out.host);
  forget(out.host_ranks);
  forget(out.collectives);
  forget(out.communicators);
}

}  // namespace

Result<CompareReport> compare_runs(const NamedReport& base, const NamedReport& now) {
  const LongestComponent base_told(base), now_told(now);
  CompareReport out;
  out.base = run_side(base_told.run());
  out.now = run_side(now_told.run());
  for (const CompareReport::Run* run : {&out.base, &out.now}) {
    if (run->world_size <= 0 || run->step_ns <= 0) {
      return Error{ErrorKind::no_input, fmt::format("{}: none of its ranks was recorded", run->name)};
    }
  }
  if (out.base.world_size != out.now.world_size) {
    return Error{ErrorKind::usage, fmt::format("{} has {} ranks, {} has {}: use skewscope scale for different sizes",
                                               out.base.name, out.base.world_size, out.now.name, out.now.world_size)};
  }
  if (const auto same = same_step_basis({&base, &now}); !same.ok()) return same.error();
  const BothRuns runs{base.report,           now.report,         base_told.run().report,
                      now_told.run().report, Steps(base.report), Steps(now.report)};
  const auto lengths = [](const JobReport& report) {
    std::vector<double> values;
    for (const JobReport::StepRow* step : whole_steps(report)) values.push_back(static_cast<double>(step->duration_ns));
    return values;
  };
  out.step = change_of(lengths(base.report), lengths(now.report));
  out.step.base_ns = out.base.step_ns;
  out.step.new_ns = out.now.step_ns;
  out.step.significant = out.step.p_value >= 0 && out.step.p_value <= kFalseDiscoveries;
  compare_parts(runs, out);
  compare_hosts(runs, out);
  out.collectives = compare_calls(runs, true);
  out.communicators = compare_calls(runs, false);
  out.kernels = compare_work(runs, "kernels", "total_ns");
  out.operators = compare_work(runs, "operators", "direct_ns");
  out.diagnostics = comparison_doubts(base, now);
  for (const Findings& doubts : {component_doubts(base), component_doubts(now), component_doubts(base, now)}) {
    out.diagnostics.insert(out.diagnostics.end(), doubts.begin(), doubts.end());
  }
  out.comparable = std::none_of(out.diagnostics.begin(), out.diagnostics.end(),
                                [](const Finding& finding) { return finding.code == kStepsNotComparable; });
  if (!out.comparable) forget_significance(out);
  find_doubts(base, out.base, out);
  find_doubts(now, out.now, out);
  sort_findings(out.diagnostics);
  return out;
}

}  // namespace skewscope
