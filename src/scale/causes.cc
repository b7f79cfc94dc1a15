// Problem: a factor says that balance or transfer got worse, not where.
// Idea: each factor has a quantity per rank and step that grows when the factor gets worse, and that has an owner:
//   load balance          computing above the mean of the ranks              the ranks that compute most
//   serialization         exposed wait that hosts cause, and idling          the hosts
//                         until they launched
//                         exposed wait that began otherwise                  the communicators' role and operation
//                         idling otherwise                                   the GPUs
//   transfer              exposed transfer                                   the communicators' role and operation
//   computation scaling   computing above the share that ideal scaling       the kernels, where their tables were
//                         leaves to a rank                                    asked for; else all ranks
//   orchestration         idling until a host launched; idling otherwise     the hosts; the GPUs
// A loss is relative, so the quantity is taken as a share of the step, and the points of the loss are divided among the
// owners whose share grew, in proportion to the growth; owners of little are one, "other", so that the causes of a loss
// sum to it. Which waits hosts cause is blame's word (causes of the report), applied to all communicators alike.
// The slowest communicator of a role counts: the job waits for it, the others' members elsewhere. A role (data
// parallel, tensor parallel) exists at every size; the communicators of a role in the larger run that have half as much
// again as the median of the role differ clearly and are named. Cost: linear in the tables.
#include "causes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "run_figures.h"
#include "skewscope/model/blame.h"

