#include "gpu_rows.h"

#include <tbb/task_group.h>

#include <algorithm>

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
  Rows rows;
  for (const Segment& segment : segments) {
    rows.clear();
    rows.reserve(segment.end - segment.begin);
    for (size_t i = segment.begin; i < segment.end; ++i) rows.push_back(column[static_cast<size_t>(order[i])]);
    std::copy(rows.begin(), rows.end(), column.begin() + static_cast<ptrdiff_t>(segment.begin));
  }
}

template <class Rows>
void rearrange_columns(const std::vector<int32_t>& order, Rows& rows) {
  const std::vector<Segment> segments = segments_of(order);
  tbb::task_group columns;
  for_each_column(rows, [&](auto& column) { columns.run([&] { rearrange_column(order, segments, column); }); });
  columns.wait();
}

}  // namespace

GpuRow GpuRows::operator[](size_t row) const {
  GpuRow whole;
  whole.start = events.start[row];
  whole.duration_ns = events.duration_ns[row];
  if (row < correlation.size()) whole.correlation = correlation[row];
  whole.name = events.name[row];
  whole.stream = events.stream[row];
  whole.device = static_cast<int16_t>(events.device[row]);
  whole.work = events.work[row];
  if (communicates(row)) {
    const CommKernel& told = comm_kernels[static_cast<size_t>(comm_row[row])];
    whole.external_id = told.external_id;
    whole.args = told.args;
  }
  return whole;
}

void GpuRows::append(const std::vector<GpuRow>& rows) {
  append_column(rows, events.start, [](const GpuRow& row) { return row.start; });
  append_column(rows, events.duration_ns, [](const GpuRow& row) { return row.duration_ns; });
  append_column(rows, events.work, [](const GpuRow& row) { return row.work; });
  append_column(rows, events.name, [](const GpuRow& row) { return row.name; });
  append_column(rows, events.device, [](const GpuRow& row) { return int32_t{row.device}; });
  append_column(rows, events.stream, [](const GpuRow& row) { return row.stream; });
  append_column(rows, correlation, [](const GpuRow& row) { return row.correlation; });
  append_column(rows, comm_row, [&](const GpuRow& row) {
    external_ids_tell |= row.external_id >= 0 && row.external_id != row.correlation;
    if (row.work != GpuWork::communication) return -1;
    comm_kernels.push_back({row.external_id, row.args});
    return static_cast<int32_t>(comm_kernels.size()) - 1;
  });
}

LaunchRow LaunchRows::operator[](size_t row) const {
  return {events.start[row], events.duration_ns[row], row < correlation.size() ? correlation[row] : -1,
          events.thread[row]};
}

void LaunchRows::append(const std::vector<LaunchRow>& rows) {
  append_column(rows, events.start, [](const LaunchRow& row) { return row.start; });
  append_column(rows, events.duration_ns, [](const LaunchRow& row) { return row.duration_ns; });
  append_column(rows, events.thread, [](const LaunchRow& row) { return row.thread; });
  append_column(rows, correlation, [](const LaunchRow& row) { return row.correlation; });
}

int64_t bytes_of(const GpuRows& gpu) {
  return bytes_of_columns(gpu) + static_cast<int64_t>(gpu.comm_kernels.size() * sizeof(CommKernel));
}

int64_t bytes_of(const LaunchRows& launches) { return bytes_of_columns(launches); }

void rearrange(const std::vector<int32_t>& order, GpuRows& gpu) { rearrange_columns(order, gpu); }

void rearrange(const std::vector<int32_t>& order, LaunchRows& launches) { rearrange_columns(order, launches); }

void keep(const std::vector<int32_t>& rows, GpuRows& gpu) {
  for_each_column(gpu, [&](auto& column) {
    for (size_t i = 0; i < rows.size(); ++i) column[i] = column[static_cast<size_t>(rows[i])];
    column.resize(rows.size());
  });
}

}  // namespace skewscope::ingest
