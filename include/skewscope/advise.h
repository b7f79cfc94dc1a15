// Stage: tables of one GPU -> findings in words. Rules and signs: the public reading guides of torch.profiler and
// torch.compile; thresholds, meanings and actions are data (configs/rank_rules.json, built into the library).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "skewscope/base/result.h"
#include "skewscope/model/advice.h"
#include "skewscope/model/operator_tables.h"
#include "skewscope/model/rank_tables.h"

namespace skewscope {

struct Rule {
  std::string code;
  std::map<std::string, double> thresholds;
  std::string meaning, action;
  // In place of `action` where a circumstance holds, by its name: "compiled", "no-bfloat16"
  // (src/advise/circumstances.cc).
  std::map<std::string, std::string> actions;
  bool enabled = true;
};

using Rules = std::vector<Rule>;  // as in the file

const Rules& built_in_rules();
// The built-in rules, changed by those of a user's file. Error (usage): what is wrong with it, by code and key.
Result<Rules> load_rules(const std::string& path);
Result<Rules> parse_rules(std::string_view json, const std::string& origin);

// Those that show. Most that could be saved first, then in the order of the rules; information last.
std::vector<Advice> advice_on(const RankTables& tables, const OperatorTables& operators, const Rules& rules);

}  // namespace skewscope
