// The ranks of one file of ROCm's profilers: one for each GPU that a process used.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/ingest/content/row_collector.h"

namespace skewscope::ingest {

struct RocmProcess {
  int64_t process = -1;  // of its host
  std::string host;
  int64_t rank = -1, world_size = -1;  // where its environment tells
  std::string rank_variable{};         // of the environment
};

class RocmParts {
 public:
  RocmParts(const std::string& file, const ReaderSettings& settings, MemoryBudget& budget)
      : file_(file), settings_(settings), budget_(budget) {}

  // Of the same place in the file, whoever asks first makes it. `process`: the key of a process within the file.
  RowCollector& part(int64_t process, int32_t gpu);
  void set_process(int64_t process, RocmProcess told) { processes_[process] = std::move(told); }
  void set_gpu(int64_t process, int32_t gpu, std::string name) { names_[{process, gpu}] = std::move(name); }
  // A call of the host: to each GPU of its process, as it does not say to which. For after the rows of the GPUs.
  template <class Row>
  void add_of_host(int64_t process, const Row& row) {
    for (auto& [key, rows] : parts_) {
      if (key.process == process) rows->add(row);
    }
  }
  // visit(RowCollector&) for each GPU of the process.
  template <class Visit>
  void of_process(int64_t process, const Visit& visit) {
    for (auto& [key, rows] : parts_) {
      if (key.process == process) visit(*rows);
    }
  }

  bool over_budget() const;
  Error error() const { return budget_.exceeded_by(file_); }
  // One content for each part, in the order of processes and GPUs; without any, an empty one.
  std::vector<FileContent> take(const char* format, int64_t events, Findings findings);

 private:
  struct Key {
    int64_t process = 0;
    int32_t gpu = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  std::string name_of(const Key& key) const;
  void set_rank(const RocmProcess& told, const Key& key, DistributedInfo& distributed) const;

  const std::string& file_;
  const ReaderSettings& settings_;
  MemoryBudget& budget_;
  std::map<Key, std::unique_ptr<RowCollector>> parts_;
  std::map<int64_t, RocmProcess> processes_;
  std::map<Key, std::string> names_;
};

// HIP counts a grid in threads.
class DispatchGrids {
 public:
  using Size = std::array<int64_t, 3>;
  // GpuRow::grid; 0: none is told.
  uint16_t number_of(const Size& threads, const Size& threads_of_group);

 private:
  std::map<Size, uint16_t> numbers_;  // by groups
};

constexpr int32_t kMostGpus = 1024;  // of a process; a larger number is no GPU

// What an environment, as text of JSON or of lines, says of the rank.
RocmProcess process_of_environment(std::string_view json);

}  // namespace skewscope::ingest
