// Traces before PyTorch 2.4: what goes into a collective and comes out stands on c10d's operator alone.
#include <catch2/catch.hpp>

#include "src/ingest/link/link_calls.h"
#include "tests/ingest/reader_support.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

// An operator of c10d, NCCL's range in it, and what that launches.
std::string collective(const std::string& op, const std::string& dims, const std::string& range,
                       const std::string& kernel) {
  const auto row = [](const char* category, const std::string& name, int ts, int duration, const std::string& args) {
    return fmt::format(
        R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": 9, "tid": 9, "ts": {}, "dur": {}, "args": {{{}}}}})",
        category, name, ts, duration, args);
  };
  return row("cpu_op", op, 100, 20, R"("External id": 3, "Input Dims": )" + dims) + "," +
         row("user_annotation", range, 105, 10,
             R"("External id": 3, "Input Dims": [[4096]], "Input type": ["float"])") +
         "," + row("cuda_runtime", "cudaLaunchKernel", 108, 4, R"("correlation": 7)") + "," +
         row("kernel", kernel, 200, 50, R"("device": 0, "stream": 20, "correlation": 7)");
}

CollectiveCall linked(const std::string& rows) { return link_calls(read_text(trace_of(rows))).trace.calls.at(0); }

constexpr const char* kOldReduceScatter = "ncclKernel_ReduceScatter_RING_LL_Sum_float(ncclWorkElem)";
constexpr const char* kOldAllGather = "ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)";

}  // namespace

TEST_CASE("a reduce_scatter's operator tells that a quarter of what goes in comes out: four ranks") {
  const CollectiveCall call = linked(collective("c10d::_reduce_scatter_base_", "[[1024], [4096], [], [], [], []]",
                                                "nccl:_reduce_scatter_base", kOldReduceScatter));
  CHECK(call.kind == CollectiveKind::reduce_scatter);
  CHECK(call.in_elements == 4096);
  CHECK(call.out_elements == 1024);
}

TEST_CASE("an all_gather's operator tells what comes out beside what goes in") {
  const CollectiveCall call = linked(collective("c10d::_allgather_base_", "[[64, 256], [8, 256], [], [], []]",
                                                "nccl:_all_gather_base", kOldAllGather));
  CHECK(call.kind == CollectiveKind::all_gather);
  CHECK(call.in_elements == 8 * 256);
  CHECK(call.out_elements == 64 * 256);
}

TEST_CASE("an operator without shapes, or of another operation, tells no sizes") {
  const CollectiveCall none =
      linked(collective("c10d::_allgather_base_", "[[], [], []]", "nccl:_all_gather_base", kOldAllGather));
  CHECK(none.out_elements == -1);
  const CollectiveCall other =
      linked(collective("c10d::allreduce_", "[[[4096]], [], []]", "nccl:_all_gather_base", kOldAllGather));
  CHECK(other.out_elements == -1);
}
