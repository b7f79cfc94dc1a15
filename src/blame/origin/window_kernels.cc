#include "window_kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <tuple>

#include "kernel_uses.h"

namespace skewscope::blame {
namespace {

constexpr size_t kPairsAtOnce = 512;
constexpr std::array kHeldUp = {LateCause::copies, LateCause::transfer_elsewhere, LateCause::host, LateCause::idle};

int64_t& time_by(CauseBook& book, LateCause cause) { return book[static_cast<size_t>(cause)]; }

struct Pair {
  TraceIndex late, peer;
};

// Both recorded the same steps of one program.
bool comparable(const ReplayPlan& plan, const Pair& pair) {
  const RankTrace &a = plan.view.job.traces[pair.late.index()], &b = plan.view.job.traces[pair.peer.index()];
  const auto same = [](const StepRange& x, const StepRange& y) { return x.number == y.number; };
  return plan.program[pair.late.index()] == plan.program[pair.peer.index()] && a.steps.size() == b.steps.size() &&
         std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), same);
}

// The traces whose lateness has any of this cause, each with the one that it was compared with most.
std::vector<Pair> pairs_of(const ReplayPlan& plan, const Comparisons& compared, LateCause cause, Blame& blame) {
  std::vector<Pair> pairs;
  for (const auto& [late, comparison] : compared) {
    const auto& peers = comparison.peers;
    if (time_by(blame.traces[late.index()].lateness_by_cause, cause) <= 0) continue;
    const auto most =
        std::max_element(peers.begin(), peers.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    const Pair pair{late, most->first};
    if (comparable(plan, pair)) pairs.push_back(pair);
  }
  return pairs;
}

int64_t time_of(const KernelUses& uses) {
  int64_t ns = 0;
  for (const KernelUse& use : uses) ns += use.ns;
  return ns;
}

// Moves computing beyond `kept` of the whole to what held the rank up, and divides the rest.
void correct(CauseBook& book, double kept, double other, const std::vector<double>& held_up) {
  int64_t& slower = time_by(book, LateCause::slower_kernels);
  int64_t& others = time_by(book, LateCause::other_kernels);
  const int64_t all = slower + others;
  if (all <= 0) return;
  const auto rest = static_cast<int64_t>(std::llround(static_cast<double>(all) * (1 - kept)));
  const std::vector<int64_t> moved = rest > 0 ? apportion(rest, held_up) : std::vector<int64_t>(kHeldUp.size(), 0);
  for (size_t i = 0; i < kHeldUp.size(); ++i) time_by(book, kHeldUp[i]) += moved[i];
  others = std::llround(static_cast<double>(all - rest) * other);
  slower = all - rest - others;
}

void correct(const KernelUses& late, const KernelUses& peer, const Comparison& comparison, TraceBlame& own) {
  CauseBook& book = own.lateness_by_cause;
  int64_t computing = 0;
  for (const auto& [group, ns] : comparison.computing) computing = std::max(computing, ns);
  if (computing <= 0) return;
  std::vector<double> held_up;
  for (const LateCause cause : kHeldUp)
    held_up.push_back(static_cast<double>(std::max<int64_t>(0, time_by(book, cause))));
  const double held = std::accumulate(held_up.begin(), held_up.end(), 0.0);
  const auto longer = static_cast<double>(std::max<int64_t>(0, time_of(late) - time_of(peer)));
  const auto more = static_cast<double>(std::max<int64_t>(0, surplus_ns(late, peer)));
  const bool moved = held > 0 && longer < static_cast<double>(computing);
  const double kept = moved ? longer / (longer + held) : 1;
  const double other = longer > 0 ? std::min(1.0, more / longer) : 0;
  correct(own.lateness_by_cause, kept, other, held_up);
  correct(own.origin_by_cause, kept, 0, held_up);
}

int64_t time_of(const std::vector<KernelGrid>& grids) {
  int64_t ns = 0;
  for (const KernelGrid& one : grids) ns += one.ns;
  return ns;
}

std::vector<KernelGrid> whatever_grid(const std::vector<KernelGrid>& grids) {
  std::vector<KernelGrid> kernels;
  for (const KernelGrid& one : grids) {
    if (kernels.empty() || kernels.back().kernel != one.kernel) kernels.push_back({one.kernel, 0, 0, 0});
    kernels.back().rows += one.rows;
    kernels.back().ns += one.ns;
  }
  return kernels;
}

// As surplus_ns() of kernel uses: of what one ran more often, by the mean.
double one_sided_surplus_ns(const std::vector<KernelGrid>& of, const std::vector<KernelGrid>& other) {
  const auto number = [](const KernelGrid& one) { return std::tie(one.kernel, one.grid); };
  double surplus = 0;
  auto at = other.begin();
  for (const KernelGrid& one : of) {
    while (at != other.end() && number(*at) < number(one)) ++at;
    const int64_t rows = at == other.end() || number(*at) != number(one) ? 0 : at->rows;
    if (one.rows > rows) {
      surplus += static_cast<double>(one.ns) / static_cast<double>(one.rows) * static_cast<double>(one.rows - rows);
    }
  }
  return surplus;
}

double surplus_ns(const std::vector<KernelGrid>& late, const std::vector<KernelGrid>& peer) {
  return one_sided_surplus_ns(late, peer) - one_sided_surplus_ns(peer, late);
}

bool records_grids(const std::vector<KernelGrid>& grids) {
  return std::any_of(grids.begin(), grids.end(), [](const KernelGrid& one) { return one.grid != 0; });
}

// The part that other grids explain of what kernels of the same name and number take longer.
double part_of_shapes(const std::vector<KernelGrid>& late, const std::vector<KernelGrid>& peer) {
  if (!records_grids(late) || !records_grids(peer)) return 0;
  const double more = std::max(0.0, surplus_ns(whatever_grid(late), whatever_grid(peer)));
  const double longer = static_cast<double>(time_of(late) - time_of(peer)) - more;
  if (longer <= 0) return 0;
  return std::clamp((surplus_ns(late, peer) - more) / longer, 0.0, 1.0);
}

}  // namespace

