// Which tracers' files are of one job, by evidence that is written by hand.
#include <catch2/catch.hpp>

#include "src/ingest/jobs/find_jobs.h"
#include "src/ingest/read_files.h"
#include "src/ingest/usable_files.h"
#include "tests/ingest/content_builder.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

constexpr int64_t kHour_us = 3'600'000'000;

struct TracedRank {
  std::string file, format;
  int64_t rank = 0, world = 4, start_us = 0;
  std::string host{};
  int64_t process = -1;
  GpuVendor vendor = GpuVendor::nvidia;
  int64_t members = 0;  // of the communicator that a log tells its rank of; 0: it is no log
};

TraceFile linked_rank(const TracedRank& trace) {
  ContentBuilder b(trace.file);
  if (trace.members > 0) {
    ProcessGroup group{"0xabc", "", trace.members, {}, trace.rank, ""};
    b.content().distributed.groups.push_back(group);
    b.content().distributed.world_size = trace.world;
  } else {
    b.distributed(trace.rank, trace.world);
  }
  b.content().host_name = trace.host;
  b.content().process_id = trace.process;
  b.content().format = trace.format;
  for (int64_t i = 0; i < 3; ++i) b.kernel("gemm", trace.start_us + 100 * i, 50, i);
  TraceFile file = link_file(std::move(b.content()));
  file.linked.trace.vendor = trace.vendor;
  return file;
}

// The ranks of each job found.
std::vector<std::vector<int32_t>> ranks_of_jobs(const std::vector<TracedRank>& traces) {
  std::vector<TraceFile> files;
  for (const TracedRank& trace : traces) files.push_back(linked_rank(trace));
  mark_usable(files);
  std::vector<std::vector<int32_t>> jobs;
  for (const JobFiles& job : find_jobs(files, {}, false).jobs) jobs.push_back(job.job.ranks);
  return jobs;
}

using RanksOfJobs = std::vector<std::vector<int32_t>>;

}  // namespace

TEST_CASE("ranks that two tracers recorded at one time are one job") {
  CHECK(ranks_of_jobs({{"a.json", "kineto json", 0},
                       {"b.json", "kineto json", 1},
                       {"c.sqlite", "nsys", 2, 4, 50},
                       {"d.sqlite", "nsys", 3, 4, 50}}) == RanksOfJobs{{0, 1, 2, 3}});
}

TEST_CASE("what two tracers recorded an hour apart is two jobs, on other hosts too, and with other ranks") {
  CHECK(ranks_of_jobs({{"a.json", "kineto json", 0, 4, 0, "x"}, {"c.sqlite", "nsys", 1, 4, kHour_us, "y"}}) ==
        RanksOfJobs{{0}, {1}});
  CHECK(ranks_of_jobs({{"a.json", "kineto json", 0}, {"c.sqlite", "nsys", 0, 4, kHour_us}}) == RanksOfJobs{{0}, {0}});
}

TEST_CASE("a process that two tracers recorded an hour apart is of one job") {
  CHECK(ranks_of_jobs({{"a.json", "kineto json", 0, 4, 0, "x", 77}, {"c.sqlite", "nsys", 0, 4, kHour_us, "x", 77}}) ==
        RanksOfJobs{{0}});
}

TEST_CASE("GPUs of two makers under two tracers are two jobs") {
  const TracedRank amd{"c.db", "rocpd sqlite", 1, 4, 0, "", -1, GpuVendor::amd};
  CHECK(ranks_of_jobs({{"a.json", "kineto json", 0}, amd}) == RanksOfJobs{{0}, {1}});
}

TEST_CASE("a rank that two tracers recorded at one time is of two jobs") {
  CHECK(ranks_of_jobs({{"a.json", "kineto json", 0},
                       {"b.json", "kineto json", 1},
                       {"c.sqlite", "nsys", 0, 4, 20},
                       {"d.sqlite", "nsys", 1, 4, 20}}) == RanksOfJobs{{0, 1}, {0, 1}});
}

TEST_CASE("a log whose communicator lacks members goes with the traces that have them, a whole one does not") {
  const auto log = [](int64_t rank, int64_t members) {
    return TracedRank{"l" + std::to_string(rank) + ".log", "log", rank, members, 50, "", -1, GpuVendor::other, members};
  };
  CHECK(ranks_of_jobs({{"a.json", "kineto json", 0}, {"b.json", "kineto json", 1}, log(2, 4), log(3, 4)}) ==
        RanksOfJobs{{0, 1, 2, 3}});
  CHECK(ranks_of_jobs({{"a.json", "kineto json", 2, 2 + 2}, log(0, 2), log(1, 2)}).size() == 2);
}
