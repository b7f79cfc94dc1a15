// What is missing from the files on purpose, and the truth's word on it; options that make no sense.
#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include "simulated_job.h"

using namespace skewscope;
using namespace skewscope::test;

namespace {

int64_t first_step_of(const Json& trace) {
  for (const Json& event : events_of(trace, "user_annotation")) {
    const std::string name = event["name"];
    if (name.rfind("ProfilerStep#", 0) == 0) return std::stoll(name.substr(13));
  }
  return -1;
}

std::string inflated(const std::string& gzip) {
  inflate_state state;
  isal_inflate_init(&state);
  state.crc_flag = ISAL_GZIP;
  std::vector<uint8_t> input(gzip.begin(), gzip.end()), output(64 << 20);
  state.next_in = input.data();
  state.avail_in = static_cast<uint32_t>(input.size());
  state.next_out = output.data();
  state.avail_out = static_cast<uint32_t>(output.size());
  REQUIRE(isal_inflate(&state) == ISAL_DECOMP_OK);
  REQUIRE(state.block_state == ISAL_BLOCK_FINISH);
  return {output.begin(), output.begin() + state.total_out};
}

ErrorKind failure_of(const SimulateOptions& options) {
  const auto result = simulate_job(options);
  REQUIRE_FALSE(result.ok());
  return result.error().kind;
}

}  // namespace

TEST_CASE("lost kernels leave their launches behind, and the truth marks each lost call") {
  SimulateOptions options = small_job();
  options.steps = 30;
  options.lost_kernels = 0.1;
  const SimulatedJob job(options);
  const Json truth = job.truth();
  size_t rows = 0, launches = 0, present = 0, marked = 0;
  for (int rank = 0; rank < 4; ++rank) {
    const Json trace = job.trace(rank);
    const Json& own = truth["ranks"][static_cast<size_t>(rank)];
    for (const char* category : {"kernel", "gpu_memcpy", "gpu_memset"}) rows += events_of(trace, category).size();
    launches += events_of(trace, "cuda_runtime").size() - 30;  // less one synchronization a step
    present += communication_kernels(trace).size();
    CHECK(own["lost_rows"].get<int>() > 0);
  }
  for (const TrueCollective& one : true_collectives(truth)) {
    for (const int absent : one.absent) marked += absent == 0;
  }
  CHECK(static_cast<double>(rows) / static_cast<double>(launches) == Approx(0.9).margin(0.015));
  CHECK(present == marked);
}

TEST_CASE("a late window begins that many steps later, and the truth marks what came before") {
  SimulateOptions options = small_job();
  options.steps = 5;
  options.late_windows = {{2, 3}};
  const SimulatedJob job(options);
  CHECK(first_step_of(job.trace(1)) == 100);
  CHECK(first_step_of(job.trace(2)) == 103);
  for (const TrueCollective& one : true_collectives(job.truth())) {
    for (size_t i = 0; i < one.ranks.size(); ++i) {
      CHECK(one.absent[i] == (one.ranks[i] == 2 && one.step < 103 ? 2 : 0));
    }
  }
}

TEST_CASE("a missing rank has no file and stays in the truth") {
  SimulateOptions options = small_job();
  options.missing_ranks = {3};
  const SimulatedJob job(options);
  CHECK(std::filesystem::exists(job.path("rank2_trace.json")));
  CHECK_FALSE(std::filesystem::exists(job.path("rank3_trace.json")));
  CHECK(job.truth()["ranks"][3]["file"].is_null());
  CHECK(true_collectives(job.truth()).at(0).absent.back() == 3);
}

