// Reads one chunk of events: simdjson On-Demand, forward only, each event left as soon as its category says that
// nothing of it is kept. A RowBuilder makes rows of what is read.
#pragma once

#include <simdjson.h>

#include <string_view>

#include "chunk_rows.h"
#include "event_layouts.h"
#include "raw_event.h"
#include "repair.h"
#include "row_builder.h"
#include "src/ingest/text/chunk_cutter.h"

namespace skewscope::ingest {

// One per thread: simdjson's buffers are reused.
class EventReader {
 public:
  explicit EventReader(const ReadSettings& settings)
      : use_sieve_(settings.sieve), details_(settings.details), builder_(settings) {}

  // Reads the events of a chunk of one of the files, which are numbered as they are begun. Returns the offset behind
  // the bracket that closes the events, npos where it is not in this chunk. Text that simdjson refuses is repaired
  // event by event.
  size_t read(int64_t file, ChunkText& chunk, ChunkRows& rows);
  // The same for text that is known to be damaged, from `from` on. `offset`: of its first byte; `last`: the file ends
  // with it; `boundary`: the next event boundary behind `from` where the caller knows it, npos for none, 0 for unknown.
  size_t read_damaged(std::string_view text, size_t from, int64_t offset, bool last, ChunkRows& rows,
                      size_t boundary = 0);

 private:
  // One event of a text that simdjson refused: it ends before `limit`. `cut_off`: the file ends there too.
  struct DamagedEvent {
    std::string_view text;
    size_t begin, limit;
    bool cut_off;
  };
  enum class Outcome : uint8_t { kept, skipped, broken };

  bool read_laid_out(TextBuffer& chunk, size_t size, size_t& rest);
  bool parse_events(TextBuffer& chunk, size_t begin, size_t end);
  bool parse_and_learn(TextBuffer& chunk, size_t begin, size_t end);
  bool parse_in_place(TextBuffer& chunk, size_t begin, size_t end, size_t& array_end);
  bool parse_array(char* text, size_t size, size_t& array_end);
  Outcome read_event(simdjson::ondemand::object&& object);
  Outcome read_args(simdjson::ondemand::value& value);
  bool is_wanted() const;
  bool parse_repaired();
  bool salvage_one(std::string_view event);
  bool repair_one(const DamagedEvent& event, bool backslash_ends, RepairedEvent& repaired);

  simdjson::ondemand::parser parser_;
  EventLayouts layouts_;
  int64_t file_ = -1;  // the last one of which a chunk was read
  bool use_sieve_;
  bool details_;
  TextBuffer repaired_text_;
  RawEvent event_;             // the last one that was read
  ChunkRows* rows_ = nullptr;  // of the chunk that is read
  RowBuilder builder_;
};

}  // namespace skewscope::ingest
