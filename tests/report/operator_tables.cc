// Tables of operators as columns: what a reader of the CSV files relies on.
#include <catch2/catch.hpp>
#include <set>

#include "../../src/report/fields/table.h"

using namespace skewscope;
using report::Cell;
using report::Table;

namespace {

OperatorTables some_tables() {
  OperatorTables tables;
  ArgumentsRow mm;
  mm.name = "aten::mm";
  mm.category = "GEMM";
  mm.arguments.dims = "[[8, 16], [16, 4]]";
  mm.direct = {2, 30, 10, 20, 15, 7.07};
  mm.kernels = {{"Memset (Device)", 7, {2, 2, 1, 1, 1, 0}}, {"gemm", 7, {2, 28, 9, 19, 14, 7.07}}};
  tables.arguments = {mm, mm};
  WorkRow work;
  work.name = "aten::mm";
  work.flops = 1024;
  work.bytes = -1;
  work.gpu = {2, 30, 10, 20, 15, 7.07};
  work.per_second = {7.5e7, 7.5e7, 3.5e7, 5e7, 1e8};
  work.roofline_ns = 3;
  tables.work = {work};
  return tables;
}

const Table& table_of(const std::vector<Table>& tables, const std::string& name) {
  for (const Table& table : tables) {
    if (table.name == name) return table;
  }
  FAIL("no table " << name);
  return tables.front();
}

Cell cell(const Table& table, size_t row, const std::string& column) {
  std::vector<Cell> cells;
  table.fill(row, cells);
  REQUIRE(cells.size() == table.columns.size());
  for (size_t c = 0; c < cells.size(); ++c) {
    if (table.columns[c].name == column) return cells[c];
  }
  FAIL("no column " << column);
  return {};
}

}  // namespace

TEST_CASE("names of tables and of their columns are unique, over tables of the GPU's rows as well") {
  const OperatorTables operators = some_tables();
  const RankTables rank;
  std::vector<Table> tables = report::tables_of(operators);
  for (Table& table : report::tables_of(rank)) tables.push_back(std::move(table));
  std::set<std::string> names;
  for (const Table& table : tables) {
    INFO(table.name);
    CHECK(names.insert(table.name).second);
    std::set<std::string> columns;
    for (const report::Column& column : table.columns) CHECK(columns.insert(column.name).second);
  }
}

TEST_CASE("kernel positions are rows of their own that name the row they belong to") {
  const OperatorTables operators = some_tables();
  const std::vector<Table> tables = report::tables_of(operators);
  const Table& kernels = table_of(tables, "operator_argument_kernels");
  REQUIRE(kernels.rows == 4);
  CHECK(cell(kernels, 3, "row") == Cell(int64_t{1}));
  CHECK(cell(kernels, 3, "position") == Cell(int64_t{1}));
  CHECK(cell(kernels, 3, "name") == Cell(std::string_view("gemm")));
  CHECK(cell(kernels, 3, "sum_ns") == Cell(int64_t{28}));
  CHECK(cell(kernels, 3, "mean_ns") == Cell(14.0));
}

TEST_CASE("rates are work over GPU time, and empty where the work is not known") {
  const OperatorTables operators = some_tables();
  const std::vector<Table> tables = report::tables_of(operators);
  const Table& work = table_of(tables, "work");
  CHECK(cell(work, 0, "flops_per_s_max") == Cell(1024 * 1e8));
  CHECK(cell(work, 0, "bytes") == Cell());
  CHECK(cell(work, 0, "bytes_per_s_max") == Cell());
  CHECK(cell(work, 0, "flops_per_byte") == Cell());
  CHECK(cell(work, 0, "roofline_share") == Cell(3.0 / 15.0));
  CHECK(cell(work, 0, "bound") == Cell());
}

TEST_CASE("the summary of a rank tells its critical path by kind, and three names with most of it, in 80 columns") {
  RankReport report;
  report.tables.timeline = {{-1, -1, -1, 1, -1, {}}};
  CriticalPath& path = report.operators.critical_path;
  path.kinds = {{7, 0, 600'000, PathKind::launch_delay, 400'000, 2.0 / 3},
                {7, 0, 600'000, PathKind::communication, 200'000, 1.0 / 3},
                {8, 600'000, 400'000, PathKind::between_operators, 400'000, 1}};
  path.names = {{PathKind::between_operators, "", 1, 400'000, 0.4},
                {PathKind::launch_delay, "gemm", 2, 400'000, 0.4},
                {PathKind::communication, std::string(60, 'n'), 1, 200'000, 0.2}};
  const std::string text = rank_text(report);
  CHECK(text.find("\nCritical path 1.00 ms of 2 steps: between operators 40 %, launch delay 40 %,\n"
                  "communication 20 %\n") != std::string::npos);
  CHECK(text.find("launch delay      2") != std::string::npos);
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) CHECK(end - at <= 80);
}

namespace {

ModuleRow module(const std::string& name, const std::string& parent, int64_t forward_ns, int64_t backward_ns) {
  ModuleRow row;
  row.name = name;
  row.parent = parent;
  row.calls = 1;
  row.gpu_ns = forward_ns;
  row.backward_gpu_ns = backward_ns;
  return row;
}

RankReport with_modules() {
  RankReport report;
  report.tables.timeline = {{-1, -1, -1, 1, -1, {}}};
  report.operators.modules = {module("Model_0", "", 900, 1800), module("Linear_0", "Layer_0", 100, 200),
                              module("Layer_0", "Model_0", 300, 600), module("Layer_1", "Model_0", 500, 1000)};
  return report;
}

}  // namespace

TEST_CASE("modules are printed as a tree, those of one parent by their time, with both passes of the whole") {
  RankTextOptions options;
  options.sections = {"modules"};
  const std::string text = rank_text(with_modules(), options);
  const size_t model = text.find("\n  Model_0"), first = text.find("\n    Layer_1"),
               second = text.find("\n    Layer_0"), inner = text.find("\n      Linear_0");
  REQUIRE(inner != std::string::npos);
  CHECK(model < first);
  CHECK(first < second);
  CHECK(second < inner);
  CHECK(text.find("All modules: forward 900 ns, backward 1.80 us") != std::string::npos);
}

TEST_CASE("a tree of modules that has no room ends at a level, and says how many modules are left") {
  RankTextOptions options;
  options.sections = {"modules"};
  options.rows = 2;
  const std::string text = rank_text(with_modules(), options);
  CHECK(text.find("Linear_0") == std::string::npos);
  CHECK(text.find("and 2 more modules") != std::string::npos);
}

TEST_CASE("a table is as wide as its names where the terminal has room, and names are cut where it has none") {
  RankReport report = with_modules();
  report.operators.modules.push_back(module(std::string(90, 'n'), "", 10, 10));
  RankTextOptions options;
  options.sections = {"modules"};
  CHECK(rank_text(report, options).find(std::string(90, 'n')) == std::string::npos);
  options.columns = 160;
  CHECK(rank_text(report, options).find(std::string(90, 'n')) != std::string::npos);
  for (const size_t columns : {60U, 80U, 160U}) {
    options.columns = columns;
    const std::string text = rank_text(report, options);
    for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) CHECK(end - at <= columns);
  }
}
