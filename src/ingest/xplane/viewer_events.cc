#include "viewer_events.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <protozero/pbf_writer.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "src/ingest/text/json_elements.h"
#include "src/ingest/text/number_text.h"

namespace skewscope::ingest {
namespace {

namespace ondemand = simdjson::ondemand;

// Microseconds as written to picoseconds: a double holds those of hours. 0: no number.
int64_t picoseconds(std::string_view token) {
  constexpr double kMostUs = 4e12;  // as row_walk.cc bounds them
  double us = 0;
  if (!read_decimal(token, us)) return 0;
  return std::llround(std::clamp(us, -kMostUs, kMostUs) * 1e6);
}

// What the viewer wrote as text and is a whole number.
bool is_whole_number(std::string_view text, int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && !text.empty()) return true;
  uint64_t large = 0;
  const auto [behind, wrong] = std::from_chars(text.data(), text.data() + text.size(), large);
  number = static_cast<int64_t>(large);
  return wrong == std::errc() && behind == text.data() + text.size() && !text.empty();
}

// Texts live until the next event.
struct ShownEvent {
  std::string_view phase, name, start, duration, thread, long_name;
  std::string_view process;
  std::string_view shown_name;  // of a process or thread
  std::vector<std::pair<std::string_view, std::string_view>> stats;
};

class ViewerReading {
 public:
  ViewerReading(ViewerTrace& trace, DefectCounts& defects) : trace_(trace), defects_(defects) {}

  int64_t bytes() const { return bytes_; }

  void read(std::string_view element) {
    event_ = {.phase = {},
              .name = {},
              .start = {},
              .duration = {},
              .thread = {},
              .long_name = {},
              .process = {},
              .shown_name = {},
              .stats = std::move(event_.stats)};
    event_.stats.clear();
    ondemand::document document;
    ondemand::object object;
    const bool whole =
        parser_.iterate(element.data(), element.size(), element.size() + simdjson::SIMDJSON_PADDING).get(document) ==
            simdjson::SUCCESS &&
        document.get_object().get(object) == simdjson::SUCCESS;
    if (!whole || !read_event(object)) return defects_.add(Defect::dropped_event, -1);
    if (event_.phase == "X") keep();
    if (event_.phase == "M") keep_name();
  }

 private:
  // Texts without escapes, numbers as they are written.
  static bool text_of(ondemand::value value, std::string_view& text) {
    ondemand::json_type type{};
    if (value.type().get(type) != simdjson::SUCCESS) return false;
    if (type == ondemand::json_type::string) return value.get_string().get(text) == simdjson::SUCCESS;
    text = trimmed(value.raw_json_token());
    return true;
  }

  bool read_event(ondemand::object object) {
    for (auto result : object) {
      ondemand::field field;
      std::string_view key;
      if (std::move(result).get(field) != simdjson::SUCCESS || field.unescaped_key().get(key) != simdjson::SUCCESS) {
        return false;
      }
      ondemand::value value = field.value();
      bool whole = true;
      if (key == "args") whole = read_arguments(value);
      if (key == "ph") whole = text_of(value, event_.phase);
      if (key == "name") whole = text_of(value, event_.name);
      if (key == "ts") whole = text_of(value, event_.start);
      if (key == "dur") whole = text_of(value, event_.duration);
      if (key == "pid") whole = text_of(value, event_.process);
      if (key == "tid") whole = text_of(value, event_.thread);
      if (!whole) return false;
    }
    return true;
  }

  bool read_arguments(ondemand::value value) {
    ondemand::object object;
    if (value.get_object().get(object) != simdjson::SUCCESS) return false;
    for (auto result : object) {
      ondemand::field field;
      std::string_view key, text;
      if (std::move(result).get(field) != simdjson::SUCCESS || field.unescaped_key().get(key) != simdjson::SUCCESS) {
        return false;
      }
      const bool own = key == "name" || key == "long_name" || StatRoles::of_name(key) != StatRole::none;
      if (!own) continue;
      if (!text_of(field.value(), text)) return false;
      if (key == "name") event_.shown_name = text;
      if (key == "long_name") event_.long_name = text;
      if (key != "name" && key != "long_name") event_.stats.emplace_back(key, text);
    }
    return true;
  }

  size_t plane_of(std::string_view process) {
    const auto [known, added] = planes_.try_emplace(number_of_id(process), trace_.space.planes.size());
    if (added) {
      trace_.space.planes.emplace_back();
      trace_.lines.emplace_back();
      kinds_.emplace_back();
    }
    return known->second;
  }

  void keep_name() {
    const size_t plane = plane_of(event_.process);
    if (event_.name == "process_name") trace_.space.planes[plane].name = event_.shown_name;
    if (event_.name != "thread_name") return;
    const int64_t thread = number_of_id(event_.thread);
    ViewerLine& line = trace_.lines[plane][thread];
    line.line.id = thread;
    line.line.name = event_.shown_name;
  }

