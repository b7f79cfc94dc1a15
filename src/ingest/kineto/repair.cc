// The problem: a tracer pasted text into JSON strings without escaping it, wrote control bytes or lost a bracket, and
// simdjson refuses the chunk. The idea: read the event once, knowing at each quote what must follow if it really ends
// the string: after a key `:`, after a value `}` or `,` and another key, in a list `]` or `,`. Any other quote is text.
// A value that is absent becomes null, a comma behind which nothing follows goes, words without quotes become a text.
// Right for every event whose texts do not imitate that structure. What is whole in those that do,
// salvage.h picks out. Cost: one pass over the event's bytes.
#include "repair.h"

#include <algorithm>
#include <array>

#include "src/ingest/text/characters.h"

namespace skewscope::ingest {
namespace {

constexpr size_t kDeepest = 128;

// Length of the UTF-8 sequence at text[at]; 0: none.
size_t utf8_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto continues = [&](size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
  const unsigned lead = byte(at);
  if (lead >= 0xc2 && lead <= 0xdf) return continues(at + 1) ? 2 : 0;
  if ((lead & 0xf0U) == 0xe0U) {
    const unsigned second = byte(at + 1);
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f)) return 0;
    return continues(at + 1) && continues(at + 2) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const unsigned second = byte(at + 1);
    if ((lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) return 0;
    return continues(at + 1) && continues(at + 2) && continues(at + 3) ? 4 : 0;
  }
  return 0;
}

class EventRepair {
 public:
  EventRepair(std::string_view text, bool backslash_ends, TextBuffer& clean)
      : text_(text), backslash_ends_(backslash_ends), clean_(clean) {
    clean_.clear();
  }

  RepairedEvent run(size_t begin) {
    at_ = begin;
    clean_.reserve(2 * (text_.size() - begin) + kDeepest + 64);
    while (at_ < text_.size() && !result_.closed) {
      const char c = text_[at_];
      if (c == '"') {
        copy_string();
      } else if (c == '{' || c == '[') {
        if (at_ > begin && event_starts_here()) break;
        open(c);
      } else if (c == '}' || c == ']') {
        close(c);
      } else {
        copy_outside(c);
      }
      if (stopped_) break;
    }
    result_.end = at_;
    if (!result_.closed) close_all();
    return result_;
  }

 private:
  void put(char c) {
    if (clean_.size() + 1 > clean_.capacity()) clean_.append("");
    clean_.append({&c, 1});
  }
  bool in_object() const { return depth_ > 0 && stack_[depth_ - 1] == '{'; }

  // Another event inside this one: a second writer, or a lost end.
  bool event_starts_here() const {
    const size_t key = skip_space(text_, at_ + 1);
    return text_[at_] == '{' && text_.substr(key).starts_with("\"ph\"");
  }

  char last_written() const {
    const std::string_view written = clean_.view();
    const size_t at = written.find_last_not_of(" \t\r\n");
    return at == std::string_view::npos ? '\0' : written[at];
  }

  // Before a comma, or a closer: nothing is where a value belongs.
  void put_absent_value() {
    clean_.append("null");
    result_.values++;
  }

  void put_comma() {
    const char last = last_written();
    if (last == ':' || (!in_object() && (last == ',' || last == '['))) put_absent_value();
    if (in_object() && (last == ',' || last == '{')) {
      result_.values++;
      return;
    }
    put(',');
  }

  void end_members() {
    const char last = last_written();
    if (last == ':') put_absent_value();
    if (last != ',') return;
    clean_.resize(clean_.view().find_last_of(','));
    result_.values++;
  }

  // Where a value belongs, something that is none: up to where another key or the end of the object follows it.
  bool copy_words() {
    if (!in_object() || last_written() != ':') return false;
    size_t end = at_;
    while (end < text_.size() && !value_ends_at(end)) ++end;
    if (end == text_.size()) return false;
    const std::string_view words = text_.substr(at_, end - at_);
    const size_t size = words.find_last_not_of(" \t\r\n") + 1;
    const bool plain = std::all_of(words.begin(), words.begin() + static_cast<ptrdiff_t>(size), is_plain);
    if (plain || words.substr(0, size).find_first_of("\n{") != std::string_view::npos) return false;
    put('"');
    for (end = at_ + size; at_ < end;) {
      const char c = text_[at_];
      if (c == '"' || c == '\\') put('\\');
      copy_text(c);
    }
    put('"');
    result_.values++;
    return true;
  }

  // Whether words that tracers write without quotes may hold it: NaN, -inf, N/A, a number.
  static bool is_plain(char c) {
    return is_ascii(c) && !is_control(c) && c != ' ' && c != '"' && c != '\\' && c != ':' && c != '{' && c != '[';
  }

