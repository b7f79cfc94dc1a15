#include "json_path.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>

namespace skewscope::report {
namespace {

using Values = std::vector<const Json*>;

Error usage(std::string message) { return {ErrorKind::usage, std::move(message)}; }

// Text up to one of `ends` or the end; both go from `rest`, but for an end.
std::string_view take_until(std::string_view& rest, std::string_view ends) {
  const std::string_view taken = rest.substr(0, rest.find_first_of(ends));
  rest.remove_prefix(taken.size());
  return taken;
}

Result<Values> members(const Values& values, const std::string& name) {
  Values found;
  for (const Json* value : values) {
    if (value->is_null()) continue;
    if (!value->is_object()) return usage(fmt::format("'{}' is asked of what has no names", name));
    const auto member = value->find(name);
    if (member == value->end()) {
      std::string known;
      for (const auto& item : value->items()) known += " " + item.key();
      return usage(fmt::format("unknown '{}'; known are{}", name, known));
    }
    found.push_back(&*member);
  }
  return found;
}

bool shows(const Json& value, std::string_view text) {
  return value.is_string() ? value.get_ref<const std::string&>() == text : value.dump() == text;
}

// Rows of `list` for which every KEY=VALUE is so.
Result<Values> rows_that(const Json& list, std::string_view conditions) {
  Values rows;
  for (const Json& row : list) rows.push_back(&row);
  while (!conditions.empty()) {
    const std::string key(take_until(conditions, "="));
    if (conditions.empty()) return usage(fmt::format("'[{}]' is neither *, an index, nor KEY=VALUE", key));
    conditions.remove_prefix(1);
    const std::string_view wanted = take_until(conditions, ",");
    if (!conditions.empty()) conditions.remove_prefix(1);
    Values kept;
    for (const Json* row : rows) {
      const auto value = members({row}, key);
      if (!value.ok()) return value.error();
      if (!value.value().empty() && shows(*value.value()[0], wanted)) kept.push_back(row);
    }
    rows = std::move(kept);
  }
  return rows;
}

std::optional<size_t> index_of(std::string_view text) {
  size_t index = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), index);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return index;
}

Result<Values> selected(const Values& values, std::string_view select) {
  Values found;
  for (const Json* value : values) {
    if (value->is_null()) continue;
    if (!value->is_array()) return usage(fmt::format("'[{}]' is asked of what is no list", select));
    if (const auto index = index_of(select)) {
      if (*index < value->size()) found.push_back(&(*value)[*index]);
      continue;
    }
    const auto rows = rows_that(*value, select == "*" ? "" : select);
    if (!rows.ok()) return rows.error();
    found.insert(found.end(), rows.value().begin(), rows.value().end());
  }
  return found;
}

}  // namespace

Result<NumbersAt> numbers_at(const Json& document, const std::string& path) {
  Values values = {&document};
  NumbersAt found;
  std::string_view rest = path;
  for (bool more = true; more;) {
    auto named = members(values, std::string(take_until(rest, ".[")));
    if (!named.ok()) return named.error();
    values = std::move(named).value();
    while (rest.starts_with('[')) {
      rest.remove_prefix(1);
      const std::string_view select = take_until(rest, "]");
      if (rest.empty() || select.empty()) return usage("a bracket is empty or not closed");
      rest.remove_prefix(1);
      auto rows = selected(values, select);
      if (!rows.ok()) return rows.error();
      values = std::move(rows).value();
      if (values.empty() && found.no_row.empty()) found.no_row = path.substr(0, path.size() - rest.size());
    }
    more = rest.starts_with('.');
    if (more) rest.remove_prefix(1);
  }
  if (!rest.empty()) return usage(fmt::format("'{}' is not understood", rest));
  for (const Json* value : values) {
    if (value->is_null()) continue;
    if (!value->is_number()) return usage(fmt::format("'{}' is no number", path));
    found.numbers.push_back(value->get<double>());
  }
  return found;
}

}  // namespace skewscope::report
