// Which host rows count as calls of one operator with equal arguments, for tables that have a row per such set.
#pragma once

#include <compare>
#include <string_view>

#include "operator_view.h"

namespace skewscope::summarize {

struct SameArguments {
  std::string_view name, category;
  bool recompute = false;
  int32_t thread = -1;
  StringId dims, types, strides, values;

  auto operator<=>(const SameArguments&) const = default;
};

inline SameArguments same_arguments(const OperatorView& view, int32_t host_row, std::string_view category) {
  const auto row = static_cast<size_t>(host_row);
  SameArguments key{
      view.name(host_row), category, view.is_recompute(host_row), view.host().thread[row], {}, {}, {}, {}};
  if (const int32_t set = view.host().arguments[row]; set >= 0) {
    const ArgumentSet& recorded = view.detail.arguments[static_cast<size_t>(set)];
    key.dims = recorded.dims;
    key.types = recorded.types;
    key.strides = recorded.strides;
    key.values = recorded.values;
  }
  return key;
}

// What ArgumentsRow and WorkRow say of such a set.
template <class Row>
void describe(const OperatorView& view, int32_t host_row, const SameArguments& key, Row& row) {
  const HostThread& thread = view.thread(host_row);
  row.name = std::string(key.name);
  row.category = std::string(key.category);
  row.recompute = key.recompute;
  row.process_name = thread.process_name;
  row.process_label = thread.process_label;
  row.thread_name = thread.name;
  row.arguments = view.arguments(host_row);
  row.first_place = view.host().place[static_cast<size_t>(host_row)];
}

}  // namespace skewscope::summarize
