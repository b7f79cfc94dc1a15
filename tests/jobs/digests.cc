// Digests stand for the traces they were made of: the same report, byte for byte, from the commands and from the cache.

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "../real_trace_folder.h"
#include "skewscope/correlate.h"
#include "skewscope/ingest/make_digests.h"
#include "skewscope/report.h"
#include "skewscope/simulate.h"
#include "tests/temporary_folder.h"

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
  CHECK(report.find("damaged digest: its table and its length differ, or claim too much; left out") !=
        std::string::npos);
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

TEST_CASE("real traces: the report from digests is the report from traces, at a tenth of their size or little more") {
  for (const char* set : {"dlrm_8rank", "sampled_2of128", "single/hta", "single/tracelens"}) {
    INFO(set);
    const std::string path = traces(set);
    if (path.empty()) return;
    const Folder digests("real_digests");
    const auto made = make_digests(discover_files({path}).value(), digests.path.string(), false, {});
    REQUIRE(made.ok());
    CHECK(made.value().digest_bytes * 9 <= made.value().trace_bytes);
    CHECK(report_of(digests.path.string()) == report_of(path));
  }
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
  for (const auto& [stages, lost] : {std::pair{1, 0.01}, std::pair{2, 0.01}, std::pair{1, 0.97}, std::pair{1, 1.0}}) {
    const Folder place("simulated_place");
    SimulateOptions o;
    o.style = TraceStyle::era_e;
    o.tp = 2;
    o.pp = stages;
    o.steps = 5;
    o.layers = 4;
    o.clock_offset_ms = 5;
    o.sync_events = lost > 0;
    o.slow_ranks = {{5, 1.3}};
    o.late_windows = {{3, 1}};
    o.lost_kernels = lost;
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
    if (lost < 1) {
      CHECK(of_digests == of_traces);
      continue;
    }
    // That a rank launched kernels and recorded none is in its trace alone.
    auto trace_report = nlohmann::json::parse(of_traces), digest_report = nlohmann::json::parse(of_digests);
    for (const char* told : {"diagnostics", "verdict"}) {
      trace_report.erase(told);
      digest_report.erase(told);
    }
    CHECK(digest_report == trace_report);
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

TEST_CASE("digests stay inside their folder, wherever the traces lie and however they are named") {
  const Folder place("digest_places");
  const auto trace = [&](const std::string& name) {
    fs::create_directories((place.path / name).parent_path());
    std::ofstream(place.path / name)
        << R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 2, )"
           R"("args": {"device": 0, "stream": 7}}]})";
    return (place.path / name).string();
  };
  const std::string one = trace("a/rank0.json"), other = trace("b/rank1.json"), hidden = trace("b/.prof/rank2.json");
  const std::string climbing = (place.path / "a/../b/rank1.json").string();
  const fs::path out = place.path / "out";
  REQUIRE(make_digests({one, climbing, hidden}, out.string(), false, {}).ok());
  CHECK(fs::exists(out / "a/rank0.json.digest"));
  CHECK(fs::exists(out / "b/rank1.json.digest"));
  CHECK(fs::exists(out / "b/_prof/rank2.json.digest"));
  CHECK(discover_files({out.string()}).value().size() == 3);
  CHECK(other.size() > 0);
}

TEST_CASE("two files whose digests would have one name are refused, and so is a digest over a trace") {
  const Folder place("digest_one_name");
  simulate(place);
  const std::string trace = (place.path / "rank0_trace.json.gz").string();
  fs::copy_file(trace, trace + ".digest");
  const std::string to = (place.path / "out").string();
  const auto both = make_digests({trace, trace + ".digest"}, to, false, {});
  REQUIRE_FALSE(both.ok());
  CHECK(both.error().message.find("would be the digest of") != std::string::npos);
  const auto over = make_digests({(place.path / "rank1_trace.json.gz").string(), trace}, place.path.string(), true, {});
  CHECK(over.ok());
  fs::rename(trace, place.path / "x.digest");
  const auto itself =
      make_digests({(place.path / "x.digest").string()}, fs::path(place.path / "..").string(), true, {});
  CHECK(fs::file_size(place.path / "x.digest") > 1000);
  CHECK((itself.ok() || itself.error().kind == ErrorKind::output));
}

TEST_CASE("traces of equal names, digested node by node, stay different files") {
  const Folder place("digest_nodes");
  for (const std::string node : {"n0", "n1", "n2"}) {
    fs::create_directories(place.path / "traces" / node);
    std::ofstream(place.path / "traces" / node / "trace.json")
        << R"({"host_name": ")" << node << R"(", "traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, )"
        << R"("dur": 2, "args": {"device": 0, "stream": 7}}]})";
    const fs::path before = fs::current_path();
    fs::current_path(place.path / "traces" / node);
    CHECK(make_digests({"trace.json"}, (place.path / "digests" / node).string(), false, {}).ok());
    fs::current_path(before);
  }
  StageTimer timer;
  const auto job = ingest_job(discover_files({(place.path / "digests").string()}).value(), {}, timer);
  REQUIRE(job.ok());
  CHECK(job.value().job.traces.size() == 3);
}

TEST_CASE("a cache holds nothing of a file that could not be read, and deletes only what it wrote") {
  const Folder job("cache_care_job"), cache("cache_care");
  simulate(job);
  let_settle();
  fs::create_directories(cache.path);
  std::ofstream(cache.path / "mine.digest") << "kept";
  const fs::path secret = job.path / "rank0_trace.json.gz";
  const CorrelateOptions options = with_cache(cache);
  fs::remove(secret);
  fs::create_symlink("/proc/self/mem", secret);  // opens, but cannot be read
  report_of(job.path.string(), options);
  CHECK(entries(cache) == 7);  // six ranks and mine
  CorrelateOptions none = options;
  none.ingest.cache.limit_bytes = 0;
  report_of(job.path.string(), none);
  CHECK(entries(cache) == 1);
  CHECK(fs::exists(cache.path / "mine.digest"));
}

TEST_CASE("what fits into the memory limit as traces fits from the cache") {
  const Folder job("cache_memory_job"), cache("cache_memory");
  simulate(job);
  let_settle();
  CorrelateOptions options;
  options.ingest.memory_limit_bytes = 2'000'000;
  const std::string without = report_of(job.path.string(), options);
  REQUIRE(without.find("memory limit") == std::string::npos);
  options.ingest.cache = with_cache(cache).ingest.cache;
  CHECK(report_of(job.path.string(), options) == without);
  CHECK(report_of(job.path.string(), options) == without);
}

TEST_CASE("a pipe among the files is no trace and no obstacle") {
  const Folder job("digest_pipe_job");
  simulate(job);
  const std::string pipe = (job.path / "pipe.json").string();
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  StageTimer timer;
  CHECK(ingest_job({pipe, (job.path / "rank0_trace.json.gz").string()}, {}, timer).ok());
}