TEST_CASE("compressed traces hold the bytes of plain ones") {
  SimulateOptions options = small_job();
  const SimulatedJob plain(options);
  options.compression = "gzip";
  const SimulatedJob gzip(options);
  options.compression = "zstd";
  const SimulatedJob zstd(options);
  // traceName differs: it names the file.
  const auto body = [](const std::string& text) { return text.substr(0, text.rfind("traceName")); };
  const std::string expected = body(plain.text("rank1_trace.json"));
  REQUIRE(expected.size() > 100'000);
  CHECK(body(inflated(gzip.text("rank1_trace.json.gz"))) == expected);
  const std::string packed = zstd.text("rank1_trace.json.zst");
  std::string unpacked(64 << 20, '\0');
  unpacked.resize(ZSTD_decompress(unpacked.data(), unpacked.size(), packed.data(), packed.size()));
  CHECK(body(unpacked) == expected);
}

TEST_CASE("sizes that do not divide and ranks that do not exist are usage errors") {
  SimulateOptions options = small_job();
  options.directory = (std::filesystem::temp_directory_path() / "skewscope_never_made").string();
  const auto refused = [&](auto change) {
    SimulateOptions changed = options;
    change(changed);
    CHECK(failure_of(changed) == ErrorKind::usage);
    CHECK_FALSE(std::filesystem::exists(options.directory));
  };
  refused([](SimulateOptions& o) { o.tp = 3; });
  refused([](SimulateOptions& o) { o.dp = 3; });
  refused([](SimulateOptions& o) { o.pp = 2, o.layers = 3; });
  refused([](SimulateOptions& o) { o.steps = 0; });
  refused([](SimulateOptions& o) { o.nodes = 2'000'000'000; });
  refused([](SimulateOptions& o) { o.slow_ranks = {{4, 1.5}}; });
  refused([](SimulateOptions& o) { o.slow_ranks = {{0, -1}}; });
  refused([](SimulateOptions& o) { o.missing_ranks = {-1}; });
  refused([](SimulateOptions& o) { o.lost_kernels = 1.5; });
  refused([](SimulateOptions& o) { o.launch_factor = 0; });
  refused([](SimulateOptions& o) { o.compression = "xz"; });
}

TEST_CASE("sizes that no memory, clock or disk can hold are refused before any work") {
  const auto kind_of = [](const auto& change) {
    SimulateOptions options = small_job();
    options.directory = (std::filesystem::temp_directory_path() / "skewscope_never_made").string();
    change(options);
    const auto result = simulate_job(options);
    CHECK_FALSE(std::filesystem::exists(options.directory));
    return result.ok() ? ErrorKind::internal : result.error().kind;
  };
  CHECK(kind_of([](SimulateOptions& o) { o.layer_compute_ns = INT64_MAX; }) == ErrorKind::usage);
  CHECK(kind_of([](SimulateOptions& o) { o.first_step = INT32_MAX; }) == ErrorKind::usage);
  CHECK(kind_of([](SimulateOptions& o) { o.cpu_rows_per_kernel = INT32_MAX; }) == ErrorKind::usage);
  CHECK(kind_of([](SimulateOptions& o) { o.clock_offset_ms = 1e30; }) == ErrorKind::usage);
  CHECK(kind_of([](SimulateOptions& o) { o.host_gaps = {{0, INT64_MAX}}; }) == ErrorKind::usage);
  CHECK(kind_of([](SimulateOptions& o) { o.nodes = 1024, o.gpus_per_node = 64, o.layers = 10'000; }) ==
        ErrorKind::usage);
  CHECK(kind_of([](SimulateOptions& o) { o.layer_compute_ns = 10'000'000'000, o.steps = 10'000'000; }) ==
        ErrorKind::usage);
}

TEST_CASE("clocks a million seconds apart are written as they are") {
  SimulateOptions options = small_job();
  options.clock_offset_ms = 1e9;
  const SimulatedJob job(options);
  const Json truth = job.truth();
  int64_t farthest = 0;
  for (const auto& rank : truth["ranks"]) {
    farthest = std::max(farthest, std::abs(rank["offset_ns"].get<int64_t>()));
  }
  CHECK(farthest > 1'000'000'000'000);
  CHECK(farthest <= 1'000'100'000'000'000);
}

TEST_CASE("force does not replace a simulated job that somebody's report lies in, and names it") {
  const auto directory = std::filesystem::temp_directory_path() / ("skewscope_mixed_" + std::to_string(::getpid()));
  SimulateOptions options = small_job();
  options.directory = directory.string();
  REQUIRE(simulate_job(options).ok());
  std::filesystem::create_directories(directory / "report");
  options.force = true;
  const auto refused = simulate_job(options);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().kind == ErrorKind::output);
  CHECK(refused.error().message.find("'report'") != std::string::npos);
  CHECK(std::filesystem::exists(directory / "report"));
  std::filesystem::remove(directory / "report");
  CHECK(simulate_job(options).ok());
  std::filesystem::remove_all(directory);
}

TEST_CASE("an existing folder is replaced only by force, and only if it is a simulated job") {
  const auto directory = std::filesystem::temp_directory_path() / ("skewscope_kept_" + std::to_string(::getpid()));
  std::filesystem::create_directories(directory);
  std::ofstream(directory / "thesis.tex") << "precious";
  SimulateOptions options = small_job();
  options.directory = directory.string() + "/";
  CHECK(failure_of(options) == ErrorKind::output);
  options.force = true;
  CHECK(failure_of(options) == ErrorKind::output);
  CHECK(file_text(directory / "thesis.tex") == "precious");
  std::filesystem::remove(directory / "thesis.tex");
  CHECK(simulate_job(options).ok());
  CHECK(simulate_job(options).ok());
  CHECK(std::filesystem::exists(directory / "truth.json"));
  CHECK_FALSE(std::filesystem::exists(directory.string() + ".partial"));
  std::filesystem::remove_all(directory);
}
