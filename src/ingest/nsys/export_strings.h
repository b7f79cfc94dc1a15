// The table StringIds: texts that other tables name by number. Numbers are dense as nsys writes them, and have holes
// where others have thinned a file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/ingest/content/memory_budget.h"
#include "table_rows.h"

namespace skewscope::ingest {

class ExportStrings {
 public:
  explicit ExportStrings(MemoryBudget& budget) : budget_(budget) {}
  ~ExportStrings() { budget_.give_back(taken_); }
  ExportStrings(const ExportStrings&) = delete;
  ExportStrings& operator=(const ExportStrings&) = delete;
  ExportStrings(ExportStrings&&) = delete;
  ExportStrings& operator=(ExportStrings&&) = delete;

  // False: more than the budget holds.
  bool read(const Database& database, RowDefects& defects);

  // -1: there is none.
  int32_t row_of(int64_t id) const;
  size_t size() const { return ids_.size(); }
  std::string_view text(int32_t row) const;
  std::string_view text_of(int64_t id) const {
    const int32_t row = row_of(id);
    return row < 0 ? std::string_view() : text(row);
  }

 private:
  MemoryBudget& budget_;
  int64_t taken_ = 0;
  std::vector<int64_t> ids_;      // ascending
  std::vector<uint64_t> begins_;  // in texts_; of one more than there are
  std::string texts_;
  std::vector<int32_t> row_of_;  // by id, where these are dense
};

}  // namespace skewscope::ingest
