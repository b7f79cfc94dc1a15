// Source of the form: what Ascend's msprof writes (its timeline assemblers) and what Ascend's mstt reads of it; no
// recorded file was at hand. Events are read in chunks, so that memory does not grow with the text. A chunk that is
// damaged is read on from the next event.
#include "trace_view.h"

#include <simdjson.h>

#include <array>
#include <utility>

#include "src/ingest/content/row_names.h"
#include "src/ingest/text/byte_source.h"
#include "src/ingest/text/chunk_cutter.h"
#include "src/ingest/text/number_text.h"

namespace skewscope::ingest {
namespace {

namespace ondemand = simdjson::ondemand;

// Texts point into the chunk.
struct DrawnEvent {
  std::string_view name, phase, start, duration, thread;
  std::string_view task_type, stream, connection, count, dtype;
  bool drawn_call = false;  // has what only a collective has, as a whole
  bool task = false;        // a part of a collective
};

// Arguments differ in case and spelling between versions.
void read_drawn_argument(std::string_view key, std::string_view token, DrawnEvent& event) {
  if (key == "Task Type") {
    event.task_type = bare(token);
  } else if (key == "Physic Stream Id" || key == "Stream Id") {
    event.stream = bare(token);
  } else if (key == "connection_id") {
    event.connection = bare(token);
  } else if (key == "alg_type") {
    event.drawn_call = true;
  } else if (key == "count") {
    event.count = bare(token);
  } else if (key == "data_type") {
    event.dtype = bare(token);
  } else if (key == "src rank" || key == "Src Rank" || key == "notify_id" || key == "Notify Id") {
    event.task = true;
  }
}

bool read_drawn_arguments(ondemand::value& value, DrawnEvent& event) {
  ondemand::object arguments;
  if (value.get_object().get(arguments) != simdjson::SUCCESS) return value.raw_json_token().front() != '{';
  for (auto result : arguments) {
    ondemand::field field;
    if (std::move(result).get(field) != simdjson::SUCCESS) return false;
    std::string_view key;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) return false;
    read_drawn_argument(key, field.value().raw_json_token(), event);
  }
  return true;
}

// False: damaged.
bool read_drawn_event(ondemand::object object, DrawnEvent& event) {
  for (auto result : object) {
    ondemand::field field;
    if (std::move(result).get(field) != simdjson::SUCCESS) return false;
    std::string_view key;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) return false;
    ondemand::value value = field.value();
    if (key == "args") {
      if (!read_drawn_arguments(value, event)) return false;
      continue;
    }
    const std::string_view token = bare(value.raw_json_token());
    if (key == "name") event.name = token;
    if (key == "ph") event.phase = token;
    if (key == "ts") event.start = token;
    if (key == "dur") event.duration = token;
    if (key == "tid") event.thread = token;
  }
  return true;
}

class TimelineReading {
 public:
  TimelineReading(RowCollector& rows, const std::function<void(const DrawnCall&)>& take, DefectCounts& defects)
      : rows_(rows), take_(take), defects_(defects) {}

  TraceViewEnd& end() { return end_; }

  void read_chunk(ChunkText& chunk) {
    size_t size = chunk.view().find_last_not_of(" \t\r\n,") + 1;
    if (chunk.last && size > 0 && chunk.text()[size - 1] == ']') --size;
    chunk.pad();
    for (size_t from = 0; from < size;) {
      const size_t damage = read_array(chunk.text() + from, size - from);
      if (damage == std::string_view::npos) return;
      const size_t next = next_event_boundary(chunk.view().substr(0, size), from + damage);
      defects_.add(Defect::dropped_event, chunk.offset + static_cast<int64_t>(from + damage));
      if (next == std::string_view::npos || next <= from) return;
      from = next;
    }
  }

 private:
  // Where the text is damaged; npos: nowhere. The bytes around the text are room of the chunk's, or of an event before.
  size_t read_array(char* text, size_t size) {
    const std::array<char, 2> before = {text[-1], text[size]};
    text[-1] = '[';
    text[size] = ']';
    const size_t damage = read_events(text, size);
    text[-1] = before[0];
    text[size] = before[1];
    return damage;
  }

  size_t read_events(char* text, size_t size) {
    ondemand::document document;
    ondemand::array events;
    if (parser_.iterate(text - 1, size + 2, size + 2 + simdjson::SIMDJSON_PADDING).get(document) != simdjson::SUCCESS ||
        document.get_array().get(events) != simdjson::SUCCESS) {
      return 0;
    }
    size_t at = 0;
    for (auto element : events) {
      ondemand::value value;
      ondemand::object object;
      DrawnEvent event;
      if (element.get(value) != simdjson::SUCCESS) return at;
      at = static_cast<size_t>(value.raw_json_token().data() - text) + 1;
      if (value.get_object().get(object) != simdjson::SUCCESS || !read_drawn_event(object, event)) return at;
      ++end_.events;
      keep(event);
    }
    return std::string_view::npos;
  }

