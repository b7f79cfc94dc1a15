// Jobs recorded on one host with a modern PyTorch and NCCL (tests/data/real): what was put into them is known
// (truth.json), and so is which calls are one collective: all ranks run the same program and record the same steps, so
// the k-th call that a rank records in a group is the k-th that each of its members records.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <tuple>

#include "collectives/synchronization.h"
#include "skewscope/align.h"
#include "skewscope/correlate.h"
#include "skewscope/ingest.h"
#include "skewscope/matching.h"
#include "skewscope/report.h"

using namespace skewscope;

namespace {

const std::filesystem::path kSets = std::filesystem::path(SKEWSCOPE_SOURCE_DIR) / "tests" / "data" / "real";

std::vector<std::string> sets() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kSets)) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

JobTrace job_of(const std::string& set) {
  StageTimer timer;
  Result<IngestedJob> ingested = ingest_job(discover_files({(kSets / set).string()}).value(), {}, timer);
  REQUIRE(ingested.ok());
  return std::move(ingested.value().job);
}

JobReport report_of_set(const std::string& set) {
  StageTimer timer;
  Result<JobReport> report = correlate({(kSets / set).string()}, {}, timer);
  REQUIRE(report.ok());
  return std::move(report).value();
}

nlohmann::json truth_of(const std::string& set) {
  std::ifstream file(kSets / set / "truth.json");
  return nlohmann::json::parse(file);
}

// The group, the sender and the receiver of a message (-1: none), and the place among the rank's calls there.
using Place = std::tuple<CommunicatorId, Rank, Rank, size_t>;
// Per call of a trace; a call with several messages has a place for each. Without those that were launched before the
// recording, or name no group.
using PlacesOfCalls = std::map<int32_t, std::vector<Place>>;

// Sender and receiver of all messages of a call; none, both unknown, where it is a collective.
std::vector<std::pair<Rank, Rank>> ways_of(const RankTrace& trace, int32_t row) {
  const CollectiveCall& call = trace.calls[static_cast<size_t>(row)];
  std::vector<std::pair<Rank, Rank>> ways;
  if (call.kind == CollectiveKind::send || call.kind == CollectiveKind::send_recv) {
    ways.emplace_back(trace.rank, call.peer);
  }
  if (call.kind == CollectiveKind::recv || call.kind == CollectiveKind::send_recv) {
    ways.emplace_back(call.peer, trace.rank);
  }
  for (const BatchMessage& message : messages_of(trace, row)) {
    ways.emplace_back(message.sends ? trace.rank : message.peer, message.sends ? message.peer : trace.rank);
  }
  if (ways.empty()) ways.emplace_back();
  return ways;
}

std::vector<PlacesOfCalls> places_of(const JobTrace& job) {
  std::vector<PlacesOfCalls> places;
  for (const RankTrace& trace : job.traces) {
    std::vector<int32_t> order;
    for (int32_t row = 0; row < std::ssize(trace.calls); ++row) {
      if (trace.calls[static_cast<size_t>(row)].communicator.known()) order.push_back(row);
    }
    std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return trace.calls[static_cast<size_t>(a)].launch_start < trace.calls[static_cast<size_t>(b)].launch_start;
    });
    std::map<std::tuple<CommunicatorId, Rank, Rank>, size_t> count;
    PlacesOfCalls& of_trace = places.emplace_back();
    for (const int32_t row : order) {
      const CommunicatorId group = trace.calls[static_cast<size_t>(row)].communicator;
      for (const auto& [from, to] : ways_of(trace, row)) {
        of_trace[row].emplace_back(group, from, to, count[{group, from, to}]++);
      }
    }
  }
  return places;
}

struct Matched {
  int64_t wrong = 0;                // instances with two calls that have no place in common, but are said to
  int64_t named = 0, together = 0;  // calls that name a group; those of them in an instance
};

// Whether both have a place in common; what has none may be any.
bool are_one(const std::vector<PlacesOfCalls>& places, const CallRef& a, const CallRef& b) {
  const auto own = places[a.trace.index()].find(a.call), other = places[b.trace.index()].find(b.call);
  if (own == places[a.trace.index()].end() || other == places[b.trace.index()].end()) return true;
  return std::any_of(own->second.begin(), own->second.end(), [&](const Place& place) {
    return std::find(other->second.begin(), other->second.end(), place) != other->second.end();
  });
}

