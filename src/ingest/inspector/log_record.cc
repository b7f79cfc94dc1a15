// The fields, and the versions that have them (source: NVIDIA/nccl, plugins/profiler/inspector; ROCm's RCCL, the same
// folder): "coll_algo" and "coll_proto" since 4.2; "dump_stats" since 4.3; "proxy_records" since 4.4. Versions only
// added fields, so a line is read by the fields that it has; what none of them has is skipped.
#include "log_record.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace skewscope::ingest {
namespace {

namespace ondemand = simdjson::ondemand;
using Value = simdjson::simdjson_result<ondemand::value>;

constexpr int64_t kLargest = int64_t{1} << 53;  // beyond it a number is no size, time or count of any log

// The text between the quotes, as written.
std::string_view text_of(Value value) {
  std::string_view token;
  if (value.type().value_unsafe() != ondemand::json_type::string || value.raw_json_token().get(token)) return {};
  const size_t end = token.find_last_of('"');
  return end == token.npos || end == 0 ? std::string_view() : token.substr(1, end - 1);
}

// Standalone builds write durations with a fraction. -1: no number, or none that can be meant.
double number_of(Value value) {
  double number = -1;
  if (value.get_double().get(number)) return -1;
  return number >= 0 && number <= static_cast<double>(kLargest) ? number : -1;
}

int64_t integer_of(Value value) {
  int64_t integer = -1;
  if (!value.get_int64().get(integer)) return integer >= 0 && integer <= kLargest ? integer : -1;
  return static_cast<int64_t>(number_of(value));
}

template <class Visit>
bool visit_fields(Value value, const Visit& visit) {
  ondemand::object object;
  if (value.get_object().get(object)) return false;
  for (auto field : object) {
    ondemand::raw_json_string key;
    if (field.key().get(key)) return false;
    visit(key, field.value());
  }
  return true;
}

void read_header(Value value, LogRecord& record) {
  record.has_header = visit_fields(value, [&](ondemand::raw_json_string key, Value field) {
    if (key == "id") record.communicator = text_of(field);
    if (key == "comm_name") record.communicator_name = text_of(field);
    if (key == "rank") record.rank = integer_of(field);
    if (key == "n_ranks") record.ranks = integer_of(field);
  });
}

void read_metadata(Value value, LogRecord& record) {
  visit_fields(value, [&](ondemand::raw_json_string key, Value field) {
    if (key == "inspector_output_format_version") record.version = text_of(field);
    if (key == "dump_timestamp_us") record.dumped_us = integer_of(field);
    if (key == "hostname") record.host = text_of(field);
    if (key == "pid") record.process_id = integer_of(field);
  });
}

void read_marker(Value value, LogRecord& record) {
  record.kind = LogRecord::Kind::marker;
  visit_fields(value, [&](ondemand::raw_json_string key, Value field) {
    const auto add = [&](int64_t& sum) { sum += std::max<int64_t>(0, integer_of(field)); };
    if (key == "coll_records" || key == "p2p_records" || key == "proxy_records") add(record.announced);
    if (key == "coll_dropped_since_last_dump" || key == "p2p_dropped_since_last_dump") add(record.dropped);
  });
}

void read_channel(Value channel, LogRecord& record) {
  visit_fields(channel, [&](ondemand::raw_json_string key, Value field) {
    if (key == "kernel_start_ts") {
      const int64_t start = integer_of(field);
      if (start > 0) record.first_start_us = std::min(start, record.first_start_us > 0 ? record.first_start_us : start);
    }
    if (key == "kernel_stop_ts") record.last_stop_us = std::max(record.last_stop_us, integer_of(field));
  });
}

void read_trace(Value value, LogRecord& record) {
  visit_fields(value, [&](ondemand::raw_json_string key, Value field) {
    if (!(key == "kernel_events")) return;
    ondemand::array channels;
    if (field.get_array().get(channels)) return;
    for (Value channel : channels) read_channel(channel, record);
  });
}

void read_duration(Value field, LogRecord& record) {
  const double us = number_of(field);
  if (us >= 0) record.duration_ns = std::llround(us * 1000);
}

// Where the tracer wrote "unknown".
std::string_view known(std::string_view text) { return text == "unknown" ? std::string_view() : text; }

void read_collective(Value value, LogRecord& record) {
  record.kind = LogRecord::Kind::collective;
  visit_fields(value, [&](ondemand::raw_json_string key, Value field) {
    if (key == "coll") record.operation = text_of(field);
    if (key == "coll_algo") record.algorithm = known(text_of(field));
    if (key == "coll_proto") record.protocol = known(text_of(field));
    if (key == "coll_sn") record.number = integer_of(field);
    if (key == "coll_msg_size_bytes") record.bytes = integer_of(field);
    if (key == "coll_exec_time_us") read_duration(field, record);
    if (key == "coll_timing_source") record.timing_source = text_of(field);
    if (key == "event_trace_ts") read_trace(field, record);
  });
}

void read_message(Value value, LogRecord& record) {
  record.kind = LogRecord::Kind::message;
  visit_fields(value, [&](ondemand::raw_json_string key, Value field) {
    if (key == "p2p") record.operation = text_of(field);
    if (key == "p2p_sn") record.number = integer_of(field);
    if (key == "p2p_peer") record.peer = integer_of(field);
    if (key == "p2p_msg_size_bytes") record.bytes = integer_of(field);
    if (key == "p2p_exec_time_us") read_duration(field, record);
    if (key == "p2p_timing_source") record.timing_source = text_of(field);
    if (key == "event_trace_ts") read_trace(field, record);
  });
}

constexpr std::string_view kCalls[] = {R"(,"coll_perf":)", R"(,"p2p_perf":)"};

// Where the call begins, with the comma ahead of it: in no string, whose quotes are escaped.
size_t call_in(std::string_view line) {
  for (const std::string_view key : kCalls) {
    if (const size_t at = line.find(key); at != line.npos) return at;
  }
  return line.npos;
}

template <class Visit>
void visit_head_texts(LogRecord& record, const Visit& visit) {
  for (std::string_view* text : {&record.communicator, &record.communicator_name, &record.version, &record.host}) {
    visit(*text);
  }
}

}  // namespace

