// What one chunk of text becomes: rows with strings of its own, merged into FileContent in the order of the chunks.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "defects.h"
#include "file_content.h"

namespace skewscope::ingest {

// Strings of one chunk. Texts are views into the chunk, or copies where the text does not live on.
class ChunkStrings {
 public:
  StringId intern(std::string_view text, bool lives_on);
  std::string_view view(StringId id) const { return entries_[id.index()].text; }
  size_t size() const { return entries_.size(); }
  // Told once per distinct kernel name, not once per kernel.
  GpuWork work_of(StringId name);
  void clear();

 private:
  struct Entry {
    std::string_view text;
    uint64_t hash = 0;
    int8_t work = -1;  // GpuWork; -1: not asked yet
  };
  void grow();

  std::vector<Entry> entries_;
  std::vector<int32_t> slots_;  // open addressing; -1: free
  std::deque<std::string> copies_;
};

// One process that launched GPU work or recorded CPU ops.
struct ProcessUse {
  int64_t pid = 0;
  int64_t launches = 0;
  int64_t cpu_ops = 0;
};

struct StampForms {
  int64_t fractions = 0;        // stamps and durations with a fraction other than 0
  int64_t short_fractions = 0;  // of one or two digits
  int64_t starting_with_0 = 0;  // of two or more digits
};

struct ChunkRows {
  std::vector<GpuRow> gpu;
  std::vector<LaunchRow> launches;
  std::vector<CommOpRow> comm_ops;
  std::vector<GpuAnnotationRow> gpu_annotations;
  std::vector<StepRow> steps;
  std::vector<CommArgs> comm_args;
  std::vector<ProcessUse> processes;
  std::vector<int64_t> labelled_ranks;  // numbers of "rank N" process names and labels; ascending, unique
  ChunkStrings strings;
  StampForms stamps;
  DefectCounts defects;
  int64_t events = 0;
  int64_t cpu_rows = 0;

  void clear();
  ProcessUse& process(int64_t pid);
};

void add_processes(const std::vector<ProcessUse>& more, std::vector<ProcessUse>& processes);
void add_labelled_rank(std::vector<int64_t>& ranks, int64_t rank);
// Appends and returns the bytes by which the columns of `content` grew. Stamps stay without the base time.
int64_t append_rows(const ChunkRows& rows, FileContent& content);

}  // namespace skewscope::ingest
