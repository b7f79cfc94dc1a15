#include "collectives/traffic.h"

#include <catch2/catch.hpp>

#include "collectives/synchronization.h"

using namespace skewscope;

TEST_CASE("S counts the total buffer as nccl-tests does") {
  // 8 members, bfloat16; the real all_gather of a B200 trace: 25,136 elements in, 201,088 out.
  REQUIRE(message_bytes(CollectiveKind::all_gather, DType::bfloat16, 25136, 201088, 8) == 402176);
  REQUIRE(message_bytes(CollectiveKind::all_gather, DType::bfloat16, 25136, -1, 8) == 402176);
  REQUIRE(message_bytes(CollectiveKind::reduce_scatter, DType::float32, 800, 100, 8) == 3200);
  REQUIRE(message_bytes(CollectiveKind::all_reduce, DType::float32, 394241, 394241, 8) == 1576964);
  REQUIRE(message_bytes(CollectiveKind::gather, DType::int8, 10, 0, 8) == 80);
  REQUIRE(message_bytes(CollectiveKind::scatter, DType::int8, 0, 10, 8) == 80);
  REQUIRE(message_bytes(CollectiveKind::all_to_all, DType::int64, 24, 24, 8) == 192);
}

TEST_CASE("a size that cannot be told is 0") {
  REQUIRE(message_bytes(CollectiveKind::all_reduce, DType::unknown, 100, 100, 8) == 0);
  REQUIRE(message_bytes(CollectiveKind::all_reduce, DType::float32, -1, -1, 8) == 0);
  REQUIRE(message_bytes(CollectiveKind::all_reduce, DType::float32, INT64_MAX, 0, 8) == 0);
}

TEST_CASE("bus-bandwidth factors follow nccl-tests") {
  REQUIRE(bus_bandwidth_factor(CollectiveKind::all_reduce, 8) == Approx(1.75));
  REQUIRE(bus_bandwidth_factor(CollectiveKind::all_gather, 8) == Approx(0.875));
  REQUIRE(bus_bandwidth_factor(CollectiveKind::all_to_all, 4) == Approx(0.75));
  REQUIRE(bus_bandwidth_factor(CollectiveKind::broadcast, 8) == Approx(1));
  REQUIRE(bus_bandwidth_factor(CollectiveKind::send, 2) == Approx(1));
  REQUIRE(bus_bandwidth_factor(CollectiveKind::send_recv, 2) == Approx(1));
  REQUIRE(bus_bandwidth_factor(CollectiveKind::barrier, 8) == Approx(0));
  REQUIRE(bus_bandwidth_factor(CollectiveKind::all_reduce, 1) == Approx(0));
}

TEST_CASE("only operations that need every member tie clocks by their ends") {
  REQUIRE(ends_together(CollectiveKind::all_reduce));
  REQUIRE(ends_together(CollectiveKind::barrier));
  REQUIRE_FALSE(ends_together(CollectiveKind::broadcast));
  REQUIRE_FALSE(ends_together(CollectiveKind::send));
  REQUIRE(ends_together(CollectiveKind::send_recv));
  REQUIRE_FALSE(ends_together(CollectiveKind::coalesced));
}
