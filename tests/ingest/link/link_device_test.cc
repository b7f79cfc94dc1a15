#include <catch2/catch.hpp>

#include "src/ingest/link/link_calls.h"
#include "tests/ingest/content_builder.h"
#include "tests/ingest/reader_support.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

LinkedTrace link_device(ContentBuilder&& b) { return link_calls(std::move(b.content())); }

}  // namespace

TEST_CASE("the device is the one most rows ran on, its name from deviceProperties") {
  ContentBuilder b;
  b.content().devices.resize(3);
  b.content().devices[0].name = "GPU zero";
  b.content().devices[1].name = "GPU one";
  b.content().devices[2].name = "GPU two";
  b.kernel("a", 10, 1, 1).device = 0;
  b.kernel("b", 20, 1, 2).device = 2;
  b.kernel("c", 30, 1, 3).device = 2;
  const LinkedTrace linked = link_device(std::move(b));
  CHECK(linked.trace.device == 2);
  CHECK(linked.trace.device_name == "GPU two");
}

TEST_CASE("the vendor is told by the launches, else by properties") {
  ContentBuilder hip;
  hip.launch(0, 1);
  hip.content().hip_launches = true;
  hip.kernel("a", 10, 1, 1);
  const LinkedTrace by_launches = link_device(std::move(hip));
  CHECK(by_launches.trace.vendor == GpuVendor::amd);
  ContentBuilder properties;
  properties.content().hip_properties = true;
  const LinkedTrace by_properties = link_device(std::move(properties));
  CHECK(by_properties.trace.vendor == GpuVendor::amd);
  ContentBuilder cuda;
  cuda.launch(0, 1);
  cuda.content().cuda_launches = true;
  const LinkedTrace by_cuda = link_device(std::move(cuda));
  CHECK(by_cuda.trace.vendor == GpuVendor::nvidia);
  ContentBuilder mtia;
  mtia.launch(0, 1);
  const LinkedTrace by_none = link_device(std::move(mtia));
  CHECK(by_none.trace.vendor == GpuVendor::other);
  const LinkedTrace untold = link_device(ContentBuilder());
  CHECK(untold.trace.vendor == GpuVendor::nvidia);
  ContentBuilder level_zero;
  level_zero.launch(0, 1);
  level_zero.content().intel_launches = true;
  const LinkedTrace by_names = link_device(std::move(level_zero));
  CHECK(by_names.trace.vendor == GpuVendor::intel);
  ContentBuilder max_gpu;
  max_gpu.content().devices.resize(1);
  max_gpu.content().devices[0].name = "Intel(R) Data Center GPU Max 1550";
  const LinkedTrace by_device = link_device(std::move(max_gpu));
  CHECK(by_device.trace.vendor == GpuVendor::intel);
}

TEST_CASE(
    "calls in which a launching thread waits for the GPU are kept, by start; other threads' and other calls not") {
  const auto call = [](const std::string& name, int thread, int start) {
    return R"({"ph": "X", "cat": "cuda_runtime", "name": ")" + name + R"(", "pid": 9, "tid": )" +
           std::to_string(thread) + R"(, "ts": )" + std::to_string(start) + R"(, "dur": 5, "args": {"correlation": )" +
           std::to_string(start) + "}}";
  };
  const std::string events = call("cudaLaunchKernel", 1, 10) + "," + call("cudaDeviceSynchronize", 1, 80) + "," +
                             call("cudaStreamSynchronize", 1, 30) + "," + call("cuEventSynchronize", 1, 40) + "," +
                             call("hipDeviceSynchronize", 1, 50) + "," + call("cudaStreamSynchronize", 2, 60) + "," +
                             call("cudaStreamWaitEvent", 1, 70) + "," + call("cudaEventQuery", 1, 75) + "," +
                             kernel("gemm", "12", "3", "\"correlation\": 10");
  for (const bool details : {false, true}) {
    ReadSettings settings;
    settings.details = details;
    FileContent content = read_text(trace_of(events), settings);
    const LinkedTrace linked = link_calls(std::move(content));
    std::vector<int64_t> starts_us;
    for (const SynchronizingCall& one : linked.trace.synchronizing) {
      starts_us.push_back(one.start.ns / 1000);
      CHECK(one.duration_ns == 5000);
    }
    CHECK(starts_us == std::vector<int64_t>{30, 40, 50, 80});
    CHECK(linked.trace.launches.size() == 1);
  }
}
