#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "content_builder.h"
#include "src/ingest/assemble_job.h"
#include "src/ingest/link/keep_steps.h"
#include "src/ingest/read_files.h"
#include "src/ingest/stamps/lost_base_time.h"
#include "src/ingest/text/number_list.h"
#include "src/ingest/usable_files.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

constexpr const char* kAllReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)";

// A rank with `calls` broadcasts of the group, one every 100 us.
ContentBuilder rank_file(const std::string& file, int64_t rank, int64_t world, const std::string& group,
                         const std::string& ranks, int64_t size, int64_t calls = 2, int64_t root_of_first = 1) {
  ContentBuilder b(file);
  b.distributed(rank, world);
  for (int64_t i = 0; i < calls; ++i) {
    CommArgs args = b.args("broadcast", "Float", 10, 10, group, ranks, size);
    args.rank = i == 0 ? root_of_first : 1;  // second member is the root
    b.kernel(kAllReduce, 100 * i, 50, i).args = b.add(args);
  }
  return b;
}

Result<AssembledJob> assemble(std::vector<ContentBuilder> builders, const std::vector<int32_t>& only_ranks = {},
                              const IngestOptions& options = {}) {
  std::vector<TraceFile> files;
  for (ContentBuilder& b : builders) {
    files.push_back(link_file(std::move(b.content())));
    if (options.steps) keep_steps(files.back(), *options.steps);
  }
  mark_usable(files);
  restore_base_times(files);
  const auto overrides = RankOverrides::make(options.rank_map, "");
  REQUIRE(overrides.ok());
  Result<AssembledJob> assembled = assemble_job(files, overrides.value(), only_ranks);
  if (assembled.ok()) CHECK(check_invariants(assembled.value().job).empty());
  return assembled;
}

// FileContent moves only, so no initializer list.
template <class... Builders>
std::vector<ContentBuilder> contents(Builders... builders) {
  std::vector<ContentBuilder> all;
  (all.push_back(std::move(builders)), ...);
  return all;
}

