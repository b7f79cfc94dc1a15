// Each sign on a trace that shows it and on one that just does not.
#include <catch2/catch.hpp>

#include "skewscope/advise.h"
#include "skewscope/efficiency/roofline.h"

using namespace skewscope;

namespace {

// A window of 1 ms: computing 600 us, communication 50 us of which 10 us are exposed, idle 390 us; two steps.
struct Trace {
  RankTables tables;
  OperatorTables operators;

  Trace() {
    TimelineRow whole;
    whole.gpu_rows = 100;
    whole.timeline = {1'000'000, 600'000, 50'000, 0, 10'000, 0, 610'000, 390'000, 0, 0, 0};
    TimelineRow first = whole, second = whole;
    first.step = 1;
    second.step = 2;
    first.host_ns = second.host_ns = 500'000;
    tables.timeline = {whole, first, second};
    tables.detailed = true;
    tables.launches.rows = 100;
    tables.kernels = {kernel("gemm_bf16", 10, 220'000), kernel("softmax_kernel", 10, 200'000),
                      kernel("layer_norm_kernel", 10, 180'000)};
  }

  static KernelTotals kernel(const char* name, int64_t count, int64_t total_ns) {
    KernelTotals k;
    k.name = name;
    k.count = count;
    k.total_ns = total_ns;
    return k;
  }
  static OperatorRow op(const char* name, int64_t host_self_ns, int64_t device_ns) {
    OperatorRow row;
    row.name = name;
    row.calls = row.launches = 10;
    row.host_self_ns = row.host_total_ns = host_self_ns;
    row.device_self_ns = row.direct_ns = device_ns;
    return row;
  }
  static HostCallTotals call(const char* name, int64_t count, int64_t total_ns, int64_t idle_after_ns) {
    HostCallTotals c;
    c.name = name;
    c.count = c.in_steps = count;
    c.total_ns = total_ns;
    c.waits = true;
    c.idle_after_ns = c.in_steps_idle_after_ns = idle_after_ns;
    c.in_steps_ns = total_ns;
    return c;
  }

  std::vector<std::string> codes() const {
    std::vector<std::string> codes;
    for (const Advice& a : advice_on(tables, operators, built_in_rules())) codes.push_back(a.code);
    return codes;
  }
  bool shows(const std::string& code) const {
    for (const std::string& found : codes()) {
      if (found == code) return true;
    }
    return false;
  }
  const Advice advice(const std::string& code) const {
    for (Advice& a : advice_on(tables, operators, built_in_rules())) {
      if (a.code == code) return a;
    }
    FAIL("no finding " << code);
    return {};
  }
};

}  // namespace

TEST_CASE("a trace that shows no sign gets no finding") { CHECK(Trace().codes().empty()); }

TEST_CASE("a trace without GPU rows gets no finding") {
  Trace t;
  t.tables.timeline = {TimelineRow()};
  CHECK(t.codes().empty());
}

TEST_CASE("ten times more time on the host than on the GPU, which idles, is overhead") {
  Trace t;
  t.tables.timeline.front().timeline.idle_ns = 510'000;
  t.operators.operators = {Trace::op("aten::add", 5'000'000, 500'000)};
  CHECK(t.shows("overhead-bound"));
  CHECK(t.advice("overhead-bound").saves_at_most_ns == 510'000);
  CHECK(t.advice("overhead-bound").evidence.at(0).time_ns == 5'000'000);
  t.operators.operators = {Trace::op("aten::add", 4'900'000, 500'000)};
  CHECK_FALSE(t.shows("overhead-bound"));
  t.operators.operators = {Trace::op("aten::add", 5'000'000, 500'000)};
  t.tables.timeline.front().timeline.idle_ns = 490'000;
  CHECK_FALSE(t.shows("overhead-bound"));
}

TEST_CASE("a GPU that computes more than nine tenths of its window is as wished, and nothing is to be saved") {
  Trace t;
  t.tables.timeline.front().timeline.compute_ns = 910'000;
  CHECK(t.shows("compute-bound"));
  CHECK(t.advice("compute-bound").information);
  t.tables.timeline.front().timeline.compute_ns = 890'000;
  CHECK_FALSE(t.shows("compute-bound"));
  t.tables.timeline.front().timeline.compute_ns = 910'000;
  t.tables.utilization.gpu = 0.01;  // of steps that are much longer
  CHECK_FALSE(t.shows("compute-bound"));
}

TEST_CASE("a tenth of the window idle until launches arrive is launch-bound") {
  Trace t;
  LaunchBound device;
  device.device = 0;
  device.rows = 40;
  device.idle_ns = 101'000;
  t.tables.launch_bound = {device};
  CHECK(t.shows("launch-bound"));
  CHECK(t.advice("launch-bound").saves_at_most_ns == 101'000);
  t.tables.launch_bound[0].idle_ns = 99'000;
  CHECK_FALSE(t.shows("launch-bound"));
  t.tables.launch_bound[0].idle_ns = 101'000;
  t.tables.launch_bound[0].rows = 9;  // single gaps are no pattern
  CHECK_FALSE(t.shows("launch-bound"));
}

TEST_CASE("of several GPUs of a process the one that idled longest is told: they idled at the same time") {
  Trace t;
  LaunchBound device;
  device.rows = 40;
  for (const auto& [number, idle_ns] : {std::pair{0, 300'000}, std::pair{1, 700'000}, std::pair{2, 600'000}}) {
    device.device = number;
    device.idle_ns = device.queued_idle_ns = idle_ns;
    t.tables.launch_bound.push_back(device);
  }
  for (const char* code : {"launch-bound", "queued-but-idle"}) {
    const Advice advice = t.advice(code);
    INFO(advice.sign);
    CHECK(advice.saves_at_most_ns == 700'000);  // of 1 ms: not the 1.6 ms that the sum is
    CHECK(advice.window_ns == 1'000'000);
    CHECK(advice.sign.find("GPU 1 ") != std::string::npos);
    CHECK(advice.sign.find("70 % of the window") != std::string::npos);
  }
}

TEST_CASE("a kernel with more than two fifths of the computing time is a hotspot, a communication kernel is none") {
  Trace t;
  t.tables.kernels = {Trace::kernel("gemm", 10, 410'000), Trace::kernel("add", 10, 350'000),
                      Trace::kernel("mul", 10, 200'000)};
  CHECK(t.shows("hotspot"));
  t.tables.kernels[0].total_ns = 360'000;
  CHECK_FALSE(t.shows("hotspot"));
  t.tables.kernels[0].total_ns = 900'000;
  t.tables.kernels[0].work = GpuWork::communication;
  t.tables.kernels[1].total_ns = t.tables.kernels[2].total_ns = 300'000;
  t.tables.kernels.push_back(Trace::kernel("div", 1, 300'000));
  CHECK_FALSE(t.shows("hotspot"));
}

TEST_CASE("more than a thousand short runs of one kernel per step are many tiny calls") {
  Trace t;  // two steps
  t.tables.kernels.push_back(Trace::kernel("add", 2002, 4'000'000));
  CHECK(t.shows("tiny-calls"));
  t.tables.kernels.back() = Trace::kernel("add", 1998, 4'000'000);
  CHECK_FALSE(t.shows("tiny-calls"));
  t.tables.kernels.back() = Trace::kernel("add", 2002, 30'000'000);  // 15 us each
  CHECK_FALSE(t.shows("tiny-calls"));
}

TEST_CASE("a first step of more than twice the median of the others is a cold start; two steps tell nothing") {
  Trace t;
  t.tables.timeline[1].host_ns = 1'100'000;
  CHECK_FALSE(t.shows("cold-first-step"));
  t.tables.timeline.push_back(t.tables.timeline[2]);
  CHECK(t.shows("cold-first-step"));
  CHECK(t.advice("cold-first-step").saves_at_most_ns == 600'000);
  t.tables.timeline[1].host_ns = 900'000;
  CHECK_FALSE(t.shows("cold-first-step"));
}

TEST_CASE("buffer requests of the profiler are told as its own, and only buffers") {
  Trace t;
  t.tables.overheads = {Trace::call("Activity Buffer Request", 2, 1'100'000, 0)};
  CHECK(t.shows("profiler-buffers"));
  t.tables.overheads = {Trace::call("Lazy Function Loading", 2, 1'100'000, 0)};
  CHECK_FALSE(t.shows("profiler-buffers"));
}

TEST_CASE("copies on the device that addmm makes are told, those of other operators are not") {
  Trace t;
  KernelRow copy;
  copy.launcher = "aten::addmm";
  copy.name = "Memcpy DtoD (Device -> Device)";
  copy.count = 8;
  copy.sum_ns = 9'000;
  t.operators.kernels = {copy};
  CHECK(t.shows("copy-before-gemm"));
  CHECK(t.advice("copy-before-gemm").saves_at_most_ns == 9'000);
  t.operators.kernels[0].launcher = "aten::clone";
  CHECK_FALSE(t.shows("copy-before-gemm"));
}

TEST_CASE("waits of the host inside steps are told where the GPU idles after them") {
  Trace t;
  t.tables.calls = {Trace::call("cudaStreamSynchronize", 4, 80'000, 20'000)};
  CHECK(t.shows("host-synchronization"));
  CHECK(t.advice("host-synchronization").saves_at_most_ns == 20'000);
  t.tables.calls[0].in_steps_idle_after_ns = 9'000;
  CHECK_FALSE(t.shows("host-synchronization"));
  t.tables.calls[0].in_steps_idle_after_ns = 0;  // all of idle_after_ns follows calls outside the steps
  CHECK_FALSE(t.shows("host-synchronization"));
}

TEST_CASE("a wait after nearly every launch makes times unrepresentative") {
  Trace t;  // 100 launches
  t.tables.calls = {Trace::call("cudaDeviceSynchronize", 95, 1'000, 0)};
  CHECK(t.shows("launch-blocking"));
  t.tables.calls = {Trace::call("cudaDeviceSynchronize", 85, 1'000, 0)};
  CHECK_FALSE(t.shows("launch-blocking"));
  t.tables.launches.covered_rows = 95;  // launches that return when their kernel has ended
  CHECK(t.shows("launch-blocking"));
}

TEST_CASE("matrix kernels for FP32 and TF32 are told by their names, half-precision kernels with FP32 sums are not") {
  for (const char* name :
       {"ampere_sgemm_128x64_nn", "cutlass_80_tensorop_s1688gemm_256x64", "sm80_xmma_gemm_tf32f32_tf32f32_f32_nn",
        "Cijk_Ailk_Bljk_SB_MT64x64x16", "Cijk_Ailk_Bljk_S_B_Bias_HA_S_SAV_UserArgs_MT32x32x64", "nvjet_sss_64x64",
        "igemm_fwd_gtcx_nhwc_fp32_bx0", "void gemmSN_TN_kernel<float, 128, 16, 2>(cublasGemmSmallNParams<float>)",
        "void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16>(cublasGemvParamsEx)"}) {
    Trace t;
    t.tables.kernels[0].name = name;
    INFO(name);
    CHECK(t.shows("single-precision"));
  }
  for (const char* name :
       {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn", "ampere_fp16_s16816gemm_fp16_128x128",
        "cutlass_75_tensorop_f16_s1688gemm_f16_128x128", "Cijk_Ailk_Bljk_BBS_BH_MT128x128x64",
        // A scale or sums in FP32 behind what is read: bfloat16, half, 8 bits.
        "Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64", "Cijk_Alik_Bljk_H_HS_BH_Bias_HA_S_SAV_MT64x64x64",
        "Cijk_Alik_Bljk_F8_BS_BH_Bias_HA_S_SAB_MT64", "Cijk_Ailk_Bljk_BSS_BH_Bias_HA_S_SAV_MT128",
        "turing_s1688cudnn_128x128_ldg8_relu_nn_v1",
        "void gemv2T_kernel_val<int, int, __half, __half, __half, float, 128, 16>(cublasGemvParamsEx)",
        "nvjet_tst_128x64", "void at::native::vectorized_elementwise_kernel<float>"}) {
    Trace t;
    t.tables.kernels[0].name = name;
    INFO(name);
    CHECK_FALSE(t.shows("single-precision"));
  }
}

TEST_CASE(
    "no device has matrix units that are more than 32 times as fast as its FP32 units: the most that half precision "
    "saves") {
  Trace t;
  t.tables.kernels[0].name = "volta_sgemm_128x64_nn";  // 220 us
  CHECK(t.advice("single-precision").saves_at_most_ns == 220'000 - 220'000 / 32);
  for (const efficiency::Device& device : efficiency::built_in_devices()) {
    const double half = efficiency::peak_of(device, efficiency::ComputeKind::matrix, efficiency::Precision::fp16);
    const double single = efficiency::peak_of(device, efficiency::ComputeKind::vector, efficiency::Precision::fp32);
    INFO(device.name);
    CHECK(half <= 32 * single);
  }
}

TEST_CASE("advice that cannot be followed is not given: bfloat16 without its units, compiling what is compiled") {
  Trace t;
  t.tables.kernels[0].name = "volta_sgemm_128x64_nn";
  CHECK(t.advice("single-precision").action.find("bfloat16") != std::string::npos);
  t.tables.bfloat16_units = false;
  CHECK(t.advice("single-precision").action.find("bfloat16") == std::string::npos);
  CHECK(t.advice("single-precision").action.find("float16") != std::string::npos);
  LaunchBound late;
  late.rows = 50;
  late.idle_ns = 300'000;
  t.tables.launch_bound = {late};
  CHECK(t.advice("launch-bound").action.find("compile the model") != std::string::npos);
  t.operators.regions.resize(1);
  t.operators.regions.front().calls = 2;
  CHECK(t.advice("launch-bound").action.find("compile the model") == std::string::npos);
  CHECK(t.advice("launch-bound").action.find("CUDA graphs") != std::string::npos);
}

TEST_CASE("a GPU that is little used because its host takes long is one finding, not two of the same loss") {
  Trace t;
  t.tables.utilization = {1'000'000, 10'000, 0.01, -1, -1};
  CHECK(t.shows("little-used"));
  t.operators.operators = {Trace::op("aten::add", 5'000'000, 10'000)};
  CHECK(t.shows("overhead-bound"));
  CHECK_FALSE(t.shows("little-used"));
}

TEST_CASE("single precision is no finding on a device without half-precision matrix units; of TF32 half can be saved") {
  Trace t;
  t.tables.kernels[0].name = "sm80_xmma_gemm_tf32f32_tf32f32_f32_nn";  // 220 us
  CHECK(t.advice("single-precision").saves_at_most_ns == 110'000);
  t.tables.half_precision_units = false;
  CHECK_FALSE(t.shows("single-precision"));
}

TEST_CASE("batched products with softmax and no fused kernel are unfused attention") {
  Trace t;
  t.operators.operators = {Trace::op("aten::bmm", 1, 200'000), Trace::op("aten::_softmax", 1, 100'000)};
  CHECK(t.shows("unfused-attention"));
  SECTION("not where a flash kernel runs") {
    t.tables.kernels.push_back(Trace::kernel("pytorch_flash::flash_fwd_kernel", 1, 10));
    CHECK_FALSE(t.shows("unfused-attention"));
  }
  SECTION("not where the softmax is a trifle, as in a recommender that ends with one") {
    t.operators.operators[1].direct_ns = 300;
    CHECK_FALSE(t.shows("unfused-attention"));
  }
  SECTION("not where the softmax is that of a loss") {
    t.operators.operators[1].name = "aten::_log_softmax";
    CHECK_FALSE(t.shows("unfused-attention"));
  }
  SECTION("not without a softmax") {
    t.operators.operators.pop_back();
    CHECK_FALSE(t.shows("unfused-attention"));
  }
}

TEST_CASE("a kernel whose 95th percentile alone exceeds 1.3 medians varies; a single step tells nothing of it") {
  Trace t;
  KernelVariant v;
  v.name = "gemm";
  v.count = v.alone = 20;
  v.total_ns = 215'000;  // 15 us above 20 medians, of 600 us of kernel time
  v.alone_median_ns = 10'000;
  v.alone_p95_ns = 13'100;
  t.tables.variants = {v};
  CHECK(t.shows("varying-kernel-times"));
  t.tables.variants[0].alone_p95_ns = 12'900;
  CHECK_FALSE(t.shows("varying-kernel-times"));
  t.tables.variants[0].alone_p95_ns = 13'100;
  t.tables.variants[0].alone = 19;
  CHECK_FALSE(t.shows("varying-kernel-times"));
  t.tables.variants[0].alone = 20;
  t.tables.variants[0].total_ns = 205'000;  // 5 us above are no matter
  CHECK_FALSE(t.shows("varying-kernel-times"));
  t.tables.variants[0].total_ns = 215'000;
  t.tables.timeline.pop_back();
  CHECK_FALSE(t.shows("varying-kernel-times"));
}

TEST_CASE("more than half of kernel time with fewer blocks than SMs is too little parallel work") {
  Trace t;
  KernelVariant small, large;
  small.shape.blocks_per_sm = 0.5;
  large.shape.blocks_per_sm = 4;
  small.total_ns = 60;
  large.total_ns = 40;
  t.tables.variants = {small, large};
  CHECK(t.shows("small-grids"));
  t.tables.variants[1].total_ns = 70;
  CHECK_FALSE(t.shows("small-grids"));
  t.tables.variants = {small};
  t.tables.variants[0].shape.blocks_per_sm = -1;  // not recorded
  CHECK_FALSE(t.shows("small-grids"));
  t.tables.variants = {small, large};
  t.tables.variants[0].work = GpuWork::communication;
  CHECK_FALSE(t.shows("small-grids"));
}

TEST_CASE("low occupancy is told of computing kernels on a GPU that is busy, and not where it was not recorded") {
  Trace t;
  t.tables.utilization.gpu = 0.6;
  KernelVariant kernel;
  kernel.total_ns = 100;
  kernel.shape.occupancy_percent = 20;
  t.tables.variants = {kernel};
  CHECK(t.shows("low-occupancy"));
  t.tables.variants[0].shape.occupancy_percent = 30;
  CHECK_FALSE(t.shows("low-occupancy"));
  t.tables.variants[0].shape.occupancy_percent = 20;
  t.tables.variants[0].work = GpuWork::communication;
  CHECK_FALSE(t.shows("low-occupancy"));
  t.tables.variants[0] = kernel;
  t.tables.variants[0].shape.occupancy_percent = -1;
  CHECK_FALSE(t.shows("low-occupancy"));
}

TEST_CASE("a GPU that idles though work is queued is told apart from one that waits for launches") {
  Trace t;
  LaunchBound device;
  device.device = 0;
  device.queued_gaps = 3;
  device.queued_idle_ns = 110'000;
  t.tables.launch_bound = {device};
  CHECK(t.codes() == std::vector<std::string>{"queued-but-idle"});
  t.tables.launch_bound[0].queued_idle_ns = 90'000;
  CHECK(t.codes().empty());
}

TEST_CASE("steps that are ten times as long as the GPU's work in them use it little") {
  Trace t;
  t.tables.utilization.window_ns = 10'000'000;
  t.tables.utilization.kernel_ns = 600'000;
  t.tables.utilization.gpu = 0.06;
  CHECK(t.shows("little-used"));
  CHECK(t.advice("little-used").saves_at_most_ns == 9'400'000);
  CHECK(t.advice("little-used").window_ns == 10'000'000);  // of the steps, not of the GPU's rows
  t.tables.utilization.gpu = 0.2;
  CHECK_FALSE(t.shows("little-used"));
}

TEST_CASE("a tenth of the window in exposed communication is told") {
  Trace t;
  t.tables.timeline.front().timeline.communication_ns = 500'000;
  t.tables.timeline.front().timeline.exposed_communication_ns = 101'000;
  CHECK(t.shows("exposed-communication"));
  CHECK_FALSE(t.shows("no-overlap"));
  t.tables.timeline.front().timeline.exposed_communication_ns = 99'000;
  CHECK_FALSE(t.shows("exposed-communication"));
}

TEST_CASE("communication with nothing beside it does not overlap") {
  Trace t;
  t.tables.timeline.front().timeline.communication_ns = 60'000;
  t.tables.timeline.front().timeline.exposed_communication_ns = 58'000;
  CHECK(t.shows("no-overlap"));
  CHECK(t.advice("no-overlap").saves_at_most_ns == 58'000);
  t.tables.timeline.front().timeline.compute_ns = 10'000;  // 2 us of it hide 2 us already
  CHECK(t.advice("no-overlap").saves_at_most_ns == 8'000);
  t.tables.timeline.front().timeline.exposed_communication_ns = 50'000;
  CHECK_FALSE(t.shows("no-overlap"));
}

TEST_CASE("nested compiled regions are graph breaks and name their frames") {
  Trace t;
  CompiledRegionRow region;
  region.name = "Torch-Compiled Region: 1/0";
  region.calls = 3;
  t.operators.regions = {region};
  CHECK_FALSE(t.shows("graph-breaks"));
  t.operators.regions[0].nested = 3;
  t.operators.regions[0].outer = {"Torch-Compiled Region: 0/0"};
  CHECK(t.shows("graph-breaks"));
  CHECK(t.advice("graph-breaks").evidence.at(0).what == "Torch-Compiled Region: 1/0 within Torch-Compiled Region: 0/0");
}

TEST_CASE("a frame compiled again is a recompilation, and compiling inside the window is told") {
  Trace t;
  CompiledRegionRow region;
  region.name = "Torch-Compiled Region: 0/1";
  region.recompiled = true;
  t.operators.regions = {region};
  CHECK(t.shows("recompilation"));
  CompileEventRow compiling;
  compiling.event = CompileEvent::compilation;
  compiling.host_ns = 2'000'000;
  t.operators.compile_events = {compiling, compiling};  // one within the other
  t.operators.compiling_ns = 2'000'000;
  REQUIRE(t.shows("compilation-measured"));
  CHECK(t.advice("compilation-measured").sign == "compilation takes 2.00 ms of CPU time in the window");
  t.operators.compiling_ns = 0;
  CHECK_FALSE(t.shows("compilation-measured"));
}

TEST_CASE("slow copies from memory that is not pinned are told, fast or small ones are not") {
  Trace t;
  CopyTotals copy;
  copy.name = "Memcpy HtoD (Pageable -> Device)";
  copy.count = copy.sized = 1;
  copy.bytes = 4'000'000;
  copy.total_ns = copy.timed_ns = 1'000'000;  // 4 GB/s
  t.tables.copies = {copy};
  CHECK(t.shows("pageable-copies"));
  t.tables.copies[0].count = t.tables.copies[0].sized = 1000;  // 4 kB each: latency
  CHECK_FALSE(t.shows("pageable-copies"));
  t.tables.copies[0] = copy;
  t.tables.copies[0].timed_ns = 500'000;  // 8 GB/s
  CHECK_FALSE(t.shows("pageable-copies"));
  t.tables.copies[0] = copy;
  t.tables.copies[0].name = "Memcpy HtoD (Pinned -> Device)";
  CHECK_FALSE(t.shows("pageable-copies"));
}

TEST_CASE("what could save most stands first, information last") {
  Trace t;
  t.tables.timeline.front().timeline.communication_ns = 500'000;
  t.tables.timeline.front().timeline.exposed_communication_ns = 200'000;
  t.tables.timeline.front().timeline.compute_ns = 910'000;
  t.tables.calls = {Trace::call("cudaStreamSynchronize", 4, 80'000, 20'000)};
  CHECK(t.codes() == std::vector<std::string>{"exposed-communication", "host-synchronization", "compute-bound"});
}

TEST_CASE("every built-in rule has words and thresholds, and every finding names its own") {
  CHECK(built_in_rules().size() == 24);
  for (const Rule& rule : built_in_rules()) {
    INFO(rule.code);
    CHECK_FALSE(rule.meaning.empty());
    CHECK_FALSE(rule.action.empty());
    CHECK_FALSE(rule.thresholds.empty());
  }
  Trace t;
  t.tables.timeline.front().timeline.compute_ns = 910'000;
  CHECK(t.advice("compute-bound").threshold == "busy_share 0.9");
}
