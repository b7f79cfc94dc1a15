// What the page says of ranks in their layout, between ranks, and over time.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "hand_built.h"
#include "page_rows.h"
#include "src/report/page_data/lane_data.h"
#include "src/report/page_data/pair_matrix.h"
#include "src/report/page_data/rank_grid.h"

using namespace skewscope;
using namespace skewscope::test;
using report::PairMatrix;
using report::RankGrid;

namespace {

void add_group(JobReport& job, const std::string& name, std::vector<int32_t> ranks) {
  JobReport::CommunicatorRow row;
  row.id = static_cast<int32_t>(job.communicators.size());
  row.desc = name;
  row.size = static_cast<int32_t>(ranks.size());
  row.ranks = std::move(ranks);
  job.communicators.push_back(row);
}

JobReport job_with_ranks(int32_t count) {
  JobReport job;
  job.job.world_size = count;
  for (int32_t rank = 0; rank < count; ++rank) job.ranks.emplace_back().rank = rank;
  return job;
}

// As Megatron numbers its ranks: rank = tensor + 2 data + 4 pipeline.
JobReport tensor_data_pipeline() {
  JobReport job = job_with_ranks(16);
  for (int32_t rank = 0; rank < 16; rank += 2) add_group(job, "TENSOR_MODEL_PARALLEL_GROUP", {rank, rank + 1});
  for (const int32_t rank : {0, 1, 4, 5, 8, 9, 12, 13}) add_group(job, "DATA_PARALLEL_GROUP", {rank, rank + 2});
  for (int32_t rank = 0; rank < 4; ++rank) {
    add_group(job, "PIPELINE_MODEL_PARALLEL_GROUP", {rank, rank + 4, rank + 8, rank + 12});
  }
  return job;
}

std::vector<int32_t> coordinates(const RankGrid& grid, size_t rank) {
  std::vector<int32_t> places;
  for (const RankGrid::Axis& axis : grid.axes) places.push_back(axis.coordinate[rank]);
  return places;
}

JobReport::CallRow call_of(int32_t instance, CollectiveKind op, int32_t rank, int64_t start, int64_t end,
                           int64_t wait) {
  JobReport::CallRow row;
  row.instance = instance;
  row.op = op;
  row.rank = rank;
  row.bytes = 1000;
  row.start_ns = start;
  row.end_ns = end;
  row.wait_ns = wait;
  row.transfer_ns = end - start - wait;
  row.complete = true;
  row.basis = "clocks";
  return row;
}

}  // namespace

TEST_CASE("groups for tensor, data and pipeline parallelism are a grid, and rank 13 is tensor 1, data 0, pipeline 3") {
  const RankGrid grid = report::rank_grid(tensor_data_pipeline());
  REQUIRE(grid.source == RankGrid::Source::groups);
  REQUIRE(grid.axes.size() == 3);
  CHECK(grid.axes[0].name == "TENSOR_MODEL_PARALLEL_GROUP");
  CHECK(grid.axes[1].name == "DATA_PARALLEL_GROUP");
  CHECK(grid.axes[2].name == "PIPELINE_MODEL_PARALLEL_GROUP");
  CHECK(coordinates(grid, 13) == std::vector<int32_t>{1, 0, 3});
  CHECK(coordinates(grid, 6) == std::vector<int32_t>{0, 1, 1});
}

TEST_CASE("a group of all ranks, and one that joins two axes, leave the finest grid as it is") {
  JobReport job = tensor_data_pipeline();
  std::vector<int32_t> all;
  for (int32_t rank = 0; rank < 16; ++rank) all.push_back(rank);
  add_group(job, "default_pg", all);
  for (int32_t rank = 0; rank < 16; rank += 4) add_group(job, "MODEL_AND_DATA", {rank, rank + 1, rank + 2, rank + 3});
  const RankGrid grid = report::rank_grid(job);
  REQUIRE(grid.axes.size() == 3);
  CHECK(coordinates(grid, 13) == std::vector<int32_t>{1, 0, 3});
}

TEST_CASE("stages that messages show are an axis where no group is named after them") {
  JobReport job = job_with_ranks(4);
  for (const int32_t rank : {0, 2}) add_group(job, "DATA_PARALLEL_GROUP", {rank, rank + 1});
  job.pipeline.stages = 2;
  job.pipeline.by_stage = {{0, {0, 1}, -1, -1}, {1, {2, 3}, -1, -1}};
  const RankGrid grid = report::rank_grid(job);
  REQUIRE(grid.axes.size() == 2);
  CHECK(grid.axes[1].name == "pipeline");
  CHECK(coordinates(grid, 3) == std::vector<int32_t>{1, 1});
}

TEST_CASE(
    "groups that overlap, or leave ranks out, are no axis: the nodes are the grid, and without hosts there is none") {
  JobReport job = job_with_ranks(4);
  add_group(job, "TENSOR_MODEL_PARALLEL_GROUP", {0, 1});
  add_group(job, "DATA_PARALLEL_GROUP", {0, 2});
  CHECK(report::rank_grid(job).source == RankGrid::Source::none);
  for (JobReport::RankRow& row : job.ranks) row.host = row.rank < 2 ? "b" : "a";
  const RankGrid nodes = report::rank_grid(job);
  REQUIRE(nodes.source == RankGrid::Source::nodes);
  CHECK(coordinates(nodes, 3) == std::vector<int32_t>{1, 1});  // the second GPU of the node of ranks 2 and 3
}

