#include "src/gather/endpoints/hang_figures.h"

#include <catch2/catch.hpp>

namespace skewscope::gather {
namespace {

TEST_CASE("a hang's culprits are counted, and the first of them named with how sure that is") {
  const auto samples = hang_samples("run", R"({"culprits": [{"rank": 3, "kind": "missing", "certainty": "certain"}]})");
  CHECK(samples.at("skewscope_job_hang_culprits") == "skewscope_job_hang_culprits{job_name=\"run\"} 1\n");
  CHECK(samples.at("skewscope_job_hang_culprit") ==
        "skewscope_job_hang_culprit{job_name=\"run\",rank=\"3\",kind=\"missing\",certainty=\"certain\"} 1\n");
}

TEST_CASE("where nothing hangs, the number of culprits is 0") {
  const auto samples = hang_samples("run", R"({"culprits": []})");
  CHECK(samples.at("skewscope_job_hang_culprits") == "skewscope_job_hang_culprits{job_name=\"run\"} 0\n");
  CHECK(samples.count("skewscope_job_hang_culprit") == 0);
}

TEST_CASE("words from outside end no label, and what is no hang.json has no figures") {
  const auto samples = hang_samples("run", R"({"culprits": [{"rank": 3, "kind": "x\"} 9", "certainty": 7}]})");
  CHECK(samples.at("skewscope_job_hang_culprit") ==
        "skewscope_job_hang_culprit{job_name=\"run\",rank=\"3\",kind=\"\",certainty=\"\"} 1\n");
  for (const char* other : {"", "{", "[]", "{}", R"({"culprits": 3})"}) CHECK(hang_samples("run", other).empty());
}

}  // namespace
}  // namespace skewscope::gather
