#include "row_collector.h"

#include <utility>

namespace skewscope::ingest {
namespace {

constexpr size_t kBatch = 16'384;

}  // namespace

RowCollector::RowCollector(const std::string& file, std::string part, const ReaderSettings& settings,
                           MemoryBudget& budget)
    : works_(*settings.kernels), budget_(budget) {
  content_.file = file;
  content_.part = std::move(part);
  content_.kernels = settings.kernels;
  if (settings.details) content_.details.emplace();
}

RowCollector::~RowCollector() { budget_.give_back(taken_); }

StringId RowCollector::intern(std::string_view text) {
  const size_t known = content_.strings.size();
  const StringId id = content_.strings.intern(text);
  if (content_.strings.size() > known) string_bytes_ += bytes_of_string(text);
  return id;
}

int32_t RowCollector::add(const CommArgs& args) {
  content_.comm_args.push_back(args);
  if (content_.details) content_.details->splits.push_back({});
  return static_cast<int32_t>(content_.comm_args.size() - 1);
}

void RowCollector::add(GpuRow row, const GpuDetailRow& detail) {
  if (row.work == GpuWork::compute) row.work = works_.of(row.name, content_.strings);
  if (row.work == GpuWork::compute) content_.kernel_grids.add(row);
  if (content_.details) content_.details->gpu.push_back(detail);
  gpu_.push_back(row);
  if (gpu_.size() == kBatch) flush();
}

void RowCollector::add(const LaunchRow& row, const LaunchDetailRow& detail) {
  if (content_.details) content_.details->launches.push_back(detail);
  content_.kernel_launches += row.role == LaunchRole::kernel ? 1 : 0;
  launches_.push_back(row);
  if (launches_.size() == kBatch) flush();
}

FileContent RowCollector::take(ContentKind kind) {
  flush();
  content_.kind = kind;
  taken_ = 0;
  return std::move(content_);
}

void RowCollector::flush() {
  content_.gpu.append(std::exchange(gpu_, {}));
  content_.launches.append(std::exchange(launches_, {}));
  charge();
}

void RowCollector::charge() {
  const int64_t details = content_.details ? bytes_of(*content_.details) : 0;
  const int64_t now = bytes_of(content_) + details + string_bytes_;
  if (!budget_.take(now - taken_)) over_budget_ = true;
  taken_ = now;
}

}  // namespace skewscope::ingest
