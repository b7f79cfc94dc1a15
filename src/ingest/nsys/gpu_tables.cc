#include "gpu_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "reading_of.h"
#include "src/ingest/content/row_names.h"

namespace skewscope::ingest {
namespace {

using namespace std::string_view_literals;

int16_t device_number(int64_t number) {
  return static_cast<int16_t>(std::clamp<int64_t>(number, INT16_MIN, INT16_MAX));
}

int32_t narrow_number(int64_t number) { return static_cast<int32_t>(std::clamp<int64_t>(number, -1, INT32_MAX)); }

// As CUPTI's enumerations count, and Kineto calls them.
constexpr std::array kCopyKinds = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD",
                                   "DtoA",    "DtoD", "HtoH", "PtoP", "HtoD", "DtoH", "DtoD"};
constexpr std::array kMemoryKinds = {"Pageable", "Pinned",        "Device",         "Array",
                                     "Managed",  "Device Static", "Managed Static", "Unknown"};

template <size_t n>
const char* kind_in(const std::array<const char*, n>& kinds, const Statement& row, int column) {
  const int64_t kind = row.integer(column);
  return row.is_null(column) || kind < 0 || kind >= std::ssize(kinds) ? "Unknown" : kinds[static_cast<size_t>(kind)];
}

// start, end, deviceId, streamId, correlationId, globalPid and contextId are the first columns of all.
ProcessRows* begin_row(ReadingOf& file, const Statement& row, GpuRow& gpu) {
  if (!file.read_times(row, gpu.start, gpu.duration_ns)) return nullptr;
  ProcessRows* process = file.processes.find_or_add(row.integer(5));
  if (process == nullptr) return nullptr;
  gpu.device = device_number(row.integer(2));
  gpu.stream = narrow_number(row.integer(3));
  gpu.correlation = row.is_null(4) ? -1 : row.integer(4);
  ++process->events;
  ++process->rows_of_device[gpu.device];
  process->use_context(row.is_null(6) ? 0 : row.integer(6));
  return process;
}

// The numbers of grids, which are many, by their sizes, which are few.
class GridNumbers {
 public:
  uint16_t of(int64_t x, int64_t y, int64_t z) {
    const uint64_t key = static_cast<uint64_t>(x) ^ (static_cast<uint64_t>(y) << 32) ^ (static_cast<uint64_t>(z) << 48);
    if (key == last_key_ && last_ != 0) return last_;
    const auto [at, added] = known_.try_emplace(key, 0);
    if (added) at->second = grid_number(fmt::format("[{}, {}, {}]", x, y, z));
    if (known_.size() > kMost) known_.clear();
    last_key_ = key;
    return last_ = added ? grid_number(fmt::format("[{}, {}, {}]", x, y, z)) : at->second;
  }

 private:
  static constexpr size_t kMost = 1 << 16;
  std::unordered_map<uint64_t, uint16_t> known_;
  uint64_t last_key_ = 0;
  uint16_t last_ = 0;
};

GpuDetailRow kernel_detail(const Statement& row, ProcessRows& process) {
  KernelShape shape;
  const auto number = [&](int column) { return row.is_null(column) ? int64_t{-1} : row.integer(column); };
  for (int i = 0; i < 3; ++i) {
    shape.grid[i] = number(9 + i);
    shape.block[i] = number(12 + i);
  }
  shape.registers = narrow_number(number(15));
  if (!row.is_null(16)) shape.shared_memory = narrow_number(row.integer(16) + row.integer(17));
  GpuDetailRow detail;
  detail.place = static_cast<int32_t>(process.events);
  detail.shape = process.rows.content().details->shapes.number_of(shape);
  return detail;
}

GpuDetailRow bytes_detail(const GpuRow& gpu, int64_t bytes, const ProcessRows& process) {
  GpuDetailRow detail;
  detail.place = static_cast<int32_t>(process.events);
  detail.bytes = bytes;
  if (gpu.duration_ns > 0) detail.gb_per_s = static_cast<double>(bytes) / static_cast<double>(gpu.duration_ns);
  return detail;
}

}  // namespace

