#include "glossary.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "skewscope/base/text_columns.h"

namespace skewscope {
namespace embedded {
const char* glossary();  // src/report/page/glossary.json
}  // namespace embedded

namespace cli {

std::vector<Term> glossary() {
  std::vector<Term> terms;
  for (const auto& row : nlohmann::json::parse(embedded::glossary())) {
    terms.push_back({row.at("word").get<std::string>(), row.at("meaning").get<std::string>()});
  }
  return terms;
}

std::string glossary_text(size_t columns) {
  constexpr size_t kWord = 15, kWidest = 100;
  std::string text;
  for (const Term& term : glossary()) {
    std::string word = term.word;
    for (const std::string& line : wrap(term.meaning, std::min(columns, kWidest) - kWord)) {
      text += fmt::format("{:<{}}{}\n", word, kWord, line);
      word.clear();
    }
  }
  return text;
}

}  // namespace cli
}  // namespace skewscope
