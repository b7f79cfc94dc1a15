#include "skewscope/ingest/read_progress.h"

#include <cmath>
#include <filesystem>

namespace skewscope {

void ReadProgress::begin(const std::vector<std::string>& files) {
  std::map<std::string, Reading> open;
  At start;
  for (const std::string& file : files) {
    std::error_code unknown;
    const uintmax_t size = std::filesystem::file_size(file, unknown);
    const int64_t bytes = unknown ? 0 : static_cast<int64_t>(size);
    if (!open.try_emplace(file, Reading{bytes, 0}).second) continue;
    ++start.all_files;
    start.all_bytes += bytes;
  }
  const std::scoped_lock lock(mutex_);
  open_ = std::move(open);
  finished_ = start;
}

void ReadProgress::read_to(const std::string& file, double share) {
  const std::scoped_lock lock(mutex_);
  if (const auto reading = open_.find(file); reading != open_.end()) reading->second.share = share;
}

void ReadProgress::finish(const std::string& file) {
  const std::scoped_lock lock(mutex_);
  const auto reading = open_.find(file);
  if (reading == open_.end()) return;
  ++finished_.files;
  finished_.bytes += reading->second.bytes;
  open_.erase(reading);
}

ReadProgress::At ReadProgress::at() const {
  const std::scoped_lock lock(mutex_);
  At now = finished_;
  for (const auto& [file, reading] : open_) {
    now.bytes += std::llround(reading.share * static_cast<double>(reading.bytes));
  }
  return now;
}

}  // namespace skewscope
