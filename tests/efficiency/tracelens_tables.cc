#include "tracelens_tables.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/real_trace_folder.h"

namespace skewscope::test {
namespace {

// One cell from `at` on, which moves behind it and its comma or line end.
std::string read_cell(const std::string& text, size_t& at, bool& ends_row) {
  std::string cell;
  bool quoted = false;
  for (; at < text.size(); ++at) {
    const char letter = text[at];
    if (letter == '"' && quoted && at + 1 < text.size() && text[at + 1] == '"') {
      cell += text[++at];
    } else if (letter == '"') {
      quoted = !quoted;
    } else if (!quoted && (letter == ',' || letter == '\n')) {
      break;
    } else if (letter != '\r') {
      cell += letter;
    }
  }
  ends_row = at >= text.size() || text[at] == '\n';
  ++at;
  return cell;
}

std::vector<std::string> read_row(const std::string& text, size_t& at) {
  std::vector<std::string> cells;
  for (bool ends = false; !ends;) cells.push_back(read_cell(text, at, ends));
  return cells;
}

}  // namespace

std::vector<Row> read_csv(const std::string& path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  size_t at = 0;
  const std::vector<std::string> columns = read_row(text, at);
  std::vector<Row> rows;
  while (at < text.size()) {
    const std::vector<std::string> cells = read_row(text, at);
    Row& row = rows.emplace_back();
    for (size_t column = 0; column < columns.size() && column < cells.size(); ++column) {
      row[columns[column]] = cells[column];
    }
  }
  return rows;
}

std::string as_json(const std::string& python) {
  std::string json;
  bool quoted = false;
  for (const char letter : python) {
    if (letter == '\'') quoted = !quoted;
    const bool closes = !quoted && (letter == ')' || letter == ']');
    if (closes && json.ends_with(',')) json.pop_back();  // "(1,)"
    json += letter == '\'' ? '"' : closes ? ']' : !quoted && letter == '(' ? '[' : letter;
  }
  return json;
}

std::vector<Table> tracelens_tables(const std::vector<std::string>& names) {
  std::vector<Table> tables;
  const std::string folder = traces("expected/tracelens");
  if (folder.empty()) return tables;
  for (const auto& set : std::filesystem::directory_iterator(folder)) {
    for (const std::string& name : names) {
      const std::string path = set.path().string() + "/" + name + ".csv";
      if (std::filesystem::exists(path)) {
        tables.push_back({.set = set.path().filename().string(), .name = name, .rows = read_csv(path)});
      }
    }
  }
  return tables;
}

}  // namespace skewscope::test
