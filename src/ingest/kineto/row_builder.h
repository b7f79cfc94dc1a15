// Makes rows of the events of a chunk: what is kept of an event of each class, and what is wrong with it, counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chunk_rows.h"
#include "raw_event.h"
#include "src/ingest/text/chunk_cutter.h"

namespace skewscope::ingest {

// The text that the tokens of events point into.
struct TokenSource {
  const char* text = nullptr;
  int64_t offset = 0;   // of it, in the file
  bool live_on = true;  // false: an event was repaired into it, and it is used again

  int64_t offset_of(std::string_view token) const { return live_on ? offset + (token.data() - text) : offset; }
};

class RowBuilder {
 public:
  explicit RowBuilder(const ReadSettings& settings)
      : unpadded_fractions_(settings.unpadded_fractions), details_(settings.details) {}

  // From here on rows are added to `rows`.
  void begin(ChunkRows& rows, const TokenSource& tokens) {
    rows_ = &rows;
    tokens_ = tokens;
  }
  const TokenSource& tokens() const { return tokens_; }
  // Adds the rows of an event that leaves some.
  void keep(const RawEvent& event);

 private:
  [[gnu::noinline]] void keep_half(const RawEvent& event);
  void keep_begin(const RawEvent& event);
  void keep_end(const RawEvent& event);
  void add_phase(const RawEvent& event, PhaseRow phase);
  void keep_complete(const RawEvent& event);
  void keep_sync(const RawEvent& event);
  void keep_row(const RawEvent& event);
  void keep_gpu_row(const RawEvent& event);
  void keep_gpu_annotation(const RawEvent& event, std::vector<GpuAnnotationRow>& annotations);
  void keep_backward_op(const RawEvent& event);
  void keep_pass_flow(const RawEvent& event);
  void keep_stream_wait(const RawEvent& event);
  void keep_launch(const RawEvent& event);
  void keep_host_op(const RawEvent& event);
  void keep_module(const RawEvent& event);
  void keep_label(const RawEvent& event);
  void keep_comm_op(const RawEvent& event);
  void keep_splits(const RawEvent& event);
  int32_t keep_comm_args(const RawEvent& event);

  void keep_with_details(const RawEvent& event);
  void keep_gpu_detail(const RawEvent& event);
  void keep_host_row(const RawEvent& event, LocalNs start, int64_t duration_ns);
  void keep_track_name(const RawEvent& event);
  void keep_memory_event(const RawEvent& event);
  int32_t argument_set(const RawEvent& event);
  int32_t kernel_shape(const RawEvent& event);
  StringId host_name(const RawEvent& event);
  StringId json_text(const RawEvent& event, Arg arg);

  bool read_times(const RawEvent& event, LocalNs& start, int64_t& duration_ns);
  bool read_times(const RawEvent& event, StampForms& stamps, DefectCounts& defects, LocalNs& start,
                  int64_t& duration_ns) const;
  StringId text(const RawEvent& event, Arg arg);
  StringId intern(std::string_view token);
  StringId intern_name(const RawEvent& event);
  StringId intern_arg(std::string_view token, Arg arg, const RawEvent& event);
  StringId intern_after(std::string_view token, StringId& last);
  int64_t integer(const RawEvent& event, Arg arg);
  static int64_t thread_of(const RawEvent& event);
  static int64_t process_of(const RawEvent& event);

  ChunkRows* rows_ = nullptr;
  TokenSource tokens_;
  bool unpadded_fractions_;
  bool details_;
  std::string shortened_name_;
};

}  // namespace skewscope::ingest
