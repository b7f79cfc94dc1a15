#include "simulate_options.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "choice.h"

namespace skewscope::cli {
namespace {

constexpr double kMostValue = 1e9;  // keeps the conversions to integers exact

struct RankValue {
  int32_t rank;
  double value;
};

// RANK:VALUE, the form of all options about one rank.
RankValue parse_rank_value(const std::string& flag, const std::string& text) {
  const size_t colon = text.find(':');
  RankValue parsed{};
  bool good = colon != std::string::npos;
  if (good) {
    const char* middle = text.data() + colon;
    const char* last = text.data() + text.size();
    const auto rank = std::from_chars(text.data(), middle, parsed.rank);
    const auto value = std::from_chars(middle + 1, last, parsed.value);
    good = rank.ec == std::errc() && rank.ptr == middle && value.ec == std::errc() && value.ptr == last &&
           std::abs(parsed.value) <= kMostValue;
  }
  if (!good) throw CLI::ValidationError(flag, fmt::format("'{}' is not RANK:NUMBER, such as 3:1.5", text));
  return parsed;
}

// GROUP:OP:FACTOR.
SimulateOptions::TransferFactor parse_transfer_factor(const std::string& text) {
  const size_t last = text.rfind(':');
  const size_t first = last == std::string::npos || last == 0 ? last : text.rfind(':', last - 1);
  SimulateOptions::TransferFactor parsed{};
  bool good = first != std::string::npos && first != last;
  if (good) {
    parsed.group = text.substr(0, first);
    const std::string op = text.substr(first + 1, last - first - 1);
    const auto kind = kind_from_operation_name(op);
    const auto number = std::from_chars(text.data() + last + 1, text.data() + text.size(), parsed.factor);
    good = kind && to_string(*kind) == op && number.ec == std::errc() && number.ptr == text.data() + text.size();
    if (good) parsed.kind = *kind;
  }
  if (!good) {
    throw CLI::ValidationError(
        "--transfer-factor",
        fmt::format("'{}' is not GROUP:OP:FACTOR, such as DATA_PARALLEL_GROUP:all_gather:0.5", text));
  }
  return parsed;
}

// Repeatable; `store` appends one value.
template <class Store>
void add_rank_option(CLI::App& command, const std::string& flag, const std::string& type, const std::string& help,
                     Store store) {
  command
      .add_option_function<std::vector<std::string>>(
          flag,
          [flag, store](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) store(parse_rank_value(flag, text));
          },
          help)
      ->type_name(type);
}

void add_sizes(CLI::App& command, SimulateOptions& options) {
  command.add_option("--nodes", options.nodes, "Nodes of the job")->capture_default_str();
  command.add_option("--gpus", options.gpus_per_node, "GPUs (ranks) per node")->capture_default_str();
  command.add_option("--tp", options.tp, "Tensor-parallel size")->capture_default_str();
  command.add_option("--pp", options.pp, "Pipeline stages")->capture_default_str();
  command.add_option("--micro-batches", options.micro_batches, "Micro-batches per step of a pipeline (1F1B)")
      ->capture_default_str();
  command
      .add_option("--virtual-stages", options.virtual_stages,
                  "Stages of each rank (interleaved 1F1B); pp must divide the micro-batches")
      ->capture_default_str();
  command
      .add_option("--experts", options.experts,
                  "Experts of each rank and layer, between all-to-alls of the data-parallel ranks; 0: none")
      ->capture_default_str();
  command.add_flag("--fsdp", options.fsdp,
                   "Shard parameters over the data-parallel ranks: each layer's are gathered during the layer before");
  command.add_option("--dp", options.dp, "Data-parallel size; checked: nodes x gpus = tp x dp x pp");
  command.add_option("--steps", options.steps, "Training steps")->capture_default_str();
  command.add_option("--first-step", options.first_step, "Number of the first step")->capture_default_str();
  command.add_option("--layers", options.layers, "Layers of the model; pp x virtual stages must divide them")
      ->capture_default_str();
  command
      .add_option("--layer-compute-ns", options.layer_compute_ns,
                  "Mean compute time per layer, direction and micro-batch")
      ->capture_default_str();
  command
      .add_option("--launch-factor", options.launch_factor,
                  "Hosts take FACTOR times as long to launch: with short kernels the job is launch-bound")
      ->type_name("FACTOR")
      ->capture_default_str();
  command.add_option("--layers-per-bucket", options.layers_per_bucket, "Layers whose gradients are reduced together")
      ->capture_default_str();
  command
      .add_option("--message-factor", options.message_factor,
                  "Activations and parameters have FACTOR times as many elements")
      ->type_name("FACTOR")
      ->capture_default_str();
}

void add_disturbances(CLI::App& command, SimulateOptions& options) {
  command
      .add_option("--exit-jitter-ns", options.exit_jitter_ns,
                  "Members leave a collective this much after another, on average")
      ->capture_default_str();
  command.add_option("--clock-offset-ms", options.clock_offset_ms, "Node clocks are off by up to this, either way");
  command.add_option("--clock-drift-ppm", options.clock_drift_ppm, "Node clocks drift by up to this, either way");
  add_rank_option(command, "--slow-rank", "RANK:FACTOR", "This rank computes FACTOR times as long; repeatable",
                  [&options](RankValue v) {
                    options.slow_ranks.push_back({v.rank, v.value});
                  });
  add_rank_option(command, "--more-kernels", "RANK:N",
                  "This rank runs N more kernels per layer and direction, each a twentieth of the layer; repeatable",
                  [&options](RankValue v) {
                    options.more_kernels.push_back({v.rank, static_cast<int32_t>(std::llround(v.value))});
                  });
  add_rank_option(command, "--other-shapes", "RANK:FACTOR",
                  "This rank's operands have FACTOR times as many rows, its layers take as much longer; repeatable",
                  [&options](RankValue v) {
                    options.other_shapes.push_back({v.rank, v.value});
                  });
  add_rank_option(command, "--busy-expert", "RANK:FACTOR",
                  "This rank's experts receive FACTOR times their even part of the tokens; repeatable",
                  [&options](RankValue v) {
                    options.busy_experts.push_back({v.rank, v.value});
                  });
  add_rank_option(command, "--slow-link", "RANK:FACTOR",
                  "Bytes between nodes take FACTOR times as long in groups with this rank; repeatable",
                  [&options](RankValue v) {
                    options.slow_links.push_back({v.rank, v.value});
                  });
  command
      .add_option_function<std::vector<std::string>>(
          "--transfer-factor",
          [&options](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) options.transfer_factors.push_back(parse_transfer_factor(text));
          },
          "Transfers of operation OP in groups of this name (DATA_PARALLEL_GROUP:all_gather:0.5) take FACTOR times as "
          "long, 0: no time; repeatable")
      ->type_name("GROUP:OP:FACTOR");
  add_rank_option(command, "--host-gap", "RANK:MS", "This rank's host stalls for MS once a step; repeatable",
                  [&options](RankValue v) {
                    options.host_gaps.push_back({v.rank, std::llround(v.value * 1e6)});
                  });
  add_rank_option(command, "--slow-host", "RANK:FACTOR",
                  "This rank's host takes FACTOR times as long to launch; repeatable", [&options](RankValue v) {
                    options.slow_hosts.push_back({v.rank, v.value});
                  });
  add_rank_option(command, "--late-window", "RANK:STEPS", "This rank's recording starts STEPS later; repeatable",
                  [&options](RankValue v) {
                    options.late_windows.push_back({v.rank, static_cast<int32_t>(std::llround(v.value))});
                  });
  command.add_option("--lost-kernels", options.lost_kernels, "Share (0..1) of GPU rows missing, at random");
  command.add_option("--missing-rank", options.missing_ranks, "This rank leaves no file; repeatable");
}

