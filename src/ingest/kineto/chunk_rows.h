// What one chunk of text becomes: rows with strings of its own, merged into FileContent in the order of the chunks.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "begin_end.h"
#include "pass_texts.h"
#include "src/ingest/content/defects.h"
#include "src/ingest/content/file_content.h"
#include "src/ingest/content/kernel_works.h"

namespace skewscope::ingest {

// Strings of one chunk, looked up as written (between the quotes) and unescaped once. Texts are views into the chunk,
// or copies where the text does not live on.
class ChunkStrings {
 public:
  StringId intern(std::string_view raw, bool lives_on);
  // A text that keeps its escapes: JSON as written.
  StringId intern_json(std::string_view raw, bool lives_on);
  // Whether `id`, any id, is that of `raw`, in which every escape is right.
  bool is_id_of(StringId id, std::string_view raw) const {
    if (!id.known() || id.index() >= entries_.size()) return false;
    const Entry& entry = entries_[id.index()];
    return entry.raw == raw && entry.bad_escapes == 0;
  }
  std::string_view view(StringId id) const { return entries_[id.index()].text; }
  int64_t bad_escapes(StringId id) const { return entries_[id.index()].bad_escapes; }
  size_t size() const { return entries_.size(); }
  void clear();

 private:
  struct Entry {
    std::string_view raw, text;
    uint64_t hash = 0;
    int32_t bad_escapes = 0;  // kKept: the text has escapes and is what was written
  };
  static constexpr int32_t kKept = -1;
  StringId find_or_add(std::string_view raw, bool keeps_escapes, bool lives_on);
  void grow();
  Entry entry_for(std::string_view raw, uint64_t hash, bool keeps_escapes, bool lives_on);

  std::vector<Entry> entries_;
  std::vector<int32_t> slots_;  // open addressing; -1: free
  std::deque<std::string> copies_;
};

// One process that launched GPU work or made collective calls.
struct ProcessUse {
  int64_t pid = 0;
  int64_t launches = 0, collectives = 0;
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
  std::vector<SyncRow> syncs;
  std::vector<StreamWaitRow> stream_waits;
  std::vector<OptimizerRow> optimizer_steps;
  std::vector<PhaseRow> phases;
  std::vector<ModuleRow> modules;
  std::vector<BackwardRow> backward_ops;
  std::vector<PassFlowRow> pass_flows;
  std::vector<PassText> pass_texts;
  std::string_view backward_thread;  // of the operator of the backward pass before: its process and thread as written
  std::vector<CommArgs> comm_args;
  std::vector<SplitLists> splits;
  std::vector<ProcessUse> processes;
  std::vector<int64_t> labelled_ranks;    // numbers of "rank N" process names and labels; ascending, unique
  std::vector<int64_t> backward_threads;  // as in FileContent
  DetailRows details;
  ChunkStrings strings;
  StampForms stamps;
  DefectCounts defects;
  int64_t events = 0;
  int64_t cpu_rows = 0;
  int64_t kernel_launches = 0;
  bool hip_launches = false, intel_launches = false, cuda_launches = false;

  void clear();
  ProcessUse& process(int64_t pid);
};

// The lists to which one event may add rows.
template <class Rows>
auto row_lists(Rows& rows) {
  return std::tie(rows.gpu, rows.launches, rows.comm_ops, rows.gpu_annotations, rows.steps, rows.syncs,
                  rows.stream_waits, rows.optimizer_steps, rows.phases, rows.modules, rows.backward_ops,
                  rows.pass_flows, rows.comm_args, rows.splits);
}

void add_processes(const std::vector<ProcessUse>& more, std::vector<ProcessUse>& processes);
// To ascending numbers, where it is not among them.
void add_once(std::vector<int64_t>& numbers, int64_t number);
// What waits until the file is read whole.
struct UnfinishedRows {
  std::vector<PhaseRow> phases;
  PassTexts pass_texts;
};

// Appends and returns the bytes by which the columns grew. Stamps stay without the base time. Kernels arrive as
// `compute` and get their work here; `rows.gpu` become those of the file. `share`: the part of the file up to the end
// of these rows.
int64_t append_rows(ChunkRows& rows, double share, KernelWorks& works, FileContent& content,
                    UnfinishedRows& unfinished);

}  // namespace skewscope::ingest