Matched matched(const JobTrace& job, const InstanceTable& table, const std::vector<PlacesOfCalls>& places) {
  Matched result;
  for (const PlacesOfCalls& of_trace : places) result.named += std::ssize(of_trace);
  for (const CollectiveInstance& i : table.instances) {
    bool right = true;
    for (uint32_t row = i.first_member; row < i.first_member + i.member_count; ++row) {
      const CallRef& ref = table.members[row];
      result.together += static_cast<int64_t>(places[ref.trace.index()].count(ref.call));
      if (i.kind != CollectiveKind::coalesced) right = right && are_one(places, table.members[i.first_member], ref);
      for (const BatchLink& link : links_of(table, row)) {
        right = right && are_one(places, ref, table.members[link.partner]);
      }
    }
    result.wrong += right ? 0 : 1;
  }
  CHECK(check_invariants(table, job).empty());
  return result;
}

int64_t reason_count(const InstanceTable& table, UnmatchedReason reason) {
  return std::count_if(table.unmatched.begin(), table.unmatched.end(),
                       [&](const UnmatchedCall& call) { return call.reason == reason; });
}

}  // namespace

TEST_CASE("recorded: every call that names its group is matched, and only with its like of the other ranks") {
  for (const std::string& set : sets()) {
    if (set == "gloo") continue;  // ranges of the host, which name no group
    INFO(set);
    const JobTrace job = job_of(set);
    const InstanceTable table = match_collectives(job);
    const Matched result = matched(job, table, places_of(job));
    CHECK(result.wrong == 0);
    // A kernel that ran when the recording ended is not in its file; what it misses is alone at most.
    CHECK(result.named - result.together <= 1);
  }
}

TEST_CASE("recorded: calls launched before the recording are their stream's, where it carries one group alone") {
  // One of a rank whose window begins before the others' may be alone.
  for (const char* set : {"ddp", "ddp_8", "cuda_graphs", "fsdp2", "compile", "checkpointing", "mesh"}) {
    INFO(set);
    CHECK(match_collectives(job_of(set)).unmatched.size() <= 1);
  }
  // Here the calls of four groups run on one stream: nothing tells whose they were.
  CHECK(reason_count(match_collectives(job_of("tensor_parallel")), UnmatchedReason::no_metadata) == 43);
}

