#include "xlsx_file.h"

#include <fmt/format.h>
#include <xlsxwriter.h>

#include "skewscope/base/printable.h"

namespace skewscope::report {
namespace {

constexpr size_t kMostSheetRows = LXW_ROW_MAX - 1;  // below the header
constexpr size_t kLongestText = 32'000;             // bytes; the limit counts characters
constexpr int64_t kExact = int64_t{1} << 53;
constexpr double kLabelWidth = 34, kValueWidth = 22;  // of the summary's columns, in characters

struct SheetPlace {
  lxw_worksheet* sheet;
  lxw_row_t row;
  lxw_col_t column;

  void operator()(std::monostate) const {}
  void operator()(int64_t value) const {
    if (value > -kExact && value < kExact) {
      worksheet_write_number(sheet, row, column, static_cast<double>(value), nullptr);
    } else {
      (*this)(std::to_string(value));
    }
  }
  void operator()(double value) const { worksheet_write_number(sheet, row, column, value, nullptr); }
  void operator()(bool value) const { worksheet_write_boolean(sheet, row, column, value ? 1 : 0, nullptr); }
  void operator()(std::string_view text) const {
    size_t size = std::min(text.size(), kLongestText);
    while (size < text.size() && size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
    worksheet_write_string(sheet, row, column, std::string(text.substr(0, size)).c_str(), nullptr);
  }
};

void fill_sheet(lxw_worksheet* sheet, const Table& table, lxw_format* bold) {
  const auto columns = static_cast<lxw_col_t>(table.columns.size());
  for (lxw_col_t c = 0; c < columns; ++c) {
    worksheet_write_string(sheet, 0, c, table.columns[c].name.c_str(), bold);
  }
  worksheet_freeze_panes(sheet, 1, 0);
  const bool filters = columns > 0 && table.rows > 0;
  const bool whole = table.rows <= kMostSheetRows;
  const size_t rows = whole ? table.rows : kMostSheetRows - 1;
  if (filters) worksheet_autofilter(sheet, 0, 0, static_cast<lxw_row_t>(rows), static_cast<lxw_col_t>(columns - 1));
  std::vector<Cell> cells;
  for (size_t row = 0; row < rows; ++row) {
    table.fill(row, cells);
    for (lxw_col_t c = 0; c < columns; ++c) {
      std::visit(SheetPlace{sheet, static_cast<lxw_row_t>(row + 1), c}, cells[c]);
    }
  }
  if (!whole) {
    SheetPlace{sheet, static_cast<lxw_row_t>(rows + 1),
               0}(fmt::format("{} more rows: tables/{}.csv", table.rows - rows, table.name));
  }
}

void write_line(lxw_worksheet* sheet, lxw_row_t row, const SheetLine& line, lxw_format* bold) {
  lxw_col_t column = 0;
  for (const std::string& cell : line.cells) {
    const std::string text = valid_utf8(cell.substr(0, kLongestText));
    worksheet_write_string(sheet, row, column, text.c_str(), line.heading || column == 0 ? bold : nullptr);
    ++column;
  }
}

void fill_summary(lxw_worksheet* sheet, SummarySheet lines, const std::vector<Table>& tables, lxw_format* bold) {
  worksheet_set_column(sheet, 0, 0, kLabelWidth, nullptr);
  worksheet_set_column(sheet, 1, 3, kValueWidth, nullptr);
  lines.push_back({{"Sheets", "Rows", "One row is"}, true});
  for (const Table& table : tables) lines.push_back({{table.name, std::to_string(table.rows), table.meaning}});
  lxw_row_t row = 0;
  for (const SheetLine& line : lines) {
    if (line.heading && row > 0) ++row;
    write_line(sheet, row++, line, bold);
  }
}

}  // namespace

Result<Done> write_xlsx(const SummarySheet& summary, const std::vector<Table>& tables, const std::string& path) {
  lxw_workbook_options options{};
  options.constant_memory = LXW_TRUE;
  lxw_workbook* book = workbook_new_opt(path.c_str(), &options);
  if (book == nullptr) return Error{ErrorKind::output, fmt::format("cannot write {}", path)};
  lxw_format* bold = workbook_add_format(book);
  format_set_bold(bold);
  if (lxw_worksheet* first = workbook_add_worksheet(book, "summary"); first != nullptr) {
    fill_summary(first, summary, tables, bold);
  }
  for (const Table& table : tables) {
    lxw_worksheet* sheet = workbook_add_worksheet(book, table.name.c_str());
    if (sheet != nullptr) fill_sheet(sheet, table, bold);
  }
  const lxw_error failed = workbook_close(book);
  if (failed != LXW_NO_ERROR) {
    return Error{ErrorKind::output, fmt::format("cannot write {}: {}", path, lxw_strerror(failed))};
  }
  return Done{};
}

}  // namespace skewscope::report
