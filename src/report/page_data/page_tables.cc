#include "page_tables.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "packed_numbers.h"
#include "skewscope/base/printable.h"
#include "src/report/fields/json_values.h"
#include "src/report/fields/table.h"

namespace skewscope::report {
namespace {

constexpr int64_t kMostExact = int64_t{1} << 53;

// What a row weighs when not all fit: this column. Tables without one show their first rows.
struct Weight {
  std::string_view table, column;
};
constexpr Weight kWeights[] = {{"communicators", "collectives"},
                               {"collectives", "wait_sum_ns"},
                               {"transports", "count"},
                               {"trend", "wait_caused_ns"},
                               {"causes", "wait_originated_ns"},
                               {"blame_flows", "moved_ns"},
                               {"rank_statistics", "max"},
                               {"overlap", "time_ns"},
                               {"overlap_modules", "time_ns"},
                               {"loss_causes", "points"},
                               {"collective_changes", "change_ns"},
                               {"communicator_changes", "change_ns"},
                               {"kernel_changes", "change_ns"},
                               {"operator_changes", "change_ns"},
                               {"all_to_all_groups", "waited_ns"},
                               {"operators", "direct_ns"},
                               {"launched_kernels", "sum_ns"},
                               {"kernels", "total_ns"},
                               {"work", "gpu_sum_ns"},
                               {"hlo_operations", "total_ns"},
                               {"modules", "host_total_ns"},
                               {"annotations", "gpu_ns"},
                               {"critical_path_names", "time_ns"}};

bool for_every_rank(const Table& table) {
  return table.name == "ranks" || table.name == "stragglers" || table.name == "rank_changes";
}

bool stays_in_its_file(const Table& table) {
  constexpr std::array<std::string_view, 15> kFiles = {
      "collective_ranks",  "unmatched",        "rank_steps",         "outside_steps",      "collective_steps",
      "all_to_all",        "all_to_all_ranks", "communicator_ranks", "operator_arguments", "work_kernels",
      "short_kernel_bins", "short_kernels",    "kernel_shapes",      "own_collectives",    "operator_argument_kernels"};
  return std::find(kFiles.begin(), kFiles.end(), table.name) != kFiles.end();
}

// Stacks are read to their end.
size_t most_text_of(const Table& table) {
  return table.name == "call_stacks" ? kMostPageStackBytes : kMostPageTextBytes;
}

Json to_json(const Cell& cell, size_t most_text) {
  struct Visitor {
    size_t most_text;

    Json operator()(std::monostate) const { return {}; }
    Json operator()(int64_t value) const { return exact(value); }
    Json operator()(double value) const { return value; }
    Json operator()(bool value) const { return value; }
    Json operator()(std::string_view text) const { return page_text(text, most_text); }
  };
  return std::visit(Visitor{most_text}, cell);
}

// The cells of one column, as short as they can be: whole numbers packed; else the distinct values and, packed, which
// of them each row has, where most come again; else all.
class PageColumn {
 public:
  void add(const Cell& cell, size_t most_text) {
    if (const int64_t* whole = std::get_if<int64_t>(&cell)) return whole_.put(*whole);
    if (std::holds_alternative<std::monostate>(cell)) {
      whole_.put_none();
      places_.put_none();
      all_.push_back(Json());
      return;
    }
    only_whole_ = false;
    Json value = to_json(cell, most_text);
    const auto [at, is_new] = place_of_.emplace(value.dump(-1, ' ', false, Json::error_handler_t::replace), of_.size());
    if (is_new) of_.push_back(value);
    places_.put(static_cast<int64_t>(at->second));
    all_.push_back(std::move(value));
  }
  Json take() {
    if (only_whole_) return whole_.take();
    if (2 * of_.size() > all_.size()) return std::move(all_);
    return {{"of", std::move(of_)}, {"at", places_.take()}};
  }

 private:
  PackedNumbers whole_, places_;
  bool only_whole_ = true;
  std::unordered_map<std::string, size_t> place_of_;
  Json of_ = Json::array(), all_ = Json::array();
};

double weight_in_cell(const Cell& cell) {
  if (const int64_t* whole = std::get_if<int64_t>(&cell)) return std::fabs(static_cast<double>(*whole));
  const double* value = std::get_if<double>(&cell);
  return value == nullptr ? 0 : std::fabs(*value);
}

std::vector<size_t> shown_rows(const Table& table) {
  std::vector<size_t> rows(table.rows);
  std::iota(rows.begin(), rows.end(), size_t{0});
  if (table.rows <= kMostPageRows || for_every_rank(table)) return rows;
  const auto* weight = std::find_if(std::begin(kWeights), std::end(kWeights),
                                    [&](const Weight& known) { return known.table == table.name; });
  if (weight != std::end(kWeights)) {
    const auto column = std::find_if(table.columns.begin(), table.columns.end(),
                                     [&](const Column& c) { return c.name == weight->column; });
    std::vector<double> weights(table.rows);
    std::vector<Cell> cells;
    for (const size_t row : rows) {
      table.fill(row, cells);
      weights[row] = weight_in_cell(cells[static_cast<size_t>(column - table.columns.begin())]);
    }
    std::stable_sort(rows.begin(), rows.end(), [&](size_t a, size_t b) { return weights[a] > weights[b]; });
  }
  rows.resize(kMostPageRows);
  std::sort(rows.begin(), rows.end());
  return rows;
}

Json page_table(const Table& table) {
  Json names = Json::array(), values = Json::array();
  for (const Column& column : table.columns) names.push_back(column.name);
  const std::vector<size_t> shown = shown_rows(table);
  std::vector<PageColumn> columns(table.columns.size());
  std::vector<Cell> cells;
  for (const size_t row : shown) {
    table.fill(row, cells);
    for (size_t i = 0; i < columns.size(); ++i) columns[i].add(cells[i], most_text_of(table));
  }
  for (PageColumn& column : columns) values.push_back(column.take());
  return {{"columns", std::move(names)},
          {"values", std::move(values)},
          {"count", shown.size()},
          {"left_out", table.rows - shown.size()}};
}

}  // namespace

std::string page_text(std::string_view text, size_t most) {
  if (text.size() <= most) return valid_utf8(text);
  size_t cut = most;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0U) == 0x80U) --cut;  // not within a character
  return valid_utf8(text.substr(0, cut)) + "…";
}

Json exact(int64_t value) {
  if (value >= -kMostExact && value <= kMostExact) return value;
  return std::to_string(value);
}

Json page_tables(const std::vector<Table>& tables) {
  Json shown = Json::object();
  for (const Table& table : tables) {
    if (!stays_in_its_file(table)) shown[table.name] = page_table(table);
  }
  return shown;
}

}  // namespace skewscope::report
