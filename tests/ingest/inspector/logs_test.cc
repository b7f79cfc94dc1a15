// What a log of NCCL's Inspector says, line by line. Fields as in NVIDIA/nccl, plugins/profiler/inspector.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "../reader_support.h"
#include "src/ingest/read_files.h"
#include "tests/real_trace_folder.h"

using namespace skewscope;
using namespace skewscope::ingest;

namespace {

struct Head {
  std::string id = "0xabc";
  int rank = 1, ranks = 4;
  std::string version = "v4.2";
  int64_t dumped_us = 2'000'000;
  int pid = 48;
};

std::string head(const Head& h) {
  return fmt::format(R"("header":{{"id":"{}","comm_name":"unknown","rank":{},"n_ranks":{},"nnodes":1}},)"
                     R"("metadata":{{"inspector_output_format_version":"{}","git_rev":"","rec_mechanism":"x",)"
                     R"("dump_timestamp_us":{},"hostname":"node7","pid":{}}})",
                     h.id, h.rank, h.ranks, h.version, h.dumped_us, h.pid);
}

std::string call(const std::string& operation, int number, int64_t bytes, const std::string& us,
                 const std::string& more = "") {
  return fmt::format(R"("coll_perf":{{"coll":"{}","coll_algo":"RING","coll_proto":"LL128","coll_sn":{},)"
                     R"("coll_msg_size_bytes":{},"coll_exec_time_us":{},"coll_timing_source":"kernel_gpu",)"
                     R"("coll_algobw_gbs":1.0,"coll_busbw_gbs":1.5{}}})",
                     operation, number, bytes, us, more);
}

std::string stopped(int64_t first_us, int64_t second_us) {
  return fmt::format(R"(,"event_trace_ts":{{"coll_start_ts":1,"coll_stop_ts":2,"kernel_events":[)"
                     R"({{"channel_id":0,"kernel_start_ts":1000,"kernel_stop_ts":{},"kernel_record_ts":{}}},)"
                     R"({{"channel_id":1,"kernel_start_ts":1000,"kernel_stop_ts":{},"kernel_record_ts":{}}}]}})",
                     first_us, first_us, second_us, second_us);
}

std::string line(const Head& h, const std::string& call) { return "{" + head(h) + "," + call + "}\n"; }

std::string marker(const Head& h, int collectives, int proxies = 0, int dropped = 0) {
  return "{" + head(h) +
         fmt::format(R"(,"dump_stats":{{"coll_records":{},"coll_dropped_total":{},"coll_dropped_since_last_dump":{},)"
                     R"("p2p_records":0,"p2p_dropped_since_last_dump":0,"proxy_records":{}}}}})",
                     collectives, dropped, dropped, proxies) +
         "\n";
}

std::vector<TraceFile> linked_parts(const std::string& bytes) {
  const TempFile file(bytes);
  MemoryBudget budget(0);
  std::vector<TraceFile> files;
  Result<std::vector<FileContent>> contents = TraceReaders().read(file.path(), budget);
  for (FileContent& content : contents.value()) files.push_back(link_file(std::move(content)));
  return files;
}

TraceFile one(const std::string& bytes) { return std::move(linked_parts(bytes).front()); }

const Head kAny;

}  // namespace

