#include "number_list.h"

#include <charconv>

namespace skewscope::ingest {

NumberList parse_number_list(const std::string& text) {
  NumberList list;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    int64_t number = 0;
    const auto [after, failed] = std::from_chars(at, end, number);
    if (failed == std::errc()) list.numbers.push_back(number);
    at = after == at ? at + 1 : after;  // behind a number, even one too large for one
  }
  list.cut = text.find("..") != std::string::npos;
  return list;
}

std::string as_ranges(const std::vector<int32_t>& numbers, size_t most) {
  std::string text;
  size_t ranges = 0;
  for (size_t i = 0; i < numbers.size();) {
    if (++ranges > most) return text + " and " + std::to_string(numbers.size() - i) + " more";
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(numbers[i]);
    if (last > i) text += "-" + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace skewscope::ingest