const Finding* find(const Findings& findings, FindingCode code) {
  for (const Finding& finding : findings) {
    if (finding.code == code) return &finding;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("traces are sorted by rank, whatever their names, and share one string table") {
  const auto assembled =
      assemble(contents(rank_file("a.json", 1, 2, "0", "[0, 1]", 2), rank_file("b.json", 0, 2, "0", "[0, 1]", 2)));
  REQUIRE(assembled.ok());
  const JobTrace& job = assembled.value().job;
  REQUIRE(job.traces.size() == 2);
  CHECK(job.traces[0].rank == Rank(0));
  CHECK(job.traces[0].file == "b.json");
  CHECK(job.strings.size() == 1);
  CHECK(job.strings.view(job.traces[1].gpu.name[0]) == kAllReduce);
  CHECK(job.world_size == 2);
  CHECK(job.sessions == 1);
  CHECK(job.vendor == JobVendor::nvidia);
  CHECK(find(job.findings, "missing-ranks") == nullptr);
}

TEST_CASE("the root of a rooted call is the group's member of that number") {
  const auto assembled = assemble(contents(rank_file("a.json", 4, 8, "2", "[4, 6]", 2)));
  REQUIRE(assembled.ok());
  const JobTrace& job = assembled.value().job;
  CHECK(job.traces[0].calls[0].root == Rank(6));
  CHECK(job.communicators[job.traces[0].calls[0].communicator].members == std::vector<Rank>{Rank(4), Rank(6)});
}

TEST_CASE("a root outside the group's list is not invented") {
  const auto assembled = assemble(contents(rank_file("a.json", 0, 2, "0", "[0, 1]", 2, 2, 5)));
  CHECK_FALSE(assembled.value().job.traces[0].calls[0].root.known());
  CHECK(assembled.value().job.traces[0].calls[1].root == Rank(1));
}

TEST_CASE("calls without group metadata have no communicator") {
  ContentBuilder b("a.json");
  b.distributed(0, 2);
  b.kernel(kAllReduce, 0, 10, 1);
  const auto assembled = assemble(contents(std::move(b)));
  CHECK_FALSE(assembled.value().job.traces[0].calls[0].communicator.known());
  CHECK(assembled.value().job.communicators.size() == 0);
}

TEST_CASE("missing ranks are one finding that names them") {
  const auto assembled = assemble(contents(rank_file("a.json", 2, 128, "0", "[2, 3]", 2)));
  const Finding* missing = find(assembled.value().job.findings, "missing-ranks");
  REQUIRE(missing != nullptr);
  CHECK(missing->count == 127);
  CHECK(missing->message.find("0-1, 3-127") != std::string::npos);
}

TEST_CASE("the option --ranks keeps those ranks and misses no others") {
  const auto assembled =
      assemble(contents(rank_file("a.json", 0, 4, "0", "[0, 1]", 2), rank_file("b.json", 1, 4, "0", "[0, 1]", 2)), {1});
  REQUIRE(assembled.ok());
  CHECK(assembled.value().job.traces.size() == 1);
  CHECK(assembled.value().job.traces[0].rank == Rank(1));
  CHECK(assembled.value().job.world_size == 4);
  CHECK(find(assembled.value().job.findings, "missing-ranks") == nullptr);
  const auto none = assemble(contents(rank_file("a.json", 0, 4, "0", "[0, 1]", 2)), {3});
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().kind == ErrorKind::no_input);
}

TEST_CASE("a duplicate rank is left out with a finding, the trace with more calls stays") {
  const auto assembled =
      assemble(contents(rank_file("a.json", 0, 1, "0", "[0]", 1, 3), rank_file("b.json", 0, 1, "0", "[0]", 1, 5)));
  REQUIRE(assembled.ok());
  REQUIRE(assembled.value().job.traces.size() == 1);
  CHECK(assembled.value().job.traces[0].file == "b.json");
  CHECK_FALSE(assembled.value().ranks[0].session.known());
  const Finding* duplicate = find(assembled.value().job.findings, "duplicate-rank");
  REQUIRE(duplicate != nullptr);
  CHECK(duplicate->file == "a.json");
}

TEST_CASE("files that are no rank are findings, and the job goes on without them") {
  std::vector<ContentBuilder> builders;
  builders.push_back(rank_file("a.json", 0, 1, "0", "[0]", 1));
  const std::pair<const char*, ContentKind> others[] = {{"b-merged.json", ContentKind::merged_trace},
                                                        {"c-et.json", ContentKind::execution_trace},
                                                        {"d-api.json", ContentKind::front_end},
                                                        {"e-empty.json", ContentKind::empty},
                                                        {"f-other.json", ContentKind::not_a_trace}};
  for (const auto& [file, kind] : others) {
    builders.emplace_back(file);
    builders.back().content().kind = kind;
  }
  const auto assembled = assemble(std::move(builders));
  REQUIRE(assembled.ok());
  CHECK(assembled.value().job.traces.size() == 1);
  for (const FindingCode code : std::initializer_list<FindingCode>{"merged-trace", "execution-trace", "front-end",
                                                                   "empty-file", "not-a-trace"}) {
    INFO(code.text());
    CHECK(find(assembled.value().job.findings, code) != nullptr);
  }
}

TEST_CASE("a front end alone is the trace the user asked about") {
  ContentBuilder b("cpu.json");
  b.content().kind = ContentKind::front_end;
  const auto assembled = assemble(contents(std::move(b)));
  REQUIRE(assembled.ok());
  CHECK(assembled.value().job.traces.size() == 1);
  CHECK(assembled.value().job.vendor == JobVendor::cpu);
}

TEST_CASE("no usable file at all is no_input and says why") {
  ContentBuilder b("broken.json");
  b.content().kind = ContentKind::empty;
  const auto assembled = assemble(contents(std::move(b)));
  REQUIRE_FALSE(assembled.ok());
  CHECK(assembled.error().kind == ErrorKind::no_input);
  CHECK(assembled.error().message.find("broken.json") != std::string::npos);
}

TEST_CASE("a file that was cut before its base time counts from the base of the other ranks, and says so") {
  // kEpoch lies behind 215 * 7,889,238 s.
  constexpr int64_t kBase_ns = 215 * int64_t{7'889'238'000'000'000};
  const auto cut = [](ContentBuilder b) {
    for (LocalNs& start : b.content().gpu.events.start) start = start - kBase_ns;
    b.step(1, 0, 100);
    b.content().steps.back().start = b.content().steps.back().start - kBase_ns;
    return b;
  };
  const auto assembled =
      assemble(contents(rank_file("0.json", 0, 2, "0", "[0, 1]", 2), cut(rank_file("1.json", 1, 2, "0", "[0, 1]", 2))));
  REQUIRE(assembled.ok());
  const RankTrace& trace = assembled.value().job.traces[1];
  CHECK(trace.calls[1].start == at_us(100));
  CHECK(trace.gpu.start[1] == at_us(100));
  CHECK(trace.steps[0].start == at_us(0));
  CHECK(trace.first_event == at_us(0));
  const Finding* finding = find(assembled.value().job.findings, "base-time-lost");
  REQUIRE(finding != nullptr);
  CHECK(finding->file == "1.json");
  CHECK(find(assembled.value().job.findings, "capture-apart") == nullptr);
}

TEST_CASE("traces that all count from one unknown base are left as they are") {
  std::vector<ContentBuilder> both =
      contents(rank_file("0.json", 0, 2, "0", "[0, 1]", 2), rank_file("1.json", 1, 2, "0", "[0, 1]", 2));
  for (ContentBuilder& b : both) {
    for (LocalNs& start : b.content().gpu.events.start) start = start - kEpoch + 1000;
  }
  const auto assembled = assemble(std::move(both));
  REQUIRE(assembled.ok());
  CHECK(assembled.value().job.traces[1].first_event.ns == 1000);
  CHECK(find(assembled.value().job.findings, "base-time-lost") == nullptr);
}

TEST_CASE("the job is named by its environment, else by the folder that holds all traces") {
  const auto job_name = [](const std::string& recorded) {
    ContentBuilder first = rank_file("/x/job7/a/0.json", 0, 2, "0", "[0, 1]", 2);
    first.content().job_name = recorded;
    return assemble(contents(std::move(first), rank_file("/x/job7/b/1.json", 1, 2, "0", "[0, 1]", 2))).value().job.name;
  };
  CHECK(job_name("") == "job7");
  CHECK(job_name("llama3") == "llama3");
}

TEST_CASE("two vendors in one job are mixed") {
  const auto amd = [] {
    ContentBuilder b = rank_file("a.json", 0, 2, "0", "[0, 1]", 2);
    b.content().hip_properties = true;
    return b;
  };
  CHECK(assemble(contents(amd(), rank_file("b.json", 1, 2, "0", "[0, 1]", 2))).value().job.vendor == JobVendor::mixed);
  CHECK(assemble(contents(amd())).value().job.vendor == JobVendor::amd);
}

TEST_CASE("findings of a file carry the rank it turned out to be") {
  ContentBuilder b = rank_file("a.json", 3, 4, "0", "[0, 3]", 2);
  b.content().findings.push_back({Severity::warning, "truncated-file", "a.json", Rank(), 17, 1, "cut"});
  const auto assembled = assemble(contents(std::move(b)));
  CHECK(find(assembled.value().job.findings, "truncated-file")->rank == Rank(3));
}

TEST_CASE("numbers are written as ranges, many of them counted") {
  CHECK(as_ranges({}) == "");
  CHECK(as_ranges({3}) == "3");
  CHECK(as_ranges({0, 1, 2, 5, 7, 8}) == "0-2, 5, 7-8");
  CHECK(as_ranges({0, 2, 4, 6, 7}, 2) == "0, 2 and 3 more");
}

TEST_CASE("the option --steps without any such step is no_input and names the steps that were recorded") {
  const auto with_steps = [](std::pair<int64_t, int64_t> wanted) {
    ContentBuilder b = rank_file("a.json", 0, 1, "0", "[0]", 1);
    b.step(100, 0, 50);
    b.step(101, 50, 50);
    IngestOptions options;
    options.steps = wanted;
    return assemble(contents(std::move(b)), {}, options);
  };
  CHECK(with_steps({101, 102}).ok());
  const auto none = with_steps({1000, 2000});
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().kind == ErrorKind::no_input);
  CHECK(none.error().message.find("recorded steps are 100 to 101") != std::string::npos);
}

TEST_CASE("a rank map that names none of the traces is a finding") {
  const std::string map = (std::filesystem::temp_directory_path() / "skewscope_useless_map.csv").string();
  IngestOptions options;
  options.rank_map = map;
  const auto codes_with = [&](const std::string& row) {
    std::ofstream(map) << row;
    const auto assembled = assemble(contents(rank_file("a.json", 0, 2, "0", "[0, 1]", 2)), {}, options);
    std::filesystem::remove(map);
    return find(assembled.value().job.findings, "rank-map-no-match") != nullptr;
  };
  CHECK(codes_with("other.json,1\n"));
  CHECK_FALSE(codes_with("a.json,1\n"));
}
