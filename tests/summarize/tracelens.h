// A trace tabulated as TraceLens sees it, and its tables cell by cell beside those that TraceLens wrote.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "python_csv.h"
#include "skewscope/model/rank_tables.h"
#include "skewscope/summarize.h"
#include "tracelens_parameters.h"

namespace skewscope::test {

// What was changed in the input so that it links and classifies as TraceLens does, and the tables of the result.
struct TraceLensView {
  int64_t unlinked_fills = 0;        // GPU rows that hipMemsetAsync launched: TraceLens links by flow, which these lack
  int64_t custom_communication = 0;  // collectives without "nccl" in their kernel's name: computation to TraceLens
  int32_t rank = -1;                 // of the trace
  OperatorTables linked;             // without orphans
  std::vector<ModelledRow> modelled;
  OperatorTables all;
  RankSummary timeline;        // of the linked rows
  RankSummary timeline_once;   // of those that checkpointing does not run again
  RankSummary timeline_again;  // of those that it does
};

TraceLensView tracelens_view(const std::string& file);

// Cells that differ on purpose: in columns whose names begin with `column`, of rows whose names hold `row`.
struct Exception {
  std::string table, column, row;
  std::string reason;
};

class Comparison {
 public:
  Comparison(std::string folder, std::vector<Exception> exceptions)
      : folder_(std::move(folder)), exceptions_(std::move(exceptions)), used_(exceptions_.size()) {}
  // Every exception must have been needed, every file of the folder asked for, and every column of it compared.
  ~Comparison();

  // The table NAME.csv; empty where TraceLens wrote none.
  std::vector<CsvRow> expected(const std::string& table);
  // Columns by which rows of ours and theirs find each other: a difference in them is a missing row.
  void matched_by(const std::string& table, const std::vector<std::string>& columns);

  // Begins a row; what follows are its cells. Rows are begun in the order of the file.
  void row(const std::string& table, const CsvRow& expected, const std::string& name);
  // nullopt: an empty cell.
  void number(const std::string& column, std::optional<double> actual, double tolerance);
  void text(const std::string& column, const std::string& actual);
  void same(const std::string& column, const std::string& expected, const std::string& actual);
  // A row that only one side has.
  void missing(const std::string& table, const std::string& name, bool ours);
  // Cells compared so far.
  int64_t cells() const { return cells_; }

 private:
  bool excepted(const std::string& column);
  void check_exceptions() const;
  void check_columns() const;
  void differs(const std::string& column, const std::string& expected, const std::string& actual);

  std::string folder_, table_, row_;
  const CsvRow* expected_ = nullptr;
  int64_t cells_ = 0;
  std::map<std::string, std::set<std::string>> header_;    // columns, by table
  std::map<std::string, std::set<std::string>> compared_;  // of these, by table
  std::vector<Exception> exceptions_;
  std::vector<bool> used_;
};

void compare_timeline(Comparison& comparison, const TraceLensView& view);       // gpu_timeline
void compare_categories(Comparison& comparison, const TraceLensView& view);     // ops_summary_by_category
void compare_operators(Comparison& comparison, const TraceLensView& view);      // ops_summary
void compare_arguments(Comparison& comparison, const TraceLensView& view);      // ops_unique_args
void compare_kernels(Comparison& comparison, const TraceLensView& view);        // kernel_summary
void compare_short_kernels(Comparison& comparison, const TraceLensView& view);  // short_kernel*
void compare_collectives(Comparison& comparison, const TraceLensView& view);    // coll_analysis
void compare_modelled(Comparison& comparison, const TraceLensView& view);       // GEMM, CONV_fwd, …
void compare_work(Comparison& comparison, const TraceLensView& view);           // unified_perf_summary

}  // namespace skewscope::test
