// One file being read: what arrives in the order of the text is put together here, and interpreted at the end.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chunk_rows.h"
#include "event_reader.h"
#include "skewscope/base/result.h"
#include "src/ingest/content/file_content.h"
#include "src/ingest/content/memory_budget.h"
#include "src/ingest/text/chunk_cutter.h"
#include "top_level.h"

namespace skewscope::ingest {

class FileBuilder {
 public:
  FileBuilder(const std::string& file, MemoryBudget& budget, const ReadSettings& settings);
  ~FileBuilder();
  FileBuilder(const FileBuilder&) = delete;
  FileBuilder& operator=(const FileBuilder&) = delete;

  // After find_events(): takes the keys before the events.
  void start(const ChunkCutter& cutter);
  // The next chunk, in the order of the text, with the rows that were read from it. `events_end`: behind the bracket
  // that closes the events, npos if not there.
  void append(const ChunkText& chunk, ChunkRows& rows, size_t events_end);
  // After the last chunk: keys behind the events, base time, launches nobody refers to, content kind, findings.
  void finish(const ChunkCutter& cutter, const ByteSource& source);

  // Nothing more is worth reading.
  bool stopped() const { return over_budget_; }
  const std::string& file() const { return content_.file; }
  bool over_budget() const { return over_budget_; }
  Error budget_error() const;
  // The stamps can only have been written by a build with unpadded fractions: the file has to be read again.
  bool fractions_are_unpadded() const;
  // Bytes taken from the budget stay taken: the content lives on.
  FileContent take_content();

 private:
  void append_rows_of(ChunkRows& rows, double share);
  void append_tail(const ChunkText& chunk, size_t from);
  void read_tail();
  void add_base_time();
  template <class Work>
  int64_t sum_over_starts(const Work& work);  // of what it gives for each list of rows that have a start
  void drop_repeated_steps();
  ContentKind kind_of(const ChunkCutter& cutter) const;
  bool several_ranks() const;
  int64_t main_process() const;

  FileContent content_;
  UnfinishedRows unfinished_;
  MemoryBudget& budget_;
  ReadSettings settings_;
  TopLevel top_;
  DefectCounts defects_;
  StampForms stamps_;
  KernelWorks works_;
  std::vector<ProcessUse> processes_;
  std::vector<int64_t> labelled_ranks_;
  int64_t cpu_rows_ = 0;
  int64_t taken_ = 0;
  int64_t launches_seen_ = 0;
  bool events_found_ = false, events_closed_ = false, object_closed_ = false, bare_array_ = false;
  std::atomic<bool> over_budget_ = false;  // asked while chunks are appended
  bool second_document_ = false;
  std::string tail_;
  int64_t tail_offset_ = 0;
  EventReader event_reader_;
};

}  // namespace skewscope::ingest
