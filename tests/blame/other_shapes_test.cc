#include <catch2/catch.hpp>

#include "small_job.h"

using namespace skewscope;        // NOLINT
using namespace skewscope::test;  // NOLINT

namespace {

constexpr uint16_t kGrid = 7, kLargerGrid = 9;

// Three steps, in each of which rank 1 computes 80 us where others compute 50 us; `grids`: of its kernels.
int64_t blamed(LateCause cause, const std::vector<KernelGrid>& grids) {
  SmallJob job(3);
  const CommunicatorId all = job.group({0, 1, 2});
  job.meet(all, 5);
  for (int step = 0; step < 3; ++step) {
    for (int32_t r = 0; r < 3; ++r) job.work(r, r == 1 ? 80 : 50);
    job.meet(all, 5);
  }
  SmallJob::Rooms rooms = job.done();
  const uint32_t gemm = kernel_number("gemm");
  for (RankTrace& trace : rooms.job.traces) trace.grids = {{gemm, kGrid, 3, 150'000}};
  rooms.job.traces[1].grids = grids;
  rooms.blame = find_blame(rooms.job, rooms.instances, rooms.clocks, rooms.decomposition);
  REQUIRE(check_invariants(rooms.blame, rooms.decomposition) == "");
  CHECK(of(rooms.blame.traces[1].lateness_by_cause, cause) == of(rooms.blame.traces[1].origin_by_cause, cause) / 2);
  return of(rooms.blame.traces[1].lateness_by_cause, cause);
}

}  // namespace

TEST_CASE("the same kernels on the same grids are slower; on other grids they have other shapes") {
  const uint32_t gemm = kernel_number("gemm");
  CHECK(blamed(LateCause::slower_kernels, {{gemm, kGrid, 3, 240'000}}) == 90'000);
  CHECK(blamed(LateCause::other_shapes, {{gemm, kGrid, 3, 240'000}}) == 0);
  CHECK(blamed(LateCause::other_shapes, {{gemm, kLargerGrid, 3, 240'000}}) == 90'000);
  CHECK(blamed(LateCause::slower_kernels, {{gemm, kLargerGrid, 3, 240'000}}) == 0);
}

TEST_CASE("where some kernels have other grids, what these take longer is their shapes', and the rest is slower") {
  const uint32_t gemm = kernel_number("gemm");
  // Two of 60 us as slow as before, one of 120 us: 70 us longer than one of the others, of 90 us.
  const std::vector<KernelGrid> grids = {{gemm, kGrid, 2, 120'000}, {gemm, kLargerGrid, 1, 120'000}};
  CHECK(blamed(LateCause::other_shapes, grids) == 70'000);
  CHECK(blamed(LateCause::slower_kernels, grids) == 20'000);
}

TEST_CASE("where no grid is recorded nothing tells of shapes") {
  CHECK(blamed(LateCause::slower_kernels, {{kernel_number("gemm"), 0, 3, 240'000}}) == 90'000);
}
