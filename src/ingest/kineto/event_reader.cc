#include "event_reader.h"

#include <cstring>

#include "event_sieve.h"
#include "src/ingest/text/laid_out_events.h"
#include "src/ingest/text/number_text.h"

namespace skewscope::ingest {
namespace {

using namespace std::string_view_literals;
namespace ondemand = simdjson::ondemand;

// `key` points behind the opening quote, into padded text.
template <size_t kSize>
bool is_key(const char* key, const char (&name_and_quote)[kSize]) {
  return std::memcmp(key, name_and_quote, kSize - 1) == 0;
}

// What events are of which the phase is not "X". False: nothing that is read.
bool read_phase(std::string_view phase, RawEvent& event) {
  event.is_half = phase == "B"sv || phase == "E"sv;
  event.flow = phase == "s"sv || phase == "f"sv ? phase.front() : char{};
  if (event.flow != 0) return !event.has_category || event.event_class == EventClass::pass_flow;
  if (phase == "B"sv) return true;
  if (phase == "E"sv) {
    event.event_class = EventClass::end;
    event.has_category = true;
  } else if (phase == "i"sv || phase == "I"sv) {
    if (event.has_category && event.event_class != EventClass::skip) return false;
    event.event_class = EventClass::instant;
    event.has_category = true;
  } else if (phase == "M"sv && !event.has_category) {
    event.event_class = EventClass::process_label;
    event.has_category = true;
  } else {
    return false;
  }
  return true;
}

}  // namespace

size_t EventReader::read(int64_t file, ChunkText& chunk, ChunkRows& rows) {
  if (file > file_) {
    layouts_.begin_file();
    file_ = file;
  }
  const size_t size = chunk.view().find_last_not_of(" \t\r\n,") + 1;  // 0 where there is nothing else
  chunk.pad();
  rows_ = &rows;
  builder_.begin(rows, {chunk.text(), chunk.offset, true});
  size_t rest = 0, array_end = std::string_view::npos;
  const bool clean = (!use_sieve_ || read_laid_out(chunk, size, rest)) && parse_in_place(chunk, rest, size, array_end);
  // At the end of the file the closers of the whole may have closed an event that lacks its own, and with it all
  // behind.
  const bool swallowed = chunk.last && array_end == std::string_view::npos && size > 0 &&
                         (chunk.text()[size - 1] == '}' || chunk.text()[size - 1] == ']');
  if (clean && !swallowed) return array_end;
  rows.clear();
  return read_damaged(chunk.view(), 0, chunk.offset, chunk.last, rows);
}

// Reads the events of laid-out text but the last one, each by the cheapest way that knows it. `rest`: the offset of
// the text that is left. False: damage.
bool EventReader::read_laid_out(TextBuffer& chunk, size_t size, size_t& rest) {
  ChunkRows& rows = *rows_;
  const std::string_view text = chunk.view().substr(0, size);
  LaidOutEvents events(text);
  if (!events.laid_out()) return true;
  size_t unread_end = 0;  // of the events from `rest` on that wait for simdjson
  while (events.next()) {
    const std::string_view event = text.substr(events.begin(), events.end() - events.begin());
    const bool passes = passes_sieve(event, details_, rows);
    if (passes && !layouts_.useful()) {
      unread_end = events.end();
      continue;
    }
    if (unread_end > rest && !parse_events(chunk, rest, unread_end)) return false;
    rest = events.following();
    if (!passes) {
      rows.events++;
    } else if (layouts_.read(event, event_)) {
      rows.events++;
      rows.cpu_rows += event_.event_class == EventClass::cpu_op;
      builder_.keep(event_);
    } else if (!parse_and_learn(chunk, events.begin(), events.end())) {
      return false;
    }
  }
  return true;
}

// Events that others follow: a bracket that closes them all is damage.
bool EventReader::parse_events(TextBuffer& chunk, size_t begin, size_t end) {
  size_t array_end = std::string_view::npos;
  return parse_in_place(chunk, begin, end, array_end) && array_end == std::string_view::npos;
}

bool EventReader::parse_and_learn(TextBuffer& chunk, size_t begin, size_t end) {
  const int64_t events = rows_->events;
  if (!parse_events(chunk, begin, end)) return false;
  const bool one = rows_->events == events + 1;
  if (one && event_.kept && !event_.is_half && event_.flow == 0 && !event_.repeats_arg) {
    layouts_.learn(chunk.view().substr(begin, end - begin), event_);
  }
  return true;
}

// The bytes before and behind the text become brackets for as long as that takes.
bool EventReader::parse_in_place(TextBuffer& chunk, size_t begin, size_t end, size_t& array_end) {
  char* text = chunk.text() + begin;
  const size_t size = end - begin;
  const char before = text[-1], behind = text[size];
  const bool clean = parse_array(text, size, array_end);
  text[-1] = before;
  text[size] = behind;
  if (array_end != std::string_view::npos) array_end += begin;
  return clean;
}

bool EventReader::parse_array(char* text, size_t size, size_t& array_end) {
  text[-1] = '[';
  text[size] = ']';
  ondemand::document document;
  ondemand::array events;
  if (parser_.iterate(text - 1, size + 2, size + 2 + simdjson::SIMDJSON_PADDING).get(document)) return false;
  if (document.get_array().get(events)) return false;
  for (auto element : events) {
    auto object = element.get_object();
    if (object.error()) return false;
    // NOLINTNEXTLINE(performance-move-const-arg): value_unsafe() wants an rvalue
    const Outcome outcome = read_event(std::move(object).value_unsafe());
    if (outcome == Outcome::broken) return false;
    rows_->events++;
    if (outcome == Outcome::kept) builder_.keep(event_);
  }
  const char* next = nullptr;
  if (document.current_location().get(next) == simdjson::SUCCESS && next < text + size) {
    const std::string_view up_to_next(text, static_cast<size_t>(next - text));
    array_end = up_to_next.rfind(']') + 1;
  } else if (size > 0 && text[size - 1] == ']') {
    // The events close at the very end of the chunk only if our own bracket was not the one that closed them.
    array_end = document.current_location().error() == simdjson::SUCCESS ? size : std::string_view::npos;
  }
  return true;
}

EventReader::Outcome EventReader::read_event(ondemand::object&& object) {
  RawEvent& event = event_;
  event.event_class = EventClass::skip;
  event.has_category = event.complete = event.is_half = event.kept = event.repeats_arg = false;
  event.flow = 0;
  event.layout = nullptr;
  event.name = event.stamp = event.duration = event.pid = event.tid = event.id = {};
  event.present = 0;
  bool name_wanted = false;
  for (auto result : object) {
    // By reference: copied, each field costs a failed store forwarding, a third of the whole loop.
    if (result.error()) return Outcome::broken;
    ondemand::field&& field = std::move(result).value_unsafe();
    const char* key = field.key().raw();
    ondemand::value& value = field.value();
    bool said_what = false;  // this key may tell that the event is not kept
    switch (*key) {
      case 'p':
        if (is_key(key, "ph\"")) {
          const std::string_view phase = bare(value.raw_json_token());
          if (phase != "X"sv && !read_phase(phase, event)) return Outcome::skipped;
          event.complete = said_what = true;
          if (event.has_category && event.event_class == EventClass::skip && !event.is_half) return Outcome::skipped;
        } else if (is_key(key, "pid\"")) {
          event.pid = value.raw_json_token();
          // PyTorch built without Kineto (Debian's) writes no category.
          if (event.has_category) break;
          const std::string_view process = bare(event.pid);
          if (process == "CPU functions"sv) {
            event.event_class = EventClass::cpu_op;
            event.has_category = said_what = true;
          } else if (process == "CUDA functions"sv) {
            rows_->defects.add(Defect::operator_gpu_time, builder_.tokens().offset_of(event.pid));
            return Outcome::skipped;
          }
        }
        break;
      case 'c':
        if (is_key(key, "cat\"") && !is_told_by_phase(event.event_class)) {
          event.event_class = class_of_category(bare(value.raw_json_token()));
          if (!details_ && is_detail(event.event_class)) event.event_class = EventClass::skip;
          if (event.event_class == EventClass::skip && event.complete && !event.is_half) return Outcome::skipped;
          if (event.flow != 0 && event.event_class != EventClass::pass_flow) return Outcome::skipped;
          event.has_category = said_what = true;
        }
        break;
      case 'n':
        if (is_key(key, "name\"")) {
          event.name = value.raw_json_token();
          said_what = true;
        }
        break;
      case 't':
        if (is_key(key, "ts\"")) {
          event.stamp = value.raw_json_token();
        } else if (is_key(key, "tid\"")) {
          event.tid = value.raw_json_token();
        }
        break;
      case 'i':
        if (is_key(key, "id\"")) event.id = value.raw_json_token();
        break;
      case 'd':
        if (is_key(key, "dur\"")) event.duration = value.raw_json_token();
        break;
      case 'a':
        if (is_key(key, "args\"") && read_args(value) == Outcome::broken) return Outcome::broken;
        break;
      default:
        break;
    }
    if (!said_what || !event.has_category || event.name.empty()) continue;
    if (!name_wanted) name_wanted = is_wanted();
    if (!name_wanted && event.complete && !event.is_half) break;
  }
  if (!event.is_half && (!event.has_category || !event.complete)) return Outcome::skipped;
  rows_->cpu_rows += event.event_class == EventClass::cpu_op;
  event.kept = name_wanted;
  return name_wanted || event.is_half ? Outcome::kept : Outcome::skipped;
}

bool EventReader::is_wanted() const {
  if (event_.event_class == EventClass::skip) return false;
  return details_ || wants_name(event_.event_class, bare(event_.name));
}

EventReader::Outcome EventReader::read_args(ondemand::value& value) {
  RawEvent& event = event_;
  const char first = value.raw_json_token().front();
  if (first != '{') return ",}]:"sv.find(first) == std::string_view::npos ? Outcome::kept : Outcome::broken;
  const ArgMask wanted = wanted_args(event.event_class, details_);
  if (wanted == 0) return Outcome::kept;
  ondemand::object args;
  if (value.get_object().get(args)) return Outcome::broken;
  for (auto result : args) {
    if (result.error()) return Outcome::broken;
    ondemand::field&& field = std::move(result).value_unsafe();
    const Arg arg = arg_of_key(field.key().raw(), details_);
    if (arg == Arg::count_ || (wanted & mask_of(arg)) == 0) continue;
    std::string_view token = field.value().raw_json_token();
    if (is_null(token)) continue;  // as if it were not there
    if (token.front() == '[') {
      ondemand::array list;
      if (field.value().get_array().get(list) || list.raw_json().get(token)) return Outcome::broken;
    }
    if (event.present & mask_of(arg)) {
      rows_->defects.add(Defect::duplicate_key, builder_.tokens().offset_of(token));
      event.repeats_arg = true;
    }
    event.args[static_cast<size_t>(arg)] = token;
    event.present |= mask_of(arg);
    if (event.present == wanted) break;
  }
  return Outcome::kept;
}

}  // namespace skewscope::ingest
