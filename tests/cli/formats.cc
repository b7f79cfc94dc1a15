// Every command on files of other tracers: what works on torch.profiler's traces works on theirs.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "workplace.h"

using namespace skewscope::test;

namespace {

struct Tracer {
  std::string name;
  std::string rank5;  // how rank 5 of the job is named on the command line
};

// Two nodes of four ranks.
const std::vector<Tracer> kTracers = {{"nsys", "node1.sqlite#pid21555"},
                                      {"xplane", "node1.xplane.pb#gpu1"},
                                      {"ascend", "node1-ascend_pytorch_profiler_5.db"},
                                      {"rocpd", "node1-21555_results.db"},
                                      {"nccl-inspector", "node1-pid21555.log"}};

nlohmann::json json_of(const Outcome& told) {
  INFO(told.err);
  REQUIRE(told.code == 0);
  return nlohmann::json::parse(told.out);
}

}  // namespace

TEST_CASE("each command takes the files of each tracer") {
  for (const Tracer& tracer : kTracers) {
    DYNAMIC_SECTION(tracer.name) {
      const std::string form = " --gpus 4 --tp 1 --steps 4 --layers 4 -q --format " + tracer.name;
      const std::string job = tracer.name + "_job", slow = tracer.name + "_slow", digests = tracer.name + "_digests";
      REQUIRE(place().run("simulate -o " + job + " --nodes 2" + form).code == 0);
      REQUIRE(place().run("simulate -o " + slow + " --nodes 2 --slow-rank 5:1.5" + form).code == 0);
      REQUIRE(place().run("simulate -o " + job + "_of_four --nodes 1" + form).code == 0);

      const Outcome inspected = place().run("inspect " + job);
      CHECK(inspected.code == 0);
      CHECK(says(inspected.out, "8 of 8 ranks"));

      const nlohmann::json report = json_of(place().run("report " + slow + " --json -q"));
      CHECK(report["ranks"].size() == 8);
      if (tracer.name != "rocpd") CHECK(report["matching"]["unmatched"] == 0);  // it names no group
      CHECK(report["stragglers"][0]["rank"] == 5);

      CHECK(place().run("digest " + slow + " -o " + digests + " -q").code == 0);
      const nlohmann::json of_digests = json_of(place().run("report " + digests + " --json -q"));
      CHECK(of_digests["stragglers"] == report["stragglers"]);
      CHECK(of_digests["collectives"] == report["collectives"]);

      const nlohmann::json compared = json_of(place().run("compare " + job + " " + slow + " --json -q"));
      CHECK(compared["comparable"] == true);
      const Outcome scaled = place().run("scale " + job + "_of_four " + job + " --json -q");
      CHECK(scaled.code == 0);
      CHECK(place().run("merge " + job + " -o " + tracer.name + ".pftrace -q").code == 0);

      const Outcome rank = place().run("rank " + job + "/" + tracer.rank5 + " --json -q");
      INFO(rank.err);
      CHECK(rank.code == 0);
    }
  }
}

TEST_CASE("exports of Nsight Systems are read as they are compressed") {
  REQUIRE(place().run("simulate -o zipped --nodes 1 --gpus 4 --steps 3 --format nsys -q").code == 0);
  const nlohmann::json before = json_of(place().run("report zipped --json -q"));
  REQUIRE(std::system(("gzip '" + (place() / "zipped/node0.sqlite") + "'").c_str()) == 0);
  const nlohmann::json after = json_of(place().run("report zipped --json -q"));
  CHECK(after["collectives"] == before["collectives"]);
  CHECK(after["ranks"] == before["ranks"]);
}
