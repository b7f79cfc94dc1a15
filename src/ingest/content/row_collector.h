// Fills one FileContent row by row: for the readers of formats whose files are small, or read in one pass. The memory
// of the rows is charged in batches.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "file_content.h"
#include "kernel_works.h"
#include "memory_budget.h"
#include "skewscope/base/result.h"
#include "trace_reader.h"

namespace skewscope::ingest {

class RowCollector {
 public:
  // `part`: FileContent::part.
  RowCollector(const std::string& file, std::string part, const ReaderSettings& settings, MemoryBudget& budget);
  ~RowCollector();
  RowCollector(const RowCollector&) = delete;
  RowCollector& operator=(const RowCollector&) = delete;
  RowCollector(RowCollector&&) = delete;
  RowCollector& operator=(RowCollector&&) = delete;

  StringId intern(std::string_view text);
  // Its row, for GpuRow::args and CommOpRow::args.
  int32_t add(const CommArgs& args);
  // A row of work `compute` is a kernel: what it does, its name tells. `detail`: kept where details are asked for.
  void add(GpuRow row, const GpuDetailRow& detail = {});
  void add(const LaunchRow& row, const LaunchDetailRow& detail = {});
  // For everything else; rows of GPU and launches are there after take().
  FileContent& content() { return content_; }
  size_t gpu_rows() const { return content_.gpu.size() + gpu_.size(); }

  // Nothing more is worth reading: error() says so.
  bool over_budget() const { return over_budget_; }
  Error error() const { return budget_.exceeded_by(content_.file); }
  // What was charged stays charged: the content lives on.
  FileContent take(ContentKind kind);

 private:
  void flush();
  void charge();

  FileContent content_;
  KernelWorks works_;
  MemoryBudget& budget_;
  std::vector<GpuRow> gpu_;
  std::vector<LaunchRow> launches_;
  int64_t string_bytes_ = 0, taken_ = 0;
  bool over_budget_ = false;
};

}  // namespace skewscope::ingest
