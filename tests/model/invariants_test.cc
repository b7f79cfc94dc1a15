#include <catch2/catch.hpp>

#include "skewscope/model/clock_model.h"
#include "skewscope/model/decomposition.h"
#include "skewscope/model/rank_summary.h"
#include "tests/job_builder.h"

using namespace skewscope;  // NOLINT

namespace {

// Two ranks with two kernels each; the second is a collective.
JobTrace small_job() {
  JobTrace job;
  const StringId name = job.strings.intern("ncclDevKernel_AllReduce");
  job.world_size = 2;
  job.communicators.communicators.push_back({"0", "", {Rank(0), Rank(1)}, 2, MembersSource::call_ranks});
  for (int32_t rank = 0; rank < 2; ++rank) {
    RankTrace trace;
    trace.rank = Rank(rank);
    trace.session = SessionId(0);
    trace.last_event = {100};
    trace.gpu.start = {{10}, {30}};
    trace.gpu.duration_ns = {5, 20};
    trace.gpu.work = {GpuWork::compute, GpuWork::communication};
    trace.gpu.name = {name, name};
    trace.gpu.device = {0, 0};
    trace.gpu.stream = {7, 7};
    trace.gpu.launch = {0, -1};
    trace.launches.start = {{1}};
    trace.launches.duration_ns = {2};
    trace.launches.thread = {1};
    CollectiveCall call;
    call.start = call.launch_start = {30};
    call.duration_ns = 20;
    call.gpu_row = 1;
    call.communicator = CommunicatorId(0);
    trace.calls = {call};
    job.traces.push_back(trace);
  }
  return job;
}

InstanceTable one_instance(const JobTrace& job) {
  InstanceTable table;
  table.communicators = job.communicators;
  CollectiveInstance instance;
  instance.communicator = CommunicatorId(0);
  instance.session = SessionId(0);
  instance.member_count = 2;
  instance.expected = 2;
  instance.complete = true;
  table.instances = {instance};
  table.members = {{TraceIndex(0), 0}, {TraceIndex(1), 0}};
  set_spans(table, job);
  return table;
}

Decomposition all_transfer() {
  Decomposition d;
  CallParts parts;
  parts.transfer_ns = 20;
  d.members = {parts, parts};
  d.instances.resize(1);
  d.caused_ns = {0, 0};
  d.traces.resize(2);
  for (TraceTotals& totals : d.traces) {
    totals.collectives = 1;
    totals.parts = parts;
  }
  ClassTotals all;
  all.calls = 2;
  all.parts.transfer_ns = 2 * parts.transfer_ns;
  all.parts.exposed_transfer_ns = 2 * parts.exposed_transfer_ns;
  d.classes.push_back(all);
  return d;
}

// What check_invariants says after `change`; a change it does not notice is "".
template <class Change>
std::string after(Change change) {
  JobTrace job = small_job();
  change(job);
  return check_invariants(job);
}

template <class Change>
std::string table_after(Change change) {
  const JobTrace job = small_job();
  InstanceTable table = one_instance(job);
  change(table);
  return check_invariants(table, job);
}

template <class Change>
std::string parts_after(Change change) {
  const JobTrace job = small_job();
  Decomposition d = all_transfer();
  change(d);
  return check_invariants(d, one_instance(job), job);
}

}  // namespace

TEST_CASE("whole rooms hold their invariants") {
  const JobTrace job = small_job();
  CHECK(check_invariants(job) == "");
  CHECK(check_invariants(one_instance(job), job) == "");
  CHECK(check_invariants(all_transfer(), one_instance(job), job) == "");
  CHECK(check_invariants(RankSummary()) == "");
}

TEST_CASE("broken columns of a trace are noticed") {
  CHECK(after([](JobTrace& j) { j.traces[0].gpu.stream.pop_back(); }) != "");
  CHECK(after([](JobTrace& j) { j.traces[0].gpu.duration_ns[0] = -1; }) != "");
  CHECK(after([](JobTrace& j) { j.traces[0].gpu.launch[1] = 1; }) != "");
  CHECK(after([](JobTrace& j) { j.traces[0].gpu.launch[0] = -1; }) != "");  // nobody refers to the launch
  CHECK(after([](JobTrace& j) { j.traces[0].gpu.start[0] = {40}; }) != "");
  CHECK(after([](JobTrace& j) { j.traces[0].gpu.start[0] = {30}; }) != "");  // shorter first
  CHECK(after([](JobTrace& j) { j.traces[0].gpu.name[0] = StringId(5); }) != "");
  CHECK(after([](JobTrace& j) { j.traces[0].launches.thread.clear(); }) != "");
  CHECK(after([](JobTrace& j) { j.traces[0].steps = {{2, {50}, 1}, {1, {40}, 1}}; }) != "");
  CHECK(after([](JobTrace& j) { j.traces[0].last_event = {-1}; }) != "");
}

TEST_CASE("broken calls of a trace are noticed") {
  CHECK(after([](JobTrace& j) { j.traces[0].calls[0].gpu_row = 2; }) != "");
  CHECK(after([](JobTrace& j) { j.traces[0].calls[0].gpu_row = 0; }) != "");
  CHECK(after([](JobTrace& j) { j.traces[0].calls[0].launch_start = {29}; }) != "");
  CHECK(after([](JobTrace& j) { j.traces[0].calls[0].communicator = CommunicatorId(1); }) != "");
  CHECK(after([](JobTrace& j) {
          j.traces[0].calls.push_back(j.traces[0].calls[0]);
          j.traces[0].calls[1].duration_ns = 3;
        }) != "");
}

