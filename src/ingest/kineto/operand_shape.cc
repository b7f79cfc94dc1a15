#include "operand_shape.h"

#include <charconv>

namespace skewscope::ingest {
namespace {

// One entry at text[at] == '[': advances behind it. `tensors` adds up the products of its innermost lists.
int64_t elements_of_entry(std::string_view text, size_t& at) {
  int64_t total = -1;
  int64_t product = 1;
  bool has_number = false;
  int depth = 0;
  for (; at < text.size(); at++) {
    const char c = text[at];
    if (c == '[') {
      depth++;
      product = 1;
      has_number = false;
    } else if (c == ']') {
      if (has_number && (total < 0 || __builtin_add_overflow(total, product, &total))) total = total < 0 ? product : -1;
      has_number = false;
      if (--depth == 0) {
        at++;
        return total;
      }
    } else if (c >= '0' && c <= '9') {
      int64_t size = 0;
      const char* end = text.data() + text.size();
      const auto [rest, error] = std::from_chars(text.data() + at, end, size);
      if (error != std::errc() || __builtin_mul_overflow(product, size, &product)) product = 0;
      has_number = true;
      at = static_cast<size_t>(rest - text.data()) - 1;
    }
  }
  return total;
}

size_t behind_text(std::string_view text, size_t at) {
  for (at++; at < text.size() && text[at] != '"'; at++) {
    if (text[at] == '\\') at++;
  }
  return at + 1;
}

}  // namespace

int64_t elements_of_first_operand(std::string_view dims, size_t& operand) {
  operand = 0;
  for (size_t at = 1; at < dims.size();) {
    const char c = dims[at];
    if (c == '[') {
      const int64_t elements = elements_of_entry(dims, at);
      if (elements >= 0) return elements;
    } else if (c == '"') {
      at = behind_text(dims, at);
    } else {
      operand += c == ',';
      at++;
    }
  }
  return -1;
}

int64_t elements_of_operand(std::string_view dims, size_t operand) {
  size_t position = 0;
  for (size_t at = 1; at < dims.size();) {
    const char c = dims[at];
    if (c == '[') {
      const int64_t elements = elements_of_entry(dims, at);
      if (position == operand) return elements;
    } else if (c == '"') {
      at = behind_text(dims, at);
    } else {
      position += c == ',';
      at++;
    }
  }
  return -1;
}

std::string_view type_of_operand(std::string_view types, size_t operand) {
  size_t position = 0;
  int depth = 0;
  for (size_t at = 1; at < types.size();) {
    const char c = types[at];
    if (c == '"') {
      const size_t end = behind_text(types, at);
      if (position == operand && end <= types.size()) return types.substr(at, end - at);
      at = end;
      continue;
    }
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    position += c == ',' && depth == 0;
    at++;
  }
  return {};
}

std::string_view first_type(std::string_view types) {
  for (size_t at = 1; at < types.size();) {
    if (types[at] != '"') {
      at++;
      continue;
    }
    const size_t end = behind_text(types, at);
    if (end > at + 2 && end <= types.size()) return types.substr(at, end - at);
    at = end;
  }
  return {};
}

}  // namespace skewscope::ingest
