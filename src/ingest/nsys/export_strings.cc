#include "export_strings.h"

#include <algorithm>

namespace skewscope::ingest {
namespace {

constexpr size_t kMostStrings = 1 << 30, kBatchBytes = 1 << 20;

}  // namespace

bool ExportStrings::read(const Database& database, RowDefects& defects) {
  bool fits = true;
  size_t charged = 0;
  const auto bytes = [&] { return texts_.size() + ids_.size() * 20; };
  const auto charge = [&] {
    const auto more = static_cast<int64_t>(bytes() - charged);
    charged = bytes();
    taken_ += more;
    fits = budget_.take(more);
  };
  const std::string order = database.has_column("StringIds", "id") ? " ORDER BY id" : "";
  if (database.has_table("StringIds")) {
    Statement rows = database.select(select_of(database, "StringIds", {"id", "value"}) + order);
    while (fits && rows.next() && ids_.size() < kMostStrings) {
      const int64_t id = rows.integer(0);
      if (!ids_.empty() && id <= ids_.back()) continue;
      ids_.push_back(id);
      begins_.push_back(texts_.size());
      texts_ += rows.text(1);
      if (bytes() - charged > kBatchBytes) charge();
    }
    if (rows.damaged() && !defects.damaged) {
      defects.damaged = true;
      defects.damaged_table = "StringIds";
    }
  }
  begins_.push_back(texts_.size());
  const bool dense = !ids_.empty() && ids_.front() >= 0 && ids_.back() < static_cast<int64_t>(2 * ids_.size() + 1024);
  if (dense) {
    row_of_.assign(static_cast<size_t>(ids_.back()) + 1, -1);
    for (size_t row = 0; row < ids_.size(); ++row) row_of_[static_cast<size_t>(ids_[row])] = static_cast<int32_t>(row);
  }
  charge();
  return fits;
}

int32_t ExportStrings::row_of(int64_t id) const {
  if (!row_of_.empty()) return id < 0 || id >= std::ssize(row_of_) ? -1 : row_of_[static_cast<size_t>(id)];
  const auto at = std::lower_bound(ids_.begin(), ids_.end(), id);
  return at == ids_.end() || *at != id ? -1 : static_cast<int32_t>(at - ids_.begin());
}

std::string_view ExportStrings::text(int32_t row) const {
  const auto at = static_cast<size_t>(row);
  return std::string_view(texts_).substr(begins_[at], begins_[at + 1] - begins_[at]);
}

}  // namespace skewscope::ingest
