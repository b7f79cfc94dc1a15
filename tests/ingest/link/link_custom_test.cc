// Custom all-reduces, whose kernels carry no metadata: which group they are of.
#include <catch2/catch.hpp>

#include "src/ingest/link/link_calls.h"
#include "tests/ingest/content_builder.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

// What a kernel made for two ranks is of, in a file that lists these process groups beside the default one of four.
LinkedTrace link_kernel_of_two(const std::vector<ProcessGroup>& listed) {
  ContentBuilder b;
  std::vector<ProcessGroup>& groups = b.content().distributed.groups;
  groups = {{"0", "default_pg", 4, RankRuns{0, 1, 2, 3}, -1, ""}};
  groups.insert(groups.end(), listed.begin(), listed.end());
  b.kernel("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*, int)", 10, 5, 1);
  return link_calls(std::move(b.content()));
}

}  // namespace

TEST_CASE("a custom all-reduce made for two ranks is of the rank's only process group of two") {
  const LinkedTrace linked = link_kernel_of_two({{"1", "tp", 2, RankRuns{0, 1}, -1, ""}});
  CHECK(linked.open_calls.at(0).group == 0);
  CHECK(linked.groups.at(0).name == "1");
  CHECK(linked.groups.at(0).ranks == "[0, 1]");
}

TEST_CASE("process groups of the same members are one for a custom all-reduce: NCCL's and gloo's") {
  const LinkedTrace linked =
      link_kernel_of_two({{"1", "tp", 2, RankRuns{0, 1}, -1, ""}, {"2", "tp_cpu", 2, RankRuns{0, 1}, -1, ""}});
  CHECK(linked.open_calls.at(0).group == 0);
  CHECK(linked.groups.at(0).name == "1");
}

TEST_CASE("where two process groups of two have other members, or none is listed, a custom all-reduce is of no group") {
  CHECK(link_kernel_of_two({{"1", "tp", 2, RankRuns{0, 1}, -1, ""}, {"5", "dp", 2, RankRuns{0, 2}, -1, ""}})
            .open_calls.at(0)
            .group == -1);
  CHECK(link_kernel_of_two({}).open_calls.at(0).group == -1);
}
