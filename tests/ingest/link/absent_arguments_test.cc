// Arguments of collectives that a tracer left out.
#include <catch2/catch.hpp>
#include <functional>

#include "src/ingest/link/link_calls.h"
#include "tests/ingest/content_builder.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

constexpr const char* kTypedAllReduce = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

// One all-reduce with a record; `lose` takes an argument from it.
LinkedTrace without(const std::function<void(CommArgs&)>& lose, bool said = true) {
  ContentBuilder b;
  b.group("3", {0, 1});
  CommArgs args = b.args("allreduce", "BFloat16", 64, 64, "3", "[0, 1]", 2);
  lose(args);
  CommOpRow& record = b.op("record_param_comms", 0, 20);
  record.external_id = 5;
  record.args = b.add(args);
  b.launch(10, 1);
  b.kernel(kTypedAllReduce, 30, 40, 1).external_id = 5;
  if (said) add_finding(b.content().findings, {Severity::info, "absent-value", "trace.json", Rank(), 10, 1, "absent"});
  return link_calls(std::move(b.content()));
}

}  // namespace

TEST_CASE("a call lacks nothing that its kernel, its group's members or its other size tell") {
  const std::vector<std::function<void(CommArgs&)>> losses = {[](CommArgs& args) { args.collective_name = {}; },
                                                              [](CommArgs& args) { args.dtype = {}; },
                                                              [](CommArgs& args) { args.group_name = {}; },
                                                              [](CommArgs& args) { args.in_elements = -1; },
                                                              [](CommArgs& args) { args.out_elements = -1; },
                                                              [](CommArgs& args) { args.group_description = {}; },
                                                              [](CommArgs&) {}};
  for (const auto& lose : losses) {
    const LinkedTrace linked = without(lose);
    REQUIRE(linked.trace.calls.size() == 1);
    const CollectiveCall& call = linked.trace.calls[0];
    CHECK(call.kind == CollectiveKind::all_reduce);
    CHECK(call.dtype == DType::bfloat16);
    CHECK(call.in_elements == 64);
    CHECK(call.out_elements == 64);
    REQUIRE(linked.groups.size() == 1);
    CHECK(linked.groups[0].name == "3");
  }
}

TEST_CASE("where no value was absent in the text, arguments stay as they are") {
  CHECK(without([](CommArgs& args) { args.dtype = {}; }, false).trace.calls[0].dtype == DType::unknown);
}