TEST_CASE("broken order and ranks of a job are noticed") {
  CHECK(after([](JobTrace& j) { std::swap(j.traces[0], j.traces[1]); }) != "");
  CHECK(after([](JobTrace& j) { j.traces[1].rank = Rank(0); }) != "");
  CHECK(after([](JobTrace& j) { j.traces[1].rank = Rank(2); }) != "");
  CHECK(after([](JobTrace& j) { j.traces[1].session = SessionId(1); }) != "");
  CHECK(after([](JobTrace& j) { j.communicators.communicators[0].members = {Rank(1), Rank(0)}; }) != "");
  CHECK(after([](JobTrace& j) { j.communicators.communicators[0].members = {Rank(0), Rank(0)}; }) != "");
  CHECK(after([](JobTrace& j) { j.communicators.communicators[0].members = {Rank(), Rank(0)}; }) != "");
  CHECK(after([](JobTrace& j) { j.communicators.communicators[0].size = 1; }) != "");
}

TEST_CASE("a call in no instance, in two, or in a wrong place is noticed") {
  CHECK(table_after([](InstanceTable& t) {
          t.members.pop_back();
          t.instances[0].member_count = 1;
          t.instances[0].complete = false;
        }) != "");
  CHECK(table_after([](InstanceTable& t) { t.unmatched = {{{TraceIndex(0), 0}, UnmatchedReason::alone}}; }) != "");
  CHECK(table_after([](InstanceTable& t) { t.members[1].call = 1; }) != "");
  CHECK(table_after([](InstanceTable& t) { std::swap(t.members[0], t.members[1]); }) != "");
  CHECK(table_after([](InstanceTable& t) { t.instances[0].first_member = 1; }) != "");
  CHECK(table_after([](InstanceTable& t) { t.instances[0].expected = 3; }) != "");
  CHECK(table_after([](InstanceTable& t) { t.instances[0].session = SessionId(1); }) != "");
  CHECK(table_after([](InstanceTable& t) { t.communicators.communicators.clear(); }) != "");
}

TEST_CASE("parts that are negative or do not sum to the duration are noticed") {
  CHECK(parts_after([](Decomposition& d) { d.members[0].wait_ns = 1; }) != "");
  CHECK(parts_after([](Decomposition& d) {
          d.members[0].wait_ns = -1;
          d.members[0].transfer_ns = 21;
        }) != "");
  CHECK(parts_after([](Decomposition& d) { d.members[0].exposed_transfer_ns = 21; }) != "");
  CHECK(parts_after([](Decomposition& d) { d.traces[0].parts.transfer_ns = 19; }) != "");
  CHECK(parts_after([](Decomposition& d) { d.traces[0].collectives = 2; }) != "");
  CHECK(parts_after([](Decomposition& d) { d.classes[0].parts.exposed_transfer_ns -= 1; }) != "");
  CHECK(parts_after([](Decomposition& d) { d.classes[0].hidden_ns = 1'000; }) != "");
  CHECK(parts_after([](Decomposition& d) { d.classes.clear(); }) != "");
  CHECK(parts_after([](Decomposition& d) { d.traces[0].late_count = 1; }) != "");
  CHECK(parts_after([](Decomposition& d) { d.caused_ns[0] = -1; }) != "");
  CHECK(parts_after([](Decomposition& d) { d.caused_ns.clear(); }) != "");
  CHECK(parts_after([](Decomposition& d) { d.instances[0].end_skew_ns = -1; }) != "");
}

TEST_CASE("a clock that is not monotone, or moved though taken as recorded, is noticed") {
  const JobTrace job = small_job();
  ClockModel model;
  model.clocks.resize(2);
  CHECK(check_invariants(model, job) == "");
  model.clocks[0].drift_ppb = 2e9;
  CHECK(check_invariants(model, job) != "");
  model.clocks[0] = {};
  model.clocks[0].offset_ns = 5;
  CHECK(check_invariants(model, job) != "");
  model.clocks[0].method = ClockMethod::offset;
  CHECK(check_invariants(model, job) == "");
  model.clocks[0].aligned = true;
  CHECK(check_invariants(model, job) != "");
  model.clocks.pop_back();
  CHECK(check_invariants(model, job) != "");
}

TEST_CASE("a timeline whose parts do not sum to the window is noticed") {
  RankSummary s;
  s.total_ns = 100;
  s.compute_ns = 60;
  s.communication_ns = 30;
  s.exposed_communication_ns = 20;
  s.exposed_memcpy_ns = 5;
  s.busy_ns = 85;
  s.idle_ns = 15;
  CHECK(check_invariants(s) == "");
  s.idle_ns = 14;
  CHECK(check_invariants(s) != "");
  s.idle_ns = 15;
  s.busy_ns = 84;
  CHECK(check_invariants(s) != "");
  s.busy_ns = 85;
  s.communication_ns = 19;
  CHECK(check_invariants(s) != "");
}

TEST_CASE("names of the model's values are those of report.json") {
  CHECK(std::string(to_string(MetadataSource::record_param_comms)) == "record_param_comms");
  CHECK(std::string(to_string(MembersSource::process_group_config)) == "process_group_config");
  CHECK(std::string(to_string(MatchMethod::comms_id)) == "comms_id");
  CHECK(std::string(to_string(UnmatchedReason::group_of_one)) == "group_of_one");
  CHECK(std::string(to_string(ClockMethod::wallclock)) == "wallclock");
  CHECK(std::string(to_string(SplitReason::unconnected)) == "unconnected");
}