void add_form(CLI::App& command, SimulateOptions& options) {
  add_choice<TraceVendor>(command, "--vendor", options.vendor,
                          {{"nvidia", TraceVendor::nvidia}, {"amd", TraceVendor::amd}, {"cpu", TraceVendor::cpu}},
                          "Whose GPUs, or cpu (gloo)");
  add_choice<TraceStyle>(
      command, "--style", options.style,
      {{"a", TraceStyle::era_a}, {"c", TraceStyle::era_c}, {"d", TraceStyle::era_d}, {"e", TraceStyle::era_e}},
      "Build that wrote the traces: a (2023), c (2024), d (2025), e (2026)");
  add_choice<std::string>(command, "--compression", options.compression,
                          {{"none", ""}, {"gzip", "gzip"}, {"zstd", "zstd"}}, "Compression of the traces");
  add_choice<std::string>(command, "--format", options.format,
                          {{"kineto", ""},
                           {"nsys", "nsys"},
                           {"xplane", "xplane"},
                           {"ascend", "ascend"},
                           {"rocpd", "rocpd"},
                           {"rpd", "rpd"},
                           {"rocprofv3-json", "rocprofv3-json"},
                           {"pftrace", "pftrace"},
                           {"nccl-inspector", "nccl-inspector"},
                           {"nccl-inspector-durations", "nccl-inspector-durations"}},
                          "Whose files: torch.profiler's, Nsight Systems' or JAX's (one per node), torch_npu's or "
                          "rocprofv3's databases, rocmProfileData's, rocprofv3's JSON, torch.profiler's of Perfetto, "
                          "logs of NCCL's Inspector with or without times");
  command.add_flag("--digests", options.digests, "Write digests instead of traces: large jobs in seconds");
  command.add_option("--seed", options.seed, "Equal seeds and options give equal bytes")->capture_default_str();
  command.add_flag("--sync-events", options.sync_events, "Write which stream waits for which event; nvidia");
  command.add_option("--cpu-rows", options.cpu_rows_per_kernel, "Filler: cpu_op rows per kernel")
      ->capture_default_str();
  command.add_option("--python-rows", options.python_rows_per_kernel, "Filler: python_function rows per kernel")
      ->capture_default_str();
}

}  // namespace

void add_simulate_options(CLI::App& command, SimulateOptions& options) {
  command.add_option("-o,--output", options.directory, "Folder to make")->required()->type_name("DIR");
  command.add_flag("--force", options.force, "Replace the folder if it is a simulated job");
  add_sizes(command, options);
  add_disturbances(command, options);
  add_form(command, options);
}

}  // namespace skewscope::cli