TEST_CASE("groups that lie across a grid are left out of it") {
  JobReport job = job_with_ranks(4);
  for (const int32_t rank : {0, 2}) add_group(job, "b", {rank, rank + 1});
  for (const int32_t rank : {0, 1}) add_group(job, "c", {rank, rank + 2});
  add_group(job, "a", {0, 3});
  add_group(job, "a", {1, 2});
  const RankGrid grid = report::rank_grid(job);
  REQUIRE(grid.axes.size() == 2);
  CHECK(grid.axes[0].name == "b");
  CHECK(grid.axes[1].name == "c");
}

TEST_CASE("two grids that are equally fine are none") {
  JobReport job = job_with_ranks(8);
  for (const int32_t rank : {0, 2, 4, 6}) add_group(job, "pairs", {rank, rank + 1});
  for (const int32_t rank : {0, 1}) add_group(job, "across pairs", {rank, rank + 2, rank + 4, rank + 6});
  for (const int32_t rank : {0, 4}) add_group(job, "fours", {rank, rank + 1, rank + 2, rank + 3});
  for (const int32_t rank : {0, 1, 2, 3}) add_group(job, "across fours", {rank, rank + 4});
  const RankGrid grid = report::rank_grid(job);
  CHECK(grid.source == RankGrid::Source::none);
  CHECK(grid.ambiguous);
}

TEST_CASE("waiting is held against who arrived last; bytes of a message go one way") {
  JobReport job = job_with_ranks(3);
  job.calls = {
      call_of(0, CollectiveKind::all_reduce, 0, 0, 1000, 600), call_of(0, CollectiveKind::all_reduce, 1, 600, 1000, 0),
      call_of(0, CollectiveKind::all_reduce, 2, 100, 1000, 500), call_of(1, CollectiveKind::recv, 2, 2000, 2700, 500),
      call_of(1, CollectiveKind::send, 0, 2500, 2700, 0)};
  const PairMatrix matrix = report::pair_matrix(job);
  CHECK(matrix.names == std::vector<std::string>{"0", "1", "2"});
  CHECK(matrix.cells == std::vector<PairMatrix::Cell>{{0, 2, 500, 1000, 1000, 200}, {1, 0, 600}, {1, 2, 500}});
}

TEST_CASE("a job of more ranks than rows is shown by node, where hosts are known") {
  JobReport job = job_with_ranks(128);
  job.calls = {call_of(0, CollectiveKind::all_reduce, 5, 0, 1000, 600),
               call_of(0, CollectiveKind::all_reduce, 127, 600, 1000, 0)};
  const PairMatrix joined = report::pair_matrix(job);
  CHECK(joined.joined == 2);
  for (JobReport::RankRow& row : job.ranks) row.host = "node" + std::to_string(row.rank / 8);
  const PairMatrix nodes = report::pair_matrix(job);
  CHECK(nodes.unit == PairMatrix::Unit::node);
  REQUIRE(nodes.names.size() == 16);
  CHECK(nodes.names[15] == "node15");
  REQUIRE(nodes.cells.size() == 2);
  CHECK(nodes.cells[1] == PairMatrix::Cell{15, 0, 600, 1000, 1000, 400});
}

TEST_CASE("a lane tells its work and its calls, with instance, group and who was last") {
  JobReport job = job_with_ranks(2);
  job.job.window_start_ns = 5000;
  job.calls = {call_of(7, CollectiveKind::all_reduce, 0, 100, 1000, 600),
               call_of(7, CollectiveKind::all_reduce, 1, 700, 1000, 0)};
  WorkLane lane;
  lane.rank = Rank(0);
  lane.blocks = {{JobNs{5010}, 40, 40, 1, 0, false}, {JobNs{5060}, 30, 20, 3, 0, true}};
  lane.names = {"kernel"};
  job.lanes.lanes = {lane};
  const nlohmann::json data = report::lane_data(job);
  CHECK(data["unit_ns"] == 1);
  CHECK(data["names"] == nlohmann::json({"kernel"}));
  REQUIRE(data["lanes"].size() == 1);
  CHECK(nlohmann::json(unpacked(data["lanes"][0]["work"])) == nlohmann::json({10, 40, 0, 0, 0, 50, 30, 10, 2, 1}));
  const auto op = static_cast<int>(CollectiveKind::all_reduce);
  CHECK(nlohmann::json(unpacked(data["lanes"][0]["calls"])) == nlohmann::json({100, 900, 600, 0, 7, 0, op, 1}));
  CHECK(data["ops"][op] == "all_reduce");
}

TEST_CASE("calls that do not all fit share blocks, and none is lost") {
  JobReport job = job_with_ranks(1);
  const int32_t count = 100'000;
  job.job.window_ns = int64_t{count} * 1000;
  for (int32_t i = 0; i < count; ++i) {
    job.calls.push_back(call_of(i, CollectiveKind::all_reduce, 0, 1000 * i, 1000 * i + 400, 100));
  }
  WorkLane lane;
  lane.rank = Rank(0);
  job.lanes.lanes = {lane};
  const nlohmann::json data = report::lane_data(job);
  CHECK(data["calls_merged_below_ns"] > 0);
  const std::vector<nlohmann::json> numbers = unpacked(data["lanes"][0]["calls"]);
  CHECK(numbers.size() / 8 <= report::kMostLaneCalls);
  int64_t calls = 0;
  for (size_t at = 0; at < numbers.size(); at += 8) calls += numbers[at + 3].get<int64_t>() + 1;
  CHECK(calls == count);
}
