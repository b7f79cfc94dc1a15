// Memory from the allocators' events, counted by hand.
#include <catch2/catch.hpp>

#include "detail_builder.h"
#include "skewscope/summarize.h"

using namespace skewscope;
using skewscope::test::DetailBuilder;

namespace {

struct Allocator {
  DetailBuilder& b;
  int32_t device;
  int64_t held, reserved;

  // Below 0: a free.
  void event(double at_us, int64_t bytes, int64_t address, int32_t thread = 0) {
    held += bytes;
    MemoryEvents& memory = b.detail.memory;
    memory.at.push_back(LocalNs{static_cast<int64_t>(at_us * 1000)});
    memory.bytes.push_back(bytes);
    memory.address.push_back(address);
    memory.allocated.push_back(held);
    memory.reserved.push_back(reserved);
    memory.device.push_back(device);
    memory.thread.push_back(thread);
  }
};

OperatorTables tables_with_memory(DetailBuilder& b) {
  b.finish();
  REQUIRE(check_invariants(b.detail, b.trace).empty());
  OperatorTables tables = tabulate_operators(b.trace, b.detail, b.strings);
  CHECK(check_invariants(tables) == "");
  return tables;
}

}  // namespace

TEST_CASE(
    "what is allocated at the peak is known by its operator, and what was there before the recording as one sum") {
  DetailBuilder b;
  b.op("aten::linear", 0, 50);
  b.op("aten::empty", 5, 10);
  b.op("aten::relu", 60, 90);
  Allocator gpu{b, 0, 1000, 4096};
  gpu.event(6, 512, 1);     // empty, within linear
  gpu.event(20, 256, 2);    // linear itself
  gpu.event(30, -256, 2);   // and freed
  gpu.event(70, 128, 3);    // relu: 1640, less than before
  gpu.event(80, -1000, 9);  // allocated before the recording
  gpu.event(200, 64, 4);    // outside every operator
  const OperatorTables tables = tables_with_memory(b);
  REQUIRE(tables.memory.devices.size() == 1);
  const MemoryRow& row = tables.memory.devices[0];
  CHECK(row.device == 0);
  CHECK(row.allocations == 4);
  CHECK(row.frees == 2);
  CHECK(row.first_allocated_bytes == 1000);
  CHECK(row.last_allocated_bytes == 704);
  CHECK(row.peak_allocated_bytes == 1768);  // 1000 + 512 + 256
  CHECK(row.peak_at_ns == 20'000);
  CHECK(row.peak_reserved_bytes == 4096);
  REQUIRE(tables.memory.at_peaks.size() == 3);
  CHECK_FALSE(tables.memory.at_peaks[0].recorded);
  CHECK(tables.memory.at_peaks[0].bytes == 1000);
  CHECK(tables.memory.at_peaks[1].op == "aten::empty");
  CHECK(tables.memory.at_peaks[1].bytes == 512);
  CHECK(tables.memory.at_peaks[2].op == "aten::linear");
  CHECK(tables.memory.at_peaks[2].blocks == 1);
}

TEST_CASE("an operator's own memory is what it allocated less what it freed, in all with what ran within it") {
  DetailBuilder b;
  b.op("aten::linear", 0, 50);
  b.op("aten::empty", 5, 10);
  Allocator gpu{b, 0, 0, 2048};
  gpu.event(6, 512, 1);
  gpu.event(20, 256, 2);
  gpu.event(30, -100, 3);
  Allocator host{b, -1, 0, 0};
  host.event(40, 8, 4);
  const OperatorTables tables = tables_with_memory(b);
  for (const OperatorRow& row : tables.operators) {
    INFO(row.name);
    const bool outer = row.name == "aten::linear";
    CHECK(row.gpu_memory_self_bytes == (outer ? 156 : 512));
    CHECK(row.gpu_memory_bytes == (outer ? 668 : 512));
    CHECK(row.host_memory_self_bytes == (outer ? 8 : 0));
  }
  REQUIRE(tables.memory.devices.size() == 2);
  CHECK(tables.memory.devices[0].device == -1);
}

TEST_CASE("memory over time keeps the most of each part, and what is held where nothing happens") {
  DetailBuilder b;
  b.op("aten::empty", 0, 1);
  Allocator gpu{b, 0, 100, 500};
  gpu.event(0, 50, 1);
  gpu.event(0.1, 800, 2);
  gpu.event(0.2, -800, 2);
  gpu.event(1000, -50, 1);
  const OperatorTables tables = tables_with_memory(b);
  const std::vector<MemoryBin>& bins = tables.memory.over_time;
  REQUIRE(bins.size() == 200);
  CHECK(bins[0].allocated_bytes == 950);
  CHECK(bins[1].allocated_bytes == 150);
  CHECK(bins[198].allocated_bytes == 150);
  CHECK(bins[199].allocated_bytes == 150);  // until its last moment
  CHECK(bins[7].start_ns == 7 * bins[0].length_ns);
}

TEST_CASE("a trace without memory events says nothing of memory") {
  DetailBuilder b;
  b.op("aten::empty", 0, 1);
  CHECK(tables_with_memory(b).memory.devices.empty());
}
