// Reads traces with their details, as the tables of one GPU need them, and says how many rows there were; scripts/bench
// measures its memory.
//   bench_visit THREADS FILE...
#include <fmt/core.h>
#include <tbb/global_control.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

#include "skewscope/ingest.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: bench_visit THREADS FILE...\n");
    return 2;
  }
  const auto threads = static_cast<size_t>(std::max(1, std::atoi(argv[1])));
  const tbb::global_control control(tbb::global_control::max_allowed_parallelism, threads);
  std::atomic<size_t> host_rows{0}, gpu_rows{0}, strings{0}, arguments{0};
  skewscope::IngestOptions options;
  options.visit = [&](const skewscope::TraceFile& file) {
    if (!file.linked.detail) return;
    host_rows += file.linked.detail->host.size();
    gpu_rows += file.linked.detail->gpu.size();
    arguments += file.linked.detail->arguments.size();
    strings += file.linked.strings.size();
  };
  skewscope::StageTimer timer;
  const auto job = skewscope::ingest_job({argv + 2, argv + argc}, options, timer);
  if (!job.ok()) {
    fmt::print(stderr, "{}\n", job.error().message);
    return 1;
  }
  fmt::print(R"({{"host_rows": {}, "gpu_rows": {}, "arguments": {}, "strings": {}}})", host_rows.load(), gpu_rows.load(),
             arguments.load(), strings.load());
  fmt::print("\n");
  return 0;
}