namespace {

struct Damage {
  double lost = 0;       // share of calls
  int64_t apart_ns = 0;  // most that clocks are apart, either way
  int64_t cut = 0;       // most calls that a rank's file lacks at its beginning, and at its end
};

// Puts it into each rank; `places` stay those of the calls.
void put_in(const Damage& fault, unsigned seed, JobTrace& job, std::vector<PlacesOfCalls>& places) {
  std::mt19937 random(seed);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  for (size_t t = 0; t < job.traces.size(); ++t) {
    const Column<CollectiveCall>& whole = job.traces[t].calls;
    const int64_t moved = t == 0 ? 0 : below(2 * fault.apart_ns + 1) - fault.apart_ns;
    const int64_t first = below(fault.cut + 1), last = std::ssize(whole) - below(fault.cut + 1);
    Column<CollectiveCall> calls;
    Column<BatchMessage> messages;
    PlacesOfCalls kept;
    for (int32_t row = 0; row < std::ssize(whole); ++row) {
      if (static_cast<double>(below(10'000)) < 1e4 * fault.lost || row < first || row >= last) continue;
      const auto place = places[t].find(row);
      if (place != places[t].end()) kept.emplace(static_cast<int32_t>(calls.size()), place->second);
      CollectiveCall call = whole[static_cast<size_t>(row)];
      call.start = call.start + moved;
      call.launch_start = call.launch_start + moved;
      for (BatchMessage message : messages_of(job.traces[t], row)) {
        message.call = static_cast<int32_t>(calls.size());
        messages.push_back(message);
      }
      calls.push_back(call);
    }
    job.traces[t].calls = std::move(calls);
    job.traces[t].messages = std::move(messages);
    places[t] = std::move(kept);
  }
}

}  // namespace

TEST_CASE("recorded: what is lost, cut and moved makes calls alone, hardly ever another's") {
  const Damage faults[] = {{0.02, 0, 0}, {0.05, 0, 0}, {0, 0, 12}, {0, 40'000'000, 0}, {0.03, 300'000, 8}};
  int64_t wrong = 0, instances = 0;
  for (const std::string& set : sets()) {
    if (set == "gloo") continue;
    for (const Damage& fault : faults) {
      for (const unsigned seed : {1U, 2U, 3U}) {
        JobTrace job = job_of(set);
        std::vector<PlacesOfCalls> places = places_of(job);
        put_in(fault, seed, job, places);
        MatchedAlone kept;
        InstanceTable table = match_collectives(job, alone(), &kept);
        const ClockModel clocks = align_clocks(job, table, AlignMode::automatic);
        if (clocks_tell_more(table, clocks)) table = match_again(job, clocks, kept);
        wrong += matched(job, table, places).wrong;
        instances += std::ssize(table.instances);
      }
    }
  }
  CHECK(instances > 15'000);
  CHECK(1000 * wrong <= instances);
}

TEST_CASE("recorded: with its groups hidden, a job's calls are matched as with them, or not at all") {
  int64_t complete = 0;
  for (const std::string& set : sets()) {
    INFO(set);
    JobTrace job = job_of(set);
    const std::vector<PlacesOfCalls> places = places_of(job);
    const InstanceTable told = match_collectives(job);
    for (RankTrace& trace : job.traces) {
      for (CollectiveCall& call : trace.calls) {
        call.communicator = CommunicatorId();
        call.seq = -1;
        call.comms_id = 0;
      }
    }
    job.communicators = {};
    const InstanceTable table = match_collectives(job);
    const Matched result = matched(job, table, places);
    CHECK(result.wrong == 0);
    complete += !table.instances.empty() && told.instances.size() == table.instances.size() ? 1 : 0;
  }
  CHECK(complete >= 5);
}

TEST_CASE("recorded: kernels of a captured graph, which name nothing, are all matched") {
  const InstanceTable table = match_collectives(job_of("decode"));
  CHECK(table.unmatched.empty());
  REQUIRE(table.instances.size() == 48);
  for (const CollectiveInstance& i : table.instances) CHECK(i.complete);
}

TEST_CASE("recorded: what was put into a rank is found there, and called by its cause") {
  // A larger batch runs the same kernels, as often, on larger grids; some kernels are others.
  const std::map<std::string, LateCause> cause_of = {
      {"host_gap", LateCause::host}, {"slow_rank", LateCause::other_kernels}, {"imbalance", LateCause::other_shapes}};
  for (const std::string& set : sets()) {
    const nlohmann::json truth = truth_of(set);
    if (truth["injected"].empty()) continue;
    INFO(set);
    const JobReport report = report_of_set(set);
    REQUIRE_FALSE(report.stragglers.empty());
    CHECK(report.stragglers[0].rank == truth["injected"][0]["rank"]);
    const LateCause cause = cause_of.at(truth["injected"][0]["fault"]);
    if (set == "gloo") continue;               // without GPU rows nothing tells causes apart
    if (set == "pipeline_one_step") continue;  // of one step nothing tells more work from a longer stage
    CHECK(report.stragglers[0].cause == cause);
  }
}

TEST_CASE("recorded: clocks of one host are left alone or moved by microseconds, and their error bars hold") {
  int64_t clocks = 0, outside = 0;
  for (const std::string& set : sets()) {
    INFO(set);
    const JobReport report = report_of_set(set);
    for (const auto& clock : report.clocks) {
      if (!clock.aligned || clock.rank == 0) continue;
      CHECK((clock.method == ClockMethod::identity || clock.method == ClockMethod::offset));
      CHECK(std::llabs(clock.offset_ns) < 100'000);
      ++clocks;
      outside += std::llabs(clock.offset_ns) > clock.uncertainty_ns ? 1 : 0;
    }
  }
  CHECK(clocks >= 70);
  CHECK(20 * outside <= clocks);
}

TEST_CASE("recorded: a slow rank of fully sharded training is told from communication that takes long") {
  const JobReport report = report_of_set("fsdp2");
  int64_t wait = 0, communication = 0;
  for (const auto& rank : report.ranks) {
    wait += rank.wait_ns;
    communication += rank.communication_ns;
  }
  // By hand: three steps in which three ranks wait 93 ms each, of 934 ms of communication kernels.
  CHECK(wait / 1'000'000 == Approx(3 * 3 * 93).margin(10));
  CHECK(communication / 1'000'000 == Approx(934).margin(1));
}