bool LogRecordParser::parse_object(std::string_view text, LogRecord& record) {
  ondemand::document document;
  ondemand::object object;
  if (parser_.iterate(text.data(), text.size(), text.size() + simdjson::SIMDJSON_PADDING).get(document)) return false;
  if (document.get_object().get(object)) return false;
  record.kind = LogRecord::Kind::other;
  for (auto field : object) {
    ondemand::raw_json_string key;
    if (field.key().get(key)) return false;
    const Value value = field.value();
    if (value.error()) return false;
    if (key == "coll_perf") {
      read_collective(value, record);
    } else if (key == "p2p_perf") {
      read_message(value, record);
    } else if (key == "header") {
      read_header(value, record);
    } else if (key == "metadata") {
      read_metadata(value, record);
    } else if (key == "dump_stats") {
      read_marker(value, record);
    }
  }
  record.communicator_name = known(record.communicator_name);
  return document.current_location().error() != simdjson::SUCCESS;  // else there is more behind the object
}

bool LogRecordParser::parse_behind_head(std::span<char> line, LogRecord& record) {
  const std::string_view text(line.data(), line.size());
  const size_t size = head_.size();
  if (size == 0 || text.size() <= size || text[size] != ',' || !text.starts_with(head_)) return false;
  record = of_head_;
  visit_head_texts(record, [&](std::string_view& one) {
    if (!one.empty()) one = text.substr(static_cast<size_t>(one.data() - head_.data()), one.size());
  });
  line[size] = '{';
  const bool whole = parse_object(text.substr(size), record);
  line[size] = ',';
  return whole;
}

void LogRecordParser::keep_head(std::string_view line, const LogRecord& record) {
  const size_t size = record.has_header ? call_in(line) : line.npos;
  if (size == line.npos) return;
  LogRecord of_head;
  of_head.has_header = true;
  std::tie(of_head.communicator, of_head.communicator_name, of_head.version, of_head.host) =
      std::tie(record.communicator, record.communicator_name, record.version, record.host);
  std::tie(of_head.rank, of_head.ranks, of_head.process_id, of_head.dumped_us) =
      std::tie(record.rank, record.ranks, record.process_id, record.dumped_us);
  head_ = line.substr(0, size);
  visit_head_texts(of_head, [&](std::string_view& one) {
    if (one.empty()) return;
    const auto at = static_cast<size_t>(one.data() - line.data());
    if (at < size) {
      one = std::string_view(head_).substr(at, one.size());
    } else {
      head_.clear();  // it comes behind the call
      one = {};
    }
  });
  of_head_ = of_head;
}

LogRecord LogRecordParser::parse(std::span<char> line) {
  LogRecord record;
  if (parse_behind_head(line, record)) return record;
  record = LogRecord();
  const std::string_view text(line.data(), line.size());
  if (!parse_object(text, record)) return {};
  keep_head(text, record);
  return record;
}

}  // namespace skewscope::ingest
