// --fail-on EXPR: METRIC OP NUMBER[%]. METRIC is one of the names below, or a path into the document (json_path.h). Of
// a job of several components whose ranks nobody compared, a name holds where it does for any of them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "json_path.h"
#include "skewscope/report.h"
#include "src/report/rows/figures.h"
#include "src/report/rows/islands.h"

namespace skewscope {
namespace report {
namespace {

using Value = std::optional<double>;  // nullopt: not determined

Value ratio(double value) { return value < 0 ? Value() : Value(value); }
Value whole(size_t value) { return static_cast<double>(value); }

Value count_of(const JobReport& report, Severity severity) {
  return whole(static_cast<size_t>(std::count_if(report.diagnostics.begin(), report.diagnostics.end(),
                                                 [&](const Finding& f) { return f.severity == severity; })));
}

struct Metric {
  std::string_view name;
  Value (*value)(const JobReport& report, const Figures& f);
};

constexpr std::array kMetrics = {
    Metric{"wait_share", [](const JobReport&, const Figures& f) { return share(f.wait_ns, f.call_ns); }},
    Metric{"transfer_share", [](const JobReport&, const Figures& f) { return share(f.transfer_ns, f.call_ns); }},
    Metric{"unattributed_share",
           [](const JobReport&, const Figures& f) { return share(f.unattributed_ns, f.call_ns); }},
    Metric{"exposed_wait_share",
           [](const JobReport&, const Figures& f) { return share(f.exposed_wait_ns, f.total_ns); }},
    Metric{"exposed_transfer_share",
           [](const JobReport&, const Figures& f) { return share(f.exposed_transfer_ns, f.total_ns); }},
    Metric{"exposed_communication_share",
           [](const JobReport&, const Figures& f) { return share(f.exposed_communication_ns, f.total_ns); }},
    Metric{"blocking_communication_share",
           [](const JobReport&, const Figures& f) { return share(f.blocking_communication_ns, f.total_ns); }},
    Metric{"idle_share", [](const JobReport&, const Figures& f) { return share(f.idle_ns, f.total_ns); }},
    Metric{"late_share",
           [](const JobReport& r, const Figures&) {
             double most = 0;
             for (const JobReport::Straggler& s : r.stragglers) most = std::max(most, s.late_share);
             return Value(most);
           }},
    Metric{"straggler_cost",
           [](const JobReport& r, const Figures&) -> Value {
             if (r.what_if.replayed_ns <= 0) return std::nullopt;
             int64_t most = 0;
             for (const JobReport::Straggler& s : r.stragglers) {
               if (s.standing == Standing::cause) most = std::max(most, s.saved_ns);
             }
             return share(most, r.what_if.replayed_ns);
           }},
    Metric{"parallel_efficiency", [](const JobReport& r, const Figures&) { return ratio(r.efficiency.parallel); }},
    Metric{"load_balance", [](const JobReport& r, const Figures&) { return ratio(r.efficiency.load_balance); }},
    Metric{"communication_efficiency",
           [](const JobReport& r, const Figures&) { return ratio(r.efficiency.communication); }},
    Metric{"gpu_communication",
           [](const JobReport& r, const Figures&) { return ratio(r.efficiency.gpu_communication); }},
    Metric{"orchestration", [](const JobReport& r, const Figures&) { return ratio(r.efficiency.orchestration); }},
    Metric{"unmatched_share",
           [](const JobReport& r, const Figures&) { return share(r.matching.unmatched, r.matching.calls); }},
    Metric{"unmatched",
           [](const JobReport& r, const Figures&) { return Value(static_cast<double>(r.matching.unmatched)); }},
    Metric{"incomplete_share",
           [](const JobReport& r, const Figures& f) { return share(r.matching.incomplete_instances, f.instances); }},
    Metric{
        "incomplete_instances",
        [](const JobReport& r, const Figures&) { return Value(static_cast<double>(r.matching.incomplete_instances)); }},
    Metric{
        "mismatched_instances",
        [](const JobReport& r, const Figures&) { return Value(static_cast<double>(r.matching.mismatched_instances)); }},
    Metric{"missing_ranks", [](const JobReport& r, const Figures&) { return whole(r.job.ranks_missing.size()); }},
    Metric{"errors", [](const JobReport& r, const Figures&) { return count_of(r, Severity::error); }},
    Metric{"warnings", [](const JobReport& r, const Figures&) { return count_of(r, Severity::warning); }},
};

// A comparison's spelling and what it means; longer spellings first.
struct Comparison {
  std::string_view sign;
  bool (*holds)(double value, double limit);
};
constexpr std::array kComparisons = {
    Comparison{">=", [](double v, double l) { return v >= l; }},
    Comparison{"<=", [](double v, double l) { return v <= l; }},
    Comparison{"==", [](double v, double l) { return v == l; }},
    Comparison{">", [](double v, double l) { return v > l; }},
    Comparison{"<", [](double v, double l) { return v < l; }},
};

struct Condition {
  std::string subject;  // a name or a path
  const Comparison* comparison = nullptr;
  double limit = 0;
};

Error usage(const std::string& expression, const std::string& why) {
  return {ErrorKind::usage, fmt::format("--fail-on '{}': {}", expression, why)};
}

// NUMBER or NUMBER%; nullopt for anything else.
std::optional<double> parse_limit(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !std::isfinite(number)) return std::nullopt;
  const std::string_view rest = end;
  if (rest == "%") return number / 100;
  return rest.empty() ? std::optional(number) : std::nullopt;
}

// Without blanks, but for those in brackets: names may have them.
std::string without_blanks(const std::string& expression) {
  std::string text;
  int32_t depth = 0;
  for (const char c : expression) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c != ' ' || depth > 0) text += c;
  }
  return text;
}

