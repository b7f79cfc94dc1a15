// Parses one chunk of events into rows: simdjson On-Demand, forward only, each event left as soon as its category says
// that nothing of it is kept.
#pragma once

#include <simdjson.h>

#include <string_view>

#include "chunk_rows.h"
#include "event_layouts.h"
#include "raw_event.h"
#include "repair.h"
#include "src/ingest/text/chunk_cutter.h"

namespace skewscope::ingest {

// One per thread: simdjson's buffers are reused.
class EventParser {
 public:
  explicit EventParser(const ReadSettings& settings)
      : unpadded_fractions_(settings.unpadded_fractions), use_sieve_(settings.sieve), details_(settings.details) {}

  // Reads the events of a chunk of one of the files, which are numbered as they are begun. Returns the place behind the
  // bracket that closes the events, npos where it is not in this chunk. Text that simdjson refuses is repaired event by
  // event.
  size_t parse(int64_t file, ChunkText& chunk, ChunkRows& rows);
  // The same for text that is known to be damaged, from `from` on. `offset`: of its first byte; `last`: the file ends
  // with it; `boundary`: the next event boundary behind `from` where the caller knows it, npos for none, 0 for unknown.
  size_t parse_damaged(std::string_view text, size_t from, int64_t offset, bool last, ChunkRows& rows,
                       size_t boundary = 0);

 private:
  // One event of a text that simdjson refused: it ends before `limit`. `cut_off`: the file ends there too.
  struct DamagedEvent {
    std::string_view text;
    size_t begin, limit;
    bool cut_off;
  };
  enum class Outcome : uint8_t { kept, skipped, broken };

  bool parse_laid_out(TextBuffer& chunk, size_t size, ChunkRows& rows, size_t& rest);
  bool parse_events(TextBuffer& chunk, size_t begin, size_t end, ChunkRows& rows);
  bool parse_and_learn(TextBuffer& chunk, size_t begin, size_t end, ChunkRows& rows);
  bool parse_in_place(TextBuffer& chunk, size_t begin, size_t end, ChunkRows& rows, size_t& array_end);
  bool parse_array(char* text, size_t size, ChunkRows& rows, size_t& array_end);
  Outcome read_event(simdjson::ondemand::object&& object, RawEvent& event, ChunkRows& rows);
  Outcome read_args(simdjson::ondemand::value& value, RawEvent& event, ChunkRows& rows);
  bool salvage_one(std::string_view event, ChunkRows& rows);
  bool repair_one(const DamagedEvent& event, bool backslash_ends, ChunkRows& rows, RepairedEvent& repaired);

  bool is_wanted(const RawEvent& event) const;
  void keep(const RawEvent& event, ChunkRows& rows);
  [[gnu::noinline]] void keep_half(const RawEvent& event, ChunkRows& rows);
  void keep_begin(const RawEvent& event, ChunkRows& rows);
  void keep_end(const RawEvent& event, ChunkRows& rows);
  void add_phase(const RawEvent& event, PhaseRow phase, ChunkRows& rows);
  void keep_complete(const RawEvent& event, ChunkRows& rows);
  void keep_sync(const RawEvent& event, ChunkRows& rows);
  void keep_row(const RawEvent& event, ChunkRows& rows);
  void keep_gpu_row(const RawEvent& event, ChunkRows& rows);
  void keep_backward_op(const RawEvent& event, ChunkRows& rows);
  void keep_pass_flow(const RawEvent& event, ChunkRows& rows);
  void keep_stream_wait(const RawEvent& event, ChunkRows& rows);
  void keep_launch(const RawEvent& event, ChunkRows& rows);
  void keep_host_op(const RawEvent& event, ChunkRows& rows);
  void keep_module(const RawEvent& event, ChunkRows& rows);
  void keep_label(const RawEvent& event, ChunkRows& rows);
  void keep_comm_op(const RawEvent& event, ChunkRows& rows);
  void keep_splits(const RawEvent& event, ChunkRows& rows);
  int32_t keep_comm_args(const RawEvent& event, ChunkRows& rows);
  void keep_with_details(const RawEvent& event, ChunkRows& rows);
  void keep_gpu_detail(const RawEvent& event, ChunkRows& rows);
  void keep_gpu_annotation(const RawEvent& event, std::vector<GpuAnnotationRow>& annotations, ChunkRows& rows);
  void keep_host_row(const RawEvent& event, LocalNs start, int64_t duration_ns, ChunkRows& rows);
  void keep_place_name(const RawEvent& event, ChunkRows& rows);
  int32_t argument_set(const RawEvent& event, ChunkRows& rows);
  int32_t kernel_shape(const RawEvent& event, ChunkRows& rows);
  StringId host_name(const RawEvent& event, ChunkRows& rows);
  StringId json_text(const RawEvent& event, Arg arg, ChunkRows& rows);
  StringId text(const RawEvent& event, Arg arg, ChunkRows& rows);

  bool read_times(const RawEvent& event, ChunkRows& rows, LocalNs& start, int64_t& duration_ns);
  bool read_times(const RawEvent& event, StampForms& stamps, DefectCounts& defects, LocalNs& start,
                  int64_t& duration_ns);
  StringId intern(std::string_view token, ChunkRows& rows);
  StringId intern_name(const RawEvent& event, ChunkRows& rows);
  StringId intern_arg(std::string_view token, Arg arg, const RawEvent& event, ChunkRows& rows);
  StringId intern_after(std::string_view token, StringId& last, ChunkRows& rows);
  int64_t integer(const RawEvent& event, Arg arg, ChunkRows& rows);
  static int64_t thread_of(const RawEvent& event);
  static int64_t process_of(const RawEvent& event);
  int64_t place_of(std::string_view token) const;

  simdjson::ondemand::parser parser_;
  EventLayouts layouts_;
  int64_t file_ = -1;  // the last one of which a chunk was read
  bool unpadded_fractions_;
  bool use_sieve_;
  bool details_;
  bool tokens_live_on_ = true;  // false: the event was repaired into a buffer that is reused
  const char* text_ = nullptr;  // start of the text that tokens point into
  int64_t offset_ = 0;          // of text_ in the file
  TextBuffer repaired_text_;
  std::string shortened_name_;
  RawEvent event_;
};

}  // namespace skewscope::ingest
