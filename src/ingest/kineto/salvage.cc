#include "salvage.h"

#include <algorithm>

#include "repair.h"
#include "src/ingest/text/characters.h"

namespace skewscope::ingest {
namespace {

// Keys with values that are whole: a number, a word, a text without quotes or backslashes, a flat list.
class EventSalvage {
 public:
  EventSalvage(std::string_view text, TextBuffer& clean) : text_(text), clean_(clean) {}

  bool run() {
    clean_.clear();
    clean_.append("{");
    const size_t args = text_.find("\"args\"");
    const bool told = copy_members(0, std::min(args, text_.size()), true);
    if (args != std::string_view::npos) {
      clean_.append(any_ ? ", \"args\": {" : "\"args\": {");
      any_ = false;
      copy_members(args + kArgsKey, text_.size(), false);
      clean_.append("}");
    }
    clean_.append("}");
    return told;
  }

 private:
  static constexpr size_t kArgsKey = 6;

  // False: neither what the event is, nor when.
  bool copy_members(size_t from, size_t to, bool of_event) {
    bool has_time = false, has_name = false;
    for (size_t at = from; (at = text_.find('"', at)) < to;) {
      const size_t end = text_.find('"', at + 1);
      if (end >= to) break;
      const std::string_view key = text_.substr(at + 1, end - at - 1);
      const size_t colon = skip_space(text_, end + 1);
      const size_t begin = skip_space(text_, colon + 1);
      const bool is_key = key.size() < kLongestKey && colon < to && text_[colon] == ':' && is_clean(key);
      const std::string_view value = is_key && begin < to ? value_at(begin) : std::string_view();
      if (value.empty()) {
        at = end;  // which may open the next key
        continue;
      }
      if (any_) clean_.append(", ");
      any_ = true;
      clean_.append(text_.substr(at, end + 1 - at));
      clean_.append(": ");
      clean_.append(value);
      has_time |= of_event && key == "ts";
      has_name |= of_event && key == "name";
      at = begin + value.size();
    }
    return has_time && has_name;
  }

  static bool is_clean(std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return is_ascii(c) && !is_control(c) && c != '\\' && c != '"'; });
  }

  // Empty: none that is whole.
  std::string_view value_at(size_t begin) const {
    const char first = text_[begin];
    size_t end = begin;
    if (first == '"' || first == '[') {
      end = text_.find(first == '"' ? '"' : ']', begin + 1);
      if (end == std::string_view::npos) return {};
      ++end;
    } else {
      while (end < text_.size() && text_[end] != ',' && text_[end] != '}' && text_[end] != ']' &&
             !is_space(text_[end])) {
        ++end;
      }
    }
    const size_t behind = skip_space(text_, end);
    const bool ends = behind >= text_.size() || text_[behind] == ',' || text_[behind] == '}';
    const std::string_view value = text_.substr(begin, end - begin);
    const std::string_view inside = first == '"' ? value.substr(1, value.size() - 2) : value;
    const bool nested = first == '[' && value.find('[', 1) != std::string_view::npos;
    return ends && !nested && is_clean(inside) && inside.find_first_of("{}:") == std::string_view::npos
               ? value
               : std::string_view();
  }

  std::string_view text_;
  TextBuffer& clean_;
  bool any_ = false;
};

}  // namespace

bool salvage_event(std::string_view text, TextBuffer& clean) { return EventSalvage(text, clean).run(); }

}  // namespace skewscope::ingest