size_t find_comparison(const std::string& text) {
  int32_t depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    if (depth == 0 && std::string_view("<>=").find(text[i]) != std::string_view::npos) return i;
  }
  return std::string::npos;
}

Result<Condition> parse(const std::string& expression) {
  const std::string text = without_blanks(expression);
  const size_t at = find_comparison(text);
  if (at == std::string::npos) return usage(expression, "expected METRIC OP NUMBER[%], such as wait_share>20%");
  Condition condition;
  condition.subject = text.substr(0, at);
  for (const Comparison& comparison : kComparisons) {
    if (condition.comparison == nullptr && text.compare(at, comparison.sign.size(), comparison.sign) == 0) {
      condition.comparison = &comparison;
    }
  }
  if (condition.comparison == nullptr) return usage(expression, "unknown comparison; known are > >= < <= ==");
  const std::optional<double> limit = parse_limit(text.substr(at + condition.comparison->sign.size()));
  if (!limit) return usage(expression, "expected a number after the comparison, with or without %");
  condition.limit = *limit;
  return condition;
}

// Holds where it does for any of the numbers that the path selects.
template <class Report>
Result<bool> path_holds(const Report& report, const Condition& condition, const std::string& expression) {
  const auto numbers = numbers_at(Json::parse(to_json(report, ReportStamp())), condition.subject);
  if (!numbers.ok()) return usage(expression, numbers.error().message);
  return std::any_of(numbers.value().begin(), numbers.value().end(),
                     [&](double number) { return condition.comparison->holds(number, condition.limit); });
}

template <class Report>
Result<bool> path_holds(const Report& report, const std::string& expression) {
  const auto condition = parse(expression);
  if (!condition.ok()) return condition.error();
  return path_holds(report, condition.value(), expression);
}

}  // namespace
}  // namespace report

Result<bool> condition_holds(const JobReport& job, const std::string& expression) {
  const auto condition = report::parse(expression);
  if (!condition.ok()) return condition.error();
  const auto metric = std::find_if(report::kMetrics.begin(), report::kMetrics.end(),
                                   [&](const auto& m) { return m.name == condition.value().subject; });
  if (metric == report::kMetrics.end()) {
    auto holds = report::path_holds(job, condition.value(), expression);
    if (holds.ok()) return holds;
    std::string names;
    for (const auto& known : report::kMetrics) names += fmt::format(" {}", known.name);
    return Error{ErrorKind::usage, fmt::format("{}; other names are{}", holds.error().message, names)};
  }
  const auto holds = [&](const JobReport& told) {
    const auto value = metric->value(told, report::figures_of(told));
    return value.has_value() && condition.value().comparison->holds(*value, condition.value().limit);
  };
  if (report::leading_island(job) == nullptr) return holds(job);
  return std::any_of(job.islands.begin(), job.islands.end(),
                     [&](const JobReport::Island& island) { return holds(report::report_of(job, island)); });
}

Result<bool> condition_holds(const ScaleReport& scale, const std::string& expression) {
  return report::path_holds(scale, expression);
}

Result<bool> condition_holds(const CompareReport& compared, const std::string& expression) {
  return report::path_holds(compared, expression);
}

}  // namespace skewscope
