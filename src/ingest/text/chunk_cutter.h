// Cuts the text of a trace into chunks that begin and end at event boundaries, so that each can be parsed on its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "byte_source.h"
#include "collectives/kernel_table.h"
#include "skewscope/ingest/read_progress.h"

namespace skewscope::ingest {

struct ReadSettings {
  size_t chunk_bytes = 1 << 20;          // text read per chunk
  size_t largest_chunk_bytes = 1 << 20;  // a chunk grows up to this while it holds no boundary
  size_t chunks_in_flight = 0;           // 0: two per thread
  bool sieve = true;                     // drop events that leave no row before parsing (event_sieve.h)
  bool details = false;                  // keep what RankDetail is made of (detail_rows.h)
  bool unpadded_fractions = false;       // KINETO.md, section 2: ".5" is 5 ns
  const KernelTable* kernels = &KernelTable::built_in();
  ReadProgress* progress = nullptr;  // moved on as a file is read; null: nobody looks
};

// Text with one byte of room before it and simdjson's padding behind it: wrapped in brackets without a copy. Reused.
class TextBuffer {
 public:
  // Keeps the text.
  void reserve(size_t capacity);
  void clear() { size_ = 0; }
  char* text() { return bytes_.get() + kRoomBefore; }
  std::string_view view() const { return {bytes_.get() + kRoomBefore, size_}; }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  void resize(size_t size) { size_ = size; }
  void append(std::string_view more);
  // Zeros behind the text, as far as simdjson may look.
  void pad();

  static constexpr size_t kRoomBefore = 64;
  static constexpr size_t kRoomBehind = 128;

 private:
  std::unique_ptr<char[]> bytes_;
  size_t size_ = 0, capacity_ = 0;
};

struct ChunkText : TextBuffer {
  size_t unread = 0;   // bytes from `offset` on that are still to be read: load()
  int64_t offset = 0;  // of its first byte, from the start of the uncompressed text
  bool last = false;   // the file ends with it
  double share = 1;    // of the file's bytes, as compressed, that were read up to its end

  // What the cutter left to whoever parses it. By any thread.
  void load(ByteSource& source);
};

// The last, and the first, position in `text` at or after `from` where an event can begin after another one: a `{`
// behind
// `}` `,` and before the key of an event. npos: none.
size_t last_event_boundary(std::string_view text, size_t from);
size_t next_event_boundary(std::string_view text, size_t from);
// Whether the text begins with `{` and the key of an event.
bool begins_event(std::string_view text);

class ChunkCutter {
 public:
  ChunkCutter(ByteSource& source, const ReadSettings& settings) : source_(source), settings_(settings) {}

  // Reads up to the opening bracket of the events. False: there is none in the file; head() is then all that is known.
  bool find_events();
  // Text before the events, without their key; at most kLargestHead bytes.
  std::string_view head() const { return head_; }
  bool bare_array() const { return bare_array_; }
  bool execution_trace() const { return execution_trace_; }

  // The next chunk: whole events and the commas between them, a piece of what follows the events, or the rest of the
  // file. False at the end. To be loaded before it is looked at.
  bool next(ChunkText& chunk);
  // Uncompressed bytes read so far.
  int64_t bytes() const { return bytes_; }
  // Text thrown away because it had no boundary; where it begins.
  int64_t skipped_bytes() const { return skipped_bytes_; }
  int64_t first_skipped() const { return first_skipped_; }

  static constexpr size_t kLargestHead = 8 << 20;

 private:
  bool read_head_block();
  bool start_bare_array();
  bool cut_unread(ChunkText& chunk);
  bool cut_read(ChunkText& chunk);
  void fill(TextBuffer& chunk);
  bool grow_or_skip(ChunkText& chunk);
  bool cut_tail(ChunkText& chunk);
  bool skip_to_boundary(ChunkText& chunk);

  ByteSource& source_;
  ReadSettings settings_;
  std::string head_;
  std::string carry_;  // read, but behind the last cut
  std::string tail_;   // of a chunk that is cut unread
  int64_t bytes_ = 0;
  int64_t skipped_bytes_ = 0, first_skipped_ = -1;
  bool bare_array_ = false, execution_trace_ = false, at_end_ = false;
  bool behind_events_ = false;  // the events were closed, and none was seen since
};

}  // namespace skewscope::ingest
