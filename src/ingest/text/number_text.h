// Numbers as text: Kineto's decimals to integers from the digits, never through a double (an epoch-microsecond double
// steps by 250 ns). Reference: KINETO.md, section 2.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace skewscope::ingest {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// How the fraction of a microsecond stamp was written.
struct FractionForm {
  int32_t digits = 0;          // as written; 0: no fraction
  bool starts_with_0 = false;  // two or more digits, the first a 0
  bool nonzero = false;
};

// Microseconds as written -> nanoseconds. A fraction is padded right to 3 digits, longer ones are cut; `unpadded`: the
// fraction is a count of nanoseconds (".5" is 5 ns; nightlies of spring 2024). Signs, exponents and quotes are
// accepted. False: not a number, or beyond the year 2065.
bool read_microseconds(std::string_view token, bool unpadded, int64_t& ns, FractionForm& form);

// The value of 1 to kMostDigits digits and nothing else; the 16 bytes before their end can be read.
constexpr size_t kMostDigits = 16;
inline uint64_t value_of_digits(std::string_view digits) {
  static_assert(std::endian::native == std::endian::little, "the first digit is taken for the lowest byte");
  // Eight digits at once: pairs, then fours, then all.
  const auto value_of_word = [](const char* word_end, size_t count) {
    uint64_t word = 0;
    std::memcpy(&word, word_end - 8, 8);
    word &= 0x0f0f0f0f0f0f0f0f << (64 - 8 * count);
    word = word * 10 + (word >> 8);
    constexpr uint64_t kPairs = 0x000000ff000000ff;
    return ((word & kPairs) * 0x000f424000000064 + ((word >> 16) & kPairs) * 0x0000271000000001) >> 32;
  };
  const char* end = digits.data() + digits.size();
  if (digits.size() <= 8) return value_of_word(end, digits.size());
  return value_of_word(end - 8, digits.size() - 8) * 100'000'000 + value_of_word(end, 8);
}

// read_microseconds() of a token of digits, or of digits, a point and digits, of which the 16 bytes before its end can
// be read. False: not of the usual forms, and read_microseconds() reads it.
bool read_digit_microseconds(std::string_view token, int64_t& ns, FractionForm& form);

// Integers: decimal or 0x, quoted or not; a fraction is cut off. False: not a number, or out of range.
bool read_integer(std::string_view token, int64_t& value);
bool read_unsigned(std::string_view token, uint64_t& value);

// Decimals, quoted or not. False: not a number, or no finite one.
bool read_decimal(std::string_view token, double& value);

// The last run of digits of a text: "stream 7 " -> 7; -1 where there is none.
int64_t trailing_number(std::string_view text);

// Without the white space around it.
std::string_view trimmed(std::string_view text);
// Also without quotes; `was_quoted` says whether there were any.
std::string_view unquoted(std::string_view token, bool& was_quoted);
// A string token without its quotes and the white space behind it; other tokens without white space.
inline std::string_view bare(std::string_view token) {
  if (token.size() < 2) return token;
  const char* begin = token.data();
  const char* end = begin + token.size();
  if (*begin != '"') return trimmed(token);
  while (end[-1] != '"') end--;  // stops at the opening quote at the latest
  return end - begin < 2 ? std::string_view() : std::string_view(begin + 1, static_cast<size_t>(end - begin) - 2);
}
inline bool is_null(std::string_view token) { return token.starts_with("null"); }
// A process or thread: its number, or for other texts a number that represents the text.
int64_t number_of_id(std::string_view token);

}  // namespace skewscope::ingest
