#include "launched_rows.h"

#include <tbb/task_group.h>

#include <algorithm>
#include <memory>

namespace skewscope::ingest {
namespace {

template <class Row, class Rows, class Get>
void append_column(const std::vector<Row>& rows, Rows& column, const Get& get) {
  const size_t first = column.size();
  column.resize(first + rows.size());
  std::transform(rows.begin(), rows.end(), column.begin() + static_cast<ptrdiff_t>(first), get);
}

template <class Rows>
int64_t bytes_of_columns(const Rows& rows) {
  int64_t bytes = 0;
  for_each_column(rows, [&](const auto& column) { bytes += static_cast<int64_t>(column.size() * sizeof(column[0])); });
  return bytes;
}

// Rows that change places among themselves: order[i] lies in [begin, end) for each i in it. As small as can be, and
// without those that stay.
struct Segment {
  size_t begin, end;
};

std::vector<Segment> segments_of(const std::vector<int32_t>& order) {
  std::vector<Segment> segments;
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    size_t last = begin;
    for (end = begin; end <= last; ++end) last = std::max(last, static_cast<size_t>(order[end]));
    if (end - begin > 1) segments.push_back({begin, end});
  }
  return segments;
}

template <class Rows>
void rearrange_column(const std::vector<int32_t>& order, const std::vector<Segment>& segments, Rows& column) {
  size_t longest = 0;
  for (const Segment& segment : segments) longest = std::max(longest, segment.end - segment.begin);
  const auto rows = std::make_unique_for_overwrite<typename Rows::value_type[]>(longest);
  for (const Segment& segment : segments) {
    const size_t count = segment.end - segment.begin;
    for (size_t i = 0; i < count; ++i) rows[i] = column[static_cast<size_t>(order[segment.begin + i])];
    std::copy_n(rows.get(), count, column.begin() + static_cast<ptrdiff_t>(segment.begin));
  }
}

template <class Rows>
void keep_in_columns(const std::vector<int32_t>& kept, Rows& rows) {
  tbb::task_group columns;
  for_each_column(rows, [&](auto& column) {
    columns.run([&] {
      for (size_t i = 0; i < kept.size(); ++i) column[i] = column[static_cast<size_t>(kept[i])];
      column.resize(kept.size());
    });
  });
  columns.wait();
}

template <class Rows>
void rearrange_columns(const std::vector<int32_t>& order, Rows& rows) {
  const std::vector<Segment> segments = segments_of(order);
  tbb::task_group columns;
  for_each_column(rows, [&](auto& column) { columns.run([&] { rearrange_column(order, segments, column); }); });
  columns.wait();
}

std::vector<CommKernel>::const_iterator kernel_at(const std::vector<CommKernel>& kernels, int32_t row) {
  return std::partition_point(kernels.begin(), kernels.end(), [&](const CommKernel& k) { return k.row < row; });
}

// Brings comm_kernels up to date where rows went as `order` says.
void gather_kernels(const std::vector<int32_t>& order, GpuRows& gpu) {
  std::vector<CommKernel> kernels;
  kernels.reserve(gpu.comm_kernels.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (gpu.events.work[i] != GpuWork::communication) continue;
    const auto kernel = kernel_at(gpu.comm_kernels, order[i]);
    kernels.push_back({kernel->external_id, kernel->args, static_cast<int32_t>(i)});
  }
  gpu.comm_kernels = std::move(kernels);
}

}  // namespace

GpuRow GpuRows::operator[](size_t row) const {
  const auto kernel = kernel_at(comm_kernels, static_cast<int32_t>(row));
  if (kernel != comm_kernels.end() && kernel->row == static_cast<int32_t>(row)) return row_of(*kernel);
  return row_of({-1, -1, static_cast<int32_t>(row)});
}

GpuRow GpuRows::row_of(const CommKernel& kernel) const {
  const auto row = static_cast<size_t>(kernel.row);
  GpuRow whole;
  whole.start = events.start[row];
  whole.duration_ns = events.duration_ns[row];
  if (row < correlation.size()) whole.correlation = correlation[row];
  whole.external_id = kernel.external_id;
  whole.name = events.name[row];
  whole.stream = events.stream[row];
  whole.args = kernel.args;
  whole.device = static_cast<int16_t>(events.device[row]);
  whole.work = events.work[row];
  return whole;
}

void GpuRows::append(const std::vector<GpuRow>& rows) {
  append_column(rows, events.start, [](const GpuRow& row) { return row.start; });
  append_column(rows, events.duration_ns, [](const GpuRow& row) { return row.duration_ns; });
  append_column(rows, events.work, [](const GpuRow& row) { return row.work; });
  append_column(rows, events.name, [](const GpuRow& row) { return row.name; });
  append_column(rows, events.device, [](const GpuRow& row) { return int32_t{row.device}; });
  append_column(rows, events.stream, [](const GpuRow& row) { return row.stream; });
  auto row_number = static_cast<int32_t>(correlation.size());
  for (const GpuRow& row : rows) {
    correlation.push_back(row.correlation);
    external_ids_tell |= row.external_id >= 0 && row.external_id != row.correlation;
    if (row.work == GpuWork::communication) comm_kernels.push_back({row.external_id, row.args, row_number});
    ++row_number;
  }
}

LaunchRow LaunchRows::operator[](size_t row) const {
  return {events.start[row], events.duration_ns[row], row < correlation.size() ? correlation[row] : -1,
          events.thread[row], row < role.size() ? role[row] : LaunchRole::other};
}

void LaunchRows::append(const std::vector<LaunchRow>& rows) {
  append_column(rows, events.start, [](const LaunchRow& row) { return row.start; });
  append_column(rows, events.duration_ns, [](const LaunchRow& row) { return row.duration_ns; });
  append_column(rows, events.thread, [](const LaunchRow& row) { return row.thread; });
  append_column(rows, role, [](const LaunchRow& row) { return row.role; });
  for (const LaunchRow& row : rows) correlation.push_back(row.correlation);
}

int64_t bytes_of(const GpuRows& gpu) {
  return bytes_of_columns(gpu) + static_cast<int64_t>(gpu.comm_kernels.size() * sizeof(CommKernel));
}

int64_t bytes_of(const LaunchRows& launches) { return bytes_of_columns(launches); }

void rearrange(const std::vector<int32_t>& order, GpuRows& gpu) {
  rearrange_columns(order, gpu);
  gather_kernels(order, gpu);
}

void rearrange(const std::vector<int32_t>& order, LaunchRows& launches) { rearrange_columns(order, launches); }

void rearrange(const std::vector<int32_t>& order, LaunchEvents& launches) { rearrange_columns(order, launches); }

void keep(const std::vector<int32_t>& rows, GpuRows& gpu) {
  keep_in_columns(rows, gpu);
  gather_kernels(rows, gpu);
}

void keep(const std::vector<int32_t>& rows, LaunchEvents& launches) { keep_in_columns(rows, launches); }

}  // namespace skewscope::ingest
