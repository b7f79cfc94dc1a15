#include "kernel_details.h"

#include <charconv>
#include <cstdint>

namespace skewscope::ingest {
namespace {

// What stands behind "key:"; the text up to the next blank.
std::string_view value_behind(std::string_view text, std::string_view key) {
  for (size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    if (at > 0 && text[at - 1] != ' ') continue;
    const std::string_view value = text.substr(at + key.size());
    return value.substr(0, value.find(' '));
  }
  return {};
}

int64_t number_up_to(std::string_view text, int64_t most) {
  int64_t value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value > most ? -1 : value;
}

void read_three(std::string_view text, int64_t (&sizes)[3]) {
  for (int64_t& size : sizes) {
    size = number_up_to(text, INT32_MAX);
    const size_t comma = text.find(',');
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
}

}  // namespace

// Some versions write registers and memory that no device has: they count as not recorded.
KernelShape read_kernel_details(std::string_view text) {
  constexpr int64_t kMostRegisters = 1024, kMostShared = 1 << 20;
  KernelShape shape;
  read_three(value_behind(text, "grid:"), shape.grid);
  read_three(value_behind(text, "block:"), shape.block);
  shape.registers = static_cast<int32_t>(number_up_to(value_behind(text, "regs:"), kMostRegisters));
  const int64_t fixed = number_up_to(value_behind(text, "static_shared:"), kMostShared);
  const int64_t asked = number_up_to(value_behind(text, "dynamic_shared:"), kMostShared);
  if (fixed >= 0 && asked >= 0 && shape.registers >= 0) shape.shared_memory = static_cast<int32_t>(fixed + asked);
  return shape;
}

}  // namespace skewscope::ingest
