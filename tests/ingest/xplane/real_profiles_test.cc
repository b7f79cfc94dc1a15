// Profiles that JAX wrote. What they must show: truth.json next to the recorded ones; expected.json and TraceLens'
// tables next to the others.
#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "../../real_trace_folder.h"
#include "made_profile.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

std::vector<FileContent> read_real(const std::string& path) {
  MemoryBudget budget(0);
  return TraceReaders(ReaderSettings()).read(path, budget).value();
}

std::string recorded(const std::string& set, int process) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(SKEWSCOPE_SOURCE_DIR "/tests/data/jax/" + set +
                                                                         "/process_" + std::to_string(process))) {
    if (entry.path().string().ends_with(".xplane.pb")) return entry.path().string();
  }
  return "";
}

struct Call {
  std::string operation, members;
  int64_t elements;
  friend bool operator==(const Call&, const Call&) = default;
};

std::vector<Call> calls_of(const FileContent& content) {
  std::vector<Call> calls;
  for (const CommKernel& kernel : content.gpu.comm_kernels) {
    if (kernel.args < 0) continue;
    const CommArgs args = content.comm_args[static_cast<size_t>(kernel.args)];
    calls.push_back({std::string(content.strings.view(args.collective_name)),
                     std::string(content.strings.view(args.group_ranks)), args.out_elements});
  }
  return calls;
}

int64_t ns_of_kernels(const FileContent& content, const std::string& name) {
  int64_t sum = 0;
  for (size_t i = 0; i < content.gpu.size(); ++i) sum += name_of(content, i) == name ? content.gpu[i].duration_ns : 0;
  return sum;
}

// Row of a table of numbers: the first two columns that are one.
std::map<std::string, double> sums_of_table(const std::string& path) {
  std::ifstream file(path);
  std::map<std::string, double> sums;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    const size_t comma = line.find(',');
    sums[line.substr(0, comma)] = std::stod(line.substr(comma + 1));
  }
  return sums;
}

}  // namespace

TEST_CASE("of each of four processes of a recorded job the profile tells who it is, its calls, groups and steps") {
  for (int process = 0; process < 4; ++process) {
    const std::vector<FileContent> contents = read_real(recorded("even", process));
    REQUIRE(contents.size() == 1);
    const FileContent& content = contents.front();
    CHECK(content.distributed.rank == process);
    CHECK(content.distributed.world_size == 4);
    CHECK(content.host_name == "vm");
    CHECK(content.steps.size() == 5);
    CHECK(content.steps.front().number == 0);
    // An all_gather, all_to_all, collective_permute, reduce_scatter and all_reduce in each of five steps.
    const std::vector<Call> calls = calls_of(content);
    CHECK(calls.size() == 25);
    for (const Call& call : calls) CHECK(call.members == "[0, 1, 2, 3]");
    const Call gather{"_allgather_base", "[0, 1, 2, 3]", 1024 * 1024}, sum{"allreduce", "[0, 1, 2, 3]", 1};
    const Call scatter{"_reduce_scatter_base", "[0, 1, 2, 3]", 256 * 1024};
    const Call exchange{"all_to_all", "[0, 1, 2, 3]", 1024 * 1024}, ring{"coalesced", "[0, 1, 2, 3]", 1024 * 1024};
    for (const Call& expected : {gather, sum, scatter, exchange}) {
      CHECK(std::count(calls.begin(), calls.end(), expected) == 5);
    }
    // Pairs 0-1, 1-2, 2-3, 3-0.
    CHECK(std::count(calls.begin(), calls.end(), ring) == 5);
    CHECK(content.messages.size() == 10);
    CHECK(content.messages[0].peer == (process + 1) % 4);
    CHECK(content.messages[1].peer == (process + 3) % 4);
  }
}