void tell_shapes(const ReplayPlan& plan, const Comparisons& compared, Blame& blame) {
  for (const Pair& pair : pairs_of(plan, compared, LateCause::slower_kernels, blame)) {
    const double part = part_of_shapes(plan.view.job[pair.late].grids, plan.view.job[pair.peer].grids);
    CauseBook& book = blame.traces[pair.late.index()].lateness_by_cause;
    int64_t& slower = time_by(book, LateCause::slower_kernels);
    const auto of_shapes = static_cast<int64_t>(std::llround(static_cast<double>(slower) * part));
    slower -= of_shapes;
    time_by(book, LateCause::other_shapes) += of_shapes;
  }
}

void correct_computing(const ReplayPlan& plan, const Comparisons& compared, Exchange& exchange, Blame& blame) {
  std::vector<Pair> pairs =
      exchange.first() ? pairs_of(plan, compared, LateCause::other_kernels, blame) : std::vector<Pair>();
  follow_first(exchange, pairs);
  for (size_t first = 0; first < pairs.size(); first += kPairsAtOnce) {
    std::vector<std::array<KernelSpan, 2>> spans;
    const auto whole = [&](TraceIndex t) { return KernelSpan{t, plan.lines[t.index()].begin, LocalNs{INT64_MAX}}; };
    for (size_t p = first; p < std::min(pairs.size(), first + kPairsAtOnce); ++p) {
      spans.push_back({whole(pairs[p].late), whole(pairs[p].peer)});
    }
    const auto uses = all_kernel_uses(plan.view.job, std::move(spans), exchange);
    if (!exchange.first()) continue;
    for (size_t k = 0; k < uses.size(); ++k) {
      const TraceIndex trace = pairs[first + k].late;
      correct(uses[k][0], uses[k][1], compared.at(trace), blame.traces[trace.index()]);
    }
  }
}

}  // namespace skewscope::blame
