#include "src/gather/endpoints/straggler_figures.h"

#include <catch2/catch.hpp>

namespace skewscope::gather {
namespace {

TEST_CASE("the straggler of the last windows is the rank that made the others wait most") {
  const Straggler found = straggler_in(
      "# TYPE skewscope_recent_wait_caused_ratio gauge\n"
      "skewscope_recent_wait_caused_ratio{job_name=\"train\",rank=\"0\",host=\"node1\"} 0.01\n"
      "skewscope_recent_wait_caused_ratio{job_name=\"train\",rank=\"3\",host=\"node7\"} 0.125\n"
      "skewscope_recent_worst_ratio{job_name=\"train\",rank=\"0\",host=\"node1\"} 0.1\n"
      "skewscope_recent_worst_ratio{job_name=\"train\",rank=\"3\",host=\"node7\"} 0.9\n");
  CHECK(found.rank == "3");
  CHECK(found.host == "node7");
  CHECK(found.waiting == 0.125);
  CHECK(found.worst == 0.9);
}

TEST_CASE("a report without windows names no straggler") {
  CHECK(straggler_in("").rank.empty());
  CHECK(straggler_in("skewscope_ranks{job_name=\"train\",state=\"present\"} 8\n").rank.empty());
  CHECK(straggler_in("skewscope_recent_wait_caused_ratio{job_name=\"train\",rank=\"0\",host=\"\"} 0\n").rank.empty());
}

}  // namespace
}  // namespace skewscope::gather
