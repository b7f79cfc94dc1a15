// --fail-on EXPR: METRIC OP NUMBER[%].
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "figures.h"
#include "skewscope/report.h"

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
               if (s.standing == "cause") most = std::max(most, s.saved_ns);
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

struct Parsed {
  const Metric* metric = nullptr;
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

Result<Parsed> parse(const std::string& expression) {
  std::string text = expression;
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const size_t at = text.find_first_of("<>=");
  if (at == std::string::npos) return usage(expression, "expected METRIC OP NUMBER[%], such as wait_share>20%");
  Parsed parsed;
  for (const Metric& metric : kMetrics) {
    if (metric.name == text.substr(0, at)) parsed.metric = &metric;
  }
  if (parsed.metric == nullptr) {
    std::string names;
    for (const Metric& metric : kMetrics) names += fmt::format(" {}", metric.name);
    return usage(expression, fmt::format("unknown metric '{}'; known are{}", text.substr(0, at), names));
  }
  for (const Comparison& comparison : kComparisons) {
    if (parsed.comparison == nullptr && text.compare(at, comparison.sign.size(), comparison.sign) == 0) {
      parsed.comparison = &comparison;
    }
  }
  if (parsed.comparison == nullptr) return usage(expression, "unknown comparison; known are > >= < <= ==");
  const std::optional<double> limit = parse_limit(text.substr(at + parsed.comparison->sign.size()));
  if (!limit) return usage(expression, "expected a number after the comparison, with or without %");
  parsed.limit = *limit;
  return parsed;
}

}  // namespace
}  // namespace report

Result<bool> condition_holds(const JobReport& report, const std::string& expression) {
  const auto parsed = report::parse(expression);
  if (!parsed.ok()) return parsed.error();
  const auto value = parsed.value().metric->value(report, report::figures_of(report));
  return value.has_value() && parsed.value().comparison->holds(*value, parsed.value().limit);
}

}  // namespace skewscope