TEST_CASE("a TPU host's four devices are four ranks of eight, each with three all-reduces of a pair") {
  const std::string file = test::formats("jax_xplane/tpu_v6e_4chips.xplane.pb");
  if (file.empty()) return;
  const std::vector<FileContent> contents = read_real(file);
  REQUIRE(contents.size() == 4);
  // Start and duration in picoseconds, of expected.json.
  const std::vector<std::vector<std::pair<int64_t, int64_t>>> expected = {
      {{7495498089000, 121687640000}, {10966795707406, 121687589844}, {13831712947000, 121701026500}},
      {{7495499037922, 121699567578}, {10966797166078, 121702095078}, {13831713820672, 121711265328}},
      {{7495500699250, 121692113750}, {10966797897250, 121691791250}, {13831715025750, 121705483922}},
      {{7495499329578, 121704501328}, {10966796680000, 121707005000}, {13831713306906, 121715800094}}};
  for (size_t device = 0; device < 4; ++device) {
    const FileContent& content = contents[device];
    const auto rank = static_cast<int64_t>(device) + 4;
    CHECK(content.part == "tpu" + std::to_string(device));
    CHECK(content.distributed.rank == rank);
    CHECK(content.distributed.world_size == 8);
    std::vector<std::pair<int64_t, int64_t>> calls;
    for (const CommKernel& kernel : content.gpu.comm_kernels) {
      const GpuRow row = content.gpu.row_of(kernel);
      calls.emplace_back(row.start.ns - content.base_time_ns, row.duration_ns);
      const CommArgs args = content.comm_args[static_cast<size_t>(row.args)];
      CHECK(content.strings.view(args.collective_name) == "allreduce");
      CHECK(content.strings.view(args.group_ranks) == "[" + std::to_string(device) + ", " + std::to_string(rank) + "]");
      CHECK(args.in_elements == int64_t{5} * 1024 * 1024 * 256);
    }
    REQUIRE(calls.size() == 3);
    for (size_t i = 0; i < 3; ++i) {
      CHECK(calls[i].first == expected[device][i].first / 1000);
      CHECK(std::abs(calls[i].second - expected[device][i].second / 1000) <= 1);
    }
    CHECK(content.steps.size() == 100);  // of jit_f, which covers most time
  }
}

TEST_CASE("MI300 profiles of both layouts hold eight GPUs and no collectives") {
  const std::string newer = test::formats("jax_xplane/mi300_8gpu_conv_jax08.xplane.pb");
  const std::string older = test::formats("jax_xplane/mi300_8gpu_conv_legacy.xplane.pb");
  if (newer.empty() || older.empty()) return;
  const std::vector<FileContent> contents = read_real(newer);
  REQUIRE(contents.size() == 8);
  for (const FileContent& content : contents) {
    CHECK(calls_of(content).empty());
    CHECK(content.hip_launches);
    CHECK(ns_of_kernels(content, "Im3d2Col") > 0);
    CHECK(ns_of_kernels(content, "Im3d2Col.kd") == 0);
  }
  // In the older one recording kept the rows of two of them.
  CHECK(read_real(older).size() == 2);
}

TEST_CASE("a GPU's kernels take what TraceLens says of the same profile") {
  const std::string file = test::formats("jax_xplane/mi300_8gpu_conv_legacy.xplane.pb");
  const std::string tables = test::formats("jax_xplane/tracelens_reference");
  if (file.empty() || tables.empty()) return;
  const std::vector<FileContent> contents = read_real(file);
  REQUIRE(contents.back().part == "gpu7");
  const FileContent& content = contents.back();
  const std::map<std::string, double> kernels = sums_of_table(tables + "/kernel_launchers_summary.csv");
  CHECK(kernels.size() == 5);
  int64_t all = 0;
  for (const auto& [name, microseconds] : kernels) {
    CHECK(std::abs(static_cast<double>(ns_of_kernels(content, name)) - 1000 * microseconds) < 10);
  }
  for (size_t i = 0; i < content.gpu.size(); ++i) all += content.gpu[i].duration_ns;
  CHECK(std::abs(static_cast<double>(all) - 3'586'493) < 30);  // computation_time of gpu_timeline.csv, for GPU 7
}
