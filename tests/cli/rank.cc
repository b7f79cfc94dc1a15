// skewscope rank as its users call it: on a simulated job, on hand-written traces and on real ones.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "../real_trace_folder.h"
#include "workplace.h"

using namespace skewscope;
using skewscope::test::Outcome;
using skewscope::test::place;
using skewscope::test::says;
namespace fs = std::filesystem;

namespace {

void write(const std::string& name, const std::string& text) { std::ofstream(place() / name) << text; }

// One operator that launches one kernel, with arguments.
const char* const kOneProduct = R"({"distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 100.0, "dur": 20.0, "args": {"External id": 5,
   "Input Dims": [[64, 32], [32, 16]], "Input type": ["float", "float"], "Input Strides": [[32, 1], [16, 1]],
   "Concrete Inputs": ["", ""]}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 105.0, "dur": 5.0,
   "args": {"correlation": 9}},
  {"ph": "X", "cat": "kernel", "name": "ampere_sgemm_32x32_nn", "pid": 0, "tid": 7, "ts": 130.0, "dur": 4.0,
   "args": {"correlation": 9, "device": 0, "stream": 7, "grid": [2, 1, 1], "block": [128, 1, 1],
   "registers per thread": 64, "shared memory": 8192, "blocks per SM": 0.5, "est. achieved occupancy %": 12}}]})";

bool follows_schema(const std::string& json_file) {
  const std::string validate =
      "python3 -c 'import json, sys, jsonschema; jsonschema.Draft7Validator(json.load(open(sys.argv[1])))"
      ".validate(json.load(open(sys.argv[2])))' " SKEWSCOPE_SOURCE_DIR "/configs/rank.schema.json " +
      json_file;
  return std::system(validate.c_str()) == 0;
}

}  // namespace

TEST_CASE("rank shows one trace in at most 80 columns, and every table as JSON") {
  const Outcome text = place().run("rank traces/rank2_trace.json");
  INFO(text.err);
  REQUIRE(text.code == 0);
  CHECK(says(text.out, "rank 2 of 4 (distributedInfo), node0, NVIDIA H100 80GB HBM3"));
  CHECK(says(text.out, "Verdict   The GPU works "));
  CHECK(text.out.find("\nCategory") < text.out.find("\nKernel"));
  CHECK(says(text.out, "\nStep "));
  CHECK(says(text.out, "waits: CPU"));
  std::istringstream lines(text.out);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
  const Outcome json = place().run("rank traces --ranks 2 --json");
  REQUIRE(json.code == 0);
  const auto rank = nlohmann::json::parse(json.out);
  CHECK(rank.at("schema") == "skewscope.rank/1");
  CHECK(rank.at("timeline").size() == 4);  // the trace and three steps
  CHECK(rank.at("launches").at("rows") == rank.at("timeline").at(0).at("gpu_rows"));
  CHECK(rank.at("timeline").at(0).at("host_ns").is_null());
}

TEST_CASE("rank prints the sections that are asked for, with as many rows as are asked for") {
  write("product.json", kOneProduct);
  const Outcome chosen = place().run("rank product.json --sections stacks,kernels");
  REQUIRE(chosen.code == 0);
  CHECK(says(chosen.out, "\nKernel"));
  CHECK(says(chosen.out, "    aten::mm\n"));
  CHECK_FALSE(says(chosen.out, "Findings"));
  CHECK_FALSE(says(place().run("rank product.json").out, "Call stacks"));
  const Outcome one = place().run("rank traces/rank2_trace.json --sections kernels -n 1");
  CHECK(says(one.out, "more names"));
  CHECK(std::count(one.out.begin(), one.out.end(), '\n') <= 12);
  const Outcome wrong = place().run("rank product.json --sections kernel");
  CHECK(wrong.code == 2);
  CHECK(says(wrong.err, "kernels"));
  CHECK(place().run("rank product.json -n 0").code == 2);
}

TEST_CASE("rank says the rule of a finding only when asked for more") {
  write("product.json", kOneProduct);
  CHECK_FALSE(says(place().run("rank product.json").out, "rule: "));
  CHECK(says(place().run("rank product.json -v").out, "rule: "));
}

TEST_CASE("rank refuses traces of several ranks and says how to name one") {
  const Outcome several = place().run("rank traces");
  CHECK(several.code == 2);
  CHECK(says(several.err, "--ranks N"));
}

TEST_CASE("rank --ranks names the captures of that rank where there are several") {
  const std::string job = " --nodes 1 --gpus 2 --tp 2 --steps 2 --layers 2";
  REQUIRE(place().run("simulate -o twice/iteration_1" + job).code == 0);
  REQUIRE(place().run("simulate -o twice/iteration_2 --first-step 200" + job).code == 0);
  for (const char* file : {"twice/iteration_2/rank0_trace.json", "twice/iteration_2/rank1_trace.json"}) {
    std::string text = place().read(file);
    const std::string base = "\"baseTimeNanoseconds\": ";
    text.replace(text.find(base) + base.size() + 6, 1, "9");  // a day later, or more
    std::ofstream(place() / file) << text;
  }
  const Outcome r = place().run("rank twice --ranks 1");
  CHECK(r.code == 2);
  CHECK(says(r.err, "2 captures of rank 1"));
  CHECK(says(r.err, "twice/iteration_1/rank1_trace.json"));
  CHECK(says(r.err, "twice/iteration_2/rank1_trace.json"));
  CHECK_FALSE(says(r.err, "--ranks N"));
}

