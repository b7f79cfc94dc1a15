#include "number_text.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "characters.h"
#include "skewscope/base/time.h"

namespace skewscope::ingest {
namespace {

template <class Word>
uint64_t load(const char* from) {
  static_assert(std::endian::native == std::endian::little, "the first digit is taken for the lowest byte");
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// 1 to 8 characters as one word, filled up with zeros in front.
uint64_t word_of(const char* text, size_t size) {
  if (size == 8) return load<uint64_t>(text);
  const uint64_t zeros = 0x3030303030303030 >> (8 * size);
  const size_t shift = 8 * (8 - size);
  if (size >= 4) return zeros | load<uint32_t>(text) << shift | load<uint32_t>(text + size - 4) << 32;
  const auto at = [&](size_t i) { return uint64_t{static_cast<unsigned char>(text[i])} << (shift + 8 * i); };
  return zeros | at(0) | at(size / 2) | at(size - 1);
}

// Eight digits at once: pairs, then fours, then all. False: not only digits.
bool read_word(uint64_t word, uint64_t& value) {
  constexpr uint64_t kHigh = 0xf0f0f0f0f0f0f0f0, kZeros = 0x3030303030303030, kSix = 0x0606060606060606;
  if ((((word & kHigh) ^ kZeros) | (((word + kSix) & kHigh) ^ kZeros)) != 0) return false;
  word -= kZeros;
  word = word * 10 + (word >> 8);
  constexpr uint64_t kPairs = 0x000000ff000000ff;
  value = ((word & kPairs) * 0x000f424000000064 + ((word >> 16) & kPairs) * 0x0000271000000001) >> 32;
  return true;
}

// A text of 1 to 16 digits; false: any other.
bool read_digits(std::string_view text, uint64_t& value) {
  if (text.empty() || text.size() > 16) return false;
  if (text.size() <= 8) return read_word(word_of(text.data(), text.size()), value);
  uint64_t high = 0, low = 0;
  const size_t split = text.size() - 8;
  if (!read_word(word_of(text.data(), split), high) || !read_word(word_of(text.data() + split, 8), low)) return false;
  value = high * 100'000'000 + low;
  return true;
}

// The year 2065: stamps and durations of this size are within kFurthestNs.
constexpr int64_t kMaxWholeMicroseconds = 3'000'000'000'000'000;
static_assert(kMaxWholeMicroseconds < kFurthestNs / 1000);

// The decimal text of an exponent form with the point moved to its place: "1.7e3" -> "1700". Exact, for exponents that
// a stamp can have.
bool without_exponent(std::string_view text, std::string& plain) {
  const size_t mark = text.find_first_of("eE");
  std::string_view power_text = text.substr(mark + 1);
  if (!power_text.empty() && power_text.front() == '+') power_text.remove_prefix(1);
  int power = 0;
  const auto [rest, error] = std::from_chars(power_text.data(), power_text.data() + power_text.size(), power);
  if (error != std::errc() || rest != power_text.data() + power_text.size() || power > 40 || power < -40) return false;
  std::string_view mantissa = text.substr(0, mark);
  const size_t point = mantissa.find('.');
  std::string digits(mantissa.substr(0, point));
  int whole = static_cast<int>(digits.size()) + power;
  if (point != std::string_view::npos) digits += mantissa.substr(point + 1);
  if (whole < 0) {
    digits.insert(0, static_cast<size_t>(-whole), '0');
    whole = 0;
  }
  const size_t split = static_cast<size_t>(whole);
  if (digits.size() < split) digits.resize(split, '0');
  plain = (split == 0 ? "0" : digits.substr(0, split)) + "." + digits.substr(split) + "0";
  return true;
}

bool read_plain_microseconds(std::string_view text, bool unpadded, int64_t& ns, FractionForm& form) {
  size_t i = 0;
  int64_t whole = 0;
  for (; i < text.size() && is_digit(text[i]); i++) {
    whole = whole * 10 + (text[i] - '0');
    if (whole > kMaxWholeMicroseconds) return false;
  }
  if (i == 0) return false;
  int64_t fraction = 0;
  if (i < text.size() && text[i] == '.') {
    const size_t first = ++i;
    int32_t used = 0;
    for (; i < text.size() && is_digit(text[i]); i++) {
      if (used < 3) {
        fraction = fraction * 10 + (text[i] - '0');
        used++;
      }
      form.nonzero |= text[i] != '0';
    }
    form.digits = static_cast<int32_t>(i - first);
    form.starts_with_0 = form.digits >= 2 && text[first] == '0';
    if (!unpadded) {
      for (; used < 3; used++) fraction *= 10;
    }
  }
  if (i != text.size()) return false;
  ns = whole * 1000 + fraction;
  return true;
}

// The forms that nearly all stamps have: whole, or with three digits behind the point.
bool read_usual_microseconds(std::string_view text, int64_t& ns, FractionForm& form) {
  const bool pointed = text.size() > 4 && text[text.size() - 4] == '.';
  uint64_t whole = 0, fraction = 0;
  if (!read_digits(text.substr(0, text.size() - (pointed ? 4 : 0)), whole) || whole > kMaxWholeMicroseconds)
    return false;
  if (pointed) {
    const std::string_view digits = text.substr(text.size() - 3);
    if (!read_digits(digits, fraction)) return false;
    form = {3, digits.front() == '0', fraction != 0};
  }
  ns = static_cast<int64_t>(whole * 1000 + fraction);
  return true;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  return text;
}

std::string_view unquoted(std::string_view token, bool& was_quoted) {
  token = trimmed(token);
  was_quoted = token.size() >= 2 && token.front() == '"' && token.back() == '"';
  return was_quoted ? trimmed(token.substr(1, token.size() - 2)) : token;
}

bool read_microseconds(std::string_view token, bool unpadded, int64_t& ns, FractionForm& form) {
  while (!token.empty() && is_space(token.back())) token.remove_suffix(1);
  if (read_usual_microseconds(token, ns, form) || read_plain_microseconds(token, unpadded, ns, form)) return true;
  form = {};
  bool was_quoted = false;
  std::string_view text = unquoted(token, was_quoted);
  const bool negative = !text.empty() && text.front() == '-';
  if (negative) text.remove_prefix(1);
  if (text.empty() || !is_digit(text.front())) return false;
  std::string plain;
  if (text.find_first_of("eE") != std::string_view::npos) {
    if (!without_exponent(text, plain)) return false;
    if (!read_plain_microseconds(plain, false, ns, form)) return false;
    form.digits = 0;
  } else if (!read_plain_microseconds(text, unpadded, ns, form)) {
    return false;
  }
  if (negative) ns = -ns;
  return true;
}

bool read_digit_microseconds(std::string_view token, int64_t& ns, FractionForm& form) {
  const bool pointed = token.size() > 4 && token[token.size() - 4] == '.';
  if (!pointed && token.find('.') != std::string_view::npos) return false;
  const std::string_view whole_text = token.substr(0, token.size() - (pointed ? 4 : 0));
  if (whole_text.size() > kMostDigits) return false;
  const uint64_t whole = value_of_digits(whole_text);
  if (whole > kMaxWholeMicroseconds) return false;
  const std::string_view digits = token.substr(token.size() - (pointed ? 3 : 0));
  const uint64_t fraction = pointed ? value_of_digits(digits) : 0;
  if (pointed) form = {3, digits.front() == '0', fraction != 0};
  ns = static_cast<int64_t>(whole * 1000 + fraction);
  return true;
}

bool read_unsigned(std::string_view token, uint64_t& value) {
  bool was_quoted = false;
  std::string_view text = unquoted(token, was_quoted);
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    base = 16;
    text.remove_prefix(2);
  }
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc()) return false;
  if (rest == end) return true;
  if (base != 10) return false;
  if (*rest == '.') {
    return text.find_first_not_of("0123456789", static_cast<size_t>(rest + 1 - text.data())) == std::string_view::npos;
  }
  std::string plain;
  if (*rest != 'e' && *rest != 'E') return false;
  return without_exponent(text, plain) && read_unsigned(plain, value);
}

bool read_integer(std::string_view token, int64_t& value) {
  while (!token.empty() && is_space(token.back())) token.remove_suffix(1);
  uint64_t digits = 0;
  if (read_digits(token, digits)) {
    value = static_cast<int64_t>(digits);
    return true;
  }
  bool was_quoted = false;
  std::string_view text = unquoted(token, was_quoted);
  const bool negative = !text.empty() && text.front() == '-';
  if (negative) text.remove_prefix(1);
  uint64_t magnitude = 0;
  if (!read_unsigned(text, magnitude)) return false;
  if (magnitude > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return false;
  value = negative ? -static_cast<int64_t>(magnitude) : static_cast<int64_t>(magnitude);
  return true;
}

int64_t trailing_number(std::string_view text) {
  size_t end = text.size();
  while (end > 0 && !is_digit(text[end - 1])) end--;
  size_t begin = end;
  while (begin > 0 && is_digit(text[begin - 1]) && end - begin < 18) begin--;
  int64_t value = -1;
  std::from_chars(text.data() + begin, text.data() + end, value);
  return value;
}

int64_t number_of_id(std::string_view token) {
  int64_t number = 0;
  if (read_integer(token, number)) return number;
  uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
  for (const char c : bare(token)) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return static_cast<int64_t>(hash >> 1);
}

bool read_decimal(std::string_view token, double& value) {
  bool was_quoted = false;
  const std::string_view text = unquoted(token, was_quoted);
  double read = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), read);
  if (error != std::errc() || !std::isfinite(read)) return false;
  value = read;
  return true;
}

}  // namespace skewscope::ingest
