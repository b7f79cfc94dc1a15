// --fail-on EXPR: METRIC OP NUMBER[%]. METRIC is one of the names below, or a path into the document (json_path.h). Of
// a job of several components whose ranks nobody compared, a name means the figure of each of them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <optional>

#include "json_path.h"
#include "skewscope/base/human_units.h"
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

// Of several numbers, the one that is shown: the farthest out.
enum class Farthest : uint8_t { largest, smallest, any };

// A comparison's spelling, what it means, and how its limit is shown; longer spellings first.
struct Comparison {
  std::string_view sign;
  bool (*holds)(double value, double limit);
  Farthest farthest;
  std::string_view before_limit;
};
constexpr std::array kComparisons = {
    Comparison{">=", [](double v, double l) { return v >= l; }, Farthest::largest, "must be less than"},
    Comparison{"<=", [](double v, double l) { return v <= l; }, Farthest::smallest, "must be more than"},
    Comparison{"==", [](double v, double l) { return v == l; }, Farthest::any, "must not be"},
    Comparison{">", [](double v, double l) { return v > l; }, Farthest::largest, "limit"},
    Comparison{"<", [](double v, double l) { return v < l; }, Farthest::smallest, "at least"},
};

struct Condition {
  std::string subject;  // a name or a path
  const Comparison* comparison = nullptr;
  double limit = 0;
  bool percent = false;  // the limit was given so

  bool holds(double value) const { return comparison->holds(value, limit); }
};

Error usage(const std::string& expression, const std::string& why) {
  return {ErrorKind::usage, fmt::format("--fail-on '{}': {}", expression, why)};
}

// Whether `text` is NUMBER or NUMBER%, which becomes the limit.
bool parse_limit(const std::string& text, Condition& condition) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !std::isfinite(number)) return false;
  const std::string_view rest = end;
  condition.percent = rest == "%";
  condition.limit = condition.percent ? number / 100 : number;
  return condition.percent || rest.empty();
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
  if (!parse_limit(text.substr(at + condition.comparison->sign.size()), condition)) {
    return usage(expression, "expected a number after the comparison, with or without %");
  }
  return condition;
}

// Whether the subject is a time: a field of its path ends in _ns, as in wait_ns.p99.
bool is_time(std::string_view subject) {
  for (size_t at = subject.find("_ns"); at != std::string_view::npos; at = subject.find("_ns", at + 1)) {
    const size_t end = at + 3;
    if (end == subject.size() || subject[end] == '.' || subject[end] == '[') return true;
  }
  return false;
}

struct ValueAndLimit {
  std::string value, limit;
};

// With more digits where fewer would make the two look equal.
ValueAndLimit shown_as(const Condition& condition, double value) {
  const double factor = condition.percent ? 100 : 1, limit = condition.limit;
  const char* unit = condition.percent ? " %" : "";
  ValueAndLimit shown;
  if (!condition.percent && is_time(condition.subject) && std::fabs(value) < 9e18 && std::fabs(limit) < 9e18) {
    shown = {human_duration(std::llround(value)), human_duration(std::llround(limit))};
    if (shown.value == shown.limit && value != limit) {
      shown = {fmt::format("{:.12g} ns", value), fmt::format("{:.12g} ns", limit)};
    }
    return shown;
  }
  shown.limit = fmt::format("{:.6g}{}", factor * limit, unit);
  shown.value = condition.percent ? fmt::format("{:.1f}{}", factor * value, unit) : fmt::format("{:.6g}", value);
  const bool same = std::fabs(std::strtod(shown.value.c_str(), nullptr) - factor * limit) < 1e-9 * factor;
  if (same && value != limit) shown.value = fmt::format("{:.12g}{}", factor * value, unit);
  return shown;
}

