// Whole numbers as byte planes: what is left of a column when its slope, its smallest value and its unit are taken
// away.
//
// Problem: stamps of one trace share their upper bytes and differ in the lower two or three; a general compressor sees
// 8-byte words whose halves have nothing to do with each other. Idea: of each number (or of its difference to the one
// before, where a column rises) the smallest is subtracted; what is left is divided by its greatest common divisor, the
// unit (1000 where a profiler wrote whole microseconds); the bytes of equal weight are put side by side; planes above
// the largest number do not exist. Why right: the division leaves no rest and the sums are modulo 2^64, so every column
// comes back, whatever it holds. Cost: two passes; a byte or two per stamp is left for zstd, which sees planes of one
// kind each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace skewscope::digest {

enum class Slope : uint8_t { flat, rising };  // numbers as they are; differences to the one before

struct NumberColumn {
  uint64_t rows = 0;
  Slope slope = Slope::flat;
  uint64_t first = 0;     // rising: the first number
  uint64_t smallest = 0;  // of the numbers; rising: of the differences
  uint64_t unit = 1;      // of what the numbers or differences are above the smallest
  uint8_t planes = 0;     // bytes per row, 0..8; lowest first

  size_t bytes() const { return static_cast<size_t>(rows) * planes; }
};

// Appends the planes of `numbers` to `bytes`.
NumberColumn encode_numbers(const std::vector<uint64_t>& numbers, Slope slope, std::string& bytes);

constexpr size_t kDecodeRows = 512;

// Decodes rows kDecodeRows at a time: gives `take(first row, numbers, how many)` each piece. `planes`: column.bytes()
// long.
template <class Take>
void decode_numbers(const NumberColumn& column, const char* planes, const Take& take);

// Rows [begin, begin + count) of the planes, each times the unit, plus the smallest; not yet summed up.
void gather_planes(const NumberColumn& column, const char* planes, size_t begin, size_t count, uint64_t* numbers);

template <class Take>
void decode_numbers(const NumberColumn& column, const char* planes, const Take& take) {
  uint64_t numbers[kDecodeRows];
  uint64_t sum = column.first - column.smallest;  // the first difference is stored as the smallest: it adds nothing
  const auto rows = static_cast<size_t>(column.rows);
  for (size_t begin = 0; begin < rows; begin += kDecodeRows) {
    const size_t count = rows - begin < kDecodeRows ? rows - begin : kDecodeRows;
    gather_planes(column, planes, begin, count, numbers);
    if (column.slope == Slope::rising) {
      for (size_t i = 0; i < count; ++i) numbers[i] = sum += numbers[i];
    }
    take(begin, numbers, count);
  }
}

}  // namespace skewscope::digest
