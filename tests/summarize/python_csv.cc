#include "python_csv.h"

#include <cctype>
#include <fstream>
#include <sstream>

namespace skewscope::test {
namespace {

using nlohmann::json;

// One record from `at`, which ends up behind its line end.
std::vector<std::string> read_record(const std::string& text, size_t& at) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c != '"') {
        fields.back() += c;
      } else if (at + 1 < text.size() && text[at + 1] == '"') {
        fields.back() += text[++at];
      } else {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      fields.emplace_back();
    } else if (c == '\n') {
      ++at;
      break;
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

class LiteralParser {
 public:
  explicit LiteralParser(const std::string& text) : text_(text) {}

  json parse() {
    json value = any();
    skip();
    return good_ && at_ == text_.size() ? value : json(json::value_t::discarded);
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  json fail() {
    good_ = false;
    return nullptr;
  }

  json any() {
    skip();
    if (!good_ || at_ >= text_.size()) return fail();
    const char c = text_[at_];
    if (c == '(') return sequence('(', ')');
    if (c == '[') return sequence('[', ']');
    if (c == '{') return dict();
    if (c == '\'' || c == '"') return quoted();
    return word();
  }

  json sequence(char open, char close) {
    take(open);
    json items = json::array();
    while (good_ && !take(close)) {
      items.push_back(any());
      if (take(',')) continue;
      if (!take(close)) return fail();
      break;
    }
    return items;
  }

  json dict() {
    take('{');
    json items = json::object();
    while (good_ && !take('}')) {
      const json key = any();
      if (!key.is_string() || !take(':')) return fail();
      items[key.get<std::string>()] = any();
      if (take(',')) continue;
      if (!take('}')) return fail();
      break;
    }
    return items;
  }

  json quoted() {
    const char quote = text_[at_++];
    std::string value;
    for (; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      value += text_[at_];
    }
    if (at_ >= text_.size()) return fail();
    ++at_;
    return value;
  }

  // A number, None, True, False, nan, or np.float64(…).
  json word() {
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '.' ||
                                  text_[at_] == '_' || text_[at_] == '-' || text_[at_] == '+')) {
      ++at_;
    }
    const std::string word = text_.substr(begin, at_ - begin);
    if (word == "None" || word == "nan") return nullptr;
    if (word == "True") return true;
    if (word == "False") return false;
    if (word.rfind("np.", 0) == 0 && take('(')) {
      json value = any();
      return take(')') ? value : fail();
    }
    const json number = json::parse(word, nullptr, false);
    return number.is_number() ? number : fail();
  }

  const std::string& text_;
  size_t at_ = 0;
  bool good_ = true;
};

}  // namespace

std::vector<CsvRow> read_csv(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  const std::string text = content.str();
  size_t at = 0;
  const std::vector<std::string> header = read_record(text, at);
  std::vector<CsvRow> rows;
  while (at < text.size()) {
    const std::vector<std::string> fields = read_record(text, at);
    CsvRow& row = rows.emplace_back();
    for (size_t i = 0; i < header.size() && i < fields.size(); ++i) row[header[i]] = fields[i];
  }
  return rows;
}

nlohmann::json python_literal(const std::string& text) { return LiteralParser(text).parse(); }

}  // namespace skewscope::test