  void keep() {
    const size_t at = plane_of(event_.process);
    Plane& plane = trace_.space.planes[at];
    const int64_t thread = number_of_id(event_.thread);
    ViewerLine& line = trace_.lines[at][thread];
    line.line.id = thread;
    ViewerEvent event;
    event.offset_ps = picoseconds(event_.start);
    event.duration_ps = std::max<int64_t>(picoseconds(event_.duration), 0);
    event.stats = stats_of(plane);
    event.kind = kind_of(at, event.stats);
    bytes_ += static_cast<int64_t>(sizeof(event) + event.stats.capacity());
    line.events.push_back(std::move(event));
    ++trace_.events;
  }

  // Of a TPU, the text of the instruction is the name, and what XLA says of it belongs to it.
  int64_t kind_of(size_t at, const std::string& stats) {
    Plane& plane = trace_.space.planes[at];
    const bool tpu = plane.name.starts_with("/device:TPU:");
    const std::string_view name = tpu && !event_.long_name.empty() ? event_.long_name : event_.name;
    const auto [known, added] = kinds_[at].try_emplace(std::string(name), std::ssize(kinds_[at]) + 1);
    if (added) {
      Plane::EventKind kind;
      kind.name = name;
      kind.display_name = event_.name;
      if (tpu) kind.stats = stats;
      bytes_ += static_cast<int64_t>(2 * name.size() + kind.stats.size() + sizeof(kind));
      plane.events.emplace(known->second, std::move(kind));
    }
    return known->second;
  }

  std::string stats_of(Plane& plane) const {
    std::string stats;
    for (const auto& [name, text] : event_.stats) {
      const int64_t id = static_cast<int64_t>(StatRoles::of_name(name));
      plane.stat_names.try_emplace(id, name);
      std::string message;
      protozero::pbf_writer writer(message);
      writer.add_int64(1, id);
      int64_t number = 0;
      if (is_whole_number(text, number)) {
        writer.add_int64(4, number);
      } else {
        writer.add_string(5, text.data(), text.size());
      }
      const auto size = static_cast<uint32_t>(message.size());
      stats.append(reinterpret_cast<const char*>(&size), sizeof(size)).append(message);
    }
    return stats;
  }

  ViewerTrace& trace_;
  DefectCounts& defects_;
  ondemand::parser parser_;
  ShownEvent event_;
  std::unordered_map<int64_t, size_t> planes_;                   // by process
  std::vector<std::unordered_map<std::string, int64_t>> kinds_;  // by plane, then by name
  int64_t bytes_ = 0;
};

}  // namespace

Result<ViewerTrace> read_viewer_trace(const std::string& file, ByteSource& source, MemoryBudget& budget,
                                      DefectCounts& defects) {
  constexpr int64_t kBatch = 1 << 12;
  ViewerTrace trace;
  ViewerReading reading(trace, defects);
  JsonElements elements(source, {"traceEvents"});
  size_t path = 0;
  int64_t read = 0;
  const auto charge = [&] {
    const int64_t more = reading.bytes() - trace.space.charged;
    trace.space.charged += more;
    return budget.take(more);
  };
  for (std::string_view element; elements.next(path, element);) {
    reading.read(element);
    if (++read % kBatch == 0 && !charge()) {
      budget.give_back(trace.space.charged);
      return budget.exceeded_by(file);
    }
  }
  if (!charge()) {
    budget.give_back(trace.space.charged);
    return budget.exceeded_by(file);
  }
  trace.space.bytes = static_cast<uint64_t>(elements.bytes());
  trace.space.end = source.end();
  count_source_end(source.end(), elements.bytes(), defects);
  if (!elements.closed() && defects.count(Defect::truncated_file) == 0) {
    defects.add(Defect::truncated_file, elements.bytes());
  }
  if (elements.left_out() > 0) defects.add(Defect::oversized_event, -1, elements.left_out());
  return trace;
}

void walk_viewer_rows(const ViewerTrace& trace, RowVisitor& visitor) {
  XEvent event;
  for (size_t plane = 0; plane < trace.lines.size(); ++plane) {
    if (!visitor.begin_plane(plane)) continue;
    for (const auto& [thread, line] : trace.lines[plane]) {
      if (!visitor.begin_line(line.line)) continue;
      for (const ViewerEvent& shown : line.events) {
        event.kind = shown.kind;
        event.offset_ps = shown.offset_ps;
        event.duration_ps = shown.duration_ps;
        event.stats.clear();
        for (size_t at = 0; at + 4 <= shown.stats.size();) {
          uint32_t size = 0;
          shown.stats.copy(reinterpret_cast<char*>(&size), 4, at);
          event.stats.push_back(std::string_view(shown.stats).substr(at + 4, size));
          at += 4 + size;
        }
        if (!visitor.add(event)) return;
      }
    }
    visitor.end_plane();
  }
}

}  // namespace skewscope::ingest
