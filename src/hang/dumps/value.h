// A document of plain values: what a pickle or JSON dump holds. Values refer to each other by number, so that a text
// or list that a pickle names many times is kept once.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace skewscope::hang {

using ValueId = uint32_t;

enum class ValueKind : uint8_t { none, boolean, integer, real, text, list, dict };

struct Value {
  ValueKind kind = ValueKind::none;
  int64_t integer = 0;  // of boolean, too
  double real = 0;
  std::string_view text;  // of bytes, too
  uint32_t items = 0;     // of list and dict: into Document::items; a dict's are key, value, key, value
};

// Values may contain themselves: who reads them goes as deep as the form asks for, no deeper.
struct Document {
  std::vector<Value> values;
  std::vector<std::vector<ValueId>> items;
  std::deque<std::string> decoded;  // texts that are not in the bytes as they are
  ValueId root = 0;

  const Value& at(ValueId id) const { return values[id]; }
  const std::vector<ValueId>& list(ValueId id) const {
    static const std::vector<ValueId> none;
    const Value& value = values[id];
    return value.kind == ValueKind::list || value.kind == ValueKind::dict ? items[value.items] : none;
  }
  ValueId add(Value value) {
    values.push_back(value);
    return static_cast<ValueId>(values.size() - 1);
  }
  ValueId add_container(ValueKind kind) {
    items.emplace_back();
    Value value;
    value.kind = kind;
    value.items = static_cast<uint32_t>(items.size() - 1);
    return add(value);
  }
};

}  // namespace skewscope::hang
