#include "skewscope/gather/report_outcome.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace skewscope {
namespace {

using nlohmann::json;

constexpr size_t kLongestText = 256;
constexpr int64_t kMostCount = INT32_MAX;

// Notes whatever is absent, of another type or out of bounds.
class Reading {
 public:
  explicit Reading(const json& object) : object_(object), fine_(object.is_object()) {}

  int64_t integer(const char* key, int64_t least, int64_t most) {
    const json* const value = at(key);
    if (value == nullptr || !value->is_number_integer()) return fail(least);
    const auto number = value->get<int64_t>();
    return number < least || number > most ? fail(least) : number;
  }
  // A share, or -1.
  double share(const char* key) {
    const json* const value = at(key);
    if (value == nullptr || !value->is_number()) return fail(-1.0);
    const auto number = value->get<double>();
    return std::isfinite(number) && number >= -1 && number <= 1e6 ? number : fail(-1.0);
  }
  std::string text(const char* key) {
    const json* const value = at(key);
    return value == nullptr ? fail(std::string()) : text_of(*value);
  }
  const json& list(const char* key, size_t most) {
    static const json kNone = json::array();
    const json* const value = at(key);
    return value == nullptr || !value->is_array() || value->size() > most ? fail(kNone) : *value;
  }
  // None where it is absent, as in what an older program wrote.
  const json& later_list(const char* key, size_t most) {
    static const json kNone = json::array();
    return fine_ && object_.contains(key) ? list(key, most) : kNone;
  }
  std::string text_of(const json& value) {
    if (!value.is_string()) return fail(std::string());
    auto text = value.get<std::string>();
    const bool plain = std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
    return text.size() <= kLongestText && plain ? text : fail(std::string());
  }
  bool fine() const { return fine_; }

 private:
  const json* at(const char* key) {
    const auto found = fine_ ? object_.find(key) : object_.end();
    return !fine_ || found == object_.end() ? nullptr : &*found;
  }
  template <class Value>
  Value fail(Value&& value) {
    fine_ = false;
    return std::forward<Value>(value);
  }

  const json& object_;
  bool fine_;
};

}  // namespace

const char* to_string(ReportOutcome::Part part) { return part == ReportOutcome::Part::link ? "link" : "gpu"; }

std::string to_json(const ReportOutcome& outcome) {
  json causes = json::array(), hosts = json::array();
  for (size_t i = 0; i < std::min(outcome.causes.size(), kMostOutcomeCauses); ++i) {
    const ReportOutcome::Cause& cause = outcome.causes[i];
    causes.push_back({{"part", to_string(cause.part)},
                      {"host", cause.host},
                      {"rank", cause.rank},
                      {"device", cause.device},
                      {"share", cause.share},
                      {"why", cause.why}});
  }
  json groups = json::array(), software = json::array();
  for (size_t i = 0; i < std::min(outcome.groups.size(), kMostOutcomeGroups); ++i)
    groups.push_back({{"name", outcome.groups[i].name}, {"share", outcome.groups[i].share}});
  for (size_t i = 0; i < std::min(outcome.software.size(), kMostOutcomeSoftware); ++i)
    software.push_back(outcome.software[i]);
  for (size_t i = 0; i < std::min(outcome.hosts.size(), kMostOutcomeHosts); ++i) hosts.push_back(outcome.hosts[i]);
  const json document = {{"recorded_ns", outcome.recorded_ns},
                         {"ranks", outcome.ranks},
                         {"steps", outcome.steps},
                         {"step_ns", outcome.step_ns},
                         {"efficiency", outcome.efficiency},
                         {"waiting", outcome.waiting},
                         {"gain", outcome.gain},
                         {"loss", outcome.loss},
                         {"gpu", outcome.gpu},
                         {"hosts", hosts},
                         {"causes", causes},
                         {"groups", groups},
                         {"software", software}};
  return document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::optional<ReportOutcome> outcome_from_json(std::string_view text) {
  if (text.size() > kMostOutcomeBytes) return std::nullopt;
  const json document = json::parse(text, nullptr, false);
  Reading reading(document);
  ReportOutcome outcome;
  outcome.recorded_ns = reading.integer("recorded_ns", 0, INT64_MAX);
  outcome.ranks = static_cast<int32_t>(reading.integer("ranks", 0, kMostCount));
  outcome.steps = static_cast<int32_t>(reading.integer("steps", 0, kMostCount));
  outcome.step_ns = reading.integer("step_ns", 0, INT64_MAX);
  outcome.efficiency = reading.share("efficiency");
  outcome.waiting = reading.share("waiting");
  outcome.gain = reading.share("gain");
  outcome.loss = reading.text("loss");
  outcome.gpu = reading.text("gpu");
  for (const json& host : reading.list("hosts", kMostOutcomeHosts)) outcome.hosts.push_back(reading.text_of(host));
  for (const json& row : reading.list("causes", kMostOutcomeCauses)) {
    Reading of_row(row);
    ReportOutcome::Cause cause;
    const std::string part = of_row.text("part");
    cause.part = part == "link" ? ReportOutcome::Part::link : ReportOutcome::Part::gpu;
    cause.host = of_row.text("host");
    cause.rank = static_cast<int32_t>(of_row.integer("rank", -1, kMostCount));
    cause.device = static_cast<int32_t>(of_row.integer("device", -1, kMostCount));
    cause.share = of_row.share("share");
    cause.why = of_row.text("why");
    if (!of_row.fine() || part != to_string(cause.part)) return std::nullopt;
    outcome.causes.push_back(std::move(cause));
  }
  for (const json& row : reading.later_list("groups", kMostOutcomeGroups)) {
    Reading of_row(row);
    ReportOutcome::Group group;
    group.name = of_row.text("name");
    group.share = of_row.share("share");
    if (!of_row.fine()) return std::nullopt;
    outcome.groups.push_back(std::move(group));
  }
  for (const json& named : reading.later_list("software", kMostOutcomeSoftware))
    outcome.software.push_back(reading.text_of(named));
  return reading.fine() ? std::optional(std::move(outcome)) : std::nullopt;
}

}  // namespace skewscope
