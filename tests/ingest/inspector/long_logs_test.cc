// What of a long log is kept.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "../reader_support.h"
#include "src/ingest/inspector/thinned_calls.h"
#include "src/ingest/read_files.h"

using namespace skewscope;
using namespace skewscope::ingest;

namespace {

// A rank of 1,024: of each 16,384 calls are kept.
std::string long_log(int rank, int calls) {
  std::string log;
  for (int i = 0; i < calls; ++i) {
    log += fmt::format(R"({{"header":{{"id":"0xabc","rank":{},"n_ranks":1024}},"metadata":{{"dump_timestamp_us":{},)"
                       R"("hostname":"n{}","pid":7}},"coll_perf":{{"coll":"AllReduce","coll_sn":{},)"
                       R"("coll_msg_size_bytes":8,"coll_exec_time_us":9}}}})",
                       rank, 1'000'000 + i, rank, i) +
           "\n";
  }
  return log;
}

std::set<int64_t> numbers_kept(const std::string& log, int32_t& one_of) {
  const TempFile file(log);
  MemoryBudget budget(0);
  Result<std::vector<FileContent>> contents = TraceReaders().read(file.path(), budget);
  const TraceFile linked = link_file(std::move(contents.value().front()));
  one_of = linked.linked.trace.one_of;
  std::set<int64_t> numbers;
  for (const CollectiveCall& call : linked.linked.trace.calls) numbers.insert(call.seq);
  return numbers;
}

}  // namespace

TEST_CASE("of a log that is longer than its bound one collective of 2, 4 ... is kept, the same of all ranks") {
  int32_t one_of = 0, other_one_of = 0;
  const auto all = numbers_kept(long_log(0, 16'000), one_of);
  REQUIRE(one_of == 1);
  REQUIRE(all.size() == 16'000);
  const auto kept = numbers_kept(long_log(3, 60'000), one_of);
  const auto other = numbers_kept(long_log(4, 60'000), other_one_of);
  REQUIRE(one_of == other_one_of);
  REQUIRE(one_of >= 4);
  REQUIRE(kept == other);
  REQUIRE(kept.size() <= 16'384);
  REQUIRE(std::abs(static_cast<double>(kept.size()) * one_of - 60'000) < 3'000);
}

TEST_CASE("what is left out of a long log is counted") {
  const FileContent content = read_any(long_log(0, 40'000));
  REQUIRE(count_of(content, "log-thinned") + static_cast<int64_t>(content.gpu.size()) == 40'000);
  REQUIRE(count_of(read_any(long_log(0, 100)), "log-thinned") == 0);
}

TEST_CASE("a shorter log of the job keeps what the longest keeps") {
  const TempFile file(long_log(0, 10'000));
  MemoryBudget budget(0);
  Result<std::vector<FileContent>> contents = TraceReaders().read(file.path(), budget);
  TraceFile log = link_file(std::move(contents.value().front()));
  thin_calls(4, log);
  int32_t one_of = 0;
  const auto longest = numbers_kept(long_log(1, 60'000), one_of);
  REQUIRE(one_of == 4);
  for (const CollectiveCall& call : log.linked.trace.calls) REQUIRE(longest.count(call.seq) == 1);
  REQUIRE(std::abs(static_cast<double>(log.linked.trace.calls.size()) * 4 - 10'000) < 1'000);
  REQUIRE(log.linked.open_calls.size() == log.linked.trace.calls.size());
}
