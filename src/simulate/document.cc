#include "document.h"

#include <algorithm>

namespace skewscope::simulate {
namespace {

// Kineto floors the start of the process to a multiple of this, in seconds.
constexpr int64_t kBasePeriodS = 7'889'238;
// What is recorded with, as head and software_of() say it.
constexpr int kHip = 60443483, kCuda = 12080;
constexpr const char *kHipText = "6.4.43483", *kCudaText = "12.8";

const char* nccl_of(const Job& job) { return job.options.style == TraceStyle::era_c ? "2.20.5" : "2.27.5"; }

void print_devices(Text& text, const SimulateOptions& options) {
  print_plain(text, "  \"deviceProperties\": [");
  const bool amd = options.vendor == TraceVendor::amd;
  const int32_t devices = options.vendor == TraceVendor::cpu ? 0 : options.gpus_per_node;
  const char* name = device_name(options.vendor);
  for (int32_t id = 0; id < devices; ++id) {
    print(
        text,
        "{}\n    {{\n      \"id\": {}, \"name\": \"{}\", \"totalGlobalMem\": {},\n      \"computeMajor\": 9, "
        "\"computeMinor\": {},\n      \"maxThreadsPerBlock\": 1024, \"maxThreadsPerMultiprocessor\": 2048,\n      "
        "\"regsPerBlock\": 65536, \"warpSize\": {},\n      \"sharedMemPerBlock\": {}, \"numSms\": {}\n    {}\n    }}",
        id == 0 ? "" : ",", id, name, amd ? 206141652992 : 84935639040, amd ? 4 : 0, amd ? 64 : 32, amd ? 65536 : 49152,
        amd ? 304 : 132,
        amd ? R"(, "maxSharedMemoryPerMultiProcessor": 65536)"
            : R"(, "regsPerMultiprocessor": 65536, "sharedMemPerBlockOptin": 232448, "sharedMemPerMultiprocessor": 233472)");
  }
  print_plain(text, "\n  ],\n");
}

void print_distributed_info(Text& text, const Job& job, int32_t rank) {
  const bool cpu = job.options.vendor == TraceVendor::cpu;
  print(text, R"(  "distributedInfo": {{"backend": "{}", "rank": {}, "world_size": {})", cpu ? "gloo" : "nccl", rank,
        job.topology.ranks);
  if (job.options.style == TraceStyle::era_a) {
    print_plain(text, "},\n");
    return;
  }
  std::string config;
  int32_t count = 0;
  for (const Axis axis : {Axis::world, Axis::data, Axis::tensor, Axis::pipeline, Axis::pipeline_back, Axis::expert}) {
    const int32_t row = job.topology.group_of(rank, axis);
    if (row < 0) continue;
    const Group& group = job.topology.groups[static_cast<size_t>(row)];
    config +=
        fmt::format(R"({}{{"pg_name": "{}", "pg_desc": "{}", "backend_config": "{}", "pg_size": {}, "ranks": [{}]}})",
                    count++ == 0 ? "" : ", ", group.name, group.description, cpu ? "cpu:gloo" : "cuda:nccl",
                    group.ranks.size(), fmt::join(group.ranks, ", "));
  }
  print(text, R"(, "pg_count": {}, "pg_config": [{}]{}}},)", count, config,
        cpu ? "" : fmt::format(R"(, "nccl_version": "{}")", nccl_of(job)));
  print_plain(text, "\n");
}

void print_versions(Text& text, const Job& job, int32_t rank) {
  const bool old = job.options.style == TraceStyle::era_a;
  if (old || job.options.style == TraceStyle::era_d || job.options.style == TraceStyle::era_e) {
    print_plain(text, "  \"record_shapes\": 1,\n");
  }
  if (job.options.python_rows_per_kernel > 0) print_plain(text, "  \"with_stack\": 1,\n");
  if (old) return;
  if (job.options.vendor == TraceVendor::amd) {
    print(text, "  \"roctracer_version\": 4.1,\n  \"hip_runtime_version\": {0},\n  \"hip_driver_version\": {0},\n",
          kHip);
  } else if (job.options.vendor == TraceVendor::nvidia) {
    print(text, "  \"cupti_version\": 26,\n  \"cuda_runtime_version\": {0},\n  \"cuda_driver_version\": {0},\n", kCuda);
  }
  print(text, "  \"host_name\": \"node{}\",\n  \"trace_id\": \"{:032X}\",\n", job.topology.node(rank),
        job.options.seed * 1000003 + static_cast<uint64_t>(rank));
}

void print_process(Text& text, std::string_view stamp, int64_t pid, const std::string& label, int64_t sort_index) {
  for (const auto& [name, key, value] : {std::tuple{"process_name", "name", std::string("\"python3\"")},
                                         std::tuple{"process_labels", "labels", '"' + label + '"'},
                                         std::tuple{"process_sort_index", "sort_index", std::to_string(sort_index)}}) {
    print(text,
          "  {{\n    \"name\": \"{}\", \"ph\": \"M\", \"ts\": {}, \"pid\": {}, \"tid\": 0,\n    \"args\": {{\n      "
          "\"{}\": {}\n    }}\n  }},\n",
          name, stamp, pid, key, value);
  }
}

void print_thread(Text& text, std::string_view stamp, Place place, const std::string& name) {
  print(text,
        "  {{\n    \"name\": \"thread_name\", \"ph\": \"M\", \"ts\": {0}, \"pid\": {1}, \"tid\": {2},\n    \"args\": "
        "{{\n      \"name\": \"{3}\"\n    }}\n  }},\n  {{\n    \"name\": \"thread_sort_index\", \"ph\": \"M\", \"ts\": "
        "{0}, \"pid\": {1}, \"tid\": {2},\n    \"args\": {{\n      \"sort_index\": {2}\n    }}\n  }},\n",
        stamp, place.pid, place.tid, name);
}

void print_names(Text& text, const Job& job, const Layout& layout, std::string_view stamp) {
  print_process(text, stamp, layout.pid, "CPU", layout.pid);
  if (job.options.vendor != TraceVendor::cpu) {
    for (int32_t gpu = 0; gpu < 8; ++gpu) print_process(text, stamp, gpu, fmt::format("GPU {}", gpu), 16777216 + gpu);
    for (int32_t stream = 0; stream < streams_of(job.options); ++stream) {
      const int64_t number = stream_number(job, layout, stream);
      print_thread(text, stamp, {layout.device, number}, fmt::format("stream {} ", number));
    }
  }
  print_thread(text, stamp, layout.host(false), fmt::format("thread {} (python3)", layout.pid));
  print_thread(text, stamp, layout.host(true), fmt::format("thread {} (pt_autograd_0)", layout.autograd_tid));
}

}  // namespace

Layout make_layout(const Job& job, int32_t rank) {
  Layout layout;
  layout.pid = 20'000 + rank * 311;
  layout.autograd_tid = layout.pid + 173;
  layout.device = job.topology.device(rank);
  if (job.options.style == TraceStyle::era_a) {
    layout.stamps.whole_microseconds = true;
  } else {
    constexpr int64_t kBasePeriodNs = kBasePeriodS * 1'000'000'000;
    layout.stamps.base_ns = job.clocks[static_cast<size_t>(rank)].reference_ns / kBasePeriodNs * kBasePeriodNs;
  }
  return layout;
}

int64_t stream_number(const Job& job, const Layout& layout, int32_t stream) {
  if (job.options.vendor == TraceVendor::cpu) return layout.pid + 200 + stream;
  if (job.options.vendor == TraceVendor::amd) return stream == kComputeStream ? 0 : 3 + stream;
  return stream == kComputeStream ? 7 : 16 + 4 * stream;
}

const char* device_name(TraceVendor vendor) {
  if (vendor == TraceVendor::cpu) return "";
  return vendor == TraceVendor::amd ? "AMD Instinct MI300X" : "NVIDIA H100 80GB HBM3";
}

std::vector<std::string> software_of(const Job& job) {
  const TraceVendor vendor = job.options.vendor;
  if (job.options.style == TraceStyle::era_a || vendor == TraceVendor::cpu) return {};
  std::vector<std::string> software = {fmt::format("NCCL/{}", nccl_of(job))};
  if (vendor == TraceVendor::amd)
    software.insert(software.end(), {fmt::format("HIP/{}", kHipText), fmt::format("HIP-driver/{}", kHipText)});
  if (vendor == TraceVendor::nvidia)
    software.insert(software.end(), {fmt::format("CUDA/{}", kCudaText), fmt::format("CUDA-driver/{}", kCudaText)});
  return software;
}

void print_head(Text& text, const Job& job, int32_t rank, const Layout& layout) {
  print_plain(text, "\n{\n  \"schemaVersion\": 1,\n");
  print_devices(text, job.options);
  print_distributed_info(text, job, rank);
  print_versions(text, job, rank);
  if (job.options.style == TraceStyle::era_d || job.options.style == TraceStyle::era_e) {
    print(text, "  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": {},\n", layout.stamps.base_ns);
  }
  print_plain(text, "  \"traceEvents\": [\n");
}

void print_tail(Text& text, const Job& job, const Layout& layout, const std::string& trace_name, int64_t begin_ns,
                int64_t end_ns) {
  const TimeText begin = layout.stamps.stamp(begin_ns);
  print_names(text, job, layout, begin);
  print(text,
        "  {{\n    \"ph\": \"X\", \"cat\": \"Trace\", \"ts\": {0}, \"dur\": {1},\n    \"pid\": \"Spans\", \"tid\": "
        "\"PyTorch Profiler\",\n    \"name\": \"PyTorch Profiler (0)\",\n    \"args\": {{\n      \"Op count\": 0\n    "
        "}}\n  }},\n  {{\n    \"name\": \"process_sort_index\", \"ph\": \"M\", \"ts\": {0},\n    \"pid\": \"Spans\", "
        "\"tid\": 0,\n    \"args\": {{\n      \"sort_index\": 536870912\n    }}\n  }},\n  {{\n    \"name\": "
        "\"Iteration Start: PyTorch Profiler\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": \"Traces\", \"tid\": "
        "\"Trace PyTorch Profiler\", \"ts\": {0}\n  }},\n  {{\n    \"name\": \"Record Window End\", \"ph\": \"i\", "
        "\"s\": \"g\",\n    \"pid\": \"\", \"tid\": \"\", \"ts\": {2}\n  }}\n  ],\n",
        std::string_view(begin), std::string_view(layout.stamps.duration(end_ns - begin_ns)),
        std::string_view(layout.stamps.stamp(end_ns)));
  print(text, "  \"traceName\": \"./{}\"", trace_name);
  if (job.options.style == TraceStyle::era_c) {
    print(text, ",\n  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": {}", layout.stamps.base_ns);
  }
  print_plain(text, "\n}");
}

}  // namespace skewscope::simulate