double farthest_of(const std::vector<double>& values, const Condition& condition) {
  switch (condition.comparison->farthest) {
    case Farthest::largest:
      return *std::max_element(values.begin(), values.end());
    case Farthest::smallest:
      return *std::min_element(values.begin(), values.end());
    case Farthest::any:
      break;
  }
  const auto equal = std::find_if(values.begin(), values.end(), [&](double value) { return condition.holds(value); });
  return equal == values.end() ? values.front() : *equal;
}

// `absent`: why there is no value.
RuleOutcome outcome(const std::string& rule, const Condition& condition, const std::vector<double>& values,
                    const std::string& absent) {
  using Verdict = RuleOutcome::Verdict;
  if (values.empty()) return {Verdict::unknown, rule, fmt::format("{}: {}", condition.subject, absent)};
  const double value = farthest_of(values, condition);
  const ValueAndLimit shown = shown_as(condition, value);
  constexpr std::array kOf = {", the largest of ", ", the smallest of ", ", one of "};
  const std::string of =
      values.size() == 1 ? ""
                         : fmt::format("{}{}", kOf[static_cast<size_t>(condition.comparison->farthest)], values.size());
  return {condition.holds(value) ? Verdict::failed : Verdict::passed, rule,
          fmt::format("{} = {}{} ({} {})", condition.subject, shown.value, of, condition.comparison->before_limit,
                      shown.limit)};
}

constexpr const char* kNotDetermined = "not determined in this report";

Result<RuleOutcome> check_path(const Json& document, const Condition& condition, const std::string& expression) {
  const auto numbers = numbers_at(document, condition.subject);
  if (!numbers.ok()) return usage(expression, numbers.error().message);
  const NumbersAt& found = numbers.value();
  return outcome(expression, condition, found.numbers,
                 found.no_row.empty() ? kNotDetermined : fmt::format("this report has no row {}", found.no_row));
}

template <class Report>
Json document_of(const Report& report) {
  return Json::parse(to_json(report, ReportStamp()));
}

template <class Report>
Result<RuleOutcome> check_path(const Report& report, const std::string& expression) {
  const auto condition = parse(expression);
  if (!condition.ok()) return condition.error();
  return check_path(document_of(report), condition.value(), expression);
}

// `document`: of the job's report.
Result<RuleOutcome> check_job(const JobReport& job, const std::string& expression,
                              const std::function<Json()>& document) {
  const auto condition = parse(expression);
  if (!condition.ok()) return condition.error();
  const auto metric = std::find_if(kMetrics.begin(), kMetrics.end(),
                                   [&](const auto& m) { return m.name == condition.value().subject; });
  if (metric == kMetrics.end()) {
    auto checked = check_path(document(), condition.value(), expression);
    if (checked.ok()) return checked;
    std::string names;
    for (const auto& known : kMetrics) names += fmt::format(" {}", known.name);
    return Error{ErrorKind::usage, fmt::format("{}; other names are{}", checked.error().message, names)};
  }
  std::vector<double> values;
  const auto add = [&](const JobReport& one) {
    if (const auto value = metric->value(one, figures_of(one))) values.push_back(*value);
  };
  if (leading_island(job) == nullptr) {
    add(job);
  } else {
    for (const JobReport::Island& island : job.islands) add(report_of(job, island));
  }
  return outcome(expression, condition.value(), values, kNotDetermined);
}

}  // namespace
}  // namespace report

Result<RuleOutcome> check_rule(const JobReport& job, const std::string& expression) {
  return report::check_job(job, expression, [&] { return report::document_of(job); });
}

Result<RuleOutcome> check_rule(const WrittenReport& job, const std::string& expression) {
  return report::check_job(job, expression, [&] { return report::Json::parse(job.document); });
}

Result<RuleOutcome> check_rule(const ScaleReport& scale, const std::string& expression) {
  return report::check_path(scale, expression);
}

Result<RuleOutcome> check_rule(const CompareReport& compared, const std::string& expression) {
  return report::check_path(compared, expression);
}

}  // namespace skewscope
