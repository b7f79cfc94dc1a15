// Digests stand for the traces they were made of: the same report, byte for byte, from the commands and from the cache.

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <thread>

#include "../real_trace_folder.h"
#include "skewscope/correlate.h"
#include "skewscope/report.h"
#include "skewscope/simulate.h"
#include "temporary_folder.h"

using namespace skewscope;
using skewscope::test::Folder;
using skewscope::test::traces;
namespace fs = std::filesystem;

namespace {

std::string report_of(const std::string& path, const CorrelateOptions& options = {}) {
  StageTimer timer;
  Result<JobReport> report = correlate({path}, options, timer);
  return report.ok() ? to_json(report.value(), {"", "", ""}) : report.error().message;
}

void digest(const std::string& from, const std::string& to) {
  const auto files = discover_files({from});
  REQUIRE(files.ok());
  REQUIRE(make_digests(files.value(), to, false, {}).ok());
}

// Two nodes of four, disturbed in every way the simulator knows.
void simulate(const Folder& folder, TraceStyle style = TraceStyle::era_d, TraceVendor vendor = TraceVendor::nvidia) {
  SimulateOptions o;
  o.directory = folder.path.string();
  o.compression = "gzip";
  o.style = style;
  o.vendor = vendor;
  o.steps = 6;
  o.layers = 4;
  o.clock_offset_ms = 5;
  o.slow_ranks = {{5, 1.3}};
  o.late_windows = {{3, 1}};
  o.lost_kernels = 0.01;
  o.missing_ranks = {6};
  o.cpu_rows_per_kernel = 1;
  REQUIRE(simulate_job(o).ok());
}

CorrelateOptions with_cache(const Folder& cache) {
  CorrelateOptions options;
  options.ingest.cache = {cache.path.string(), int64_t{1} << 30, "test"};
  return options;
}

// A trace that changed a moment ago is not cached: its next change could look the same.
void let_settle() { std::this_thread::sleep_for(std::chrono::milliseconds(60)); }

size_t entries(const Folder& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("the report from digests is the report from traces, whatever wrote them and whatever is asked") {
  for (const TraceStyle style : {TraceStyle::era_a, TraceStyle::era_c, TraceStyle::era_d, TraceStyle::era_e}) {
    const Folder job("digest_job"), digests("digests");
    simulate(job, style);
    digest(job.path.string(), digests.path.string());
    CHECK(report_of(digests.path.string()) == report_of(job.path.string()));
    CorrelateOptions asked;
    asked.ingest.steps = {102, 104};
    asked.ingest.ranks = {0, 1, 2, 3, 5};
    asked.align = AlignMode::wallclock;
    CHECK(report_of(digests.path.string(), asked) == report_of(job.path.string(), asked));
  }
}

TEST_CASE("digests of AMD and of CPU jobs give the report of their traces") {
  for (const TraceVendor vendor : {TraceVendor::amd, TraceVendor::cpu}) {
    const Folder job("digest_vendor_job"), digests("vendor_digests");
    simulate(job, TraceStyle::era_d, vendor);
    digest(job.path.string(), digests.path.string());
    CHECK(report_of(digests.path.string()) == report_of(job.path.string()));
  }
}

TEST_CASE("a rank's name and a map of ranks mean the trace, not its digest") {
  const Folder job("digest_map_job"), digests("map_digests");
  simulate(job);
  digest(job.path.string(), digests.path.string());
  CorrelateOptions by_name;
  by_name.ingest.rank_regex = "rank(?<rank>[0-9]+)_trace.json.gz$";
  CHECK(report_of(digests.path.string(), by_name) == report_of(job.path.string(), by_name));
}

TEST_CASE("what is no rank's trace is left out of the report from digests for the same reason") {
  const Folder job("digest_mixed_job"), digests("mixed_digests");
  simulate(job);
  std::ofstream(job.path / "merged.json") << R"({"traceEvents": [{"ph": "M", "name": "process_name"}]})";
  std::ofstream(job.path / "broken.json") << "{\"traceEvents\": [{";
  std::ofstream(job.path / "empty.json");
  digest(job.path.string(), digests.path.string());
  const std::string report = report_of(job.path.string());
  CHECK(report.find("merged.json") != std::string::npos);
  CHECK(report_of(digests.path.string()) == report);
}

TEST_CASE("digests made node by node into one folder make one job") {
  const Folder job("digest_node_job"), digests("node_digests");
  simulate(job);
  const auto files = discover_files({job.path.string()}).value();
  const std::vector<std::string> first(files.begin(), files.begin() + 4), second(files.begin() + 4, files.end());
  REQUIRE(make_digests(first, digests.path.string(), false, {}).ok());
  REQUIRE(make_digests(second, digests.path.string(), false, {}).ok());
  CHECK(report_of(digests.path.string()) == report_of(job.path.string()));
}

TEST_CASE("a digest that exists is replaced only by force") {
  const Folder job("digest_force_job"), digests("force_digests");
  simulate(job);
  const auto files = discover_files({job.path.string()}).value();
  digest(job.path.string(), digests.path.string());
  const auto again = make_digests(files, digests.path.string(), false, {});
  REQUIRE_FALSE(again.ok());
  CHECK(again.error().message.find("--force") != std::string::npos);
  CHECK(make_digests(files, digests.path.string(), true, {}).ok());
}

TEST_CASE("a damaged digest is one finding, and costs no other rank") {
  const Folder job("digest_damage_job"), digests("damage_digests");
  simulate(job);
  digest(job.path.string(), digests.path.string());
  const fs::path victim = digests.path / "rank2_trace.json.gz.digest";
  REQUIRE(fs::exists(victim));
  fs::resize_file(victim, fs::file_size(victim) - 10);
  const std::string report = report_of(digests.path.string());
  CHECK(report.find("damaged digest: its table and its length differ; left out") != std::string::npos);
  CHECK(report.find("no trace of rank 2, 6") != std::string::npos);
}

TEST_CASE("a digest counts against the memory limit") {
  const Folder job("digest_limit_job"), digests("limit_digests");
  simulate(job);
  digest(job.path.string(), digests.path.string());
  CorrelateOptions tight;
  tight.ingest.memory_limit_bytes = 1000;
  CHECK(report_of(digests.path.string(), tight).find("memory limit of 1000 bytes") != std::string::npos);
}

TEST_CASE("real traces: the report from digests is the report from traces, at a tenth of their size at most") {
  const std::string path = traces("dlrm_8rank");
  if (path.empty()) return;
  const Folder digests("real_digests");
  const auto made = make_digests(discover_files({path}).value(), digests.path.string(), false, {});
  REQUIRE(made.ok());
  CHECK(made.value().traces == 8);
  CHECK(made.value().digest_bytes * 10 <= made.value().trace_bytes);
  CHECK(report_of(digests.path.string()) == report_of(path));
}

TEST_CASE("the second report reads digests from the cache, and is the same") {
  const Folder job("cache_job"), cache("cache");
  simulate(job);
  let_settle();
  const CorrelateOptions options = with_cache(cache);
  const std::string first = report_of(job.path.string(), options);
  CHECK(first == report_of(job.path.string()));
  CHECK(entries(cache) == 7);
  // Proof that it is read: with every rank's digest in the place of another's, ranks are not what they were.
  std::vector<fs::path> kept;
  for (const auto& entry : fs::directory_iterator(cache.path)) kept.push_back(entry.path());
  CHECK(report_of(job.path.string(), options) == first);
  for (const fs::path& path : kept) fs::copy_file(kept[0], path.string() + ".new");
  for (const fs::path& path : kept) fs::rename(path.string() + ".new", path);
  CHECK(report_of(job.path.string(), options) != first);
}

TEST_CASE("a trace that changed is read again") {
  const Folder job("cache_change_job"), cache("cache_change");
  simulate(job);
  let_settle();
  const CorrelateOptions options = with_cache(cache);
  report_of(job.path.string(), options);
  fs::copy_file(job.path / "rank0_trace.json.gz", job.path / "rank1_trace.json.gz",
                fs::copy_options::overwrite_existing);
  let_settle();
  CHECK(report_of(job.path.string(), options) == report_of(job.path.string()));
  CHECK(entries(cache) == 8);
}

TEST_CASE("a cached trace that moved is known by its new name") {
  const Folder job("cache_move_job"), cache("cache_move");
  simulate(job);
  let_settle();
  const CorrelateOptions options = with_cache(cache);
  report_of(job.path.string(), options);
  const Folder moved("cache_moved_job");
  fs::rename(job.path, moved.path);
  CHECK(report_of(moved.path.string(), options) == report_of(moved.path.string()));
  fs::rename(moved.path, job.path);
}

TEST_CASE("another program's digests, and damaged ones, are not taken from the cache") {
  const Folder job("cache_other_job"), cache("cache_other");
  simulate(job);
  let_settle();
  CorrelateOptions options = with_cache(cache);
  const std::string first = report_of(job.path.string(), options);
  for (const auto& entry : fs::directory_iterator(cache.path)) fs::resize_file(entry.path(), 100);
  CHECK(report_of(job.path.string(), options) == first);
  options.ingest.cache.writer = "other";
  report_of(job.path.string(), options);
  CHECK(entries(cache) == 14);
}

TEST_CASE("a cache over its limit loses what was used least recently") {
  const Folder job("cache_limit_job"), cache("cache_limit");
  simulate(job);
  let_settle();
  CorrelateOptions options = with_cache(cache);
  report_of(job.path.string(), options);
  uintmax_t held = 0;
  for (const auto& entry : fs::directory_iterator(cache.path)) held += entry.file_size();
  options.ingest.cache.limit_bytes = static_cast<int64_t>(held / 2);
  report_of(job.path.string(), options);
  CHECK(entries(cache) >= 2);
  CHECK(entries(cache) <= 4);
}

TEST_CASE("without a place for the cache the report is made all the same") {
  const Folder job("cache_nowhere_job");
  simulate(job);
  let_settle();
  CorrelateOptions options;
  options.ingest.cache = {"/proc/no/such/place", int64_t{1} << 30, "test"};
  CHECK(report_of(job.path.string(), options) == report_of(job.path.string()));
}

TEST_CASE("a job simulated as digests gives the report of the same job simulated as traces") {
  for (const int32_t stages : {1, 2}) {
    const Folder place("simulated_place");
    SimulateOptions o;
    o.style = TraceStyle::era_e;
    o.tp = 2;
    o.pp = stages;
    o.steps = 5;
    o.layers = 4;
    o.clock_offset_ms = 5;
    o.slow_ranks = {{5, 1.3}};
    o.late_windows = {{3, 1}};
    o.lost_kernels = 0.01;
    o.missing_ranks = {6};
    o.cpu_rows_per_kernel = 0;
    o.directory = (place.path / "traces" / "job").string();
    REQUIRE(simulate_job(o).ok());
    o.directory = (place.path / "digests" / "job").string();
    o.digests = true;
    REQUIRE(simulate_job(o).ok());
    std::string of_traces = report_of((place.path / "traces").string());
    const std::string of_digests = report_of((place.path / "digests").string());
    for (size_t at; (at = of_traces.find("/traces/job/")) != std::string::npos;) {
      of_traces.replace(at, 12, "/digests/job/");
    }
    CHECK(of_digests == of_traces);
  }
}

TEST_CASE("digests are simulated in the styles and of the vendor that they know") {
  const Folder place("simulated_refused");
  SimulateOptions o;
  o.directory = place.path.string();
  o.digests = true;
  o.style = TraceStyle::era_a;
  CHECK_FALSE(simulate_job(o).ok());
  o.style = TraceStyle::era_d;
  o.vendor = TraceVendor::amd;
  CHECK_FALSE(simulate_job(o).ok());
}
