// Losses and the verdict that follows from them, on reports whose figures are written down here.
#include "src/report/rows/losses.h"

#include <catch2/catch.hpp>

#include "src/report/words/verdict.h"

using namespace skewscope;
using namespace skewscope::report;

namespace {

// Four ranks of 1 ms each: computing 50 %, exposed wait 20 %, exposed transfer 10 %, idle 20 %, half of it for the
// host.
JobReport four_ranks() {
  JobReport r;
  r.job.world_size = 4;
  r.job.window_ns = 1'000'000;
  for (int32_t rank = 0; rank < 4; ++rank) {
    JobReport::RankRow row;
    row.rank = rank;
    row.total_ns = 1'000'000;
    row.compute_ns = 500'000;
    row.exposed_communication_ns = 300'000;
    row.exposed_wait_ns = row.wait_ns = 200'000;
    row.exposed_transfer_ns = row.transfer_ns = 100'000;
    row.idle_ns = 200'000;
    row.idle_host_wait_ns = 100'000;
    row.collectives = 10;
    r.ranks.push_back(row);
  }
  return r;
}

// Rank 2 is last in all ten collectives, and all wait began with it.
void blame_rank_2(JobReport& r, std::optional<Standing> standing, int64_t saved_ns) {
  JobReport::Straggler s;
  s.rank = 2;
  s.late_count = s.late_candidates = 10;
  s.wait_caused_ns = s.wait_originated_ns = 800'000;
  s.cause = LateCause::host;
  s.standing = standing;
  s.saved_ns = saved_ns;
  r.stragglers = {s};
}

JobReport with_losses(JobReport r) {
  r.losses = losses_of(r, figures_of(r));
  return r;
}

Verdict verdict_on(const JobReport& r) { return verdict_of(r, figures_of(r)); }

bool mentions(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

}  // namespace

TEST_CASE("a straggler that was replayed gains what its replay gains, however much waiting began with it") {
  JobReport r = four_ranks();
  blame_rank_2(r, Standing::cause, 60'000);
  r.what_if.replayed_ns = 1'000'000;
  r.what_if.balanced_ns = 940'000;
  r.what_if.no_transfer_ns = 990'000;
  r = with_losses(r);
  REQUIRE(r.losses.size() == 2);
  CHECK(r.losses[0].kind == LossKind::straggler);
  CHECK(r.losses[0].ranks == std::vector<int32_t>{2});
  CHECK(r.losses[0].gain_ns == 60'000);
  CHECK(r.losses[0].bound == GainBound::exact);
  CHECK(r.losses[1].kind == LossKind::launch_bound);  // at most 10 %, which counts as 5
  CHECK(verdict_on(r).severeness == Severeness::noticeable);
  CHECK(mentions(verdict_on(r).verdict, "Fix first: rank 2; the job would be 6 % shorter (noticeable)."));
  CHECK(mentions(verdict_on(r).why, "Also: launch-bound GPUs (at most 10 %)."));
}

TEST_CASE("where nothing was replayed a straggler gains at most the exposed wait that began with it") {
  JobReport r = four_ranks();
  blame_rank_2(r, std::nullopt, 0);
  r = with_losses(r);
  REQUIRE_FALSE(r.losses.empty());
  CHECK(r.losses[0].kind == LossKind::straggler);
  CHECK(r.losses[0].bound == GainBound::at_most);
  CHECK(r.losses[0].gain_share == Approx(0.2));
  CHECK(r.losses[0].gain_ns == 200'000);
}

TEST_CASE("where calls of a rank overlap, as gloo's threads run them, no loss is longer than the job") {
  JobReport r = four_ranks();
  for (JobReport::RankRow& row : r.ranks) {
    row.total_ns = row.compute_ns = row.exposed_communication_ns = row.idle_ns = row.idle_host_wait_ns = 0;
    row.wait_ns = 1'600'000;        // two calls at once,
    row.exposed_wait_ns = 800'000;  // 800 us of each
    row.transfer_ns = row.exposed_transfer_ns = 0;
  }
  blame_rank_2(r, std::nullopt, 0);
  r.stragglers[0].wait_caused_ns = r.stragglers[0].wait_originated_ns = 4 * 1'600'000;
  // Two sessions of 1 ms: the ranks ran for 2 ms.
  r.components = {{0, {0, 1, 2, 3}, 1'000'000}, {1, {0, 1, 2, 3}, 1'000'000}};
  r = with_losses(r);
  REQUIRE(r.losses.size() == 1);
  CHECK(r.losses[0].gain_share == Approx(0.4));
  CHECK(r.losses[0].gain_ns == 800'000);
}

TEST_CASE("half of the time waiting is nothing to act on where no repair gains anything") {
  JobReport r = four_ranks();
  for (JobReport::RankRow& row : r.ranks) {
    row.exposed_wait_ns = row.wait_ns = 500'000;
    row.compute_ns = 490'000;
    row.exposed_transfer_ns = row.transfer_ns = 10'000;
    row.idle_ns = row.idle_host_wait_ns = 0;
  }
  blame_rank_2(r, Standing::suspect, 0);
  r.what_if.replayed_ns = 1'000'000;
  r.what_if.balanced_ns = 995'000;
  r.what_if.no_transfer_ns = 999'000;
  r = with_losses(r);
  CHECK(r.losses.empty());
  CHECK(verdict_on(r).severeness == Severeness::small);
  CHECK(mentions(verdict_on(r).verdict, "No single fix found would shorten the job by 2 % or more."));
}

TEST_CASE("ranks that are late in turn are named together where each alone gains little") {
  JobReport r = four_ranks();
  blame_rank_2(r, Standing::cause, 30'000);
  r.what_if.replayed_ns = 1'000'000;
  r.what_if.balanced_ns = 700'000;
  r.what_if.no_transfer_ns = 990'000;
  r = with_losses(r);
  REQUIRE_FALSE(r.losses.empty());
  CHECK(r.losses[0].kind == LossKind::late_in_turn);
  CHECK(r.losses[0].gain_share == Approx(0.3));
  CHECK(
      mentions(verdict_on(r).verdict, "Fix first: alternating stragglers; the job would be 30 % shorter (critical)."));
}

TEST_CASE("the larger loss gets the advice: exposed transfer before a straggler, small messages by their size") {
  JobReport r = four_ranks();
  blame_rank_2(r, Standing::cause, 30'000);
  r.what_if.replayed_ns = 1'000'000;
  r.what_if.balanced_ns = 970'000;
  r.what_if.no_transfer_ns = 800'000;
  JobReport::CollectiveRow row;
  row.op = CollectiveKind::all_reduce;
  row.bytes = 33'000;
  row.exposed_transfer_ns = 300'000;
  r.collectives = {row};
  r = with_losses(r);
  REQUIRE_FALSE(r.losses.empty());
  CHECK(r.losses[0].kind == LossKind::exposed_transfer);
  CHECK(r.losses[0].gain_share == Approx(0.2));  // as replayed
  CHECK(mentions(verdict_on(r).why, "takes 10 % of GPU time; all_reduce of 33.0 kB makes up 75 % of that."));
  CHECK(mentions(verdict_on(r).next, "Messages are small"));
  r.collectives[0].bytes = 33'000'000;
  r = with_losses(r);
  CHECK(mentions(verdict_on(r).next, "Overlap all_reduce with computing"));
}

TEST_CASE("one rank of several is not calmed: its waiting is not known, and its own losses lead") {
  JobReport r = four_ranks();
  r.ranks.resize(1);
  r.job.world_size = 8;
  r.ranks[0].exposed_wait_ns = r.ranks[0].wait_ns = r.ranks[0].exposed_transfer_ns = r.ranks[0].transfer_ns = 0;
  r.ranks[0].compute_ns = 100'000;
  r.ranks[0].idle_ns = r.ranks[0].idle_host_wait_ns = 600'000;
  r = with_losses(r);
  const Verdict v = verdict_on(r);
  CHECK(v.severeness == Severeness::critical);
  CHECK(v.verdict == "Only rank 0 of 8 was given. Waiting needs the traces of the other ranks.");
  CHECK(mentions(v.why, "GPUs are idle for 60 % of the time because the CPU launches kernels too late."));
  CHECK(mentions(v.next, "Add the traces of the other ranks."));
}

TEST_CASE("a gain of which only the most is known counts half when losses are ordered") {
  JobReport::Loss known, bound;
  known.gain_share = bound.gain_share = 0.2;
  bound.bound = GainBound::at_most;
  CHECK(known.weight() == Approx(0.2));
  CHECK(bound.weight() == Approx(0.1));
}