  bool value_ends_at(size_t at) const {
    const char c = text_[at];
    if (c != ',' && c != '}') return false;
    const size_t next = skip_space(text_, at + 1);
    const char after = next < text_.size() ? text_[next] : ',';
    if (c == '}') return after == ',' || after == '}' || after == ']';
    return after == '}' || (after == '"' && key_at(next));
  }

  void open(char c) {
    if (depth_ == kDeepest) {
      stopped_ = true;
      return;
    }
    stack_[depth_++] = c;
    key_next_ = c == '{';
    put(c);
    at_++;
  }

  void close(char c) {
    at_++;
    end_members();
    const char opener = c == '}' ? '{' : '[';
    if (stack_[depth_ - 1] != opener) {
      result_.brackets++;
      if (c == ']') return;
      put(']');
      depth_--;
      while (depth_ > 0 && stack_[depth_ - 1] != '{') depth_--, put(']');
    }
    put(c);
    depth_--;
    result_.closed = depth_ == 0;
    key_next_ = false;
  }

  void copy_outside(char c) {
    if (c == ',') {
      at_++;
      key_next_ = in_object();
      return put_comma();
    }
    if (c != ':' && !is_space(c) && copy_words()) return;
    at_++;
    if (c == ':') key_next_ = false;
    if (is_ascii(c) && (!is_control(c) || is_space(c))) return put(c);
    put(' ');
    result_.bytes++;
  }

  void copy_string() {
    const bool is_key = key_next_;
    put('"');
    at_++;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        at_++;
        if (quote_ends(is_key)) return put('"');
        put('\\');
        put('"');
        result_.quotes++;
      } else if (c == '\\') {
        copy_backslash(is_key);
      } else if (c == '{' && event_starts_here()) {
        stopped_ = true;
        return put('"');
      } else {
        copy_text(c);
      }
    }
    result_.open_string = true;
    put('"');
  }

  void copy_backslash(bool is_key) {
    at_++;
    if (at_ == text_.size()) return;
    if (text_[at_] == '"' && backslash_ends_) {
      at_++;
      const bool ends = quote_ends(is_key);
      at_--;
      if (ends) {
        put('\\');
        put('\\');
        return;
      }
    }
    if (is_control(text_[at_]) || !is_ascii(text_[at_])) {
      put('\\');
      put('\\');
      return;
    }
    put('\\');
    put(text_[at_++]);
  }

  void copy_text(char c) {
    if (is_ascii(c)) {
      put(is_control(c) ? ' ' : c);
      result_.bytes += is_control(c);
      at_++;
      return;
    }
    const size_t length = utf8_length(text_, at_);
    clean_.append(length == 0 ? std::string_view("\xef\xbf\xbd") : text_.substr(at_, length));
    result_.bytes += length == 0;
    at_ += length == 0 ? 1 : length;
  }

  // Whether the quote before at_ ends its string.
  bool quote_ends(bool is_key) const {
    const size_t next = skip_space(text_, at_);
    if (next >= text_.size()) return true;
    const char c = text_[next];
    if (is_key) return c == ':';
    if (!in_object()) return c == ']' || c == ',';
    const size_t second = skip_space(text_, next + 1);
    const char after = second < text_.size() ? text_[second] : ',';
    if (c == '}') return after == ',' || after == '}' || after == ']';
    if (c != ',') return false;
    return second >= text_.size() || after == '}' || (after == '"' && key_at(second));
  }

  bool key_at(size_t quote) const {
    const size_t end = text_.substr(0, std::min(text_.size(), quote + kLongestKey)).find('"', quote + 1);
    if (end == std::string_view::npos) return false;
    const size_t colon = skip_space(text_, end + 1);
    return colon < text_.size() && text_[colon] == ':';
  }

  void close_all() {
    std::string_view written = clean_.view();
    while (!written.empty() && (is_space(written.back()) || written.back() == ',')) written.remove_suffix(1);
    clean_.resize(written.size());
    if (last_written() == ':') put_absent_value();
    for (; depth_ > 0; depth_--, result_.brackets++) put(stack_[depth_ - 1] == '{' ? '}' : ']');
  }

  std::string_view text_;
  bool backslash_ends_;
  TextBuffer& clean_;
  RepairedEvent result_;
  std::array<char, kDeepest> stack_{};
  size_t depth_ = 0;
  size_t at_ = 0;
  bool key_next_ = false;
  bool stopped_ = false;
};

}  // namespace

RepairedEvent repair_event(std::string_view text, size_t begin, size_t limit, bool backslash_ends, TextBuffer& clean) {
  return EventRepair(text.substr(0, limit), backslash_ends, clean).run(begin);
}

}  // namespace skewscope::ingest
