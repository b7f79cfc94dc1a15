#include "src/ingest/content/split_lists.h"

#include <catch2/catch.hpp>
#include <utility>

#include "src/ingest/link/link_calls.h"
#include "tests/ingest/content_builder.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

// What is sent to and received from each member, of a call of so many elements.
using Parts = std::vector<std::pair<int64_t, int64_t>>;
Parts parts(const char* in, const char* out, int64_t group_size, int64_t in_elements, int64_t out_elements) {
  CollectiveCall call;
  call.in_elements = in_elements;
  call.out_elements = out_elements;
  StringTable strings;
  const auto id = [&](const char* list) { return *list == 0 ? StringId() : strings.intern(list); };
  const SplitLists lists{0, id(in), id(out)};
  Parts told;
  for (const SplitPart& part : split_parts(lists, strings, group_size, call)) {
    told.emplace_back(part.sends, part.receives);
  }
  return told;
}

}  // namespace

TEST_CASE("split sizes are rows of a tensor, of which the elements of the call tell the length") {
  CHECK(parts("[1, 3]", "[2, 2]", 2, 40, 8) == Parts{{10, 4}, {30, 4}});
  CHECK(parts("[0, 0]", "[5, 0]", 2, 0, 5) == Parts{{0, 5}, {0, 0}});
}

TEST_CASE("without lists there are no parts") {
  CHECK(parts("", "", 4, 8, 8).empty());
  CHECK(parts("[]", "[]", 4, 8, 8).empty());
}

TEST_CASE("lists that the tracer cut, or that are of another group, are one part of unknown sizes") {
  const Parts unknown = {{-1, -1}};
  CHECK(parts("[1, 2, ...]", "[1, 2, ...]", 64, 100, 100) == unknown);
  CHECK(parts("[1, 2]", "[1, 2]", 3, 3, 3) == unknown);
  CHECK(parts("[1, 2]", "[1, 2]", -1, 3, 3) == Parts{{1, 1}, {2, 2}});
}

TEST_CASE("what a list says stays unknown where the elements contradict it or are not recorded") {
  CHECK(parts("[1, 3]", "[2, 2]", 2, 41, 8) == Parts{{-1, 4}, {-1, 4}});
  CHECK(parts("[1, 3]", "[2, 2]", 2, -1, 8) == Parts{{-1, 4}, {-1, 4}});
  CHECK(parts("[0, 0]", "[2, 2]", 2, 8, 8) == Parts{{-1, 4}, {-1, 4}});
  CHECK(parts("[-1, 5]", "[2, 2]", 2, 4, 4) == Parts{{-1, 2}, {-1, 2}});
  CHECK(parts("[9223372036854775807, 9223372036854775807]", "", 2, 4, 4) == Parts{{-1, -1}, {-1, -1}});
}

TEST_CASE("a list that only one direction has tells of that one") {
  CHECK(parts("[1, 3]", "", 2, 4, 4) == Parts{{1, -1}, {3, -1}});
}

TEST_CASE("an all-to-all takes its lists from its kernel, else from its CPU op; other operations have none") {
  ContentBuilder b;
  const auto splits = [&](int32_t args, const char* in, const char* out) {
    b.content().splits.push_back({args, b.text(in), b.text(out)});
  };
  b.kernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", 300, 10, 2).args =
      b.add(b.args("all_to_allv", "Float", 4, 4, "5", "[0, 1]", 2));
  splits(0, "[1, 3]", "[2, 2]");
  b.launch(200, 2);
  b.content();
  b.kernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", 100, 10, 1);
  b.launch(50, 1);
  b.op("record_param_comms", 40, 30).args = b.add(b.args("all_to_allv", "Float", 8, 8, "5", "[0, 1]", 2));
  splits(1, "[4, 4]", "[1, 7]");
  b.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 500, 10, 3).args =
      b.add(b.args("allreduce", "Float", 8, 8, "5", "[0, 1]", 2));
  splits(2, "[4, 4]", "[1, 7]");
  b.launch(400, 3);
  const LinkedTrace linked = link_calls(std::move(b.content()));
  REQUIRE(linked.trace.calls.size() == 3);
  const auto first = splits_of(linked.trace, 0), second = splits_of(linked.trace, 1);
  REQUIRE(first.size() == 2);
  CHECK((first[0].sends == 4 && first[0].receives == 1 && first[1].sends == 4 && first[1].receives == 7));
  REQUIRE(second.size() == 2);
  CHECK((second[0].sends == 1 && second[0].receives == 2 && second[1].sends == 3 && second[1].receives == 2));
  CHECK(splits_of(linked.trace, 2).empty());
  CHECK(check_invariants(linked.trace).empty());
}
