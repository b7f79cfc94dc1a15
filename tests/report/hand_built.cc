#include "hand_built.h"

#include <stdlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace skewscope::test {
namespace {

constexpr int64_t kWindowStart = 1'000'000;

int32_t add_call(RankTrace& trace, int64_t start, int64_t end, int64_t step) {
  CollectiveCall call;
  call.start = LocalNs{kWindowStart + start};
  call.duration_ns = end - start;
  call.kind = CollectiveKind::all_reduce;
  call.dtype = DType::float32;
  call.communicator = CommunicatorId(0);
  call.step = step;
  trace.calls.push_back(call);
  return static_cast<int32_t>(trace.calls.size()) - 1;
}

}  // namespace

HandBuilt job_of(int32_t ranks) {
  HandBuilt built;
  built.job.name = "train";
  built.job.world_size = ranks;
  built.job.vendor = JobVendor::nvidia;
  Communicator everyone;
  everyone.name = "0";
  everyone.description = "default_pg";
  everyone.size = ranks;
  everyone.source = MembersSource::process_group_config;
  for (int32_t r = 0; r < ranks; ++r) {
    RankTrace trace;
    trace.rank = Rank(r);
    trace.session = SessionId(0);
    trace.host = r < (ranks + 1) / 2 ? "node-a" : "node-b";
    trace.device = r % 8;
    built.job.traces.push_back(std::move(trace));
    everyone.members.push_back(Rank(r));
    TraceClock clock;
    clock.method = ClockMethod::offset;
    clock.aligned = true;
    clock.component = 0;
    clock.uncertainty_ns = 1200;
    built.clocks.clocks.push_back(clock);
    RankSummary summary;
    summary.total_ns = 1'000'000;
    summary.compute_ns = 600'000;
    summary.communication_ns = summary.exposed_communication_ns = 300'000;
    summary.busy_ns = 900'000;
    summary.idle_ns = 100'000;
    built.summaries.push_back(summary);
  }
  built.clocks.reference_ns = kWindowStart;
  built.clocks.window_ns = 1'000'000;
  built.job.communicators.communicators = built.instances.communicators.communicators = {everyone};
  built.decomposition.traces.resize(static_cast<size_t>(ranks));
  return built;
}

size_t add_all_reduce(HandBuilt& built, const std::vector<int64_t>& starts, int64_t end, int64_t bytes, int64_t step) {
  CollectiveInstance instance;
  instance.communicator = CommunicatorId(0);
  instance.session = SessionId(0);
  instance.kind = CollectiveKind::all_reduce;
  instance.dtype = DType::float32;
  instance.bytes = bytes;
  instance.ordinal = static_cast<int32_t>(built.instances.instances.size());
  instance.first_member = static_cast<uint32_t>(built.instances.members.size());
  instance.expected = static_cast<int32_t>(starts.size());
  const int64_t last = *std::max_element(starts.begin(), starts.end());
  InstanceTiming timing;
  int64_t first = last, wait = 0;
  for (size_t r = 0; r < starts.size(); ++r) {
    if (starts[r] < 0) continue;
    const int32_t call = add_call(built.job.traces[r], starts[r], end, step);
    built.instances.members.push_back({TraceIndex(static_cast<int64_t>(r)), call});
    CallParts parts;
    parts.wait_ns = parts.exposed_wait_ns = last - starts[r];
    parts.transfer_ns = parts.exposed_transfer_ns = end - last;
    built.decomposition.members.push_back(parts);
    built.decomposition.caused_ns.push_back(0);
    TraceTotals& totals = built.decomposition.traces[r];
    totals.collectives++;
    totals.parts.wait_ns += parts.wait_ns;
    totals.parts.transfer_ns += parts.transfer_ns;
    totals.parts.exposed_wait_ns += parts.wait_ns;
    totals.parts.exposed_transfer_ns += parts.transfer_ns;
    if (starts[r] == last) timing.last = TraceIndex(static_cast<int64_t>(r));
    first = std::min(first, starts[r]);
    wait += parts.wait_ns;
    instance.member_count++;
  }
  instance.complete = instance.member_count == starts.size();
  timing.last_arrival = JobNs{kWindowStart + last};
  timing.start_skew_ns = last - first;
  timing.transfer_ns = timing.shortest_ns = end - last;
  if (instance.complete) {
    for (TraceTotals& totals : built.decomposition.traces) totals.late_candidates++;
    built.decomposition.traces[timing.last.index()].late_count++;
    built.decomposition.traces[timing.last.index()].delay_caused_ns += wait;
  }
  built.instances.instances.push_back(instance);
  built.decomposition.instances.push_back(timing);
  return built.instances.instances.size() - 1;
}

void unsplit(HandBuilt& built, size_t instance, SplitReason reason) {
  const CollectiveInstance& c = built.instances.instances[instance];
  InstanceTiming& timing = built.decomposition.instances[instance];
  if (c.complete) {
    for (TraceTotals& totals : built.decomposition.traces) totals.late_candidates--;
    built.decomposition.traces[timing.last.index()].late_count--;
  }
  for (size_t m = c.first_member; m < c.first_member + c.member_count; ++m) {
    CallParts& parts = built.decomposition.members[m];
    TraceTotals& totals = built.decomposition.traces[built.instances.members[m].trace.index()];
    totals.parts.wait_ns -= parts.wait_ns;
    totals.parts.transfer_ns -= parts.transfer_ns;
    totals.parts.exposed_wait_ns -= parts.wait_ns;
    totals.parts.exposed_transfer_ns -= parts.transfer_ns;
    totals.parts.unattributed_ns += parts.wait_ns + parts.transfer_ns;
    if (c.complete) built.decomposition.traces[timing.last.index()].delay_caused_ns -= parts.wait_ns;
    CallParts unknown;
    unknown.unattributed_ns = unknown.exposed_unattributed_ns = parts.wait_ns + parts.transfer_ns;
    parts = unknown;
  }
  timing.last = TraceIndex();
  timing.transfer_ns = 0;
  timing.reason = reason;
}

void add_unmatched(HandBuilt& built, int32_t rank, UnmatchedReason reason) {
  RankTrace& trace = built.job.traces[static_cast<size_t>(rank)];
  const int32_t call = add_call(trace, 900'000, 910'000, -1);
  built.instances.unmatched.push_back({{TraceIndex(rank), call}, reason});
  CallParts parts;
  parts.unattributed_ns = parts.exposed_unattributed_ns = 10'000;
  built.decomposition.unmatched.push_back(parts);
  built.decomposition.traces[static_cast<size_t>(rank)].collectives++;
  built.decomposition.traces[static_cast<size_t>(rank)].parts.unattributed_ns += 10'000;
}

ScratchDirectory::ScratchDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "skewscope_test_XXXXXX").string();
  if (mkdtemp(name.data()) != nullptr) path_ = name;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_file(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

bool has_jsonschema() { return std::system("python3 -c 'import jsonschema' 2>/dev/null") == 0; }

std::string schema_violation(const std::string& schema, const std::string& text) {
  const ScratchDirectory scratch;
  write_file(scratch / "document.json", text);
  const std::string command =
      "python3 -c 'import json, sys, jsonschema; jsonschema.Draft7Validator(json.load(open(sys.argv[1])))"
      ".validate(json.load(open(sys.argv[2])))' " SKEWSCOPE_SOURCE_DIR "/configs/" +
      schema + ".schema.json " + (scratch / "document.json") + " 2> " + (scratch / "error");
  return std::system(command.c_str()) == 0 ? "" : read_file(scratch / "error") + "invalid";
}

}  // namespace skewscope::test
