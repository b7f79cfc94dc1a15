// The story: what each run did per step; whether the job's work grew with its ranks; each run against the smallest;
// what was lost between neighbours and to whom; a law, where the sizes support one.
#include <fmt/format.h>
#include <algorithm>
#include <cmath>

#include "causes.h"
#include "comparable.h"
#include "longest_component.h"
#include "losses.h"
#include "projection.h"
#include "run_figures.h"
#include "skewscope/base/human_units.h"

namespace skewscope {
namespace {

using namespace scale;

// TALP's bound (DLB, "POP metrics"): a series is strong when the job's work grows less than 0.75 times as much as its
// resources.
constexpr double kStrongBelow = 0.75;

Error usage(std::string message) { return {ErrorKind::usage, std::move(message)}; }

Result<Done> check(const std::vector<ScaleReport::Run>& runs) {
  if (runs.size() < 2) return usage("scale needs at least two runs of one job at different sizes");
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].world_size <= 0 || runs[i].step_ns <= 0) {
      return Error{ErrorKind::no_input, fmt::format("{}: none of its ranks was recorded", runs[i].name)};
    }
    if (i > 0 && runs[i].world_size == runs[i - 1].world_size) {
      return usage(fmt::format("{} and {} both have {} ranks: use skewscope compare for runs of one size",
                               runs[i - 1].name, runs[i].name, runs[i].world_size));
    }
  }
  return Done{};
}

void decide_scaling(ScaleReport& report, std::optional<Scaling> given) {
  const ScaleReport::Run &first = report.runs.front(), &last = report.runs.back();
  const double work = first.compute_ns > 0 ? last.compute_ns / first.compute_ns : 1;
  report.evidence = fmt::format(
      "from {} to {} ranks, computing per rank and step goes from {} to {}, messages from {} to {}", first.world_size,
      last.world_size, human_duration(std::llround(first.compute_ns)), human_duration(std::llround(last.compute_ns)),
      human_bytes(std::llround(first.message_bytes)), human_bytes(std::llround(last.message_bytes)));
  report.scaling_given = given.has_value();
  report.scaling = given.value_or(work < kStrongBelow ? Scaling::strong : Scaling::weak);
}

void relate_to_smallest(ScaleReport& report) {
  const ScaleReport::Run& first = report.runs.front();
  for (ScaleReport::Run& run : report.runs) {
    const double size = static_cast<double>(run.world_size) / first.world_size;
    const bool weak = report.scaling == Scaling::weak;
    run.speedup = first.step_ns / run.step_ns * (weak ? size : 1);
    run.throughput_per_gpu = run.speedup / size;
    if (first.step_error_ns >= 0 && run.step_error_ns >= 0 && &run != &first) {
      run.speedup_error =
          run.speedup * std::hypot(first.step_error_ns / first.step_ns, run.step_error_ns / run.step_ns);
    }
    if (run.compute_ns > 0 && first.compute_ns > 0) {
      run.computation_scaling = first.compute_ns / run.compute_ns / (weak ? 1 : size);
    }
    if (run.efficiency.parallel >= 0 && run.computation_scaling >= 0) {
      run.global = run.efficiency.parallel * run.computation_scaling;
    }
  }
}

void find_doubts(ScaleReport& report) {
  const auto doubt = [&](FindingCode code, std::string message) {
    report.diagnostics.push_back(finding_of_job(Severity::warning, code, std::move(message)));
  };
  for (const ScaleReport::Run& run : report.runs) {
    if (run.steps == 0) {
      doubt("no-steps", run.name +
                            ": no ProfilerStep was recorded, so the whole window counts as one step; runs with "
                            "different numbers of steps cannot be compared");
    }
    if (run.global < 0) doubt("no-efficiency", run.name + ": no efficiency, because no GPU row was recorded");
    if (run.global >= 0 && run.efficiency.transfer < 0) {
      doubt("no-replay",
            run.name + ": serialization and transfer could not be separated, because the job was not simulated");
    }
  }
  sort_findings(report.diagnostics);
}

}  // namespace

Result<ScaleReport> scale_runs(const std::vector<NamedReport>& runs, std::optional<Scaling> scaling) {
  std::vector<LongestComponent> components;
  components.reserve(runs.size());
  std::vector<const NamedReport*> by_size;
  for (const NamedReport& run : runs) by_size.push_back(&components.emplace_back(run).run());
  std::stable_sort(by_size.begin(), by_size.end(), [](const NamedReport* a, const NamedReport* b) {
    return a->report.job.world_size < b->report.job.world_size;
  });
  ScaleReport out;
  for (const NamedReport* run : by_size) out.runs.push_back(run_of(*run));
  if (const auto fine = check(out.runs); !fine.ok()) return fine.error();
  if (const auto same = same_step_basis(by_size); !same.ok()) return same.error();
  decide_scaling(out, scaling);
  relate_to_smallest(out);
  for (size_t i = 0; i + 1 < out.runs.size(); ++i) {
    const NamedReport &before = *by_size[i], &after = *by_size[i + 1];
    for (Finding& finding : comparison_doubts(before, after)) out.diagnostics.push_back(std::move(finding));
    const Pair pair{by_size[i]->report, by_size[i + 1]->report, out.runs[i], out.runs[i + 1]};
    for (ScaleReport::Loss& loss : losses_between(out.runs, i, i + 1)) {
      loss.causes = causes_of(loss, pair, out.scaling);
      out.losses.push_back(std::move(loss));
    }
  }
  out.projection = project(out.runs, out.scaling);
  for (const NamedReport& run : runs) {
    for (Finding& finding : component_doubts(run)) out.diagnostics.push_back(std::move(finding));
  }
  find_doubts(out);
  return out;
}

}  // namespace skewscope
