// Tables of the page's data read back, by the words of src/report/page_data/packed_numbers.h.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace skewscope::test {

// Whole numbers; null: none.
inline std::vector<nlohmann::json> unpacked(const std::string& text) {
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::vector<nlohmann::json> out;
  uint64_t bits = 0, factor = 1;
  bool is_count = false;
  for (const char letter : text) {
    if (letter == '.') {
      out.push_back(nullptr);
    } else if (letter == '*') {
      is_count = true;
    } else {
      const uint64_t place = letters.find(letter);
      bits += place % 32 * factor;
      factor *= 32;
      if (place >= 32) continue;
      const int64_t number = bits % 2 == 1 ? -1 - static_cast<int64_t>(bits / 2) : static_cast<int64_t>(bits / 2);
      if (is_count) {
        const nlohmann::json last = out.back();
        out.insert(out.end(), static_cast<size_t>(number), last);
      } else {
        out.push_back(number);
      }
      bits = 0;
      factor = 1;
      is_count = false;
    }
  }
  return out;
}

inline std::vector<nlohmann::json> page_column(const nlohmann::json& column) {
  if (column.is_string()) return unpacked(column);
  if (column.is_array()) return column;
  std::vector<nlohmann::json> out;
  for (const nlohmann::json& at : unpacked(column["at"])) {
    out.push_back(at.is_null() ? at : column["of"][at.get<size_t>()]);
  }
  return out;
}

// [[cell]]
inline std::vector<nlohmann::json> page_rows(const nlohmann::json& table) {
  std::vector<nlohmann::json> rows(table["count"].get<size_t>(), nlohmann::json::array());
  for (const nlohmann::json& column : table["values"]) {
    const std::vector<nlohmann::json> cells = page_column(column);
    for (size_t row = 0; row < rows.size(); ++row) rows[row].push_back(cells[row]);
  }
  return rows;
}

}  // namespace skewscope::test