  void keep(const DrawnEvent& event) {
    if (event.phase != "X") return;
    const bool ours = !event.task_type.empty() || !event.connection.empty() || event.drawn_call;
    const int64_t step = ours ? -1 : profiler_step(event.name);
    if (!ours && step < 0) return;
    LocalNs start;
    int64_t duration_ns = 0;
    FractionForm form;
    if (!read_microseconds(event.start, false, start.ns, form)) {
      defects_.add(Defect::dropped_event, -1);
      return;
    }
    if (!read_microseconds(event.duration, false, duration_ns, form)) defects_.add(Defect::no_duration, -1);
    if (duration_ns < 0) {
      defects_.add(Defect::negative_duration, -1);
      duration_ns = 0;
    }
    if (step >= 0) {
      rows_.content().steps.push_back({start, duration_ns, step, number_of_id(event.thread)});
      return;
    }
    end_.is_ours = true;
    if (!event.task_type.empty()) return keep_task(event, start, duration_ns);
    if (event.name.starts_with("hcom_") || event.drawn_call) return keep_call(event, start, duration_ns);
    if (!event.task) keep_launch(event, start, duration_ns);
  }

  // A task that has no name but that of its type is none of an operator: a wait, a signal, the frame of others.
  void keep_task(const DrawnEvent& event, LocalNs start, int64_t duration_ns) {
    const bool copies = event.task_type == "MEMCPY_ASYNC";
    if ((event.name == event.task_type && !copies) || event.task) return;
    GpuRow row;
    row.start = start;
    row.duration_ns = duration_ns;
    row.name = rows_.intern(event.name);
    row.correlation = connection_of(event);
    row.device = 0;
    int64_t stream = -1;
    if (read_integer(event.stream.empty() ? event.thread : event.stream, stream) && stream >= 0 &&
        stream <= INT32_MAX) {
      row.stream = static_cast<int32_t>(stream);
    }
    if (copies) row.work = GpuWork::memcpy;
    rows_.add(row);
  }

  void keep_call(const DrawnEvent& event, LocalNs start, int64_t duration_ns) {
    if (event.task) return;
    int64_t elements = -1;
    if (!read_integer(event.count, elements)) elements = -1;
    take_({event.name, start, duration_ns, connection_of(event), elements, event.dtype});
  }

  void keep_launch(const DrawnEvent& event, LocalNs start, int64_t duration_ns) {
    LaunchRow row;
    row.start = start;
    row.duration_ns = duration_ns;
    row.correlation = connection_of(event);
    row.thread = number_of_id(event.thread);
    if (row.correlation >= 0) rows_.add(row);
  }

  static int64_t connection_of(const DrawnEvent& event) {
    int64_t id = -1;
    return read_integer(event.connection, id) && id >= 0 ? id : -1;
  }

  RowCollector& rows_;
  const std::function<void(const DrawnCall&)>& take_;
  DefectCounts& defects_;
  TraceViewEnd end_;
  ondemand::parser parser_;
};

}  // namespace

TraceViewEnd read_trace_view(const std::string& file, RowCollector& rows,
                             const std::function<void(const DrawnCall&)>& take, DefectCounts& defects,
                             ReadProgress* progress) {
  TimelineReading reading(rows, take, defects);
  Result<std::unique_ptr<ByteSource>> source = open_byte_source(file);
  if (!source.ok()) {
    defects.add(Defect::unreadable_file, -1);
    return reading.end();
  }
  const ReadSettings settings;
  ChunkCutter cutter(*source.value(), settings);
  bool closed = false;
  if (cutter.find_events()) {
    for (ChunkText chunk; !rows.over_budget() && cutter.next(chunk);) {
      chunk.load(*source.value());
      const std::string_view text = trimmed(chunk.view());
      if (!text.empty()) closed = text.back() == ']' || (text.back() == '}' && !cutter.bare_array());
      if (progress != nullptr) progress->read_to(file, source.value()->share_read());
      reading.read_chunk(chunk);
    }
  }
  TraceViewEnd end = reading.end();
  end.bytes = cutter.bytes();
  end.compression = source.value()->compression();
  count_source_end(source.value()->end(), end.bytes, defects);
  const bool array_closed = closed && !rows.over_budget();
  if (!array_closed && !rows.over_budget() && defects.count(Defect::truncated_file) == 0 && end.bytes > 0) {
    defects.add(Defect::truncated_file, end.bytes);
  }
  if (cutter.skipped_bytes() > 0) defects.add(Defect::oversized_event, cutter.first_skipped(), cutter.skipped_bytes());
  return end;
}

}  // namespace skewscope::ingest