TEST_CASE("a log's line is a call: operation, size of the whole, group, number, algorithm, and how long it took") {
  const TraceFile file = one(line(kAny, call("ReduceScatter", 7, 1'000, "41")));
  REQUIRE(file.format == "nccl inspector log");
  REQUIRE(file.evidence.host == "node7");
  REQUIRE(file.evidence.process_id == 48);
  const CollectiveCall& c = file.linked.trace.calls[0];
  REQUIRE(c.kind == CollectiveKind::reduce_scatter);
  REQUIRE(c.out_elements * element_bytes(c.dtype) == 1'000);
  REQUIRE(c.in_elements * element_bytes(c.dtype) == 4'000);
  REQUIRE(c.seq == 7);
  REQUIRE(c.duration_ns == 41'000);
  REQUIRE(c.algorithm == Algorithm::ring);
  REQUIRE(c.protocol == Protocol::ll128);
  REQUIRE(file.linked.groups[0].name == "0xabc");
  REQUIRE(file.linked.groups[0].size == 4);
  REQUIRE(file.linked.groups[0].description.empty());  // "unknown" is no name
  REQUIRE(file.linked.trace.gpu.size() == 0);          // nothing is recorded of the GPU but calls
}

TEST_CASE("a verbose call ends when its last channel was seen to stop, and began its own duration before") {
  const TraceFile file = one(line(kAny, call("AllReduce", 1, 8, "100", stopped(1'500, 1'700))));
  REQUIRE_FALSE(file.linked.trace.durations_only);
  REQUIRE(file.linked.trace.calls[0].end().ns == 1'700'000);
  REQUIRE(file.linked.trace.calls[0].start.ns == 1'600'000);
}

TEST_CASE("without times a call lies ahead of when it was written, and the trace says that only durations are known") {
  const TraceFile file = one(line(kAny, call("AllReduce", 1, 8, "100")) + line(kAny, call("AllReduce", 2, 8, "50.5")));
  REQUIRE(file.linked.trace.durations_only);
  const auto& calls = file.linked.trace.calls;
  REQUIRE(calls[1].end().ns == 2'000'000'000);
  REQUIRE(calls[1].duration_ns == 50'500);
  REQUIRE(calls[0].end() == calls[1].start);
}

TEST_CASE("stamps of the host that let calls of one communicator overlap do not change how long they took") {
  const TraceFile file = one(line(kAny, call("AllReduce", 1, 8, "100", stopped(1'650, 1'650))) +
                             line(kAny, call("AllReduce", 2, 8, "100", stopped(1'700, 1'700))));
  const auto& calls = file.linked.trace.calls;
  REQUIRE(calls[0].end() == calls[1].start);
  REQUIRE(calls[0].duration_ns == 100'000);
}

TEST_CASE("numbers count each operation by itself: equal numbers of two operations are two collectives") {
  const TraceFile file = one(line(kAny, call("AllReduce", 1, 8, "9")) + line(kAny, call("Broadcast", 1, 8, "9")) +
                             line(kAny, call("AllReduce", 1, 8, "9")));
  const auto& calls = file.linked.trace.calls;
  REQUIRE(calls[0].comms_id != calls[1].comms_id);
  REQUIRE(calls[0].comms_id == calls[2].comms_id);
}

TEST_CASE("a marker names the communicator of as many lines as it announces, whatever they hold") {
  const std::string log = marker({"0xa", 0, 2, "v4.4"}, 1, 1) + "{" + call("AllReduce", 1, 8, "9") + "}\n" +
                          R"({"proxy_perf":{"op":"x"}})" + "\n" + marker({"0xb", 1, 2, "v4.4"}, 1) + "{" +
                          call("AllReduce", 1, 8, "9") + "}\n";
  const TraceFile file = one(log);
  REQUIRE(file.linked.trace.calls.size() == 2);
  REQUIRE(file.linked.groups.size() == 2);
  REQUIRE(file.linked.findings.size() == 1);  // durations-only
}

TEST_CASE("calls that no line gives a communicator are left out and counted: the log lacks its beginning") {
  const FileContent content =
      read_any("{" + call("AllReduce", 1, 8, "9") + "}\n" + line(kAny, call("AllReduce", 2, 8, "9")));
  REQUIRE(content.gpu.size() == 1);
  REQUIRE(count_of(content, "log-left-out") == 1);
}

TEST_CASE("what the recorder lost is counted: calls that were overwritten, lines that were announced and are missing") {
  const FileContent overwritten = read_any(marker(kAny, 1, 0, 512) + "{" + call("AllReduce", 1, 8, "9") + "}\n");
  REQUIRE(count_of(overwritten, "log-losses") == 512);
  const FileContent missing = read_any(marker(kAny, 3) + "{" + call("AllReduce", 1, 8, "9") + "}\n" + marker(kAny, 0));
  REQUIRE(count_of(missing, "log-losses") == 2);
}

TEST_CASE("a log that ends inside a line keeps what is whole; a damaged line is counted with its place") {
  const std::string whole = line(kAny, call("AllReduce", 1, 8, "9"));
  const FileContent cut = read_any(whole + whole.substr(0, 200));
  REQUIRE(cut.gpu.size() == 1);
  REQUIRE(count_of(cut, "truncated-file") == 1);
  const FileContent damaged = read_any(whole + "{\"header\":{\"id\":\n" + whole);
  REQUIRE(damaged.gpu.size() == 2);
  REQUIRE(count_of(damaged, "dropped-event") == 1);
  REQUIRE(place_of(damaged, "dropped-event") == static_cast<int64_t>(whole.size()));
}

TEST_CASE("a version that is not known is said, and its known fields are read") {
  const FileContent content = read_any(line({"0xabc", 1, 4, "v5.0"}, call("AllReduce", 1, 8, "9")));
  REQUIRE(content.gpu.size() == 1);
  REQUIRE(count_of(content, "log-version") == 1);
  REQUIRE(count_of(read_any(line({"0xabc", 1, 4, "v4.0"}, call("AllReduce", 1, 8, "9"))), "log-version") == 0);
}

TEST_CASE("hostile numbers are no sizes, times or ranks") {
  const auto rows = [](const std::string& text) { return read_any(text).gpu.size(); };
  REQUIRE(rows(line(kAny, call("AllReduce", 1, 8, "-5"))) == 0);
  REQUIRE(rows(line(kAny, call("AllReduce", 1, 8, "1e300"))) == 0);
  REQUIRE(rows(line(kAny, call("AllReduce", 1, 8, "\"9\""))) == 0);
  REQUIRE(rows(line({"0xabc", 4, 4}, call("AllReduce", 1, 8, "9"))) == 0);  // no rank of four
  REQUIRE(rows(line({"0xabc", 0, -1}, call("AllReduce", 1, 8, "9"))) == 0);
  const TraceFile large = one(line(kAny, call("AllGather", 1, int64_t{1} << 52, "9")));
  REQUIRE(large.linked.trace.calls[0].in_elements == -1);
}

TEST_CASE("times of the host are none of the GPU: such calls are left out and counted") {
  std::string by_host = line(kAny, call("AllReduce", 1, 8, "9"));
  by_host.replace(by_host.find("kernel_gpu"), 10, "collective_cpu");
  REQUIRE(count_of(read_any(by_host), "log-left-out") == 1);
}

TEST_CASE("a process with several GPUs is as many parts as it is ranks of its communicator") {
  const std::string log = line({"0xa", 0, 2}, call("AllReduce", 1, 8, "9")) +
                          line({"0xa", 1, 2}, call("AllReduce", 1, 8, "7")) +
                          line({"0xb", 0, 1}, call("AllReduce", 1, 8, "5"));
  const std::vector<TraceFile> parts = linked_parts(log);
  REQUIRE(parts.size() == 2);
  REQUIRE(parts[0].evidence.part == "pid48.rank0");
  REQUIRE(parts[1].linked.trace.calls[0].duration_ns == 7'000);
  REQUIRE(parts[0].linked.findings.size() == 2);  // durations-only; a call whose GPU nobody knows
}

TEST_CASE("lines that begin as the one before are read as others are, and one that is damaged behind that is counted") {
  const std::string first = line(kAny, call("AllReduce", 1, 8, "9"));
  const std::string message =
      line(kAny, R"("p2p_perf":{"p2p":"Send","p2p_sn":1,"p2p_peer":3,"p2p_msg_size_bytes":64,"p2p_exec_time_us":5})");
  std::string nested = "{" + head(kAny) + "}";
  nested.insert(nested.find('}'), R"(,"coll_perf":{"coll":"AllGather"})");  // in the header
  const TraceFile file = one(first + line(kAny, call("AllGather", 2, 8, "7")) + message + nested + "\n" +
                             line({"0xdef", 0, 2}, call("AllReduce", 3, 8, "6")));
  REQUIRE(file.linked.trace.calls.size() == 4);
  REQUIRE(file.linked.groups.size() == 2);
  const std::string cut = line(kAny, call("AllReduce", 2, 8, "9"));
  const FileContent damaged = read_any(first + cut.substr(0, cut.size() - 3) + "\n" + first);
  REQUIRE(damaged.gpu.size() == 2);
  REQUIRE(count_of(damaged, "dropped-event") == 1);
}

TEST_CASE("a message names its peer inside the communicator") {
  const TraceFile file = one(
      line(kAny, R"("p2p_perf":{"p2p":"Send","p2p_sn":1,"p2p_peer":3,"p2p_msg_size_bytes":64,"p2p_exec_time_us":9})"));
  REQUIRE(file.linked.trace.calls[0].kind == CollectiveKind::send);
  REQUIRE(file.linked.open_calls[0].peer_in_group == 3);
}

TEST_CASE("a budget that the calls of a log pass ends its reading") {
  std::string log;
  for (int i = 0; i < 40'000; ++i) log += line(kAny, call("AllReduce", i, 8, "9"));
  const TempFile file(log);
  MemoryBudget budget(100'000);
  REQUIRE(TraceReaders().read(file.path(), budget).error().kind == ErrorKind::resource_limit);
}

TEST_CASE("in a folder a log is known by its name, and other logs are left alone") {
  const TraceReaders readers;
  REQUIRE(readers.take_name("node7-pid48.log"));
  REQUIRE(readers.take_name("node7-pid48.log.gz"));
  REQUIRE_FALSE(readers.take_name("train.log"));
  REQUIRE_FALSE(readers.take_name("slurm-pid.log"));
}

TEST_CASE("the records that the recorder's documentation shows are read, and each process is by itself") {
  const std::string file = skewscope::test::formats("nccl_inspector/documented_records.jsonl");
  if (file.empty()) return;
  MemoryBudget budget(0);
  const std::vector<FileContent> contents = TraceReaders().read(file, budget).value();
  size_t calls = 0;
  for (const FileContent& content : contents) calls += content.gpu.size();
  REQUIRE(contents.size() == 3);
  REQUIRE(calls == 4);
  REQUIRE(count_of(contents.front(), "log-losses") == 512);
}
