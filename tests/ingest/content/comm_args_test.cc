#include "src/ingest/content/comm_args.h"

#include <catch2/catch.hpp>

using namespace skewscope;
using namespace skewscope::ingest;

TEST_CASE("what calls have in common is kept once, and every call comes back as it was") {
  CommArgs first;
  first.collective_name = StringId(3);
  first.group_name = StringId(4);
  first.group_size = 8;
  first.in_elements = 100;
  first.out_elements = 800;
  first.seq = 1;
  first.comms_id = ~uint64_t{0};
  CommArgs second = first;
  second.in_elements = 200;
  second.seq = 2;
  CommArgs other = first;
  other.peer = 5;
  other.comms_id = 0;  // none
  CommArgsRows rows;
  for (const CommArgs& args : {first, second, other}) rows.push_back(args);
  REQUIRE(rows.size() == 3);
  CHECK(rows.operations().size() == 2);
  const auto same = [](const CommArgs& a, const CommArgs& b) {
    return static_cast<const CommOperation&>(a) == b && a.in_elements == b.in_elements &&
           a.out_elements == b.out_elements && a.seq == b.seq && a.comms_id == b.comms_id;
  };
  CHECK(same(rows[0], first));
  CHECK(same(rows[1], second));
  CHECK(same(rows[2], other));
}
