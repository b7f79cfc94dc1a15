#include <catch2/catch.hpp>

#include "src/ingest/ranks/file_name_rank.h"

using skewscope::FileNameFacts;
using skewscope::ingest::read_file_name;

namespace {

struct Row {
  const char* writer;
  const char* path;
  int32_t rank;
  int32_t local_rank;
  int32_t world_size;
};

}  // namespace

TEST_CASE("each writer's file name gives the rank it means, global or local") {
  const Row rows[] = {
      {"tensorboard_trace_handler", "node7_4242.1694128201545123456.pt.trace.json.gz", -1, -1, -1},
      {"export_chrome_trace", "my_trace.json", -1, -1, -1},
      {"torchtitan", "profiling/traces/iteration_10/rank3_trace.json.gz", 3, -1, -1},
      {"torchtitan with leaf", "profiling/traces/iteration_10/left/rank12_trace.json", 12, -1, -1},
      {"Megatron-LM", "torch_profile/rank-17.json.gz", 17, -1, -1},
      {"torchtune", "iteration_20/r5-2025-3-14-9-26.1741944360123456789.pt.trace.json.gz", 5, -1, -1},
      {"Accelerate", "profile_2.json", 2, -1, -1},
      {"Lightning", "fit-epoch-3-[Strategy]DDPStrategy.training_step.1741944360123.pt.trace.json", -1, 3, -1},
      {"Composer", "torch_traces/rank6.42.pt.trace.json", 6, -1, -1},
      {"Composer by batch", "ep1-ba42-rank0.pt.trace.json", 0, -1, -1},
      {"Primus", "primus-megatron-exp[llama3-rank2-test]-rank[11].1741944360123.pt.trace.json.gz", 11, -1, -1},
      {"vLLM", "dp0_pp0_tp1_dcp0_ep1_rank9.1741944360123456789.pt.trace.json.gz", 9, -1, -1},
      {"vLLM with prefix", "run1_dp1_pp0_tp3_dcp0_ep7_rank7.1741944360123456789.pt.trace.json.gz", 7, -1, -1},
      {"vLLM before", "instance-4-rank-2.1741944360123456789.pt.trace.json.gz", 2, -1, -1},
      {"vLLM front end", "node7_4242.async_llm.1741944360123456789.pt.trace.json.gz", -1, -1, -1},
      {"SGLang", "1741944360.123-TP-4.trace.json.gz", -1, 4, -1},
      {"SGLang with stage", "bench-1741944360.123-TP-4-DP-1-EP-0-DECODE.trace.json.gz", -1, 4, -1},
      {"TensorRT-LLM", "llama-rank-3.json", 3, -1, -1},
      {"verl", "actor_step12_rank3-of-16_tp1-pp0-dp1-cp0_pid8123_1741944360.json.gz", 3, -1, 16},
      {"verl without world", "actor_step12_rank3_pid8123_1741944360.json.gz", 3, -1, -1},
      {"verl rollout", "rollout-replica0_node7_8123.pt.trace.json.gz", -1, -1, -1},
      {"dynolog", "libkineto_activities_1074.json", -1, -1, -1},
      {"dynolog on host", "libkineto_trace_node7_1074.json", -1, -1, -1},
      {"DLRM", "worker5_step_12.1694128201549.pt.trace.json.gz", 5, -1, -1},
      {"TraceLens habit", "rank1_trace.json", 1, -1, -1},
      {"sampled", "sampled_rank-1.json.gz", 1, -1, -1},
      {"rank of world", "a100_rank0of2_nccl_args.json.gz", 0, -1, 2},
      {"local rank", "host3_local_rank2.json", -1, 2, -1},
      {"a coordinate", "tp_rank3.json", -1, -1, -1},
      {"a model-parallel rank", "mp_rank_01_dp_000.json", -1, -1, -1},
      {"a stamp behind rank", "rank1741944360123.json", -1, -1, -1},
      {"no number behind rank", "rank_not_found.json.gz", -1, -1, -1},
  };
  for (const Row& row : rows) {
    INFO(row.writer << ": " << row.path);
    const FileNameFacts facts = read_file_name(row.path);
    CHECK(facts.rank == row.rank);
    CHECK(facts.local_rank == row.local_rank);
    CHECK(facts.world_size == row.world_size);
    CHECK(facts.rule.empty() == (row.rank < 0 && row.local_rank < 0));
  }
}

TEST_CASE("a name with two different ranks gives none") {
  CHECK(read_file_name("rank3_of_node_rank5_copy_rank4.json").rank == -1);
  CHECK(read_file_name("rank3/rank3_rank3.json").rank == 3);
}

TEST_CASE("only the file name tells a rank, not its folders") { CHECK(read_file_name("rank3/trace.json").rank == -1); }

TEST_CASE("iteration folders, steps, batches, stages and roles name the capture") {
  CHECK(read_file_name("traces/iteration_20/rank3_trace.json").capture == "iteration 20");
  CHECK(read_file_name("traces/iteration_20/rank3_trace.json").capture_number == 20);
  CHECK(read_file_name("worker5_step_12.1694128201549.pt.trace.json.gz").capture == "step 12");
  CHECK(read_file_name("ep1-ba42-rank0.pt.trace.json").capture == "batch 42");
  CHECK(read_file_name("rank6.42.pt.trace.json").capture == "batch 42");
  CHECK(read_file_name("1741944360.123-TP-4-DECODE.trace.json.gz").capture == "DECODE");
  CHECK(read_file_name("actor_step12_rank3_pid8123_1741944360.json.gz").capture == "step 12 actor");
  CHECK(read_file_name("rank3_trace.json").capture.empty());
  CHECK(read_file_name("rank3.1741944360123456789.pt.trace.json").capture.empty());
}

TEST_CASE("captures of one process share the worker part of the name") {
  CHECK(read_file_name("node7_4242.1694128201545123456.pt.trace.json.gz").worker == "node7_4242");
  CHECK(read_file_name("node7_4242.1694128209999999999.pt.trace.json").worker == "node7_4242");
  CHECK(read_file_name("my_trace.json").worker.empty());
}
