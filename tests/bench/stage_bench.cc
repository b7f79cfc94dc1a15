// The stages one by one, on a simulated job of 64 ranks (TP 8 x DP 8, unequal clocks, one slow rank). scripts/bench
// stages quotes the medians. Rows are what a stage is given: GPU rows of the job, or its calls.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "skewscope/align.h"
#include "skewscope/attribute.h"
#include "skewscope/blame.h"
#include "skewscope/digest.h"
#include "skewscope/ingest.h"
#include "skewscope/matching.h"
#include "skewscope/report.h"
#include "skewscope/simulate.h"
#include "skewscope/summarize.h"

using namespace skewscope;  // NOLINT

namespace {

// Every stage's input, made once.
struct Chain {
  std::filesystem::path folder;
  std::vector<std::string> files, traces;  // digests of 64 ranks; JSON of 8
  std::string digest;
  TraceFile file;
  JobTrace job;
  InstanceTable instances;
  ClockModel clocks;
  Decomposition decomposition;
  Blame blame;
  std::vector<RankSummary> summaries;
  JobReport report;
  int64_t calls = 0, gpu_rows = 0;

  Chain() {
    folder = std::filesystem::temp_directory_path() / ("skewscope_stage_bench_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    simulate((folder / "digests").string(), 8, true);
    simulate((folder / "traces").string(), 1, false);
    files = discover_files({(folder / "digests").string()}).value();
    traces = discover_files({(folder / "traces").string()}).value();
    std::ifstream in(files.front(), std::ios::binary);
    digest.assign(std::istreambuf_iterator<char>(in), {});
    file = from_digest(digest).value();
    StageTimer timer;
    job = ingest_job(files, {}, timer).value().job;
    instances = match_collectives(job);
    clocks = align_clocks(job, instances, AlignMode::automatic);
    decomposition = attribute_time(job, instances, clocks);
    blame = find_blame(job, instances, clocks, decomposition);
    summaries = summarize_job(job);
    report = build_report(job, instances, clocks, decomposition, blame, summaries);
    for (const RankTrace& trace : job.traces) {
      calls += static_cast<int64_t>(trace.calls.size());
      gpu_rows += static_cast<int64_t>(trace.gpu.size());
    }
  }

  ~Chain() { std::filesystem::remove_all(folder); }

  static void simulate(const std::string& folder, int32_t nodes, bool digests) {
    SimulateOptions o;
    o.directory = folder;
    o.digests = digests;
    o.nodes = nodes;
    o.gpus_per_node = 8;
    o.tp = 8;
    o.steps = 8;
    o.layers = 16;
    o.clock_offset_ms = 50;
    o.clock_drift_ppm = 20;
    o.slow_ranks = {{nodes > 1 ? 13 : 5, 1.05}};
    if (!simulate_job(o).ok()) std::exit(1);
  }
};

const Chain& chain() {
  static const Chain made;
  return made;
}

template <class Stage>
void run(benchmark::State& state, int64_t rows, const Stage& stage) {
  for (auto _ : state) benchmark::DoNotOptimize(stage());
  state.SetItemsProcessed(state.iterations() * rows);
}

void digest_decode(benchmark::State& state) {
  const Chain& c = chain();
  run(state, static_cast<int64_t>(c.file.linked.trace.gpu.size()), [&] { return from_digest(c.digest); });
}
void digest_encode(benchmark::State& state) {
  const Chain& c = chain();
  run(state, static_cast<int64_t>(c.file.linked.trace.gpu.size()), [&] { return to_digest(c.file); });
}
void ingest(benchmark::State& state) {
  const Chain& c = chain();
  StageTimer timer;
  const IngestedJob once = ingest_job(c.traces, {}, timer).value();
  int64_t rows = 0;
  for (const RankTrace& trace : once.job.traces) rows += static_cast<int64_t>(trace.gpu.size());
  run(state, rows, [&] { return ingest_job(c.traces, {}, timer); });
}
void match(benchmark::State& state) {
  const Chain& c = chain();
  run(state, c.calls, [&] { return match_collectives(c.job); });
}
void align(benchmark::State& state) {
  const Chain& c = chain();
  run(state, c.calls, [&] { return align_clocks(c.job, c.instances, AlignMode::automatic); });
}
void attribute(benchmark::State& state) {
  const Chain& c = chain();
  run(state, c.gpu_rows, [&] { return attribute_time(c.job, c.instances, c.clocks); });
}
void blame(benchmark::State& state) {
  const Chain& c = chain();
  run(state, c.gpu_rows, [&] { return find_blame(c.job, c.instances, c.clocks, c.decomposition); });
}
void summarize(benchmark::State& state) {
  const Chain& c = chain();
  run(state, c.gpu_rows, [&] { return summarize_job(c.job); });
}
void build(benchmark::State& state) {
  const Chain& c = chain();
  run(state, c.calls,
      [&] { return build_report(c.job, c.instances, c.clocks, c.decomposition, c.blame, c.summaries); });
}
void json(benchmark::State& state) {
  const Chain& c = chain();
  run(state, c.calls, [&] { return to_json(c.report, {}); });
}
void write(benchmark::State& state) {
  const Chain& c = chain();
  const WriteOptions into{.directory = (c.folder / "report").string(), .force = true, .formats = {}};
  run(state, c.calls, [&] { return write_report(c.report, {}, into); });
}

BENCHMARK(ingest)->Name("ingest: JSON of 8 ranks")->Unit(benchmark::kMillisecond);
BENCHMARK(digest_decode)->Name("digest: decode one rank")->Unit(benchmark::kMillisecond);
BENCHMARK(digest_encode)->Name("digest: encode one rank")->Unit(benchmark::kMillisecond);
BENCHMARK(match)->Unit(benchmark::kMillisecond);
BENCHMARK(align)->Unit(benchmark::kMillisecond);
BENCHMARK(attribute)->Unit(benchmark::kMillisecond);
BENCHMARK(blame)->Unit(benchmark::kMillisecond);
BENCHMARK(summarize)->Unit(benchmark::kMillisecond);
BENCHMARK(build)->Name("report: build")->Unit(benchmark::kMillisecond);
BENCHMARK(json)->Name("report: JSON")->Unit(benchmark::kMillisecond);
BENCHMARK(write)->Name("report: write JSON, CSV, SQLite, page")->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
