#include "src/blame/shared_gpus.h"

#include <catch2/catch.hpp>

#include "small_job.h"

using namespace skewscope;        // NOLINT
using namespace skewscope::test;  // NOLINT

namespace {

// Both compute for 50 us, then rank 1 alone for 30 us more; then they meet.
SmallJob::Rooms two_ranks(const char* host_0, const char* host_1, int32_t device_1) {
  SmallJob job(2);
  const CommunicatorId all = job.group({0, 1});
  job.meet(all, 5);
  job.work(0, 50);
  job.work(1, 80);
  job.meet(all, 5);
  SmallJob::Rooms rooms = job.done();
  rooms.job.traces[0].host = host_0;
  rooms.job.traces[1].host = host_1;
  rooms.job.traces[0].device = 0;
  rooms.job.traces[1].device = device_1;
  return rooms;
}

int64_t at_once(const SmallJob::Rooms& rooms) {
  const blame::JobView view(rooms.job, rooms.instances, rooms.clocks, rooms.decomposition);
  return blame::computing_at_once_ns(view, alone());
}

}  // namespace

TEST_CASE("ranks slow each other as long as they compute on one GPU at once") {
  CHECK(at_once(two_ranks("node0", "node0", 0)) == 50'000);
  CHECK(at_once(two_ranks("", "", 0)) == 50'000);  // nothing tells their hosts apart
}

TEST_CASE("ranks with a GPU each do not") {
  CHECK(at_once(two_ranks("node0", "node0", 1)) == 0);
  CHECK(at_once(two_ranks("node0", "node1", 0)) == 0);
  CHECK(at_once(two_ranks("", "", 1)) == 0);
}
