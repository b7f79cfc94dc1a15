#include "tracelens.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>

#include "src/summarize/gpu/gpu_timeline.h"
#include "src/summarize/operators/operator_view.h"
#include "visit_trace.h"

namespace skewscope::test {
namespace {

bool begins_with(std::string_view text, std::string_view begin) { return text.substr(0, begin.size()) == begin; }

// TraceLens links a GPU row to its launch by flow; hipMemsetAsync writes no flow start.
int64_t unlink_fills(RankTrace& trace, RankDetail& detail, const StringTable& strings) {
  int64_t changed = 0;
  for (size_t i = 0; i < trace.gpu.size(); ++i) {
    int32_t& caller = detail.gpu.caller[i];
    if (caller < 0 || strings.view(detail.host.name[static_cast<size_t>(caller)]) != "hipMemsetAsync") continue;
    caller = trace.gpu.launch[i] = -1;
    ++changed;
  }
  return changed;
}

int64_t declassify(RankTrace& trace, const StringTable& strings) {
  int64_t changed = 0;
  for (size_t i = 0; i < trace.gpu.size(); ++i) {
    const std::string_view name = strings.view(trace.gpu.name[i]);
    if (trace.gpu.work[i] != GpuWork::communication || name.find("nccl") != std::string_view::npos) continue;
    trace.gpu.work[i] = GpuWork::compute;
    ++changed;
  }
  return changed;
}

RankSummary timeline(const RankTrace& trace, const std::function<bool(size_t)>& takes) {
  std::vector<int32_t> rows;
  for (size_t i = 0; i < trace.gpu.size(); ++i) {
    if (trace.gpu.launch[i] >= 0 && takes(i)) rows.push_back(static_cast<int32_t>(i));
  }
  return summarize::timeline_of(trace, rows);
}

void tabulate(const TraceFile& file, TraceLensView& view) {
  RankTrace trace = file.linked.trace;
  RankDetail detail = *file.linked.detail;
  const StringTable& strings = file.linked.strings;
  view.rank = static_cast<int32_t>(file.evidence.distributed.rank);
  view.unlinked_fills = unlink_fills(trace, detail, strings);
  view.custom_communication = declassify(trace, strings);
  OperatorOptions options;
  options.device = nullptr;
  view.all = tabulate_operators(trace, detail, strings, options);
  options.linked_only = true;
  view.linked = tabulate_operators(trace, detail, strings, options);
  const summarize::OperatorView seen(trace, detail, strings, options);
  const auto again = [&](size_t row) { return seen.is_recompute(seen.launcher[row]); };
  view.modelled = modelled_rows(seen);
  view.timeline = timeline(trace, [](size_t) { return true; });
  view.timeline_once = timeline(trace, [&](size_t row) { return !again(row); });
  view.timeline_again = timeline(trace, again);
}

std::string shortened(const std::string& text) { return text.size() < 160 ? text : text.substr(0, 160) + "…"; }

}  // namespace

TraceLensView tracelens_view(const std::string& file) {
  TraceLensView view;
  visit_trace(file, [&](const TraceFile& read) { tabulate(read, view); });
  return view;
}

Comparison::~Comparison() {
  check_exceptions();
  check_columns();
}

void Comparison::check_exceptions() const {
  for (size_t i = 0; i < exceptions_.size(); ++i) {
    const Exception& e = exceptions_[i];
    INFO(e.table << " / " << e.column << " / " << e.row << ": " << e.reason);
    INFO("this exception does not apply any more");
    CHECK(used_[i]);
  }
}

void Comparison::check_columns() const {
  for (const auto& file : std::filesystem::directory_iterator(folder_)) {
    const std::string table = file.path().stem().string();
    INFO(file.path().filename().string() << " is not compared");
    CHECK(header_.count(table) == 1);
  }
  for (const auto& [table, columns] : header_) {
    const auto compared = compared_.find(table);
    for (const std::string& column : columns) {
      INFO(table << ": nothing compares " << column);
      // A list within a cell is compared item by item: "kernel_details_summary name".
      CHECK((compared != compared_.end() &&
             std::any_of(compared->second.begin(), compared->second.end(),
                         [&](const std::string& name) { return name == column || begins_with(name, column + " "); })));
    }
  }
}

std::vector<CsvRow> Comparison::expected(const std::string& table) {
  const std::string path = folder_ + "/" + table + ".csv";
  if (!std::filesystem::exists(path)) return {};
  std::vector<CsvRow> rows = read_csv(path);
  for (const CsvRow& row : rows) {
    for (const auto& [column, cell] : row) header_[table].insert(column);
  }
  return rows;
}

void Comparison::matched_by(const std::string& table, const std::vector<std::string>& columns) {
  compared_[table].insert(columns.begin(), columns.end());
}

void Comparison::row(const std::string& table, const CsvRow& expected, const std::string& name) {
  table_ = table;
  expected_ = &expected;
  row_ = name;
}

bool Comparison::excepted(const std::string& column) {
  bool any = false;
  for (size_t i = 0; i < exceptions_.size(); ++i) {
    const Exception& e = exceptions_[i];
    if (e.table != table_ || !begins_with(column, e.column) || row_.find(e.row) == std::string::npos) continue;
    any = used_[i] = true;
  }
  return any;
}

void Comparison::differs(const std::string& column, const std::string& expected, const std::string& actual) {
  if (excepted(column)) return;
  FAIL_CHECK(table_ << " / " << column << " / " << shortened(row_) << ": expected " << shortened(expected) << ", is "
                    << shortened(actual));
}

void Comparison::number(const std::string& column, std::optional<double> actual, double tolerance) {
  const std::string& cell = expected_->at(column);
  compared_[table_].insert(column);
  ++cells_;
  if (cell.empty() || !actual.has_value()) {
    if (cell.empty() != !actual.has_value()) differs(column, cell, actual ? std::to_string(*actual) : "nothing");
    return;
  }
  if (!(std::abs(std::stod(cell) - *actual) <= tolerance)) differs(column, cell, std::to_string(*actual));
}

void Comparison::same(const std::string& column, const std::string& expected, const std::string& actual) {
  compared_[table_].insert(column);
  ++cells_;
  if (expected != actual) differs(column, expected, actual);
}

void Comparison::text(const std::string& column, const std::string& actual) {
  same(column, expected_->at(column), actual);
}

void Comparison::missing(const std::string& table, const std::string& name, bool ours) {
  table_ = table;
  row_ = name;
  differs("row", ours ? "a row" : "none", ours ? "none" : "a row");
}

}  // namespace skewscope::test
