#include "packed_numbers.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace skewscope::report {
namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr int64_t kFewestRepeated = 3;  // that are shorter as a run

}  // namespace

std::string PackedNumbers::take() {
  end_run();
  repeated_ = -1;
  return std::exchange(text_, {});
}

void PackedNumbers::put_word(const Word& word) {
  if (repeated_ >= 0 && word == last_) {
    ++repeated_;
    return;
  }
  end_run();
  last_ = word;
  repeated_ = 0;
  if (word.known) {
    append(word.value);
  } else {
    text_ += '.';
  }
}

void PackedNumbers::end_run() {
  if (repeated_ >= kFewestRepeated) {
    text_ += '*';
    append(repeated_);
  } else {
    for (int64_t i = 0; i < std::max<int64_t>(0, repeated_); ++i) {
      if (last_.known) {
        append(last_.value);
      } else {
        text_ += '.';
      }
    }
  }
  repeated_ = 0;
}

void PackedNumbers::append(int64_t value) {
  const auto bits = static_cast<uint64_t>(value);
  uint64_t rest = value < 0 ? ~(bits << 1U) : bits << 1U;
  do {
    const uint64_t low = rest & 31U;
    rest >>= 5U;
    text_ += kLetters[low | (rest > 0 ? 32U : 0U)];
  } while (rest > 0);
}

}  // namespace skewscope::report