namespace skewscope::scale {
namespace {

using Cause = ScaleReport::Cause;
constexpr size_t kMostCauses = 3;
constexpr double kStandsOut = 1.5;     // times the median of the role
constexpr double kWorthNaming = 0.05;  // of the loss
constexpr double kNearMost = 0.5;      // ranks with half of the largest are named with it
constexpr double kFewShare = 0.2;      // of all waiting, caused by one rank

// Divides the points of the loss among the causes that grew, keeps the largest, and makes one of the others.
std::vector<Cause> share_points(std::vector<Cause> causes, const ScaleReport::Loss& loss, const Pair& pair) {
  const auto growth = [&](const Cause& c) {
    return c.after_ns / pair.after_run.step_ns - c.before_ns / pair.before_run.step_ns;
  };
  causes.erase(std::remove_if(causes.begin(), causes.end(), [&](const Cause& c) { return growth(c) <= 0; }),
               causes.end());
  double grown = 0;
  for (const Cause& c : causes) grown += growth(c);
  for (Cause& c : causes) c.points = loss.points * growth(c) / grown;
  std::stable_sort(causes.begin(), causes.end(), [](const Cause& a, const Cause& b) { return a.points > b.points; });
  std::vector<Cause> named;
  Cause other;
  other.kind = LossCause::other;
  for (Cause& c : causes) {
    if (named.size() < kMostCauses && c.points >= kWorthNaming * loss.points) {
      named.push_back(std::move(c));
      continue;
    }
    other.before_ns += c.before_ns;
    other.after_ns += c.after_ns;
    other.points += c.points;
  }
  if (other.points > 0) named.push_back(std::move(other));
  return named;
}

using Part = int64_t JobReport::CollectiveRow::*;
using RoleAndOperation = std::tuple<std::string, std::string, std::string>;  // role, op, dtype
using Times = std::map<int32_t, double>;                                     // per member and step, by communicator

std::map<RoleAndOperation, Times> by_role(const JobReport& report, Part part) {
  const auto communicators = communicators_by_id(report);
  std::map<RoleAndOperation, Times> times;
  const double steps = OwnSteps(report).mean();
  for (const JobReport::CollectiveRow& row : report.collectives) {
    const auto c = communicators.find(row.communicator);
    if (c == communicators.end() || c->second->size <= 0) continue;
    times[{role_of(*c->second), to_string(row.op), row.dtype}][row.communicator] +=
        static_cast<double>(row.*part) / c->second->size / steps;
  }
  return times;
}

double slowest(const Times& times) {
  double most = 0;
  for (const auto& [id, ns] : times) most = std::max(most, ns);
  return most;
}

// Communicators with more of it than the others of their role; all where none is.
std::vector<int32_t> standing_out(const Times& times) {
  std::vector<double> sorted;
  for (const auto& [id, ns] : times) sorted.push_back(ns);
  std::sort(sorted.begin(), sorted.end());
  std::vector<int32_t> ids, all;
  for (const auto& [id, ns] : times) {
    all.push_back(id);
    if (ns > kStandsOut * sorted[sorted.size() / 2]) ids.push_back(id);
  }
  return ids.empty() ? all : ids;
}

std::vector<Cause> communicators_that(const Pair& pair, Part part) {
  const auto before = by_role(pair.before, part);
  std::vector<Cause> causes;
  for (const auto& [key, times] : by_role(pair.after, part)) {
    Cause cause;
    cause.kind = LossCause::communicator;
    std::tie(cause.communicator, cause.op, cause.dtype) = key;
    cause.communicators = standing_out(times);
    const auto was = before.find(key);
    cause.before_ns = was == before.end() ? 0 : slowest(was->second);
    cause.after_ns = slowest(times);
    causes.push_back(std::move(cause));
  }
  return causes;
}

bool began_with_host(const JobReport::CauseRow& row) { return row.cause == LateCause::host; }

// The share of all waiting that hosts cause.
double share_of_hosts(const JobReport& report) {
  double all = 0, hosts = 0;
  for (const JobReport::CauseRow& row : report.causes) {
    all += static_cast<double>(row.wait_originated_ns);
    if (began_with_host(row)) hosts += static_cast<double>(row.wait_originated_ns);
  }
  return all > 0 ? hosts / all : 0;
}

// Those with half of the most or more, where one has much of all; else none.
std::vector<int32_t> few_with_most(const std::map<int32_t, double>& of_rank) {
  double all = 0, most = 0;
  for (const auto& [rank, ns] : of_rank) {
    all += ns;
    most = std::max(most, ns);
  }
  std::vector<int32_t> ranks;
  if (most <= 0 || most < kFewShare * all) return ranks;
  for (const auto& [rank, ns] : of_rank) {
    if (ns >= kNearMost * most) ranks.push_back(rank);
  }
  return ranks;
}

// Ranks that cause most waiting, where few do.
std::vector<int32_t> waited_for(const JobReport& report) {
  std::map<int32_t, double> originated;
  for (const JobReport::Straggler& s : report.stragglers) {
    originated[s.rank] += static_cast<double>(s.wait_originated_ns);
  }
  return few_with_most(originated);
}

// Ranks whose hosts keep most GPUs idle, their own and those that wait: all where they are not few.
std::vector<int32_t> late_hosts(const JobReport& report) {
  std::map<int32_t, double> kept_idle;
  for (const JobReport::RankRow& r : report.ranks) {
    if (r.total_ns > 0) kept_idle[r.rank] += static_cast<double>(r.idle_host_wait_ns);
  }
  for (const JobReport::CauseRow& row : report.causes) {
    const auto rank = kept_idle.find(row.rank);
    if (!began_with_host(row) || rank == kept_idle.end()) continue;
    rank->second += static_cast<double>(row.wait_originated_ns) / static_cast<double>(kept_idle.size());
  }
  std::vector<int32_t> ranks = few_with_most(kept_idle);
  if (!ranks.empty()) return ranks;
  for (const auto& [rank, ns] : kept_idle) ranks.push_back(rank);
  return ranks;
}

Cause hosts(const Pair& pair) {
  Cause cause;
  cause.kind = LossCause::host;
  cause.ranks = late_hosts(pair.after);
  return cause;
}

// Exposed wait per step of the rank that waits most.
double longest_wait(const JobReport& report) {
  const OwnSteps steps(report);
  double most = 0;
  for (const JobReport::RankRow& r : report.ranks) {
    most = std::max(most, static_cast<double>(r.exposed_wait_ns) / steps.of(r.rank));
  }
  return most;
}

// The slowest communicators of different operations are different ranks': together no more than one rank waits.
void bound_by_one_rank(const JobReport& report, double Cause::*ns, std::vector<Cause>& causes) {
  double sum = 0;
  for (const Cause& cause : causes) sum += cause.*ns;
  const double most = longest_wait(report);
  if (sum <= most) return;
  for (Cause& cause : causes) cause.*ns *= most / sum;
}

// Exposed wait: the share that hosts cause is theirs, the rest stays with the communicators.
std::vector<Cause> waits_that(const Pair& pair) {
  std::vector<Cause> causes = communicators_that(pair, &JobReport::CollectiveRow::exposed_wait_ns);
  bound_by_one_rank(pair.before, &Cause::before_ns, causes);
  bound_by_one_rank(pair.after, &Cause::after_ns, causes);
  const double before = share_of_hosts(pair.before), after = share_of_hosts(pair.after);
  Cause of_hosts = hosts(pair);
  for (Cause& cause : causes) {
    cause.ranks = waited_for(pair.after);
    of_hosts.before_ns += before * cause.before_ns;
    of_hosts.after_ns += after * cause.after_ns;
    cause.before_ns *= 1 - before;
    cause.after_ns *= 1 - after;
  }
  causes.push_back(std::move(of_hosts));
  return causes;
}

// Mean of the ranks, per step.
template <class Part>
double mean_of(const JobReport& report, const Part& part) {
  const OwnSteps steps(report);
  double sum = 0, count = 0;
  for (const JobReport::RankRow& r : report.ranks) {
    if (r.total_ns <= 0) continue;
    sum += static_cast<double>(part(r)) / steps.of(r.rank);
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

// Idling until a host launched, and idling otherwise.
std::vector<Cause> idling_that(const Pair& pair) {
  const auto until_launched = [](const JobReport::RankRow& r) { return r.idle_host_wait_ns; };
  const auto otherwise = [](const JobReport::RankRow& r) { return r.idle_ns - r.idle_host_wait_ns; };
  Cause of_hosts = hosts(pair), idle;
  of_hosts.before_ns = mean_of(pair.before, until_launched);
  of_hosts.after_ns = mean_of(pair.after, until_launched);
  idle.kind = LossCause::idle;
  idle.before_ns = mean_of(pair.before, otherwise);
  idle.after_ns = mean_of(pair.after, otherwise);
  return {of_hosts, idle};
}

// Causes of one kind and the same owner are one.
std::vector<Cause> waits_and_idling_that(const Pair& pair) {
  std::vector<Cause> causes = waits_that(pair);
  for (Cause& more : idling_that(pair)) {
    const auto same = std::find_if(causes.begin(), causes.end(), [&](const Cause& c) { return c.kind == more.kind; });
    if (same == causes.end()) {
      causes.push_back(std::move(more));
      continue;
    }
    same->before_ns += more.before_ns;
    same->after_ns += more.after_ns;
  }
  return causes;
}

// The ranks with most of `part` above the mean, as one cause: all that have half as much above it as the first.
struct Excess {
  std::vector<int32_t> ranks;
  double ns = 0;  // of the first, per step
};

Excess excess_of(const JobReport& report, int64_t JobReport::RankRow::*part) {
  const OwnSteps steps(report);
  const auto per_step = [&](const JobReport::RankRow& r) { return static_cast<double>(r.*part) / steps.of(r.rank); };
  double mean = 0, count = 0, most = 0;
  for (const JobReport::RankRow& r : report.ranks) {
    if (r.total_ns <= 0) continue;
    mean += per_step(r);
    ++count;
  }
  Excess excess;
  if (count == 0) return excess;
  mean /= count;
  for (const JobReport::RankRow& r : report.ranks) most = std::max(most, per_step(r) - mean);
  for (const JobReport::RankRow& r : report.ranks) {
    const double above = per_step(r) - mean;
    if (r.total_ns > 0 && above > 0 && above >= kNearMost * most) excess.ranks.push_back(r.rank);
  }
  excess.ns = most;
  return excess;
}

std::vector<Cause> ranks_that(const Pair& pair, int64_t JobReport::RankRow::*part) {
  const Excess after = excess_of(pair.after, part);
  if (after.ranks.empty()) return {};
  Cause cause;
  cause.kind = LossCause::rank;
  cause.ranks = after.ranks;
  cause.before_ns = excess_of(pair.before, part).ns;
  cause.after_ns = after.ns;
  return {cause};
}

// Median per rank and step of each kernel.
std::map<std::string, double> kernels_of(const JobReport& report) {
  std::map<std::string, double> kernels;
  for (const JobReport::RankStatistic& s : report.rank_statistics) {
    if (s.table == "kernels" && s.metric == "total_ns") kernels[s.key] = s.median / OwnSteps(report).mean();
  }
  return kernels;
}

// What ideal scaling would leave of a rank's work.
double ideal_share(const Pair& pair, Scaling scaling) {
  return scaling == Scaling::weak ? 1 : static_cast<double>(pair.before_run.world_size) / pair.after_run.world_size;
}

// Causes whose `before_ns` is what ideal scaling leaves: their growth is what is too much.
std::vector<Cause> work_that_does_not_shrink(const Pair& pair, Scaling scaling) {
  const double ideal = ideal_share(pair, scaling);
  const auto before = kernels_of(pair.before);
  std::vector<Cause> causes;
  for (const auto& [name, after_ns] : kernels_of(pair.after)) {
    Cause cause;
    cause.kind = LossCause::kernel_operator;
    cause.name = name;
    const auto was = before.find(name);
    cause.before_ns = was == before.end() ? 0 : was->second * ideal;
    cause.after_ns = after_ns;
    if (cause.after_ns > cause.before_ns) causes.push_back(std::move(cause));
  }
  if (!causes.empty()) return causes;
  Cause all;
  all.kind = LossCause::rank;
  for (const JobReport::RankRow& r : pair.after.ranks) all.ranks.push_back(r.rank);
  all.before_ns = pair.before_run.compute_ns * ideal;
  all.after_ns = pair.after_run.compute_ns;
  return {all};
}

}  // namespace

std::vector<Cause> causes_of(const ScaleReport::Loss& loss, const Pair& pair, Scaling scaling) {
  if (loss.points <= 0) return {};
  std::vector<Cause> causes;
  if (loss.factor == ScaleFactor::load_balance) causes = ranks_that(pair, &JobReport::RankRow::compute_ns);
  if (loss.factor == ScaleFactor::orchestration) causes = idling_that(pair);
  if (loss.factor == ScaleFactor::serialization) causes = waits_and_idling_that(pair);
  if (loss.factor == ScaleFactor::transfer)
    causes = communicators_that(pair, &JobReport::CollectiveRow::exposed_transfer_ns);
  if (loss.factor == ScaleFactor::communication || loss.factor == ScaleFactor::gpu_communication) {
    causes = loss.factor == ScaleFactor::communication ? waits_and_idling_that(pair) : waits_that(pair);
    for (Cause& transfer : communicators_that(pair, &JobReport::CollectiveRow::exposed_transfer_ns)) {
      causes.push_back(std::move(transfer));
    }
  }
  if (loss.factor == ScaleFactor::computation_scaling) causes = work_that_does_not_shrink(pair, scaling);
  return share_points(std::move(causes), loss, pair);
}

}  // namespace skewscope::scale
