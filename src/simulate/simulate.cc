// The story: check the options, then step by step: true time of all ranks, rows of all ranks, truth. Everything is
// written to a sibling folder that takes its name only when it is whole.
#include "skewscope/simulate.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "job.h"
#include "rank_digest.h"
#include "rank_writer.h"
#include "skewscope/base/whole_file.h"
#include "skewscope/digest.h"
#include "src/simulate/formats/simulated_rank.h"
#include "timeline.h"
#include "truth.h"

namespace skewscope {
namespace {

namespace fs = std::filesystem;
using namespace simulate;

constexpr int64_t kMostLayerNs = 10'000'000'000;
constexpr double kMostLayersInStep = 1e6, kMostRows = 1e12;
constexpr double kLayerLaunchNs = 200'000;  // of the host, about
constexpr double kMostJobNs = 1e17;         // three years; Unix time in ns has room for 230 more

Error usage(std::string message) { return {ErrorKind::usage, std::move(message)}; }
Error output(std::string message) { return {ErrorKind::output, std::move(message)}; }

Result<Done> check_sizes(const SimulateOptions& o) {
  if (o.directory.empty()) return usage("simulate: no output directory given");
  for (const auto& [value, name, limit] :
       {std::tuple{o.nodes, "nodes", 65536}, std::tuple{o.gpus_per_node, "GPUs per node", 64},
        std::tuple{o.tp, "tp", 65536}, std::tuple{o.pp, "pp", 65536}, std::tuple{o.steps, "steps", 10'000'000},
        std::tuple{o.layers, "layers", 10'000}, std::tuple{o.micro_batches, "micro-batches", 10'000},
        std::tuple{o.virtual_stages, "virtual stages", 1000}}) {
    if (value < 1 || value > limit) return usage(fmt::format("simulate: {} is {}, must be 1..{}", name, value, limit));
  }
  const int64_t ranks = int64_t{o.nodes} * o.gpus_per_node;
  if (ranks > 65536) return usage(fmt::format("simulate: {} ranks are more than 65536", ranks));
  if (ranks % (int64_t{o.tp} * o.pp) != 0) {
    return usage(fmt::format("simulate: {} ranks do not divide into tp {} x pp {}", ranks, o.tp, o.pp));
  }
  if (o.dp != 0 && int64_t{o.dp} * o.tp * o.pp != ranks) {
    return usage(fmt::format("simulate: tp {} x dp {} x pp {} is not {} ranks", o.tp, o.dp, o.pp, ranks));
  }
  if (o.layers % o.pp != 0) return usage(fmt::format("simulate: {} layers do not divide into pp {}", o.layers, o.pp));
  if (o.virtual_stages > 1) {
    if (o.pp < 2) return usage("simulate: virtual stages need pp 2 or more");
    if (o.layers % (o.pp * o.virtual_stages) != 0) {
      return usage(fmt::format("simulate: {} layers do not divide into pp {} x {} virtual stages", o.layers, o.pp,
                               o.virtual_stages));
    }
    if (o.micro_batches % o.pp != 0) {
      return usage(fmt::format("simulate: {} micro-batches do not divide into pp {}, as virtual stages take them",
                               o.micro_batches, o.pp));
    }
  }
  if (o.experts < 0 || o.experts > 1000)
    return usage(fmt::format("simulate: experts is {}, must be 0..1000", o.experts));
  const bool one_replica = ranks == int64_t{o.tp} * o.pp;
  if ((o.experts > 0 || o.fsdp) && (one_replica || o.vendor == TraceVendor::cpu)) {
    return usage("simulate: experts and sharded parameters need data-parallel ranks with GPUs");
  }
  if (o.fsdp && (o.tp > 1 || o.pp > 1 || o.micro_batches > 1 || o.experts > 0)) {
    return usage("simulate: parameters are sharded over data-parallel ranks only, with one micro-batch");
  }
  if (!o.compression.empty() && o.compression != "gzip" && o.compression != "zstd") {
    return usage(fmt::format("simulate: compression '{}' is none of gzip, zstd", o.compression));
  }
  if (!(o.lost_kernels >= 0 && o.lost_kernels <= 1)) return usage("simulate: the share of lost kernels must be 0..1");
  if (o.layer_compute_ns < 1000 || o.layer_compute_ns > kMostLayerNs) {
    return usage(fmt::format("simulate: a layer must compute for 1000..{} ns", kMostLayerNs));
  }
  if (!(o.launch_factor > 0 && o.launch_factor <= 1000)) {
    return usage("simulate: the launch factor must be in (0, 1000]");
  }
  if (!(o.message_factor > 0 && o.message_factor <= 1000)) {
    return usage("simulate: the message factor must be in (0, 1000]");
  }
  if (o.exit_jitter_ns < 0 || o.exit_jitter_ns > 1'000'000) {
    return usage("simulate: the exit jitter must be 0..1000000 ns");
  }
  if (o.layers_per_bucket < 1) return usage("simulate: a bucket has the gradients of one layer or more");
  for (const auto& [value, name, limit] : {std::tuple{o.first_step, "first step", 1'000'000'000},
                                           std::tuple{o.cpu_rows_per_kernel, "CPU rows per kernel", 1000},
                                           std::tuple{o.python_rows_per_kernel, "Python rows per kernel", 1000}}) {
    if (value < 0 || value > limit) return usage(fmt::format("simulate: {} is {}, must be 0..{}", name, value, limit));
  }
  if (!o.format.empty() && node_format(o.format) == nullptr) {
    return usage(fmt::format("simulate: no format is called '{}'", o.format));
  }
  if (o.digests && !o.format.empty()) return usage("simulate: digests are of no other format");
  const bool from_columns = o.digests || !o.format.empty();
  if (from_columns && (o.style < TraceStyle::era_d || o.vendor != TraceVendor::nvidia || !o.compression.empty())) {
    return usage("simulate: digests and other formats are made in styles d and e, of nvidia, without compression");
  }
  if (!(o.clock_offset_ms >= 0 && o.clock_offset_ms <= 1e9 && o.clock_drift_ppm >= 0 && o.clock_drift_ppm <= 1e4)) {
    return usage("simulate: clock offset must be 0..1e9 ms and drift 0..1e4 ppm");
  }
  return Done{};
}

Result<Done> check_ranks(const SimulateOptions& o) {
  const int32_t ranks = o.nodes * o.gpus_per_node;
  std::vector<std::pair<int32_t, const char*>> named;
  for (const auto& slow : o.slow_ranks) {
    named.emplace_back(slow.rank, "slow rank");
    if (!(slow.factor > 0 && slow.factor <= 1000)) return usage("simulate: a slow rank's factor must be in (0, 1000]");
  }
  for (const auto& more : o.more_kernels) {
    named.emplace_back(more.rank, "rank of more kernels");
    if (more.count < 0 || more.count > 1000) return usage("simulate: more kernels must be 0..1000 per layer");
  }
  for (const auto& shape : o.other_shapes) {
    named.emplace_back(shape.rank, "rank of other shapes");
    if (!(shape.factor > 0 && shape.factor <= 1000)) return usage("simulate: a shape's factor must be in (0, 1000]");
  }
  for (const auto& busy : o.busy_experts) {
    named.emplace_back(busy.rank, "rank of busy experts");
    if (o.experts == 0) return usage("simulate: a busy expert needs experts");
    const int32_t members = ranks / (o.tp * o.pp);
    if (!(busy.factor >= 0 && busy.factor <= members)) {
      return usage(fmt::format("simulate: a busy expert's factor must be in 0..{}, the data-parallel ranks", members));
    }
  }
  for (const auto& gap : o.host_gaps) {
    named.emplace_back(gap.rank, "host gap");
    if (gap.gap_ns < 0) return usage("simulate: a host gap must not be negative");
  }
  for (const auto& host : o.slow_hosts) {
    named.emplace_back(host.rank, "slow host");
    if (!(host.factor > 0 && host.factor <= 1000)) return usage("simulate: a slow host's factor must be in (0, 1000]");
  }
  for (const auto& link : o.slow_links) {
    named.emplace_back(link.rank, "slow link");
    if (!(link.factor >= 1 && link.factor <= 1000)) return usage("simulate: a slow link's factor must be in 1..1000");
  }
  for (const auto& late : o.late_windows) {
    named.emplace_back(late.rank, "late window");
    if (late.steps < 0) return usage("simulate: a late window must not be negative");
  }
  for (const auto& changed : o.transfer_factors) {
    if (!(changed.factor >= 0 && changed.factor <= 1000)) {
      return usage("simulate: a transfer factor must be in 0..1000");
    }
  }
  for (const int32_t rank : o.missing_ranks) named.emplace_back(rank, "missing rank");
  for (const auto& [rank, what] : named) {
    if (rank < 0 || rank >= ranks) return usage(fmt::format("simulate: {} {} is not in 0..{}", what, rank, ranks - 1));
  }
  return Done{};
}

// Options that are fine each but not together: memory holds one step of all ranks, int64 holds the job's nanoseconds,
// and a disk its rows.
Result<Done> check_products(const SimulateOptions& o) {
  const int32_t layers_per_stage = o.layers / o.pp;
  const double each = 1 + 0.3 * o.experts;  // more kernels in a layer
  const double layers = static_cast<double>(o.nodes) * o.gpus_per_node * layers_per_stage * o.micro_batches * each;
  if (layers > kMostLayersInStep) {
    return usage(fmt::format("simulate: ranks x layers x micro-batches / pp is {:.0f}, must be {:.0f} at most", layers,
                             kMostLayersInStep));
  }
  const double rows = layers * o.steps * (1.0 + o.cpu_rows_per_kernel + o.python_rows_per_kernel);
  if (rows > kMostRows) {
    return usage(
        fmt::format("simulate: ranks x layers x steps x rows is {:.2g}, must be {:.2g} at most", rows, kMostRows));
  }
  double factor = 1, gap_ns = 0;
  for (const auto& slow : o.slow_ranks) factor = std::max(factor, slow.factor);
  for (const auto& shape : o.other_shapes) factor = std::max(factor, shape.factor);
  for (const auto& more : o.more_kernels) factor = std::max(factor, 1 + 0.05 * more.count);
  for (const auto& gap : o.host_gaps) gap_ns = std::max(gap_ns, static_cast<double>(gap.gap_ns));
  double launch_factor = 1;
  for (const auto& host : o.slow_hosts) launch_factor = std::max(launch_factor, host.factor);
  launch_factor *= o.launch_factor;
  const double layer_ns = static_cast<double>(o.layer_compute_ns) * factor + kLayerLaunchNs * launch_factor;
  const double step_ns = 2.0 * o.layers * o.micro_batches * layer_ns + gap_ns;
  if (step_ns * o.steps > kMostJobNs) {
    return usage(fmt::format("simulate: the job would run for {:.2g} s, must be {:.2g} s at most",
                             step_ns * o.steps * 1e-9, kMostJobNs * 1e-9));
  }
  return Done{};
}

// rank<N>_trace.json, plain, compressed or a digest; a log of a process.
bool is_trace_name(std::string_view name) {
  if (name.starts_with("node") && name.ends_with(".log") && name.find("-pid") != name.npos) return true;
  constexpr std::string_view kHead = "rank", kTail = "_trace.json";
  for (const std::string_view suffix : {std::string_view(".gz"), std::string_view(".zst"), kDigestSuffix}) {
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  }
  if (!name.starts_with(kHead) || !name.ends_with(kTail) || name.size() <= kHead.size() + kTail.size()) return false;
  name = name.substr(kHead.size(), name.size() - kHead.size() - kTail.size());
  return name.find_first_not_of("0123456789") == std::string_view::npos;
}

// The first entry, by name, of a folder that simulate_job does not write; "" for none. A folder that cannot be read is
// foreign itself.
std::string foreign_entry(const fs::path& directory) {
  std::string first;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    const bool file = entry->symlink_status(ignored).type() == fs::file_type::regular;
    if (file && (name == "truth.json" || is_trace_name(name) || is_name_of_node_file(name))) continue;
    if (first.empty() || name < first) first = name;
  }
  return error ? "." : first;
}

// An existing folder is replaced only with --force, and only if it is empty or a simulated job and nothing else.
Result<Done> check_target(const SimulateOptions& options) {
  std::error_code ignored;
  const fs::path target = options.directory;
  if (!fs::exists(target, ignored)) return Done{};
  if (!options.force) return output(fmt::format("{} exists; --force replaces it", options.directory));
  if (!fs::is_directory(target, ignored) ||
      !(fs::is_empty(target, ignored) || fs::exists(target / "truth.json", ignored))) {
    return output(fmt::format("{} is no simulated job; it is not replaced, choose another name", options.directory));
  }
  if (const std::string foreign = foreign_entry(target); !foreign.empty()) {
    return output(fmt::format("{} holds '{}', which is no part of a simulated job; it is not replaced",
                              options.directory, foreign));
  }
  return Done{};
}

// One file a node, or one a rank.
bool write_nodes(const Job& job, const NodeFormat& format, const std::vector<std::unique_ptr<RankOutput>>& outputs,
                 const std::string& directory) {
  std::atomic<bool> fine{true};
  tbb::parallel_for(int32_t{0}, job.options.nodes, [&](int32_t node) {
    std::vector<SimulatedRank> ranks;
    for (int32_t rank = 0; rank < job.topology.ranks; ++rank) {
      if (job.topology.node(rank) != node || !job.trait(rank).has_file) continue;
      ranks.push_back(static_cast<RankDigest&>(*outputs[static_cast<size_t>(rank)]).take());
    }
    if (format.own_file == nullptr) {
      if (!ranks.empty() && !format.write(ranks, directory + "/" + name_of_node_file(format, node))) fine = false;
      return;
    }
    for (SimulatedRank& rank : ranks) {
      const std::string path = directory + "/" + format.own_file(rank.file, rank.process);
      std::vector<SimulatedRank> alone;
      alone.push_back(std::move(rank));
      if (!format.write(alone, path)) fine = false;
    }
  });
  return fine;
}

// `directory`: where the job is written; `final_directory`: where it will be.
bool write_job(const Job& job, const std::string& directory, const std::string& final_directory,
               const std::function<void(int64_t steps)>& stepped) {
  std::vector<std::unique_ptr<RankOutput>> outputs;
  const NodeFormat* format = node_format(job.options.format);
  for (int32_t rank = 0; rank < job.topology.ranks; ++rank) {
    if (job.options.digests || format != nullptr) {
      outputs.push_back(std::make_unique<RankDigest>(job, rank, directory, final_directory, format));
    } else {
      outputs.push_back(std::make_unique<RankWriter>(job, rank, directory));
    }
  }
  TruthWriter truth(job, directory);
  Job ideal = job, instant = job;
  ideal.ideal_network = true;
  instant.instant_calls = true;
  TimelineEngine engine(job), ideal_engine(ideal), instant_engine(instant);
  std::atomic<bool> fine{true};
  const auto for_each_output = [&](const auto& work) {
    tbb::parallel_for(int32_t{0}, job.topology.ranks, [&](int32_t rank) {
      if (job.trait(rank).has_file && fine && !work(rank, *outputs[static_cast<size_t>(rank)])) fine = false;
    });
  };
  for (int32_t step = 0; step < job.options.steps && fine; ++step) {
    const StepTimeline& timeline = engine.next_step();
    for_each_output([&](int32_t rank, RankOutput& output) {
      if (step < job.trait(rank).late_steps) return true;
      return output.write_step(step, timeline.ranks[static_cast<size_t>(rank)]);
    });
    if (!truth.write_step(step, timeline)) fine = false;
    truth.add_ideal_step(ideal_engine.next_step());
    truth.add_instant_step(instant_engine.next_step());
    if (stepped) stepped(step + 1);
  }
  for_each_output([](int32_t, RankOutput& output) { return output.finish(); });
  if (fine && format != nullptr && !write_nodes(job, *format, outputs, directory)) fine = false;
  return fine && truth.finish(outputs);
}

Result<Done> replace(const fs::path& made, const fs::path& target) {
  std::error_code error;
  fs::remove_all(target, error);
  if (!error) fs::rename(made, target, error);
  if (!error) return Done{};
  return output(fmt::format("{} cannot be written: {}", target.string(), error.message()));
}

}  // namespace

Result<Done> simulate_job(const SimulateOptions& options, const std::function<void(int64_t steps)>& stepped) {
  for (const auto check : {check_sizes, check_ranks, check_products, check_target}) {
    auto result = check(options);
    if (!result.ok()) return result;
  }
  fs::path target = fs::path(options.directory).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();
  UnfinishedFolder partial(target.string() + ".partial");
  const std::string folder = partial.path().string();
  std::error_code error;
  // A process that died left it; whatever else bears the name stays.
  if (fs::exists(folder, error) && (!fs::is_directory(folder, error) || !foreign_entry(folder).empty())) {
    return output(fmt::format("{} is in the way and no part of a simulated job", folder));
  }
  fs::remove_all(folder, error);
  if (const std::error_code failed = partial.make(); failed) {
    return output(fmt::format("{} cannot be made: {}", folder, failed.message()));
  }
  if (!write_job(make_job(options), folder, target.string(), stepped)) {
    return output(fmt::format("a trace in {} cannot be written; is the disk full?", folder));
  }
  return replace(folder, target);
}

}  // namespace skewscope
