// What a reader keeps in addition to the ordinary rows where details are asked for (ReadSettings::details): of one
// chunk, with its strings, or of a file. Rows are in file order. A trace with python stacks has ten host rows for each
// ordinary one: they are columns from the start, so that sorting them needs room for one column more, not for all.
#pragma once

#include <cstdint>
#include <vector>

#include "distinct_rows.h"
#include "skewscope/base/ids.h"
#include "skewscope/base/time.h"
#include "skewscope/model/rank_detail.h"

namespace skewscope::ingest {

struct ThreadIds {
  int64_t process = 0, thread = 0;

  friend bool operator==(const ThreadIds&, const ThreadIds&) = default;
};

// The file's id of a text by that of the chunk.
inline StringId mapped(const std::vector<StringId>& ids, StringId local) {
  return local.known() ? ids[local.index()] : local;
}

struct DetailHash {
  size_t operator()(const ThreadIds& ids) const;
  size_t operator()(const ArgumentSet& set) const;
  size_t operator()(const KernelShape& shape) const;
};

// gpu_user_annotation: the range of an annotation on a stream.
struct GpuAnnotationRow {
  LocalNs start;
  int64_t duration_ns = 0;
  StringId name;
  int32_t device = -1;
  int32_t stream = -1;
};
inline int64_t track_of(int32_t device, int32_t stream) { return (int64_t{device} << 32) + stream; }
inline int64_t track_of(const GpuAnnotationRow& row) { return track_of(row.device, row.stream); }

// Next to LaunchRow: row = row there.
struct LaunchDetailRow {
  int32_t host = -1;   // row in DetailRows::host
  int32_t shape = -1;  // grid and block where the call tells them (HIP)
};

// Next to GpuRow: row = row there.
struct GpuDetailRow {
  int64_t bytes = -1;
  double gb_per_s = -1;
  int32_t place = 0;
  int32_t shape = -1;
  int32_t operation = -1;  // row in DetailRows::operations
};

// Next to CommArgs: row = row there.
struct SplitSizes {
  StringId in, out;
};

// ph "M". Later ones replace earlier ones.
struct TrackName {
  enum class Of : uint8_t { process, label, thread };

  Of of = Of::process;
  ThreadIds ids;
  StringId text;
};

struct DetailRows {
  HostEvents host;  // `thread`: number in `threads`; not sorted
  DistinctRows<ThreadIds, DetailHash> threads;
  DistinctRows<ArgumentSet, DetailHash> arguments;
  DistinctRows<KernelShape, DetailHash> shapes;
  std::vector<DeviceOperation> operations;
  std::vector<LaunchDetailRow> launches;
  std::vector<GpuDetailRow> gpu;
  std::vector<GpuAnnotationRow> gpu_annotations;  // of every name
  MemoryEvents memory;                            // `thread`: number in `threads`; not sorted
  std::vector<SplitSizes> splits;
  std::vector<TrackName> names;

  void clear();
  // Back to how many rows there were; distinct rows stay.
  struct Mark {
    size_t host, launches, gpu, gpu_annotations, memory, splits, names;
  };
  Mark mark() const {
    return {host.size(),   launches.size(), gpu.size(),  gpu_annotations.size(),
            memory.size(), splits.size(),   names.size()};
  }
  void roll_back(const Mark& to);
};

// `ids`: StringId of the file by that of the chunk. `first_event`: events of the file before the chunk.
void append_details(const DetailRows& chunk, const std::vector<StringId>& ids, int64_t first_event, DetailRows& file);

// What the rows take, without the strings.
int64_t bytes_of(const DetailRows& rows);

}  // namespace skewscope::ingest
