// The processes of a file: what is gathered of each while the tables are read, and which of them are ranks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "collectives/kind.h"
#include "export_strings.h"
#include "nccl_calls.h"
#include "src/ingest/content/row_collector.h"
#include "step_ranges.h"

namespace skewscope::ingest {

// Bits of globalPid and globalTid.
inline int64_t process_key(int64_t global_id) { return global_id >> 24; }
inline int64_t process_number(int64_t key) { return key & 0xffffff; }
inline int64_t thread_number(int64_t global_id) { return global_id & 0xffffff; }
inline int64_t machine_number(int64_t key) { return key >> 24; }

class ProcessRows {
 public:
  ProcessRows(const std::string& file, int64_t key, const ExportStrings& texts, const ReaderSettings& settings,
              MemoryBudget& budget);

  // The text of StringIds, as a name of this rank's.
  StringId name(int32_t row);

  // Of a row of the GPU; 0: not told.
  void use_context(int64_t context) {
    several_contexts_ = several_contexts_ || (context_ >= 0 && context != context_);
    context_ = context;
  }
  // How much higher CUPTI numbers the streams of the only context than those of a first one.
  int32_t stream_shift() const;

  int64_t key;
  RowCollector rows;
  NcclRanges nccl;
  StepCandidates steps;
  std::map<int64_t, int64_t> rows_of_device;
  // Types that kernels of collectives have in their names, by correlation.
  std::unordered_map<int64_t, StringId> type_of_kernel;
  int64_t graphs = 0, events = 0;
  int64_t xla_process = -1, xla_global = -1, xla_globals = 0;  // by names of threads

 private:
  const ExportStrings& texts_;
  int64_t context_ = -1;
  bool several_contexts_ = false;
  std::vector<StringId> names_;  // by row of StringIds; none: not asked yet
};

// A row of details.
struct HostRow {
  LocalNs start;
  int64_t duration_ns = 0;
  StringId name;
  HostKind kind = HostKind::op;
  int64_t thread = 0;
  int32_t arguments = -1, sequence = -1;
};
void add_host_row(const HostRow& row, ProcessRows& process);

class ProcessTable {
 public:
  ProcessTable(const std::string& file, const ExportStrings& texts, const ReaderSettings& settings,
               MemoryBudget& budget)
      : file_(file), texts_(texts), settings_(settings), budget_(budget) {}

  // Of a process or one of its threads; the last one asked for is found at once.
  ProcessRows* find(int64_t global_id);
  // nullptr: the file names more processes than any session has.
  ProcessRows* find_or_add(int64_t global_id);
  bool over_budget() const;
  // By number.
  std::map<int64_t, std::unique_ptr<ProcessRows>>& all() { return processes_; }

 private:
  static constexpr size_t kMostProcesses = 4096;

  const std::string& file_;
  const ExportStrings& texts_;
  const ReaderSettings& settings_;
  MemoryBudget& budget_;
  std::map<int64_t, std::unique_ptr<ProcessRows>> processes_;  // by key
  ProcessRows* last_ = nullptr;
};

}  // namespace skewscope::ingest
