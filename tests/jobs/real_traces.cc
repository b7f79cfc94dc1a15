// Real traces with numbers worked out independently (integer nanoseconds, by hand or by another program).
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "../real_trace_folder.h"
#include "skewscope/correlate.h"
#include "skewscope/report.h"

using namespace skewscope;
using skewscope::test::traces;

namespace {

JobReport aligned_report(const std::string& path, AlignMode align = AlignMode::automatic) {
  StageTimer timer;
  CorrelateOptions options;
  options.align = align;
  Result<JobReport> report = correlate({path}, options, timer);
  REQUIRE(report.ok());
  return std::move(report).value();
}

}  // namespace

TEST_CASE("dlrm_8rank: eight collectives, all complete, waits to 10 us, rank 7 late five times") {
  const std::string path = traces("dlrm_8rank");
  if (path.empty()) return;
  const JobReport r = aligned_report(path);
  REQUIRE(r.matching.calls == 64);
  REQUIRE(r.matching.unmatched == 0);
  REQUIRE(r.matching.incomplete_instances == 0);

  std::map<int32_t, CollectiveKind> op;
  for (const auto& call : r.calls) {
    REQUIRE(call.complete);
    op[call.instance] = call.op;
  }
  REQUIRE(op.size() == 8);
  REQUIRE(std::count_if(op.begin(), op.end(), [](const auto& o) { return o.second == CollectiveKind::all_to_all; }) ==
          5);
  REQUIRE(std::count_if(op.begin(), op.end(), [](const auto& o) { return o.second == CollectiveKind::all_reduce; }) ==
          3);

  const int64_t wait_us[] = {5580, 11125, 3280, 9571, 6370, 6041, 3342, 1534};
  const int64_t late[] = {0, 0, 0, 0, 1, 2, 0, 5};
  int64_t wait = 0, kernel = 0;
  for (const auto& rank : r.ranks) {
    INFO("rank " << rank.rank);
    REQUIRE(std::llabs(rank.wait_ns / 1000 - wait_us[rank.rank]) <= 10);
    REQUIRE(rank.late_count == late[rank.rank]);
    REQUIRE(rank.wait_ns + rank.transfer_ns + rank.unattributed_ns == rank.communication_ns);
    wait += rank.wait_ns;
    kernel += rank.communication_ns;
  }
  REQUIRE(100 * wait / kernel == 96);
  REQUIRE(r.stragglers.at(0).rank == 7);
}

TEST_CASE("dlrm_8rank: transfers of every call equal the hand-made table to the microsecond") {
  const std::string path = traces("dlrm_8rank");
  if (path.empty()) return;
  const int64_t transfer_us[8][8] = {{11, 11, 10, 10, 10, 10, 9, 10},  {8, 8, 8, 6, 7, 7, 8, 8},
                                     {8, 7, 8, 7, 7, 7, 7, 7},         {7, 8, 7, 8, 8, 7, 6, 7},
                                     {87, 84, 82, 83, 86, 84, 86, 86}, {11, 11, 10, 9, 9, 10, 8, 9},
                                     {19, 18, 18, 18, 21, 20, 23, 20}, {67, 64, 69, 62, 69, 65, 69, 65}};
  const int64_t bytes[8] = {24576, 192, 1536, 13568, 1576964, 24576, 448, 907840};
  const JobReport r = aligned_report(path);
  for (const auto& call : r.calls) {
    INFO("instance " << call.instance << " rank " << call.rank);
    REQUIRE(call.transfer_ns == 1000 * transfer_us[call.instance][call.rank]);
    REQUIRE(call.bytes == bytes[call.instance]);
  }
}

TEST_CASE("sampled_2of128: the five true pairs and no other; the rest is unmatched and says why") {
  const std::string path = traces("sampled_2of128");
  if (path.empty()) return;
  const JobReport r = aligned_report(path);
  // Starts in microseconds after 1682725898 s on the recorded clocks.
  const std::map<int64_t, int64_t> truth = {
      {125052, 129911}, {295662, 298964}, {1146327, 1168655}, {585321, 585405}, {1185890, 1187182}};
  std::map<int32_t, std::map<int32_t, int64_t>> pairs;
  for (const auto& call : r.calls) {
    REQUIRE_FALSE(call.complete);
    pairs[call.instance][call.rank] = (r.job.window_start_ns + call.start_ns) / 1000 - 1682725898000000;
  }
  REQUIRE(pairs.size() == 5);
  for (const auto& [instance, pair] : pairs) {
    REQUIRE(pair.size() == 2);
    INFO("rank 0 at " << pair.at(0));
    bool real = false;  // the clocks may have been moved by a few microseconds
    for (const auto& [r0, r1] : truth)
      real = real || (std::llabs(pair.at(0) - r0) < 500 && std::llabs(pair.at(1) - r1) < 500);
    REQUIRE(real);
  }
  REQUIRE(r.matching.unmatched == 20 - 2 * static_cast<int64_t>(pairs.size()));
  REQUIRE(r.job.world_size == 128);
  REQUIRE(r.job.ranks_missing.size() == 126);
}

