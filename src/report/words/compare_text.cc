// `skewscope compare` on a terminal, in at most 47 lines of 80 columns: verdict 2, runs 2; what the step consists of 7,
// and the host's 6; ranks, hosts, collectives, communicators and operators (else kernels) that got slower 1 + 3 each;
// warnings 2, path 1; 7 blank lines.
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

using Change = CompareReport::Change;
constexpr size_t kPartName = 36, kPartNumber = 10, kTopChanges = 3;

std::string duration_words(double ns) { return human_duration(std::llround(ns)); }

std::string signed_duration(double ns) { return (ns < 0 ? "-" : "+") + duration_words(std::fabs(ns)); }

std::string sureness(const Change& c, bool comparable) {
  if (!comparable) return "";
  if (c.p_value < 0) return "unknown";
  return c.significant ? "significant" : "chance";
}

void add_row(Lines& lines, const std::string& name, const Change& c, bool comparable = true) {
  lines.push_back({pad(name, kPartName) + pad_left(duration_words(c.base_ns), kPartNumber) +
                   pad_left(duration_words(c.new_ns), kPartNumber) +
                   pad_left(signed_duration(c.change_ns()), kPartNumber) + "  " + sureness(c, comparable)});
}

void add_head(Lines& lines, const char* title) {
  lines.push_back({});
  lines.push_back({pad(title, kPartName) + pad_left("base", kPartNumber) + pad_left("new", kPartNumber) +
                       pad_left("change", kPartNumber),
                   Style::bold});
}

// Percents up to here, then how many times.
constexpr double kTimes = 2;

// `factor`: new to base.
std::string change_words(double factor) {
  if (factor >= kTimes) return fmt::format("{} times as long", human_number(factor));
  if (factor > 0 && factor <= 1 / kTimes) return fmt::format("{} times as fast", human_number(1 / factor));
  return fmt::format("{:.1f} % {}", 100 * std::fabs(factor - 1), factor > 1 ? "slower" : "faster");
}

// What says that the runs are of two jobs; nullptr where they are of one.
const Finding* two_jobs(const CompareReport& r) {
  const auto found = std::find_if(r.diagnostics.begin(), r.diagnostics.end(),
                                  [](const Finding& finding) { return finding.code == kStepsNotComparable; });
  return found == r.diagnostics.end() ? nullptr : &*found;
}

// What got slower most and is not chance (what has no spread may be); the rows chosen in the order of their change.
// Nothing where nothing did.
template <class Row, class Words>
void add_slower(Lines& lines, const char* title, std::vector<const Row*> rows, const Words& words) {
  const auto hidden = [](const Row* row) {
    return row->change.change_ns() <= 0 || (row->change.p_value >= 0 && !row->change.significant);
  };
  rows.erase(std::remove_if(rows.begin(), rows.end(), hidden), rows.end());
  std::stable_sort(rows.begin(), rows.end(), [](const Row* a, const Row* b) {
    return std::make_pair(a->change.significant, a->change.change_ns()) >
           std::make_pair(b->change.significant, b->change.change_ns());
  });
  if (rows.empty()) return;
  add_head(lines, title);
  rows.resize(std::min(kTopChanges, rows.size()));
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row* a, const Row* b) { return a->change.change_ns() > b->change.change_ns(); });
  for (const Row* row : rows) add_row(lines, "  " + words(*row), row->change);
}

