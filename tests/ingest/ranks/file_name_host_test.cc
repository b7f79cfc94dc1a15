#include "src/ingest/ranks/file_name_host.h"

#include <catch2/catch.hpp>

#include "src/ingest/ranks/file_name_rank.h"

using skewscope::RankEvidence;
using skewscope::ingest::host_in_name;
using skewscope::ingest::read_file_name;

namespace {

RankEvidence named(const char* path, int64_t process_id) {
  RankEvidence file;
  file.file = path;
  file.name = read_file_name(path);
  file.process_id = process_id;
  return file;
}

}  // namespace

// Names that torch.profiler's handler made on clusters of several kinds: HOST_PID.STAMP.pt.trace.json.
TEST_CASE("the name that torch.profiler makes tells the host where the trace is of that very process") {
  const struct {
    const char* path;
    int64_t process_id;
    const char* host;
  } rows[] = {
      {"log/ip-172-31-18-44_2215.1678901234567.pt.trace.json", 2215, "ip-172-31-18-44"},
      {"log/node7_4242.1694128201545123456.pt.trace.json.gz", 4242, "node7"},
      {"log/dgx-a100-03.cluster.local_78901.1712345678901234567.pt.trace.json", 78901, "dgx-a100-03.cluster.local"},
      {"log/88cfdfb5ac59_17.1616149284093.pt.trace.json.gz", 17, "88cfdfb5ac59"},            // a container
      {"log/llama-worker-0_61.1721000000000000000.pt.trace.json.gz", 61, "llama-worker-0"},  // a pod
  };
  for (const auto& row : rows) {
    INFO(row.path);
    CHECK(host_in_name(named(row.path, row.process_id)) == row.host);
  }
}

TEST_CASE("a name that may mean something else tells no host") {
  const struct {
    const char* path;
    int64_t process_id;
  } rows[] = {
      {"node7_4242.1694128201545123456.pt.trace.json", 4243},    // a number that is not the process
      {"node7_4242.1694128201545123456.pt.trace.json", -1},      // a trace that does not tell its process
      {"worker1_step_12.1694128201556.pt.trace.json.gz", 12},    // DLRM
      {"trainer_4242.1694128201545123456.pt.trace.json", 4242},  // a program's word: the same on all machines
      {"localhost_4242.1694128201545123456.pt.trace.json", 4242},
      {"rank3_4242.1694128201545123456.pt.trace.json", 4242},
      {"node7_4242.json", 4242},
      {"worker0.1623143089861.pt.trace.json.gz", 0},
      {"node7_1.1694128201545123456.pt.trace.json", 1},  // worker 1 of a container?
  };
  for (const auto& row : rows) {
    INFO(row.path);
    CHECK(host_in_name(named(row.path, row.process_id)).empty());
  }
}

TEST_CASE("what is written behind an @ is the host, whoever the process is") {
  CHECK(host_in_name(named("a@b/job_rank3-of-8@node17_step120.pt.trace.json.gz", -1)) == "node17");
  CHECK(read_file_name("job_rank3-of-8@node17_step120.pt.trace.json.gz").rank == 3);
  CHECK(read_file_name("job_rank3-of-8@node17_step120.pt.trace.json.gz").world_size == 8);
  CHECK(read_file_name("job_rank3-of-8@node17_step120.pt.trace.json.gz").capture == "step 120");
}