TEST_CASE("rank says so when a trace holds no GPU rows") {
  REQUIRE(place().run("simulate -o cpu --nodes 1 --gpus 2 --tp 2 --steps 2 --layers 2 --vendor cpu").code == 0);
  const Outcome text = place().run("rank cpu/rank1_trace.json");
  CHECK(text.code == 0);
  CHECK(says(text.out, "no GPU rows"));
  CHECK(says(text.out, "CPU ops"));
  CHECK_FALSE(says(text.out, "Stream "));
}

TEST_CASE("rank -o leaves a whole directory: document, tables, summary, diagnostics, COMPLETE last") {
  write("product.json", kOneProduct);
  REQUIRE(place().run("rank product.json -o product").code == 0);
  for (const char* name : {"COMPLETE", "rank.json", "index.html", "summary.txt", "diagnostics.json", "report.sqlite",
                           "tables/operators.csv", "tables/work.csv", "tables/kernel_shapes.csv"}) {
    CHECK(place().has(std::string("product/") + name));
  }
  CHECK(place().read("product/COMPLETE") == "skewscope.rank/1\n");
  SECTION("and the next one replaces it whole") {
    CHECK(place().run("rank product.json -o product -f csv -q").code == 0);
    CHECK_FALSE(place().has("product/rank.json"));
  }
  fs::remove_all(place() / "product");
}

TEST_CASE(
    "a memory limit that holds the trace and not the tables made of it ends the program with 6, before they are") {
  write("product.json", kOneProduct);
  CHECK(place().run("rank product.json --memory-limit 1M").code == 0);
  const Outcome r = place().run("rank product.json --memory-limit 100K");
  CHECK(r.code == 6);
  CHECK(says(r.err, "product.json: more than the memory limit of 100K would be held; raise --memory-limit"));
  CHECK(place().run("report product.json -o limited --memory-limit 100K").code == 0);
}

TEST_CASE("the operator of a trace comes with its kernel, its work and its launch") {
  write("product.json", kOneProduct);
  const auto json = nlohmann::json::parse(place().run("rank product.json --json").out);
  CHECK(json["operators"][0]["name"] == "aten::mm");
  CHECK(json["operators"][0]["direct_ns"] == 4000);
  CHECK(json["operators"][0]["host_self_ns"] == 15000);
  CHECK(json["work"][0]["flops"] == 2 * 64 * 32 * 16);
  CHECK(json["work"][0]["bytes"] == 4 * (64 * 32 + 32 * 16 + 64 * 16));
  CHECK(json["kernel_shapes"][0]["registers_per_thread"] == 64);
  CHECK(json["findings"][0]["code"] == "single-precision");
}

TEST_CASE("rank.json of simulated and real traces follows the schema") {
  if (std::system("python3 -c 'import jsonschema' 2>/dev/null") != 0) {
    WARN("skipped: no python3-jsonschema");
    return;
  }
  std::vector<std::string> files = {place() / "traces/rank1_trace.json"};
  if (!test::traces("single/tracelens").empty()) {
    files.push_back(test::traces("single/tracelens") + "/b200_rank0of8_vllm_eager.json.gz");
    files.push_back(test::traces("single/hta") + "/triton_example.json.gz");
    files.push_back(test::traces("single/hta") + "/rank_non_gpu.json.gz");
  }
  for (const std::string& file : files) {
    INFO(file);
    REQUIRE(place().run("rank " + file + " -o schema_of_rank -f json -q --force").code == 0);
    CHECK(follows_schema(place() / "schema_of_rank/rank.json"));
  }
  fs::remove_all(place() / "schema_of_rank");
}

TEST_CASE("a digest has the tables of the GPU's rows and none of operators, and follows the schema") {
  REQUIRE(place().run("digest traces/rank1_trace.json -o one_digest").code == 0);
  std::string digest;
  for (const auto& entry : fs::recursive_directory_iterator(place() / "one_digest")) {
    if (entry.is_regular_file()) digest = entry.path().string();
  }
  const Outcome r = place().run("rank " + digest + " --json");
  REQUIRE(r.code == 0);
  const auto json = nlohmann::json::parse(r.out);
  CHECK(json["timeline"].size() == 4);
  CHECK_FALSE(json.contains("operators"));
}

TEST_CASE("rank --replay prints a Python script of one call, whole or not at all") {
  write("product.json", kOneProduct);
  const Outcome script = place().run("rank product.json --replay aten::mm");
  CHECK(script.code == 0);
  CHECK(says(script.out, "tensor([64, 32], [32, 1], torch.float32, device)"));
  CHECK(place().run("rank product.json --replay aten::mm@0").out == script.out);
  for (const char* other : {"aten::bmm", "aten::mm@7", "aten::mm@"}) {
    INFO(other);
    const Outcome r = place().run(std::string("rank product.json --replay ") + other);
    CHECK(r.code == 2);
    CHECK(r.out.empty());
  }
}

TEST_CASE("rules and devices of the user are used, and what is wrong with them is said") {
  write("product.json", kOneProduct);
  write("rules.json", R"({"rules": [{"code": "single-precision", "enabled": false}]})");
  CHECK_FALSE(says(place().run("rank product.json --rules rules.json").out, "single-precision"));
  write("wrong.json", R"({"rules": [{"code": "single-precison"}]})");
  const Outcome wrong = place().run("rank product.json --rules wrong.json");
  CHECK(wrong.code == 2);
  CHECK(says(wrong.err, "there is no rule 'single-precison'"));
  CHECK(place().run("rank product.json --devices none.json").code == 2);
}