std::string part_words(TimePart part) {
  std::string words = to_string(part);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

void add_verdict(Lines& lines, const CompareReport& r) {
  const bool alarm = r.step.significant && r.regression() > 0;
  lines.add_wrapped("Verdict", verdict_words(r), alarm ? Style::alarm : Style::bold);
  for (const CompareReport::Run* run : {&r.base, &r.now}) {
    const std::string error =
        run->step_error_ns < 0 ? "" : fmt::format(" (standard error {})", duration_words(run->step_error_ns));
    lines.add_wrapped(run == &r.base ? "Base" : "New",
                      fmt::format("{}: {} ranks, {}{} a step, steps: {}", fit_tail(run->name, 30), run->world_size,
                                  duration_words(run->step_ns), error, run->steps));
  }
}

std::string collective_words(const CompareReport::CollectivePart& p) {
  const std::string what = p.op.empty() ? part_words(p.part) : fmt::format("{} {}", p.op, part_words(p.part));
  return fmt::format("{} #{} {}", what, p.communicator, p.role);
}

// Parts that are not of another: exposed parts are within wait and transfer.
std::vector<const CompareReport::CollectivePart*> whole_parts(const std::vector<CompareReport::CollectivePart>& all) {
  std::vector<const CompareReport::CollectivePart*> rows;
  for (const auto& p : all) {
    if (p.part == TimePart::wait || p.part == TimePart::transfer) rows.push_back(&p);
  }
  return rows;
}

// What a rank does itself: its waiting is another's doing.
std::vector<const CompareReport::RankPart*> own_parts(const std::vector<CompareReport::RankPart>& all) {
  std::vector<const CompareReport::RankPart*> rows;
  for (const auto& p : all) {
    if (p.part == TimePart::compute || p.part == TimePart::exposed_memcpy || p.part == TimePart::idle)
      rows.push_back(&p);
  }
  return rows;
}

void add_warnings(Lines& lines, const CompareReport& r) {
  size_t shown = 0;
  for (const Finding& finding : r.diagnostics) {
    if (finding.code == kStepsNotComparable) continue;  // the verdict says so
    if (++shown > 2) return;
    lines.add_wrapped("Warning", finding.message, Style::warning);
  }
}

// What a host does itself: that it waits for the GPU is the GPU's doing.
std::vector<const CompareReport::RankPart*> own_host_parts(const std::vector<CompareReport::RankPart>& all) {
  std::vector<const CompareReport::RankPart*> rows;
  for (const auto& p : all) {
    if (p.part == TimePart::host_work) rows.push_back(&p);
  }
  return rows;
}

std::string host_words(TimePart part) {
  switch (part) {
    case TimePart::host_work:
      return "host's own time";
    case TimePart::host_launch:
      return "in calls that launch";
    case TimePart::host_wait:
      return "waits for the GPU";
    case TimePart::host_bound_idle:
      return "GPU idle until a launch";
    default:
      return "length on the host";
  }
}

// By rank, collective, communicator, and operator or kernel.
void add_all_slower(Lines& lines, const CompareReport& r) {
  add_slower<CompareReport::RankPart>(lines, "Ranks", own_parts(r.ranks), [](const auto& p) {
    return fmt::format("rank {} {}", p.rank, part_words(p.part));
  });
  add_slower<CompareReport::RankPart>(lines, "Hosts (CPU)", own_host_parts(r.host_ranks), [](const auto& p) {
    return fmt::format("rank {} {}", p.rank, host_words(p.part));
  });
  add_slower<CompareReport::CollectivePart>(lines, "Collectives, per member", whole_parts(r.collectives),
                                            collective_words);
  add_slower<CompareReport::CollectivePart>(lines, "Communicators, per member", whole_parts(r.communicators),
                                            collective_words);
  std::vector<const CompareReport::Work*> work;
  for (const CompareReport::Work& one : r.operators.empty() ? r.kernels : r.operators) work.push_back(&one);
  add_slower<CompareReport::Work>(lines, r.operators.empty() ? "Kernels, median rank" : "Operators, median rank", work,
                                  [](const auto& w) { return w.name; });
}

}  // namespace

std::string verdict_words(const CompareReport& r) {
  if (const Finding* jobs = two_jobs(r)) return "Not comparable, " + jobs->message;
  const std::string sure = r.step.p_value < 0   ? "not known to be more than chance"
                           : r.step.significant ? fmt::format("p {:.2g}", std::max(r.step.p_value, 1e-99))
                                                : fmt::format("may be chance, p {:.2g}", r.step.p_value);
  return fmt::format("{} -> {} per step: {} ({})", duration_words(r.base.step_ns), duration_words(r.now.step_ns),
                     change_words(r.now.step_ns / r.base.step_ns), sure);
}

}  // namespace report

std::string terminal_summary(const CompareReport& r, const std::string& output, bool color, size_t columns) {
  using namespace report;
  Lines lines(columns);
  add_verdict(lines, r);
  if (!r.parts.empty()) add_head(lines, "A step of a rank, mean");
  for (const CompareReport::Part& part : r.parts) {
    const bool any = part.change.base_ns > 0 || part.change.new_ns > 0;
    if (any) add_row(lines, "  " + part_words(part.part), part.change, r.comparable);
  }
  if (!r.host.empty()) add_head(lines, "A step of a host (CPU), mean");
  for (const CompareReport::Part& part : r.host) {
    const bool any = part.change.base_ns > 0 || part.change.new_ns > 0;
    if (any) add_row(lines, "  " + host_words(part.part), part.change, r.comparable);
  }
  if (r.comparable) add_all_slower(lines, r);
  if (!r.diagnostics.empty() || !output.empty()) lines.push_back({});
  add_warnings(lines, r);
  if (!output.empty()) lines.add_path("Report", output);
  return lines.text(color);
}

}  // namespace skewscope
