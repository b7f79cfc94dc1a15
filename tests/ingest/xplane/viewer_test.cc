// What XLA's trace viewer shows of a profile, recorded with it: the rows of both come from one recording.
#include <catch2/catch.hpp>
#include <filesystem>

#include "made_profile.h"
#include "tests/temporary_folder.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

std::filesystem::path recorded_folder(int process) {
  const std::string set = SKEWSCOPE_SOURCE_DIR "/tests/data/jax/even/process_" + std::to_string(process);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(set)) {
    if (entry.path().string().ends_with(".xplane.pb")) return entry.path().parent_path();
  }
  return {};
}

std::vector<FileContent> read_path(const std::filesystem::path& file) {
  MemoryBudget budget(0);
  return TraceReaders(ReaderSettings()).read(file.string(), budget).value();
}

std::vector<int64_t> step_numbers_of(const FileContent& content) {
  std::vector<int64_t> numbers;
  for (const StepRow& step : content.steps) numbers.push_back(step.number);
  return numbers;
}

std::string viewer_file(const std::string& events) {
  return R"({"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":[)" + events + "{}]}";
}

std::string named(const std::string& plane, const std::string& line) {
  return R"({"ph":"M","pid":1,"name":"process_name","args":{"name":")" + plane + R"("}},)" +
         R"({"ph":"M","pid":1,"tid":3,"name":"thread_name","args":{"name":")" + line + R"("}},)";
}

}  // namespace

TEST_CASE(
    "the viewer's file of a recorded profile is set aside beside it, and alone has its rows, launches, steps and "
    "rank") {
  const test::Folder alone("viewer_alone");
  std::filesystem::create_directories(alone.path);
  for (int process = 0; process < 4; ++process) {
    const std::filesystem::path folder = recorded_folder(process);
    const std::vector<FileContent> beside = read_path(folder / "vm.trace.json.gz");
    REQUIRE(beside.size() == 1);
    CHECK(beside.front().kind == ContentKind::not_a_trace);
    CHECK(beside.front().gpu.empty());
    CHECK(count_of(beside.front(), "copied-trace") == 1);

    std::filesystem::copy_file(folder / "vm.trace.json.gz", alone.path / "vm.trace.json.gz",
                               std::filesystem::copy_options::overwrite_existing);
    const std::vector<FileContent> contents = read_path(alone.path / "vm.trace.json.gz");
    const std::vector<FileContent> profiles = read_path(folder / "vm.xplane.pb");
    REQUIRE(contents.size() == 1);
    REQUIRE(profiles.size() == 1);
    const FileContent &shown = contents.front(), &profile = profiles.front();
    CHECK(shown.format == "jax trace viewer json");
    CHECK(shown.distributed.rank == process);
    CHECK(shown.distributed.world_size == 4);
    CHECK(shown.host_name == "vm");
    CHECK(shown.compression == "gzip");
    CHECK_FALSE(shown.has_base_time);
    CHECK(step_numbers_of(shown) == std::vector<int64_t>{0, 1, 2, 3, 4});
    CHECK(shown.launches.size() == profile.launches.size());
    REQUIRE(shown.gpu.size() == 65);
    REQUIRE(profile.gpu.size() == 65);
    for (size_t i = 0; i < shown.gpu.size(); ++i) {
      CHECK(name_of(shown, i) == name_of(profile, i));
      CHECK(shown.gpu[i].start - shown.gpu[0].start == profile.gpu[i].start - profile.gpu[0].start);
      CHECK(shown.gpu[i].duration_ns == profile.gpu[i].duration_ns);
      CHECK(shown.gpu[i].stream == profile.gpu[i].stream);
      CHECK(shown.gpu[i].work == profile.gpu[i].work);
    }
    CHECK(shown.comm_args.size() == 0);  // no group of any
  }
}

TEST_CASE("what the viewer shows of a TPU has the text of its instructions and the work that XLA says") {
  const TempFile file(viewer_file(
      named("/device:TPU:0", "XLA Ops") +
      R"({"ph":"X","pid":1,"tid":3,"ts":10.5,"dur":2.25,"name":"fusion.3","args":{"hlo_category":"loop fusion",)"
      R"("long_name":"%fusion.3 = f32[4]{0} fusion(f32[4]{0} %x), kind=kLoop","flops":"12","bytes_accessed":"34"}},)"
      R"({"ph":"X","pid":1,"tid":3,"ts":20,"dur":5,"name":"all-reduce.1","args":{"long_name":)"
      R"("%all-reduce.1 = f32[64]{0} all-reduce(f32[64]{0} %y), replica_groups={{0,1}}, to_apply=%sum"}},)"));
  MemoryBudget budget(0);
  ReaderSettings settings;
  settings.details = true;
  const std::vector<FileContent> contents = TraceReaders(settings).read(file.path(), budget).value();
  const FileContent& content = contents.front();
  REQUIRE(content.gpu.size() == 2);
  CHECK(name_of(content, 0) == "fusion.3");
  CHECK(content.gpu[0].start.ns == 10'500);
  CHECK(content.gpu[0].duration_ns == 2'250);
  CHECK(content.gpu[1].work == GpuWork::communication);
  REQUIRE(content.comm_args.size() == 1);
  CHECK(content.strings.view(content.comm_args[0].collective_name) == "allreduce");
  CHECK(content.comm_args[0].in_elements == 64);
  const DeviceOperation& of = content.details->operations.front();
  CHECK(content.strings.view(of.category) == "loop fusion");
  CHECK(of.flops == 12);
  CHECK(of.bytes == 34);
}

TEST_CASE("a viewer's file that is cut or damaged gives what is left of it") {
  const std::string row =
      R"({"ph":"X","pid":1,"tid":3,"ts":5,"dur":1,"name":"gemm","args":{"correlation_id":"7","hlo_op":"dot.1"}},)";
  const std::string whole = viewer_file(named("/device:GPU:0", "Stream #3(Compute)") + row + row);
  CHECK(read_any(whole).gpu.size() == 2);
  const FileContent cut = read_any(whole.substr(0, whole.size() - 60));
  CHECK(cut.gpu.size() == 1);
  CHECK(count_of(cut, "truncated-file") == 1);
  const FileContent damaged = read_any(viewer_file(
      named("/device:GPU:0", "Stream #3(Compute)") + row +
      R"({"ph":"X","pid":1,"tid":3,"ts":5,"dur":1,"name":"gemm","args":7},)" +
      R"({"ph":"X","pid":1,"tid":3,"ts":1e300,"dur":-1e300,"name":"far","args":{"correlation_id":"99999999999999999999"}},)"));
  CHECK(count_of(damaged, "dropped-event") == 1);
  CHECK(damaged.gpu.size() == 2);
}
