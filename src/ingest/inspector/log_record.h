// One line of a log of NCCL's or RCCL's Inspector, read. Texts lie in the line.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <simdjson.h>

namespace skewscope::ingest {

struct LogRecord {
  enum class Kind : uint8_t {
    damaged,     // no JSON object
    other,       // an object without calls: what the proxies did
    marker,      // announces how many lines without a header follow
    collective,  // a call of all members of the communicator
    message,     // a send or a receive
  };
  Kind kind = Kind::damaged;
  bool has_header = false;

  // "header" and "metadata". -1, empty: absent.
  std::string_view communicator, communicator_name, version, host;
  int64_t rank = -1, ranks = -1;  // of the communicator: its own, and how many
  int64_t process_id = -1, dumped_us = -1;

  // Of a marker: the lines that follow; the calls that were overwritten before they could be written.
  int64_t announced = 0, dropped = 0;

  // Of a call.
  std::string_view operation, algorithm, protocol, timing_source;
  int64_t number = -1;  // counted per communicator: of collectives also per operation, of messages per rank
  int64_t bytes = -1;
  int64_t peer = -1;  // of a message, inside the communicator
  int64_t duration_ns = -1;
  int64_t first_start_us = 0, last_stop_us = 0;  // over its channels, by the clock of the host; 0: not recorded
};

// One per thread: simdjson's buffers are reused.
class LogRecordParser {
 public:
  // `line` without its line break; simdjson's padding can be read behind it. It is as it was afterwards.
  LogRecord parse(std::span<char> line);

 private:
  bool parse_object(std::string_view text, LogRecord& record);
  // Lines of one dump begin alike, up to the call: what was read there is not read again.
  bool parse_behind_head(std::span<char> line, LogRecord& record);
  void keep_head(std::string_view line, const LogRecord& record);

  simdjson::ondemand::parser parser_;
  std::string head_;   // of a line before: header and metadata
  LogRecord of_head_;  // what it says; texts lie in it
};

}  // namespace skewscope::ingest
