#include "csv_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "skewscope/base/printable.h"

namespace skewscope::report {
namespace {

constexpr size_t kBufferBytes = 1 << 20;

bool needs_quotes(char c) { return c == ',' || c == '"'; }
bool is_plain(char c) { return c >= ' ' && c < '\x7F' && c != ',' && c != '"'; }

bool begins_formula(char c) { return c == '=' || c == '+' || c == '-' || c == '@'; }

struct CsvCell {
  std::string& line;

  void operator()(std::monostate) const {}
  void operator()(int64_t value) const {
    const fmt::format_int text(value);
    line.append(text.data(), text.size());
  }
  void operator()(double value) const { fmt::format_to(std::back_inserter(line), "{}", value); }
  void operator()(bool value) const { line += value ? "true" : "false"; }
  // A trace's own text: a spreadsheet must not take it for a formula, nor a terminal obey it.
  void operator()(std::string_view recorded) const {
    const bool formula = !recorded.empty() && begins_formula(recorded.front());
    if (!formula && std::all_of(recorded.begin(), recorded.end(), is_plain)) {
      line += recorded;
      return;
    }
    const std::string text = (formula ? "'" : "") + printable(recorded);
    if (std::none_of(text.begin(), text.end(), needs_quotes)) {
      line += text;
      return;
    }
    line += '"';
    for (const char c : text) line.append(c == '"' ? 2 : 1, c);
    line += '"';
  }
};

}  // namespace

void append_csv_field(std::string& line, const Cell& cell) { std::visit(CsvCell{line}, cell); }

Result<Done> write_csv(const Table& table, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  std::string buffer;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    if (c > 0) buffer += ',';
    buffer += table.columns[c].name;
  }
  buffer += '\n';
  std::vector<Cell> cells;
  for (size_t row = 0; row < table.rows && file; ++row) {
    table.fill(row, cells);
    for (size_t c = 0; c < cells.size(); ++c) {
      if (c > 0) buffer += ',';
      append_csv_field(buffer, cells[c]);
    }
    buffer += '\n';
    if (buffer.size() >= kBufferBytes) {
      file.write(buffer.data(), std::ssize(buffer));
      buffer.clear();
    }
  }
  file.write(buffer.data(), std::ssize(buffer));
  file.close();
  if (!file) return Error{ErrorKind::output, fmt::format("cannot write {}: {}", path, std::strerror(errno))};
  return Done{};
}

}  // namespace skewscope::report
