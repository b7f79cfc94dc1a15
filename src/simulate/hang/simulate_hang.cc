#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "skewscope/base/whole_file.h"
#include "skewscope/simulate/hang.h"
#include "src/simulate/hang/recorder.h"
#include "src/simulate/hang/schedule.h"
#include "src/simulate/hang/standstill.h"
#include "src/simulate/random.h"

namespace skewscope {
namespace {

namespace files = std::filesystem;
using simulate::mix;
using simulate::Random;
using simulate::hang::HangJob;
using simulate::hang::RecorderStyle;
using simulate::hang::Standstill;

constexpr double kClocks_ns = 2e6;  // of hosts, either way
constexpr int32_t kRanksOfHost = 8;

RecorderStyle style_of(Random& random, const SimulateHangOptions& options) {
  RecorderStyle style;
  style.json = random.uniform() < 0.2;
  style.frames = random.uniform() < 0.5;
  style.active_only = random.uniform() < 0.3;
  style.starts = random.uniform() < 0.7;
  style.ring = random.uniform() < 0.5 ? 2000 : 20 + static_cast<size_t>(random.uniform() * 60);
  // What makes a hang of late ranks one, and of equal sizes, lies before the calls under way.
  if (options.kind == HangKind::size || options.kind == HangKind::missing_rank) {
    style.ring = 2000;
    style.active_only = false;
  }
  return style;
}

std::string truth_of(const SimulateHangOptions& options, const SimulatedHang& hang, const HangJob& job) {
  const nlohmann::ordered_json truth = {{"schema", "skewscope.simulated-hang/1"},
                                        {"kind", to_string(options.kind)},
                                        {"seed", options.seed},
                                        {"world_size", options.ranks},
                                        {"culprit", hang.culprit},
                                        {"culprit_dumped", hang.culprit_dumped},
                                        {"fault_at_call", job.fault_at}};
  return truth.dump(1) + "\n";
}

}  // namespace

const char* to_string(HangKind kind) {
  switch (kind) {
    case HangKind::missing_rank:
      return "missing-rank";
    case HangKind::order:
      return "order";
    case HangKind::size:
      return "size";
    case HangKind::dead_gpu:
      return "dead-gpu";
    case HangKind::stuck_host:
      return "stuck-host";
    case HangKind::slow_host:
      return "slow-host";
  }
  return "";
}

Result<SimulatedHang> simulated_hang(const SimulateHangOptions& options) {
  const bool divides =
      options.ranks > 1 && options.tp > 0 && options.pp > 0 && options.ranks % (options.tp * options.pp) == 0;
  if (!divides) return Error{ErrorKind::usage, "simulate --hang: ranks = tp x pp x dp, at least 2"};
  if (options.tp == 1 && options.ranks == options.pp) {
    return Error{ErrorKind::usage, "simulate --hang: a pipeline alone has no group that could hang"};
  }
  const HangJob job = simulate::hang::hang_job(options);
  const Standstill still = simulate::hang::run_until_still(job, options);
  Random random(mix(options.seed, 1000 + static_cast<uint64_t>(options.kind)));
  const RecorderStyle style = style_of(random, options);
  SimulatedHang hang;
  hang.culprit = job.culprit;
  const bool dead = options.kind == HangKind::dead_gpu;
  hang.culprit_dumped = !dead || random.uniform() < 0.6;
  // As real dumps of GPU errors show: what ended last before the error is not seen to end.
  const size_t unseen = !style.starts ? 3 + static_cast<size_t>(random.uniform() * 12) : 0;
  std::vector<std::string> texts(job.calls.size());
  tbb::parallel_for(size_t{0}, job.calls.size(), [&](size_t rank) {
    const auto number = static_cast<int32_t>(rank);
    RecorderStyle own = style;
    if (dead && number == job.culprit && unseen > 0) own.blind_from = job.fault_at > unseen ? job.fault_at - unseen : 1;
    Random clock(mix(options.seed, static_cast<uint64_t>(number / kRanksOfHost)));
    texts[rank] = simulate::hang::dump_text(job, still, number, own,
                                            static_cast<int64_t>((2 * clock.uniform() - 1) * kClocks_ns));
  });
  for (size_t rank = 0; rank < texts.size(); ++rank) {
    if (static_cast<int32_t>(rank) == job.culprit && !hang.culprit_dumped) continue;
    hang.dumps.emplace_back(fmt::format("nccl_trace_rank_{}", rank), std::move(texts[rank]));
  }
  hang.truth = truth_of(options, hang, job);
  return hang;
}

Result<Done> write_simulated_hang(const SimulateHangOptions& options, const std::string& directory, bool force) {
  auto hang = simulated_hang(options);
  if (!hang.ok()) return hang.error();
  const files::path target = files::path(directory).lexically_normal();
  const files::path place = target.has_filename() ? target : target.parent_path();
  std::error_code error;
  if (files::exists(place, error)) {
    const bool made_here = files::is_empty(place, error) || files::exists(place / "truth.json");
    if (!force || !made_here) {
      return Error{ErrorKind::output, fmt::format("{} exists; --force replaces what was simulated", directory)};
    }
  }
  UnfinishedFolder unfinished(place.string() + ".partial");
  error = unfinished.make();
  if (error) return Error{ErrorKind::output, fmt::format("cannot make {}: {}", directory, error.message())};
  hang.value().dumps.emplace_back("truth.json", hang.value().truth);
  for (const auto& [name, bytes] : hang.value().dumps) {
    const auto written = write_whole_file(bytes, (unfinished.path() / name).string(), true);
    if (!written.ok()) return written.error();
  }
  files::remove_all(place, error);
  files::rename(unfinished.path(), place, error);
  if (error) return Error{ErrorKind::output, fmt::format("cannot make {}: {}", directory, error.message())};
  return Done{};
}

}  // namespace skewscope
