// Peaks of links from data sheets and users, and what nccl-tests printed.
#include <catch2/catch.hpp>

#include "hand_built.h"

using namespace skewscope;
using namespace skewscope::test;

namespace {

// Ranks 0.. on hosts of two: "a", "a", "b", "b", all of one device.
JobReport job_on(const std::string& device, int32_t ranks) {
  JobReport report;
  for (int32_t r = 0; r < ranks; ++r) {
    JobReport::RankRow row;
    row.rank = r;
    row.host = r < 2 ? "a" : "b";
    row.device_name = device;
    report.ranks.push_back(row);
  }
  return report;
}

JobReport::CommunicatorRow link_of(JobReport report, const std::vector<int32_t>& ranks, double network = -1) {
  JobReport::CommunicatorRow group;
  group.ranks = ranks;
  group.size = static_cast<int32_t>(ranks.size());
  report.communicators = {group};
  name_links(report, network);
  return report.communicators[0];
}

Result<std::vector<JobReport::BaselinePoint>> baseline_of(const std::string& text) {
  const ScratchDirectory scratch;
  write_file(scratch / "all_reduce.txt", text);
  return read_baseline(scratch / "all_reduce.txt");
}

}  // namespace

TEST_CASE("within a node the peak is the device's NVLink, one direction") {
  const auto peak = [](const char* device) { return link_of(job_on(device, 4), {0, 1}).link_peak_gb_per_s; };
  CHECK(peak("Tesla V100-SXM2-32GB") == 150);
  CHECK(peak("NVIDIA A100-SXM4-80GB") == 300);
  CHECK(peak("NVIDIA H100 80GB HBM3") == 450);
  CHECK(peak("NVIDIA H200") == 450);
  CHECK(peak("NVIDIA B200") == 900);
  CHECK(link_of(job_on("NVIDIA H200", 4), {2, 3}).link == "NVLink 4");
}

TEST_CASE("a link that the device does not tell has no peak") {
  CHECK(link_of(job_on("NVIDIA H100 PCIe", 4), {0, 1}).link_peak_gb_per_s == -1);
  CHECK(link_of(job_on("", 4), {0, 1}).link.empty());
  CHECK(link_of(job_on("My GPU", 4), {0, 1}).link.empty());
}

TEST_CASE("between nodes the peak is what the user tells of the network, times the GPUs of a node that take part") {
  const JobReport job = job_on("NVIDIA H200", 4);
  CHECK(link_of(job, {0, 2}).link_peak_gb_per_s == -1);
  CHECK(link_of(job, {0, 2}, 50).link_peak_gb_per_s == 50);
  CHECK(link_of(job, {0, 1, 2, 3}, 50).link_peak_gb_per_s == 100);
  CHECK(link_of(job, {0, 1, 2}, 50).link == "network, 1 GPU a node");
  CHECK(link_of(job, {0, 1, 2, 3}, 400).link == "NVLink 4");
  CHECK(link_of(job, {0, 1}, 50).link_peak_gb_per_s == 450);
}

TEST_CASE("a group with a member on a host that is not known has no peak") {
  JobReport job = job_on("NVIDIA H200", 4);
  job.ranks[1].host = "";
  CHECK(link_of(job, {0, 1}, 50).link_peak_gb_per_s == -1);
  CHECK(link_of(job, {0, 9}, 50).link_peak_gb_per_s == -1);
  CHECK(link_of(job, {0}, 50).link_peak_gb_per_s == -1);
}

TEST_CASE("nccl-tests: size and bus bandwidth out of place, with and without redop and root") {
  const auto points = baseline_of(
      "# nThread 1 nGpus 8 minBytes 8 maxBytes 134217728\n"
      "# Collective test starting: all_reduce_perf\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
      "#wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
      "           8             2     float     sum      -1    33.12    0.00    0.00      0    32.87    0.00    0.00   "
      "   0\n"
      "     1048576        262144     float     sum      -1    42.10   24.91   43.59      0    41.85   25.06   43.85   "
      " N/A\n"
      "   134217728      33554432     float    728.4  184.27  322.47      0    727.9  184.40  322.70      0\n"
      "# Avg bus bandwidth    : 41.2\n");
  REQUIRE(points.ok());
  REQUIRE(points.value().size() == 2);  // the first took no bandwidth
  CHECK(points.value()[0].op == "all_reduce");
  CHECK(points.value()[0].source == "all_reduce.txt");
  CHECK(points.value()[0].bytes == 1048576);
  CHECK(points.value()[0].bus_bandwidth_gb_per_s == 43.59);
  CHECK(points.value()[1].bus_bandwidth_gb_per_s == 322.47);
}

TEST_CASE("a file that nccl-tests did not write is refused, and so is none") {
  CHECK_FALSE(baseline_of("").ok());
  CHECK_FALSE(baseline_of("1 2 3\n8 8 8 8 8 8 8 8 8 8 nan 8 8 8 8 8 8\n").ok());
  CHECK(baseline_of("hello\n").error().message.find("all_reduce.txt") != std::string::npos);
  CHECK_FALSE(read_baseline("/nowhere/all_reduce.txt").ok());
}