void read_kernels(ReadingOf& file) {
  GridNumbers grids;
  std::vector<int8_t> typed(file.texts.size(), -1);  // by row of StringIds: whether NCCL's kernel names a type
  visit_rows(file.database, "CUPTI_ACTIVITY_KIND_KERNEL",
             {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "contextId", "demangledName",
              "shortName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "registersPerThread",
              "staticSharedMemory", "dynamicSharedMemory"},
             file.defects, [&](const Statement& row) {
               GpuRow gpu;
               ProcessRows* process = begin_row(file, row, gpu);
               if (process == nullptr) return true;
               const int32_t text = file.texts.row_of(row.integer(row.is_null(7) ? 8 : 7));
               gpu.name = process->name(text);
               if (!row.is_null(9)) gpu.grid = grids.of(row.integer(9), row.integer(10), row.integer(11));
               if (text >= 0 && gpu.correlation >= 0) {
                 int8_t& has_type = typed[static_cast<size_t>(text)];
                 const std::string_view name = file.texts.text(text);
                 if (has_type < 0) has_type = name.starts_with("nccl"sv) && !type_of_kernel(name).empty() ? 1 : 0;
                 if (has_type > 0)
                   process->type_of_kernel[gpu.correlation] = process->rows.intern(type_of_kernel(name));
               }
               const bool details = file.settings.details;
               process->rows.add(gpu, details ? kernel_detail(row, *process) : GpuDetailRow());
               return !process->rows.over_budget();
             });
}

void read_copies(ReadingOf& file) {
  visit_rows(file.database, "CUPTI_ACTIVITY_KIND_MEMCPY",
             {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "contextId", "bytes", "copyKind",
              "srcKind", "dstKind"},
             file.defects, [&](const Statement& row) {
               GpuRow gpu;
               ProcessRows* process = begin_row(file, row, gpu);
               if (process == nullptr) return true;
               gpu.work = GpuWork::memcpy;
               gpu.name =
                   process->rows.intern(fmt::format("Memcpy {} ({} -> {})", kind_in(kCopyKinds, row, 8),
                                                    kind_in(kMemoryKinds, row, 9), kind_in(kMemoryKinds, row, 10)));
               process->rows.add(gpu, bytes_detail(gpu, row.integer(7), *process));
               return !process->rows.over_budget();
             });
}

void read_fills(ReadingOf& file) {
  visit_rows(file.database, "CUPTI_ACTIVITY_KIND_MEMSET",
             {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "contextId", "bytes", "memKind"},
             file.defects, [&](const Statement& row) {
               GpuRow gpu;
               ProcessRows* process = begin_row(file, row, gpu);
               if (process == nullptr) return true;
               gpu.work = GpuWork::memset;
               gpu.name = process->rows.intern(fmt::format("Memset ({})", kind_in(kMemoryKinds, row, 8)));
               process->rows.add(gpu, bytes_detail(gpu, row.integer(7), *process));
               return !process->rows.over_budget();
             });
}

void read_graphs(ReadingOf& file) {
  visit_rows(file.database, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
             {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "contextId"}, file.defects,
             [&](const Statement& row) {
               GpuRow gpu;
               ProcessRows* process = begin_row(file, row, gpu);
               if (process == nullptr) return true;
               gpu.name = process->rows.intern("CUDA graph");
               ++process->graphs;
               GpuDetailRow detail;
               detail.place = static_cast<int32_t>(process->events);
               process->rows.add(gpu, detail);
               return !process->rows.over_budget();
             });
}

void read_stream_waits(ReadingOf& file) {
  constexpr int64_t kStreamWaitsForEvent = 2;  // CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT
  struct Record {
    int64_t stream, correlation;
  };
  constexpr size_t kMostRecords = 1 << 22;
  std::unordered_map<int64_t, Record> records;  // by eventSyncId, which one session counts up
  visit_rows(file.database, "CUPTI_ACTIVITY_KIND_CUDA_EVENT", {"eventSyncId", "streamId", "correlationId"},
             file.defects, [&](const Statement& row) {
               if (!row.is_null(0)) records[row.integer(0)] = {row.integer(1), row.is_null(2) ? -1 : row.integer(2)};
               return records.size() < kMostRecords;
             });
  if (records.empty()) return;  // which stream is waited for, nothing else says
  visit_rows(file.database, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
             {"start", "end", "syncType", "streamId", "correlationId", "globalPid", "eventSyncId"}, file.defects,
             [&](const Statement& row) {
               StreamWaitRow wait;
               int64_t on_the_host_ns = 0;
               const auto record = records.find(row.integer(6));
               if (row.integer(2) != kStreamWaitsForEvent || row.is_null(6) || record == records.end()) return true;
               if (!file.read_times(row, wait.start, on_the_host_ns)) return true;
               ProcessRows* process = file.processes.find(row.integer(5));
               if (process == nullptr) return true;
               wait.stream = narrow_number(row.integer(3));
               wait.correlation = row.is_null(4) ? -1 : row.integer(4);
               wait.source = narrow_number(record->second.stream);
               wait.recorded_by = record->second.correlation;
               process->rows.content().stream_waits.push_back(wait);
               return true;
             });
}

}  // namespace skewscope::ingest
