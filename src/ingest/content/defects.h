// What a reader can meet in imperfect text, counted where it is met; turned into findings once per file.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "skewscope/base/finding.h"
#include "src/ingest/text/byte_source.h"

namespace skewscope::ingest {

enum class Defect : uint8_t {
  repaired_quotes,    // a bare quote inside a string
  replaced_bytes,     // control characters, bytes that are no UTF-8
  bad_escape,         // a backslash before anything but an escape
  mismatched_braces,  // a closer that fits no opener, or a missing one
  bare_nan,           // NaN, inf, N/A where a number belongs
  number_as_string,   // "0x0" where a number belongs
  long_fraction,      // more than three digits behind the microsecond
  duplicate_key,      // last wins
  negative_duration,  // counted as 0
  no_duration,        // a complete event without one: counted as 0
  open_event,         // it begins and never ends, or ends and never began
  zero_stamp,         // GPU row with ts 0 and dur 0: dropped
  absent_value,       // nothing where a value belongs, a comma behind which nothing follows
  partly_read_event,  // could not be repaired; what is whole was kept
  dropped_event,      // could not be read, even after repair
  operator_gpu_time,  // row of the profiler before Kineto: GPU time of an operator, no kernel
  skipped_bytes,      // text between events that is no event
  oversized_event,    // no end of an event within the largest chunk
  interleaved_files,  // a second file inside the events
  damaged_head,       // keys around the events that are no JSON
  truncated_file,     // the text ends before the JSON does
  gzip_without_trailer,
  damaged_compression,
  trailing_bytes,  // after the last compressed stream
  unreadable_file,
  empty_file,
  unpadded_fractions,  // the file was read with its own meaning of ".5"
  count_,
};

constexpr size_t kDefectCount = static_cast<size_t>(Defect::count_);

FindingCode code_of(Defect defect);

class DefectCounts {
 public:
  // `offset`: bytes from the start of the uncompressed text; -1: no place.
  void add(Defect defect, int64_t offset, int64_t count = 1) {
    Entry& entry = entries_[static_cast<size_t>(defect)];
    if (entry.count == 0 || (offset >= 0 && offset < entry.first)) entry.first = offset;
    entry.count += count;
  }
  void add(const DefectCounts& other);
  int64_t count(Defect defect) const { return entries_[static_cast<size_t>(defect)].count; }
  int64_t first(Defect defect) const { return entries_[static_cast<size_t>(defect)].first; }
  bool any() const;
  // One finding per kind that occurred, in the order of Defect.
  Findings to_findings(const std::string& file) const;

 private:
  struct Entry {
    int64_t count = 0;
    int64_t first = -1;
  };
  std::array<Entry, kDefectCount> entries_;
};

// Counts what the end of a stream of `bytes` says of it.
void count_source_end(SourceEnd end, int64_t bytes, DefectCounts& defects);

}  // namespace skewscope::ingest
