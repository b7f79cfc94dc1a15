// GPU rows and launches of a file, most of the memory that a large trace takes while it is read: columns from the
// start. Those of GPU rows are handed on as they are when rows are linked, and who looks at one need not read the
// others.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "near_numbers.h"
#include "skewscope/base/ids.h"
#include "skewscope/base/time.h"
#include "skewscope/model/rank_trace.h"

namespace skewscope::ingest {

// What a thread takes at a time where each row is visited.
constexpr size_t kRowsPerTask = 16'384;

// `args` = row in FileContent::comm_args, -1 for none.
struct GpuRow {
  LocalNs start;
  int64_t duration_ns = 0;
  int64_t correlation = -1;
  int64_t external_id = -1;
  StringId name;
  int32_t stream = -1;
  int32_t args = -1;
  int16_t device = -1;
  GpuWork work = GpuWork::compute;  // copies and fills by category, kernels by name
  uint16_t grid = 0;                // of kernels: KernelGrid::grid
};
static_assert(sizeof(GpuRow) == 56);

// What a call of the runtime is in addition to a call with a correlation.
enum class LaunchRole : uint8_t { other, kernel, begins_capture, ends_capture };  // captures of graphs

struct LaunchRow {
  LocalNs start;
  int64_t duration_ns = 0;
  int64_t correlation = -1;
  int64_t thread = 0;
  LaunchRole role = LaunchRole::other;
};

// What is asked of communication kernels only.
struct CommKernel {
  int64_t external_id = -1;
  int32_t args = -1;
  int32_t row = -1;  // in GpuRows
};

struct GpuRows {
  GpuEvents events;                      // `launch` is empty until join_launches()
  NearNumbers correlation;               // given back when launches are joined
  std::vector<CommKernel> comm_kernels;  // by row
  // Until 2023 the External id of every GPU row was its own correlation: an id, but of nothing.
  bool external_ids_tell = false;

  size_t size() const { return events.size(); }
  bool empty() const { return size() == 0; }
  // External id and arguments of communication kernels only, in O(log of how many there are).
  GpuRow operator[](size_t row) const;
  // Its row, whole.
  GpuRow row_of(const CommKernel& kernel) const;
  void append(const std::vector<GpuRow>& rows);
};

struct LaunchRows {
  LaunchEvents events;
  NearNumbers correlation;
  Column<LaunchRole> role;  // until kernels that were lost are counted

  size_t size() const { return events.size(); }
  bool empty() const { return size() == 0; }
  LaunchRow operator[](size_t row) const;
  void append(const std::vector<LaunchRow>& rows);
};

// Visits the columns that there are before launches are joined.
template <class Rows, class Visit>
requires std::same_as<std::remove_const_t<Rows>, GpuRows>
void for_each_column(Rows& gpu, const Visit& visit) {
  visit(gpu.events.start);
  visit(gpu.events.duration_ns);
  visit(gpu.events.work);
  visit(gpu.events.name);
  visit(gpu.events.device);
  visit(gpu.events.stream);
  gpu.correlation.visit_column(visit);
}

template <class Rows, class Visit>
requires std::same_as<std::remove_const_t<Rows>, LaunchRows>
void for_each_column(Rows& launches, const Visit& visit) {
  for_each_column(launches.events, visit);
  launches.correlation.visit_column(visit);
  visit(launches.role);
}

int64_t bytes_of(const GpuRows& gpu);
int64_t bytes_of(const LaunchRows& launches);

// Puts row order[i] at i, in every column; `order` holds each row once. Memory for the rows between the places that one
// leaves and takes: mostly few.
void rearrange(const std::vector<int32_t>& order, GpuRows& gpu);
void rearrange(const std::vector<int32_t>& order, LaunchRows& launches);
void rearrange(const std::vector<int32_t>& order, LaunchEvents& launches);
// Drops all but these rows, which are in ascending order. In place.
void keep(const std::vector<int32_t>& rows, GpuRows& gpu);
void keep(const std::vector<int32_t>& rows, LaunchEvents& launches);

template <class Rows>
Rows gathered(const Rows& column, const std::vector<int32_t>& order) {
  Rows result;
  result.reserve(order.size());
  for (const int32_t row : order) result.push_back(column[static_cast<size_t>(row)]);
  return result;
}

}  // namespace skewscope::ingest
