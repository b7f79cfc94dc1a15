// `skewscope scale` on a terminal, some 35 lines of 80 columns: verdict, why, scaling; one column per size with step,
// speed-up and efficiencies; losses, their causes, projection, warnings, path.
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
  add_row(lines, "  standard error", runs, [](const Run& r) { return duration(r.step_error_ns); });
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
  lines.push_back({"Points of global efficiency lost since the next smaller size", Style::bold});
  for (const ScaleFactor factor : factors) {
    row("  " + factor_words(factor), [&](const Loss& loss) { return loss.factor == factor; });
  }
  row("  all", [](const Loss&) { return true; });
}

// "all_reduce in DATA_PARALLEL_GROUP (group 3): 1.20 ms -> 3.40 ms per step"
std::string cause_words(const Cause& cause) {
  const auto change = fmt::format("{} -> {} per step", duration(cause.before_ns), duration(cause.after_ns));
  const std::string whom = cause.ranks.size() == 1 ? fmt::format(" for rank {}", cause.ranks[0]) : "";
  if (cause.kind == LossCause::communicator) {
    const std::string ids = cause.communicators.size() == 1 ? fmt::format(" (group {})", cause.communicators[0]) : "";
    return fmt::format("{} in {}{}{}: {}", cause.op, fit(cause.communicator, 28), ids, whom, change);
  }
  if (cause.kind == LossCause::kernel_operator) return fmt::format("{}: {}", fit(cause.name, 30), change);
  if (cause.kind == LossCause::idle) return "GPUs idle for other reasons than late launches: " + change;
  const bool one = cause.ranks.size() == 1;
  if (cause.kind == LossCause::host) {
    return fmt::format("late launches by the host{} of rank{} {}: {}", one ? "" : "s", one ? "" : "s",
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
  lines.add_wrapped("Verdict", verdict_words(report), Style::bold);
  if (const std::string why = why_words(report); !why.empty()) lines.add_wrapped("Why", why);
  lines.add_wrapped("Scaling", scaling_words(report));
}

}  // namespace

std::string verdict_words(const ScaleReport& report) {
  const Run &first = report.runs.front(), &last = report.runs.back();
  return fmt::format("{} scaling from {} to {} ranks: {:.2f} times the work per second{}, {} of ideal",
                     to_string(report.scaling), first.world_size, last.world_size, last.speedup,
                     last.speedup_error >= 0 ? fmt::format(" (uncertainty {:.2g})", last.speedup_error) : "",
                     percent(last.throughput_per_gpu));
}

std::string why_words(const ScaleReport& report) {
  const auto causes = worst_causes(report);
  if (causes.empty()) return "";
  const NamedCause& worst = causes.front();
  return fmt::format("The largest loss is {}, from {} ranks ({:.1f} points): {}", factor_words(worst.loss->factor),
                     sizes_of(report, *worst.loss), worst.loss->points, cause_words(*worst.cause));
}

std::string scaling_words(const ScaleReport& report) {
  return fmt::format("{} ({}): {}", to_string(report.scaling), report.scaling_given ? "as given" : "detected",
                     report.evidence);
}

std::string projection_words(const ScaleReport& report) {
  const ScaleReport::Projection& p = report.projection;
  if (!p.refusal.empty()) return "none: " + p.refusal;
  std::string text;
  for (const ScaleReport::Projection::Point& point : p.points) {
    text += fmt::format("{}{} at {} ranks (95 %: {} to {})", &point == &p.points.front() ? "" : ", ",
                        duration(point.step_ns), point.world_size, duration(point.low_ns), duration(point.high_ns));
  }
  return text + "; fitted as " + p.model;
}

}  // namespace report

std::string terminal_summary(const ScaleReport& scale, const std::string& output, bool color, size_t columns) {
  using namespace report;
  const auto causes = worst_causes(scale);
  Lines lines(columns);
  add_verdict(lines, scale);
  lines.push_back({});
  add_runs(lines, scale);
  add_losses(lines, scale);
  if (!causes.empty()) lines.push_back({});
  for (size_t i = 0; i < std::min(kMostCauses, causes.size()); ++i) {
    const auto& [loss, cause] = causes[i];
    lines.add_wrapped(i == 0 ? "Losses" : "",
                      fmt::format("{:.1f} points, {}, {}: {}", cause->points, sizes_of(scale, *loss),
                                  factor_words(loss->factor), cause_words(*cause)));
  }
  lines.add_wrapped("Projection", projection_words(scale));
  for (size_t i = 0; i < std::min<size_t>(2, scale.diagnostics.size()); ++i) {
    lines.add_wrapped("Warning", scale.diagnostics[i].message, Style::warning);
  }
  if (!output.empty()) lines.add_path("Report", output);
  return lines.text(color);
}

}  // namespace skewscope