TEST_CASE("single traces: timelines equal the independent interval program to the nanosecond") {
  struct Expected {
    const char* file;
    int64_t total, busy, compute, communication, exposed_communication, exposed_memcpy;
  };
  const Expected table[] = {
      {"hta/a100_rank0of2_nccl_args", 660551005, 157500014, 116046564, 46876493, 39529327, 1924123},
      {"hta/v100_rank0of1_ns_resolution.pt.trace", 480029179, 472454441, 468739037, 0, 0, 3715404},
      {"hta/a100_rank0of16_no_args", 1231461000, 438424000, 211484000, 187870000, 185300000, 41640000},
      {"hta/mi250_minitoy", 8911887, 149042, 110881, 0, 0, 38161},
      {"hta/triton_example", 1760, 1760, 1760, 0, 0, 0},
      {"hta/gpu_user_annotation", 7737000, 291000, 290000, 0, 0, 1000},
      {"tracelens/b200_rank0of8_vllm_eager", 84487178, 11596482, 8652137, 2141501, 2141501, 802844},
      {"tracelens/h100_qwen", 49652832, 45647300, 45644932, 0, 0, 2368},
      {"tracelens/mi300_qwen", 47085800, 43062802, 43062042, 0, 0, 760},
      {"tracelens/mi300_rank0of8_resnet_checkpoint", 86567708, 84002056, 26174953, 71516523, 55371257, 2455846},
  };
  for (const Expected& e : table) {
    const std::string path = traces(std::string("single/") + e.file + ".json.gz");
    if (path.empty()) continue;
    INFO(e.file);
    const JobReport r = aligned_report(path);
    REQUIRE(r.ranks.size() == 1);
    const auto& rank = r.ranks[0];
    CHECK(rank.total_ns == e.total);
    CHECK(rank.busy_ns == e.busy);
    CHECK(rank.compute_ns == e.compute);
    CHECK(rank.communication_ns == e.communication);
    CHECK(rank.exposed_communication_ns == e.exposed_communication);
    CHECK(rank.exposed_memcpy_ns == e.exposed_memcpy);
  }
}

TEST_CASE("dlrm_8rank: timelines equal the independent interval program to the nanosecond") {
  const std::string path = traces("dlrm_8rank");
  if (path.empty()) return;
  const int64_t total_us[] = {13009, 18749, 11350, 18853, 16589, 16392, 11410, 10967};
  const int64_t busy_us[] = {6590, 12321, 4304, 10708, 7702, 7271, 4359, 2659};
  const int64_t exposed_us[] = {5537, 11056, 3217, 9440, 6550, 6211, 3289, 1580};
  for (const auto& rank : aligned_report(path).ranks) {
    INFO("rank " << rank.rank);
    CHECK(rank.total_ns == 1000 * total_us[rank.rank]);
    CHECK(rank.busy_ns == 1000 * busy_us[rank.rank]);
    CHECK(rank.exposed_communication_ns == 1000 * exposed_us[rank.rank]);
  }
}

TEST_CASE("a summary with much to say keeps rows in each of its tables") {
  const std::string path = traces("dlrm_8rank");
  if (path.empty()) return;
  StageTimer timer;
  CorrelateOptions options;
  options.ingest.world_size = 1024;  // more lines in the head, long ones
  const auto report = correlate({path}, options, timer);
  REQUIRE(report.ok());
  const std::string text = terminal_summary(report.value(), "skewscope-report", false);
  INFO(text);
  CHECK(std::count(text.begin(), text.end(), '\n') <= 30);
  CHECK(text.find("Why\n  rank ") != std::string::npos);
  CHECK(text.find("bus GB/s\n  all_to_all ") != std::string::npos);
}
