// `skewscope scale` on a terminal, in at most 35 lines of 80 columns: verdict 2, why 2, scaling 2; one column per size:
// step, speed-up, efficiencies 12; losses 6; causes 3; projection 2, warnings 2, path 1; 3 blank lines.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lines.h"
#include "run_words.h"
#include "skewscope/base/human_units.h"
#include "skewscope/base/text_columns.h"
#include "skewscope/report.h"

namespace skewscope {
namespace report {
namespace {

using Run = ScaleReport::Run;
using Loss = ScaleReport::Loss;
using Cause = ScaleReport::Cause;
constexpr size_t kName = 25, kNumber = 9, kMostRuns = 6, kMostCauses = 3;

std::string percent(double ratio) { return ratio < 0 ? "-" : fmt::format("{:.1f} %", 100 * ratio); }
std::string duration(double ns) { return ns < 0 ? "-" : human_duration(std::llround(ns)); }

// The smallest run and the largest that have room, as columns.
std::vector<const Run*> shown_runs(const ScaleReport& report) {
  std::vector<const Run*> runs;
  for (size_t i = 0; i < report.runs.size(); ++i) {
    if (i == 0 || i + kMostRuns > report.runs.size()) runs.push_back(&report.runs[i]);
  }
  return runs;
}

template <class Words>
void add_row(Lines& lines, const std::string& name, const std::vector<const Run*>& runs, const Words& words,
             Style style = Style::plain) {
  std::string text = pad(name, kName);
  for (const Run* run : runs) text += pad_left(words(*run), kNumber);
  lines.push_back({text, style});
}

void add_runs(Lines& lines, const ScaleReport& report) {
  const auto runs = shown_runs(report);
  const auto efficiency = [&](const char* name, double JobReport::Efficiency::*value) {
    add_row(lines, name, runs, [&](const Run& r) { return percent(r.efficiency.*value); });
  };
  using E = JobReport::Efficiency;
  add_row(
      lines, "Ranks", runs, [](const Run& r) { return std::to_string(r.world_size); }, Style::bold);
  add_row(lines, "step", runs, [](const Run& r) { return duration(r.step_ns); });
  add_row(lines, "  +- standard error", runs, [](const Run& r) { return duration(r.step_error_ns); });
  add_row(lines, "speed-up", runs, [](const Run& r) { return fmt::format("{:.2f}", r.speedup); });
  add_row(lines, "throughput per GPU", runs, [](const Run& r) { return percent(r.throughput_per_gpu); });
  add_row(lines, "global efficiency", runs, [](const Run& r) { return percent(r.global); });
  add_row(lines, "  computation scaling", runs, [](const Run& r) { return percent(r.computation_scaling); });
  efficiency("  parallel efficiency", &E::parallel);
  efficiency("    load balance", &E::load_balance);
  efficiency("    serialization", &E::serialization);
  efficiency("    transfer", &E::transfer);
  efficiency("    (GPU communication)", &E::gpu_communication);
  efficiency("    (orchestration)", &E::orchestration);
}

std::string factor_words(ScaleFactor factor) {
  std::string words = to_string(factor);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

std::string sizes_of(const ScaleReport& report, const Loss& loss) {
  return fmt::format("{} to {}", report.runs[static_cast<size_t>(loss.from)].world_size,
                     report.runs[static_cast<size_t>(loss.to)].world_size);
}

// One row per factor of the POP tree, one column per pair of neighbours.
void add_losses(Lines& lines, const ScaleReport& report) {
  std::vector<ScaleFactor> factors;
  for (const Loss& loss : report.losses) {
    const bool known = std::find(factors.begin(), factors.end(), loss.factor) != factors.end();
    if (loss.tree == FactorTree::pop && !known) factors.push_back(loss.factor);
  }
  if (factors.empty()) return;
  const auto runs = shown_runs(report);
  const auto row = [&](const std::string& name, const auto& counts) {
    add_row(lines, name, runs, [&](const Run& run) {
      double points = 0;
      bool any = false;
      for (const Loss& loss : report.losses) {
        if (&report.runs[static_cast<size_t>(loss.to)] != &run || loss.tree != FactorTree::pop || !counts(loss))
          continue;
        points += loss.points;
        any = true;
      }
      return any ? fmt::format("{:.1f}", std::fabs(points) < 0.05 ? 0.0 : points) : std::string();
    });
  };
  lines.push_back({});
  lines.push_back({"Points of global efficiency lost since the size to the left", Style::bold});
  for (const ScaleFactor factor : factors) {
    row("  " + factor_words(factor), [&](const Loss& loss) { return loss.factor == factor; });
  }
  row("  all", [](const Loss&) { return true; });
}

// "all_reduce in DATA_PARALLEL_GROUP (#3): 1.2 ms to 3.4 ms a step"
std::string cause_words(const Cause& cause) {
  const auto change = fmt::format("{} to {} a step", duration(cause.before_ns), duration(cause.after_ns));
  const std::string whom = cause.ranks.size() == 1 ? fmt::format(" for rank {}", cause.ranks[0]) : "";
  if (cause.kind == LossCause::communicator) {
    const std::string ids = cause.communicators.size() == 1 ? fmt::format(" #{}", cause.communicators[0]) : "";
    return fmt::format("{} in {}{}{}: {}", cause.op, fit(cause.communicator, 28), ids, whom, change);
  }
  if (cause.kind == LossCause::kernel_operator) return fmt::format("{}: {}", fit(cause.name, 30), change);
  if (cause.kind == LossCause::idle) return "GPUs that idle, but not for a launch: " + change;
  const bool one = cause.ranks.size() == 1;
  if (cause.kind == LossCause::host) {
    return fmt::format("host{} of rank{} {}, late to launch: {}", one ? "" : "s", one ? "" : "s",
                       fit(human_ranks(cause.ranks), 24), change);
  }
  return fmt::format("rank{} {}: {}", one ? "" : "s", fit(human_ranks(cause.ranks), 24), change);
}

struct NamedCause {
  const Loss* loss;
  const Cause* cause;
};

// Causes of losses in the POP tree that have a name, most points first.
std::vector<NamedCause> worst_causes(const ScaleReport& report) {
  std::vector<NamedCause> causes;
  for (const Loss& loss : report.losses) {
    if (loss.tree != FactorTree::pop) continue;
    for (const Cause& cause : loss.causes) {
      if (cause.kind != LossCause::other) causes.push_back({&loss, &cause});
    }
  }
  std::stable_sort(causes.begin(), causes.end(),
                   [](const NamedCause& a, const NamedCause& b) { return a.cause->points > b.cause->points; });
  return causes;
}

void add_verdict(Lines& lines, const ScaleReport& report) {
  add_wrapped(lines, "Verdict", verdict_words(report), 2, Style::bold);
  if (const std::string why = why_words(report); !why.empty()) add_wrapped(lines, "Why", why, 2);
  add_wrapped(lines, "Scaling", scaling_words(report), 2);
}

}  // namespace

std::string verdict_words(const ScaleReport& report) {
  const Run &first = report.runs.front(), &last = report.runs.back();
  return fmt::format("{} scaling from {} to {} ranks: {:.2f} times the work per second{}, {} of ideal",
                     to_string(report.scaling), first.world_size, last.world_size, last.speedup,
                     last.speedup_error >= 0 ? fmt::format(" +- {:.2g}", last.speedup_error) : "",
                     percent(last.throughput_per_gpu));
}

std::string why_words(const ScaleReport& report) {
  const auto causes = worst_causes(report);
  if (causes.empty()) return "";
  const NamedCause& worst = causes.front();
  return fmt::format("most is lost from {} ranks, to {} ({:.1f} points): {}", sizes_of(report, *worst.loss),
                     factor_words(worst.loss->factor), worst.loss->points, cause_words(*worst.cause));
}

std::string scaling_words(const ScaleReport& report) {
  return fmt::format("{} ({}): {}", to_string(report.scaling), report.scaling_given ? "as given" : "detected",
                     report.evidence);
}

std::string projection_words(const ScaleReport& report) {
  const ScaleReport::Projection& p = report.projection;
  if (!p.refusal.empty()) return "none: " + p.refusal;
  std::string text = p.model + ": ";
  for (const ScaleReport::Projection::Point& point : p.points) {
    text += fmt::format("{}{} at {} ranks (95 %: {} to {})", &point == &p.points.front() ? "" : ", ",
                        duration(point.step_ns), point.world_size, duration(point.low_ns), duration(point.high_ns));
  }
  return text;
}

}  // namespace report

std::string terminal_summary(const ScaleReport& scale, const std::string& output, bool color) {
  using namespace report;
  const auto causes = worst_causes(scale);
  Lines lines;
  add_verdict(lines, scale);
  lines.push_back({});
  add_runs(lines, scale);
  add_losses(lines, scale);
  if (!causes.empty()) lines.push_back({});
  for (size_t i = 0; i < std::min(kMostCauses, causes.size()); ++i) {
    const auto& [loss, cause] = causes[i];
    add_wrapped(lines, i == 0 ? "Lost to" : "",
                fmt::format("{:.1f} points, {}, {}: {}", cause->points, sizes_of(scale, *loss),
                            factor_words(loss->factor), cause_words(*cause)),
                2);
  }
  add_wrapped(lines, "Beyond", projection_words(scale), 2);
  for (size_t i = 0; i < std::min<size_t>(2, scale.diagnostics.size()); ++i) {
    add_wrapped(lines, "Warning", scale.diagnostics[i].message, 1, Style::warning);
  }
  if (!output.empty()) lines.push_back({pad("Report", kLabel) + fit_tail(output, kColumns - kLabel)});
  return text_of(lines, color);
}

}  // namespace skewscope
