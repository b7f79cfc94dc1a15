#include "skewscope/efficiency/roofline.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "tests/temporary_folder.h"

namespace skewscope::test {
namespace {

using efficiency::Bound;
using efficiency::built_in_devices;
using efficiency::ComputeKind;
using efficiency::Device;
using efficiency::find_device;
using efficiency::parse_devices;
using efficiency::peak_of;
using efficiency::Precision;
using efficiency::roofline_of;
using efficiency::Work;

std::string name_of(const std::string& recorded) {
  const Device* device = find_device(built_in_devices(), recorded);
  return device == nullptr ? "" : device->name;
}

TEST_CASE("devices are found by the names that traces record") {
  CHECK(name_of("NVIDIA H100 80GB HBM3") == "NVIDIA H100 SXM5 80GB");
  CHECK(name_of("NVIDIA H100 PCIe") == "NVIDIA H100 PCIe 80GB");
  CHECK(name_of("NVIDIA H100 NVL") == "NVIDIA H100 NVL");
  CHECK(name_of("NVIDIA H200") == "NVIDIA H200 SXM");
  CHECK(name_of("NVIDIA H200 NVL") == "NVIDIA H200 NVL");
  CHECK(name_of("NVIDIA B200") == "NVIDIA B200");
  CHECK(name_of("NVIDIA A100-SXM4-80GB") == "NVIDIA A100 SXM4 80GB");
  CHECK(name_of("NVIDIA A100-PG509-200") == "NVIDIA A100 SXM4 40GB");
  CHECK(name_of("NVIDIA A100 80GB PCIe") == "NVIDIA A100 PCIe 80GB");
  CHECK(name_of("Tesla V100-SXM2-32GB") == "NVIDIA V100 SXM2");
  CHECK(name_of("AMD Instinct MI210") == "AMD Instinct MI210");
  CHECK(name_of("AMD Instinct MI250X") == "AMD Instinct MI250X, one die");
  CHECK(name_of("AMD Instinct MI250") == "AMD Instinct MI250, one die");
  CHECK(name_of("AMD Instinct MI300X VF") == "AMD Instinct MI300X");
  CHECK(name_of("amd instinct mi355x") == "AMD Instinct MI355X");
  CHECK(name_of("Quadro GP100") == "");
  CHECK(name_of("") == "");
}

TEST_CASE("every built-in device has a source, a bandwidth and peaks that are not those with sparsity") {
  CHECK(built_in_devices().size() == 19);
  for (const Device& device : built_in_devices()) {
    INFO(device.name);
    CHECK(device.source != "");
    CHECK(device.sms > 0);
    CHECK(device.bytes_per_s > 0.5e12);
    CHECK(device.bytes_per_s < 10e12);
    CHECK(peak_of(device, ComputeKind::matrix, Precision::fp16) > 0);
    CHECK(peak_of(device, ComputeKind::vector, Precision::fp32) > 0);
    const double fp8 = peak_of(device, ComputeKind::matrix, Precision::fp8);
    const double bf16 = peak_of(device, ComputeKind::matrix, Precision::bf16);
    if (fp8 > 0) CHECK(fp8 / bf16 == Approx(2).epsilon(0.002));  // a figure with sparsity would be 4
  }
}

TEST_CASE("a peak that a device has not falls back to what its units really do") {
  const Device device{.name = "x",
                      .matches = {},
                      .source = "",
                      .sms = 1,
                      .bytes_per_s = 1e12,
                      .peaks = {{ComputeKind::matrix, Precision::tf32, 100e12},
                                {ComputeKind::vector, Precision::fp32, 20e12},
                                {ComputeKind::vector, Precision::fp64, 10e12}},
                      .link = ""};
  CHECK(peak_of(device, ComputeKind::matrix, Precision::fp32) == 100e12);
  CHECK(peak_of(device, ComputeKind::matrix, Precision::fp64) == 10e12);
  CHECK(peak_of(device, ComputeKind::matrix, Precision::fp8) == 0);
  CHECK(peak_of(device, ComputeKind::vector, Precision::bf16) == 20e12);
  CHECK(peak_of(device, ComputeKind::vector, Precision::integer) == 0);
}

Work matrix_work(int64_t flops, int64_t bytes) {
  return {.flops = flops,
          .bytes = bytes,
          .compute = ComputeKind::matrix,
          .precision = Precision::bf16,
          .parameters = {},
          .unknown = ""};
}

TEST_CASE("the roofline is the longer of calculating and moving, and says which") {
  const Device device{.name = "x",
                      .matches = {},
                      .source = "",
                      .sms = 1,
                      .bytes_per_s = 2e12,
                      .peaks = {{ComputeKind::matrix, Precision::bf16, 100e12}},
                      .link = ""};
  const auto compute = roofline_of(matrix_work(1'000'000'000, 2'000'000), device);  // 10 us, 1 us
  REQUIRE(compute);
  CHECK(compute->bound == Bound::compute);
  CHECK(compute->time_ns == Approx(10'000));
  CHECK(compute->intensity == Approx(500));
  CHECK(efficiency::roofline_share(*compute, 20'000) == Approx(0.5));
  const auto memory = roofline_of(matrix_work(100'000'000, 8'000'000), device);  // 1 us, 4 us
  REQUIRE(memory);
  CHECK(memory->bound == Bound::memory);
  CHECK(memory->time_ns == Approx(4'000));
}

TEST_CASE("work or a peak that is not known has no roofline, integers on vector units one of their bytes") {
  const Device device{.name = "x", .matches = {}, .source = "", .sms = 1, .bytes_per_s = 2e12, .peaks = {}, .link = ""};
  CHECK_FALSE(roofline_of(matrix_work(1, 1), device));
  Work copy{.flops = 1000,
            .bytes = 8000,
            .compute = ComputeKind::vector,
            .precision = Precision::integer,
            .parameters = {},
            .unknown = ""};
  REQUIRE(roofline_of(copy, device));
  CHECK(roofline_of(copy, device)->time_ns == Approx(4));
  CHECK(roofline_of(copy, device)->bound == Bound::memory);
  copy.bytes.reset();
  CHECK_FALSE(roofline_of(copy, device));
}

const std::string kOwn = R"({"devices": [
  {"name": "My GPU", "matches": ["My GPU"], "sms": 10, "memory_TB_per_s": 1.5, "matrix_TFLOPS": {"bf16": 50}},
  {"name": "NVIDIA B200", "matches": ["NVIDIA B200"], "memory_TB_per_s": 7.7, "matrix_TFLOPS": {"bf16": 2000}}]})";

TEST_CASE("a user's file adds devices and replaces those of the same name") {
  const Folder folder("devices");
  std::filesystem::create_directories(folder.path);
  std::ofstream(folder.path / "devices.json") << kOwn;
  const auto devices = efficiency::load_devices((folder.path / "devices.json").string());
  REQUIRE(devices.ok());
  CHECK(devices.value().size() == built_in_devices().size() + 1);
  CHECK(find_device(devices.value(), "My GPU 2000")->bytes_per_s == 1.5e12);
  CHECK(find_device(devices.value(), "NVIDIA B200")->bytes_per_s == 7.7e12);
  CHECK(find_device(devices.value(), "NVIDIA H200")->name == "NVIDIA H200 SXM");
}

TEST_CASE("a damaged device file is refused with the place and what is wrong") {
  const auto message = [](const std::string& text) {
    const auto devices = parse_devices(text, "my.json");
    return devices.ok() ? "" : devices.error().message;
  };
  const auto with = [&](const std::string& rest) { return message(R"({"devices": [{"name": "A", )" + rest + "}]}"); };
  CHECK_THAT(message("{"), Catch::StartsWith("my.json: no JSON"));
  CHECK_THAT(message("[]"), Catch::Contains("has no list \"devices\""));
  CHECK_THAT(message(R"({"devices": [7]})"), Catch::Contains("device 1 () is no object"));
  CHECK_THAT(message(R"({"devices": [{}]})"), Catch::Contains("has no \"name\""));
  CHECK_THAT(with(R"("x": 1)"), Catch::Contains("has no \"matches\""));
  CHECK_THAT(with(R"("matches": [""])"), Catch::Contains("\"matches\" holds what is no text"));
  CHECK_THAT(with(R"("matches": ["A"])"), Catch::Contains("device 1 (A) has no \"memory_TB_per_s\" above 0"));
  CHECK_THAT(with(R"("matches": ["A"], "memory_TB_per_s": -1)"), Catch::Contains("above 0"));
  CHECK_THAT(with(R"("matches": ["A"], "memory_TB_per_s": 1, "sms": 1e99)"), Catch::Contains("\"sms\""));
  CHECK_THAT(with(R"("matches": ["A"], "memory_TB_per_s": 1, "matrix_TFLOPS": {"bf17": 1})"),
             Catch::Contains("unknown precision \"bf17\""));
  CHECK_THAT(with(R"("matches": ["A"], "memory_TB_per_s": 1, "vector_TFLOPS": {"fp32": "fast"})"),
             Catch::Contains("\"fp32\" is no number above 0"));
  CHECK_THAT(with(R"("matches": ["A"], "memory_TB_per_s": 1, "link": {"name": "L"})"),
             Catch::Contains("\"link\" has no \"name\" or no \"GB_per_s\" above 0"));
  const auto linked = parse_devices(
      R"({"devices": [{"name": "A", "matches": ["A"], "memory_TB_per_s": 1, "link": {"name": "L", "GB_per_s": 25}}]})",
      "my.json");
  REQUIRE(linked.ok());
  CHECK((find_device(linked.value(), "A")->link == "L" && find_device(linked.value(), "A")->link_bytes_per_s == 25e9));
  CHECK_FALSE(efficiency::load_devices("/nowhere/devices.json").ok());
}

}  // namespace
}  // namespace skewscope::test
