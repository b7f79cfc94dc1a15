// Rules as data. A user's file changes built-in rules by their code; what it names must exist, so that a slip of the
// pen is reported and not ignored.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "signs.h"
#include "skewscope/advise.h"
#include "skewscope/base/file_text.h"

namespace skewscope {
namespace embedded {
const char* rank_rules();  // configs/rank_rules.json
}

namespace {

using Json = nlohmann::json;

Error wrong(const std::string& origin, const std::string& what) {
  return {ErrorKind::usage, fmt::format("{}: {}", origin, what)};
}

// The file's own form: "" or what is wrong with it.
std::string problem_of(const Json& entry) {
  if (!entry.is_object() || !entry.contains("code") || !entry["code"].is_string()) return "a rule without a code";
  const std::string code = entry["code"];
  for (const auto& [key, value] : entry.items()) {
    const bool text = key == "code" || key == "meaning" || key == "action";
    if (text && !value.is_string()) return fmt::format("rule '{}': {} is no text", code, key);
    if (key == "enabled" && !value.is_boolean())
      return fmt::format("rule '{}': enabled is neither true nor false", code);
    if (key == "thresholds" && !value.is_object()) return fmt::format("rule '{}': thresholds is no object", code);
    if (key == "actions" && !value.is_object()) return fmt::format("rule '{}': actions is no object", code);
    if (!text && key != "enabled" && key != "thresholds" && key != "actions")
      return fmt::format("rule '{}': unknown key '{}'", code, key);
  }
  const Json actions = entry.value("actions", Json::object());
  for (const auto& [name, value] : actions.items()) {
    if (!advise::is_circumstance(name)) return fmt::format("rule '{}': there is no circumstance '{}'", code, name);
    if (!value.is_string()) return fmt::format("rule '{}': the action for {} is no text", code, name);
  }
  if (!entry.contains("thresholds")) return "";
  for (const auto& [name, value] : entry["thresholds"].items()) {
    if (!value.is_number()) return fmt::format("rule '{}': threshold {} is no number", code, name);
  }
  return "";
}

void change(const Json& entry, Rule& rule) {
  if (entry.contains("meaning")) rule.meaning = entry["meaning"];
  if (entry.contains("action")) {
    rule.action = entry["action"];
    rule.actions.clear();  // those in place of the old one
  }
  const Json actions = entry.value("actions", Json::object());
  for (const auto& [name, value] : actions.items()) rule.actions[name] = value;
  if (entry.contains("enabled")) rule.enabled = entry["enabled"];
  if (!entry.contains("thresholds")) return;
  for (const auto& [name, value] : entry["thresholds"].items()) rule.thresholds[name] = value;
}

// `known`: the rules that may be changed; empty: these are the rules.
Result<Rules> parse(std::string_view text, const std::string& origin, const Rules& known) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return wrong(origin, "is no JSON");
  if (!json.is_object() || !json.contains("rules") || !json["rules"].is_array())
    return wrong(origin, "has no list 'rules'");
  Rules rules = known;
  for (const Json& entry : json["rules"]) {
    if (const std::string problem = problem_of(entry); !problem.empty()) return wrong(origin, problem);
    const std::string code = entry["code"];
    auto rule = std::find_if(rules.begin(), rules.end(), [&](const Rule& r) { return r.code == code; });
    if (rule == rules.end()) {
      if (!known.empty()) return wrong(origin, fmt::format("there is no rule '{}'", code));
      rules.push_back({code, {}, "", "", {}, true});
      rule = std::prev(rules.end());
    }
    const std::map<std::string, double> before = rule->thresholds;
    change(entry, *rule);
    for (const auto& [name, value] : rule->thresholds) {
      if (!known.empty() && !before.contains(name)) {
        return wrong(origin, fmt::format("rule '{}' has no threshold '{}'", code, name));
      }
    }
  }
  return rules;
}

}  // namespace

const Rules& built_in_rules() {
  static const Rules rules = parse(embedded::rank_rules(), "configs/rank_rules.json", {}).value();
  return rules;
}

Result<Rules> parse_rules(std::string_view json, const std::string& origin) {
  return parse(json, origin, built_in_rules());
}

Result<Rules> load_rules(const std::string& path) {
  const std::optional<std::string> text = file_text(path);
  if (!text) return wrong(path, fmt::format("cannot be read: {}", std::strerror(errno)));
  return parse_rules(*text, path);
}

}  // namespace skewscope
