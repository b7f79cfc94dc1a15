// What the files hold, against truth.json and against the eras of Kineto.
#include <tbb/global_control.h>

#include <algorithm>
#include <map>

#include "simulated_job.h"

using namespace skewscope;
using namespace skewscope::test;

namespace {

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

std::ptrdiff_t place_of(const std::vector<std::string>& keys, const std::string& key) {
  const auto found = std::find(keys.begin(), keys.end(), key);
  return found == keys.end() ? -1 : found - keys.begin();
}

Json first_record_param_comms(const Json& trace) {
  for (const Json& event : events_of(trace, "cpu_op")) {
    if (event["name"] == "record_param_comms") return event["args"];
  }
  FAIL("no record_param_comms");
  return {};
}

int64_t unix_ns(const Json& trace, const Json& event) {
  return trace["baseTimeNanoseconds"].get<int64_t>() + stamp_ns(event["ts"]);
}

}  // namespace

TEST_CASE("a trace holds each call of the truth at its true time on the rank's clock") {
  SimulateOptions options = small_job();
  options.clock_offset_ms = 50;
  options.clock_drift_ppm = 20;
  const SimulatedJob job(options);
  const Json truth = job.truth();
  for (int rank = 0; rank < 4; ++rank) {
    const Json& clock = truth["ranks"][static_cast<size_t>(rank)];
    std::vector<std::pair<int64_t, int64_t>> expected, written;
    for (const TrueCollective& one : true_collectives(truth)) {
      for (size_t i = 0; i < one.ranks.size(); ++i) {
        if (one.ranks[i] != rank) continue;
        const auto local = [&](int64_t t) {
          return truth["reference_ns"].get<int64_t>() + t + clock["offset_ns"].get<int64_t>() +
                 std::llround(clock["drift_ppb"].get<double>() * 1e-9 * static_cast<double>(t));
        };
        expected.emplace_back(local(one.start[i]), local(one.end[i]));
      }
    }
    const Json trace = job.trace(rank);
    for (const Json& kernel : communication_kernels(trace)) {
      const int64_t start = unix_ns(trace, kernel);
      written.emplace_back(start, start + stamp_ns(kernel["dur"]));
    }
    std::sort(expected.begin(), expected.end());
    std::sort(written.begin(), written.end());
    REQUIRE(written.size() == expected.size());
    for (size_t i = 0; i < written.size(); ++i) {
      CHECK(std::abs(written[i].first - expected[i].first) <= 1);
      CHECK(std::abs(written[i].second - expected[i].second) <= 1);
    }
  }
}

TEST_CASE("a GPU row starts after its launch and streams never overlap themselves") {
  const SimulatedJob job(small_job());
  const Json trace = job.trace(0);
  std::map<int64_t, int64_t> launch;
  for (const Json& event : events_of(trace, "cuda_runtime")) {
    launch[event["args"]["correlation"]] = stamp_ns(event["ts"]);
  }
  std::map<int, std::vector<std::pair<int64_t, int64_t>>> streams;
  for (const char* category : {"kernel", "gpu_memcpy", "gpu_memset"}) {
    for (const Json& event : events_of(trace, category)) {
      const int64_t start = stamp_ns(event["ts"]);
      REQUIRE(launch.count(event["args"]["correlation"]) == 1);
      CHECK(start > launch[event["args"]["correlation"]]);
      streams[event["args"]["stream"]].emplace_back(start, start + stamp_ns(event["dur"]));
    }
  }
  CHECK(streams.size() == 4);  // compute, tensor, data, world
  for (auto& [stream, rows] : streams) {
    std::sort(rows.begin(), rows.end());
    for (size_t i = 1; i < rows.size(); ++i) CHECK(rows[i].first >= rows[i - 1].second);
  }
}

TEST_CASE("equal options give equal bytes on any number of threads, another seed gives others") {
  SimulateOptions options = small_job();
  options.lost_kernels = 0.1;
  const SimulatedJob first(options);
  const tbb::global_control one_thread(tbb::global_control::max_allowed_parallelism, 1);
  const SimulatedJob second(options);
  options.seed = 2;
  const SimulatedJob other(options);
  for (const char* name : {"rank0_trace.json", "rank3_trace.json", "truth.json"}) {
    CHECK(first.text(name) == second.text(name));
    CHECK(first.text(name) != other.text(name));
  }
}

