#include "number_column.h"

#include <algorithm>
#include <numeric>

namespace skewscope::digest {
namespace {

// Differences to the number before; the first has none and takes the smallest of the others.
std::vector<uint64_t> differences(const std::vector<uint64_t>& numbers) {
  std::vector<uint64_t> steps(numbers.size());
  for (size_t i = 1; i < numbers.size(); ++i) steps[i] = numbers[i] - numbers[i - 1];
  const auto signed_less = [](uint64_t a, uint64_t b) { return static_cast<int64_t>(a) < static_cast<int64_t>(b); };
  if (steps.size() > 1) steps[0] = *std::min_element(steps.begin() + 1, steps.end(), signed_less);
  return steps;
}

uint64_t signed_smallest(const std::vector<uint64_t>& numbers) {
  int64_t smallest = static_cast<int64_t>(numbers.front());
  for (const uint64_t n : numbers) smallest = std::min(smallest, static_cast<int64_t>(n));
  return static_cast<uint64_t>(smallest);
}

// At least 1.
uint64_t greatest_common_divisor(const std::vector<uint64_t>& numbers) {
  uint64_t divisor = 0;
  for (size_t i = 0; i < numbers.size() && divisor != 1; ++i) divisor = std::gcd(numbers[i], divisor);
  return std::max<uint64_t>(divisor, 1);
}

uint8_t bytes_needed(uint64_t most) {
  uint8_t bytes = 0;
  for (; most > 0; most >>= 8) ++bytes;
  return bytes;
}

template <int kPlanes>
void gather(const NumberColumn& column, const char* planes, size_t begin, size_t count, uint64_t* numbers) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(planes) + begin;
  const auto rows = static_cast<size_t>(column.rows);
  for (size_t i = 0; i < count; ++i) {
    uint64_t number = 0;
    for (int p = 0; p < kPlanes; ++p) number |= uint64_t{bytes[static_cast<size_t>(p) * rows + i]} << (8 * p);
    numbers[i] = number * column.unit + column.smallest;
  }
}

}  // namespace

NumberColumn encode_numbers(const std::vector<uint64_t>& numbers, Slope slope, std::string& bytes) {
  NumberColumn column;
  column.rows = numbers.size();
  column.slope = slope;
  if (numbers.empty()) return column;
  std::vector<uint64_t> left = slope == Slope::rising ? differences(numbers) : numbers;
  column.first = slope == Slope::rising ? numbers.front() : 0;
  column.smallest = signed_smallest(left);
  for (uint64_t& n : left) n -= column.smallest;
  column.unit = greatest_common_divisor(left);
  if (column.unit > 1) {
    for (uint64_t& n : left) n /= column.unit;
  }
  column.planes = bytes_needed(*std::max_element(left.begin(), left.end()));
  for (int p = 0; p < column.planes; ++p) {
    for (const uint64_t n : left) bytes.push_back(static_cast<char>(n >> (8 * p) & 0xff));
  }
  return column;
}

void gather_planes(const NumberColumn& column, const char* planes, size_t begin, size_t count, uint64_t* numbers) {
  using Gather = void (*)(const NumberColumn&, const char*, size_t, size_t, uint64_t*);
  constexpr Gather kGathers[] = {gather<0>, gather<1>, gather<2>, gather<3>, gather<4>,
                                 gather<5>, gather<6>, gather<7>, gather<8>};
  kGathers[column.planes](column, planes, begin, count, numbers);
}

}  // namespace skewscope::digest
