#include <tbb/global_control.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "skewscope/ingest.h"

using namespace skewscope;  // NOLINT
namespace fs = std::filesystem;

namespace {

std::string real_traces_folder() {
  const char* given = std::getenv("SKEWSCOPE_TRACES");
  return given != nullptr ? given : std::string(SKEWSCOPE_SOURCE_DIR) + "/../shared/traces";
}

// nullopt, visibly, where the real traces are not there.
std::optional<IngestedJob> ingest_real(const std::string& name, const IngestOptions& options = {}) {
  const fs::path path = fs::path(real_traces_folder()) / name;
  if (!fs::exists(path)) {
    WARN("skipped: no traces at " << path);
    return std::nullopt;
  }
  const auto files = discover_files({path.string()});
  REQUIRE(files.ok());
  StageTimer timer;
  auto job = ingest_job(files.value(), options, timer);
  REQUIRE(job.ok());
  CHECK(check_invariants(job.value().job) == "");
  return std::move(job).value();
}

int64_t count_kind(const RankTrace& trace, CollectiveKind kind) {
  return std::count_if(trace.calls.begin(), trace.calls.end(), [&](const CollectiveCall& c) { return c.kind == kind; });
}

const Finding* finding_of(const Findings& findings, FindingCode code) {
  for (const Finding& finding : findings) {
    if (finding.code == code) return &finding;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("dlrm_8rank: 8 ranks of 8, each with 5 all_to_all and 3 all_reduce of the known sizes") {
  const auto ingested = ingest_real("dlrm_8rank");
  if (!ingested) return;
  const JobTrace& job = ingested->job;
  REQUIRE(job.traces.size() == 8);
  CHECK(job.world_size == 8);
  CHECK(job.vendor == JobVendor::nvidia);
  CHECK(job.name == "dlrm_8rank");
  CHECK(job.sessions == 1);
  const std::vector<std::pair<CollectiveKind, int64_t>> expected = {
      {CollectiveKind::all_to_all, 6144}, {CollectiveKind::all_to_all, 24},     {CollectiveKind::all_to_all, 384},
      {CollectiveKind::all_to_all, 3392}, {CollectiveKind::all_reduce, 394241}, {CollectiveKind::all_to_all, 6144},
      {CollectiveKind::all_reduce, 112},  {CollectiveKind::all_reduce, 226960}};
  const int64_t durations_us[] = {5798, 11336, 3492, 9774, 6587, 6251, 3558, 1746};
  for (const RankTrace& trace : job.traces) {
    INFO("rank " << trace.rank.value);
    REQUIRE(trace.calls.size() == 8);
    int64_t sum_ns = 0;
    for (size_t i = 0; i < 8; ++i) {
      CHECK(trace.calls[i].kind == expected[i].first);
      CHECK(trace.calls[i].in_elements == expected[i].second);
      CHECK(trace.calls[i].source == MetadataSource::annotation);
      CHECK(trace.calls[i].step == 10);
      sum_ns += trace.calls[i].duration_ns;
    }
    CHECK(trace.rank_source == "distributedInfo");
    CHECK(sum_ns == durations_us[trace.rank.index()] * 1000);
    CHECK(trace.resolution_ns == 1000);
    CHECK(trace.device == trace.rank.value);
    CHECK(trace.device_name == "Tesla V100-SXM2-32GB");
  }
  CHECK(finding_of(job.findings, "missing-ranks") == nullptr);
  CHECK(finding_of(job.findings, "rank-conflict") == nullptr);
  const Finding* orphans = finding_of(job.findings, "orphan-kernels");
  REQUIRE(orphans != nullptr);
  CHECK(orphans->count == 64);
}

TEST_CASE("sampled_2of128: kinds come from ranges although every kernel is called SendRecv") {
  const auto ingested = ingest_real("sampled_2of128");
  if (!ingested) return;
  const JobTrace& job = ingested->job;
  REQUIRE(job.traces.size() == 2);
  CHECK(job.world_size == 128);
  for (const RankTrace& trace : job.traces) {
    INFO("rank " << trace.rank.value);
    CHECK(trace.calls.size() == 10);
    CHECK(count_kind(trace, CollectiveKind::all_gather) == 2);
    CHECK(count_kind(trace, CollectiveKind::unknown) == 0);
    for (const CollectiveCall& call : trace.calls) CHECK(call.dtype != DType::unknown);
  }
  CHECK(count_kind(job.traces[0], CollectiveKind::all_to_all) == 4);
  CHECK(count_kind(job.traces[0], CollectiveKind::all_reduce) == 4);
  CHECK(job.traces[0].calls[1].in_elements == 419430400);
  REQUIRE(finding_of(job.findings, "missing-ranks") != nullptr);
  CHECK(finding_of(job.findings, "missing-ranks")->count == 126);
}

TEST_CASE("a100_rank0of2_nccl_args: 21 calls with metadata on the kernel, root and group known") {
  const auto ingested = ingest_real("single/hta/a100_rank0of2_nccl_args.json.gz");
  if (!ingested) return;
  REQUIRE(ingested->job.traces.size() == 1);
  const RankTrace& trace = ingested->job.traces[0];
  CHECK(trace.rank == Rank(0));
  CHECK(ingested->job.world_size == 2);
  REQUIRE(trace.calls.size() == 21);
  CHECK(count_kind(trace, CollectiveKind::all_reduce) == 15);
  CHECK(count_kind(trace, CollectiveKind::broadcast) == 6);
  for (const CollectiveCall& call : trace.calls) {
    CHECK(call.source == MetadataSource::kernel_args);
    CHECK(call.communicator == CommunicatorId(0));
  }
  CHECK(trace.calls[0].in_elements == 53120);
  CHECK(trace.gpu.size() == 2679 + 21 + 960 + 114);
  CHECK(trace.gpu.start[0].ns - 1711964646000000000 == 4458676422880181);
  REQUIRE(ingested->job.communicators.size() == 1);
  CHECK(ingested->job.communicators.communicators[0].source == MembersSource::process_group_config);
}

TEST_CASE("no real trace gives one correlation to several launches") {
  if (!fs::exists(real_traces_folder())) return;
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(real_traces_folder())) {
    const std::string path = fs::relative(entry.path(), real_traces_folder()).string();
    if (entry.path().extension() != ".gz") continue;
    INFO(path);
    const auto ingested = ingest_real(path);
    CHECK(finding_of(ingested->job.findings, "reused-correlation") == nullptr);
    ++files;
  }
  CHECK(files == 24);
}

TEST_CASE("a100_rank0of16_no_args: 80 calls, 872 orphans, nothing dropped") {
  const auto ingested = ingest_real("single/hta/a100_rank0of16_no_args.json.gz");
  if (!ingested) return;
  const RankTrace& trace = ingested->job.traces[0];
  CHECK(trace.calls.size() == 80);
  CHECK(std::count(trace.gpu.launch.begin(), trace.gpu.launch.end(), -1) == 872);
  CHECK(trace.gpu.size() == 6000 + 80 + 1390 + 277);
  CHECK(ingested->job.world_size == 16);
}

TEST_CASE("mi300_rank0of8: 17 calls, the 5 at the head without metadata, on device 2") {
  const auto ingested = ingest_real("single/tracelens/mi300_rank0of8_resnet_checkpoint.json.gz");
  if (!ingested) return;
  const RankTrace& trace = ingested->job.traces[0];
  CHECK(ingested->job.vendor == JobVendor::amd);
  CHECK(trace.device == 2);
  REQUIRE(trace.calls.size() == 17);
  for (size_t i = 0; i < 17; ++i) {
    INFO("call " << i);
    CHECK((trace.calls[i].kind == CollectiveKind::unknown) == (i < 5));
    CHECK(trace.calls[i].communicator.known() == (i >= 5));
    CHECK(trace.calls[i].launched == (i >= 5));
  }
  CHECK(trace.calls[5].kind == CollectiveKind::broadcast);
  CHECK(trace.calls[5].root == Rank(0));
  CHECK(finding_of(ingested->job.findings, "orphan-kernels")->count == 968);
}

TEST_CASE("b200: 73 symmetric-memory calls without a group and one of NCCL with one") {
  const auto ingested = ingest_real("single/tracelens/b200_rank0of8_vllm_eager.json.gz");
  if (!ingested) return;
  const RankTrace& trace = ingested->job.traces[0];
  REQUIRE(trace.calls.size() == 74);
  int64_t custom = 0;
  for (const CollectiveCall& call : trace.calls) {
    custom += call.custom ? 1 : 0;
    CHECK(call.communicator.known() == !call.custom);
    CHECK(call.in_elements > 0);
    CHECK(call.dtype == DType::bfloat16);
  }
  CHECK(custom == 73);
  const auto nccl = std::find_if(trace.calls.begin(), trace.calls.end(), [](const auto& c) { return !c.custom; });
  CHECK(nccl->kind == CollectiveKind::all_gather);
  CHECK(nccl->out_elements == 201088);
  CHECK(ingested->job.communicators[nccl->communicator].name == "3");
  CHECK(ingested->job.communicators[nccl->communicator].members.size() == 8);
}

TEST_CASE("gloo_rank34of300: rank 34 of 300 without a GPU, ten calls") {
  const auto ingested = ingest_real("single/hta/gloo_rank34of300_cpu_only.pt.trace.json.gz");
  if (!ingested) return;
  const JobTrace& job = ingested->job;
  CHECK(job.traces[0].rank == Rank(34));
  CHECK(job.world_size == 300);
  CHECK(job.vendor == JobVendor::cpu);
  REQUIRE(job.traces[0].calls.size() == 10);
  CHECK(job.traces[0].calls[0].in_elements == 321271);
  CHECK(job.traces[0].calls[0].step == 551);
  CHECK(job.traces[0].calls[0].kind == CollectiveKind::all_reduce);
}

TEST_CASE("traces that tell no rank are rank 0 of 1 when alone") {
  for (const char* name : {"distributed_info_not_found", "rank_not_found", "rank_non_gpu", "gpu_user_annotation",
                           "triton_example", "mi250_minitoy"}) {
    INFO(name);
    const auto ingested = ingest_real(std::string("single/hta/") + name + ".json.gz");
    if (!ingested) return;
    REQUIRE(ingested->job.traces.size() == 1);
    CHECK(ingested->job.traces[0].rank == Rank(0));
    CHECK(ingested->job.world_size == 1);
  }
}

TEST_CASE("no repair of GPU times touches a healthy trace") {
  std::vector<std::string> names = {"dlrm_8rank", "sampled_2of128"};
  for (const char* folder : {"single/hta", "single/tracelens"}) {
    const fs::path path = fs::path(real_traces_folder()) / folder;
    if (!fs::exists(path)) continue;
    for (const auto& file : fs::directory_iterator(path)) {
      if (file.path().extension() == ".gz")
        names.push_back(std::string(folder) + "/" + file.path().filename().string());
    }
  }
  for (const std::string& name : names) {
    INFO(name);
    const auto ingested = ingest_real(name);
    if (!ingested) return;
    CHECK(finding_of(ingested->job.findings, "overlapping-duration") == nullptr);
    CHECK(finding_of(ingested->job.findings, "negative-duration") == nullptr);
    CHECK(finding_of(ingested->job.findings, "time-out-of-range") == nullptr);
  }
}

TEST_CASE("a memory limit that the columns pass is a resource_limit, one they keep is not") {
  const fs::path path = fs::path(real_traces_folder()) / "dlrm_8rank";
  if (!fs::exists(path)) {
    WARN("skipped: no traces at " << path);
    return;
  }
  const auto files = discover_files({path.string()}).value();
  StageTimer timer;
  IngestOptions options;
  options.memory_limit_bytes = 50'000;
  const auto small = ingest_job(files, options, timer);
  REQUIRE_FALSE(small.ok());
  CHECK(small.error().kind == ErrorKind::resource_limit);
  options.memory_limit_bytes = 4'000'000;
  CHECK(ingest_job(files, options, timer).ok());
}

TEST_CASE("one thread and many read the same job, in any order of files") {
  const fs::path path = fs::path(real_traces_folder()) / "dlrm_8rank";
  if (!fs::exists(path)) {
    WARN("skipped: no traces at " << path);
    return;
  }
  auto files = discover_files({path.string()}).value();
  StageTimer timer;
  const auto many = ingest_job(files, {}, timer);
  std::reverse(files.begin(), files.end());
  const tbb::global_control one_thread(tbb::global_control::max_allowed_parallelism, 1);
  const auto one = ingest_job(files, {}, timer);
  REQUIRE(many.ok());
  REQUIRE(one.ok());
  const JobTrace& a = many.value().job;
  const JobTrace& b = one.value().job;
  CHECK(a.strings.size() == b.strings.size());
  CHECK(a.bytes_read == b.bytes_read);
  CHECK(a.findings.size() == b.findings.size());
  REQUIRE(a.traces.size() == b.traces.size());
  for (size_t i = 0; i < a.traces.size(); ++i) {
    CHECK(a.traces[i].file == b.traces[i].file);
    CHECK(a.traces[i].gpu.start == b.traces[i].gpu.start);
    CHECK(a.traces[i].gpu.name == b.traces[i].gpu.name);
    CHECK(a.traces[i].gpu.launch == b.traces[i].gpu.launch);
  }
}