TEST_CASE("each era puts the base time and the metadata where its build did") {
  const auto style = GENERATE(TraceStyle::era_a, TraceStyle::era_c, TraceStyle::era_d, TraceStyle::era_e);
  const auto vendor = GENERATE(TraceVendor::nvidia, TraceVendor::amd);
  SimulateOptions options = small_job();
  options.style = style;
  options.vendor = vendor;
  options.python_rows_per_kernel = 1;
  const SimulatedJob job(options);
  const Json trace = job.trace(1);
  const auto keys = keys_of(trace);
  const auto base = place_of(keys, "baseTimeNanoseconds"), events = place_of(keys, "traceEvents");
  const Json kernel = communication_kernels(trace).at(0)["args"];
  const Json op = first_record_param_comms(trace);
  CHECK(trace["distributedInfo"]["rank"] == 1);
  CHECK(trace["distributedInfo"]["world_size"] == 4);
  CHECK(trace["distributedInfo"].contains("pg_config") == (style != TraceStyle::era_a));
  CHECK(kernel.contains("Collective name") == (style != TraceStyle::era_a));
  CHECK(op.contains("Process Group Ranks") == (style != TraceStyle::era_a));
  CHECK(op.contains("Rank") == (style >= TraceStyle::era_d));
  CHECK(kernel.contains("Seq") == (style == TraceStyle::era_e));
  CHECK(op.contains("Comms Id") == (style == TraceStyle::era_e));
  CHECK((kernel["External id"] == kernel["correlation"]) == (style == TraceStyle::era_a));
  CHECK(kernel.contains("queued") == (vendor == TraceVendor::nvidia));
  if (style == TraceStyle::era_a) CHECK(base == -1);
  if (style == TraceStyle::era_c) CHECK(base > events);
  if (style >= TraceStyle::era_d) CHECK((base >= 0 && base < events));
  CHECK(trace["traceEvents"][0]["ts"].is_number_integer() == (style == TraceStyle::era_a));
}

TEST_CASE("members of a collective carry equal Seq and Comms Id, different collectives different ones") {
  SimulateOptions options = small_job();
  options.style = TraceStyle::era_e;
  const SimulatedJob job(options);
  std::map<uint64_t, int> members;
  for (int rank = 0; rank < 4; ++rank) {
    for (const Json& kernel : communication_kernels(job.trace(rank))) {
      ++members[kernel["args"]["Comms Id"].get<uint64_t>()];
    }
  }
  const auto collectives = true_collectives(job.truth());
  CHECK(members.size() == collectives.size());
  size_t calls = 0;
  for (const TrueCollective& one : collectives) calls += one.ranks.size();
  CHECK(static_cast<size_t>(
            std::count_if(members.begin(), members.end(), [](const auto& m) { return m.second == 4; })) == 2);
  CHECK(calls == 4 * 2 + 2 * (collectives.size() - 2));
}

TEST_CASE("a member list is cut after thirty ranks in arguments and whole in pg_config") {
  SimulateOptions options = small_job();
  options.nodes = 5;
  options.gpus_per_node = 8;
  options.tp = 1;
  options.layers = 1;
  options.steps = 1;
  const SimulatedJob job(options);
  const Json trace = job.trace(7);
  const std::string shown = communication_kernels(trace).at(0)["args"]["Process Group Ranks"];
  CHECK(shown.substr(shown.size() - 10) == ", 29, ...]");
  CHECK(trace["distributedInfo"]["pg_config"][0]["ranks"].size() == 40);
}

TEST_CASE("a process without GPUs has gloo ranges and no GPU rows") {
  SimulateOptions options = small_job();
  options.vendor = TraceVendor::cpu;
  const SimulatedJob job(options);
  const Json trace = job.trace(0);
  CHECK(events_of(trace, "kernel").empty());
  CHECK(trace["distributedInfo"]["backend"] == "gloo");
  size_t ranges = 0, own_calls = 0;
  for (const Json& event : events_of(trace, "user_annotation")) ranges += event["name"] == "gloo:all_reduce";
  for (const TrueCollective& one : true_collectives(job.truth())) {
    own_calls += static_cast<size_t>(std::count(one.ranks.begin(), one.ranks.end(), 0));
  }
  CHECK(ranges == own_calls);
}

TEST_CASE("filler rows nest around the launch they belong to") {
  SimulateOptions options = small_job();
  options.cpu_rows_per_kernel = 12;
  options.python_rows_per_kernel = 7;
  options.steps = 1;
  const SimulatedJob job(options);
  const Json trace = job.trace(0);
  CHECK(events_of(trace, "cpu_op").size() > 12 * events_of(trace, "cuda_runtime").size() / 2);
  CHECK(events_of(trace, "python_function").size() > 100);
  std::map<int64_t, std::pair<int64_t, int64_t>> op;
  for (const Json& event : events_of(trace, "cpu_op")) {
    op[event["args"]["External id"]] = {stamp_ns(event["ts"]), stamp_ns(event["ts"]) + stamp_ns(event["dur"])};
  }
  for (const Json& event : events_of(trace, "cuda_runtime")) {
    if (!event["args"].contains("External id")) continue;
    const auto [begin, end] = op.at(event["args"]["External id"]);
    CHECK(begin <= stamp_ns(event["ts"]));
    CHECK(end >= stamp_ns(event["ts"]) + stamp_ns(event["dur"]));
  }
}
