#include "event_parser.h"

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

bool is_null(std::string_view token) { return token.starts_with("null"sv); }

constexpr bool is_told_by_phase(EventClass event_class) {
  return event_class == EventClass::process_label || event_class == EventClass::instant ||
         event_class == EventClass::end;
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
    if (event.has_category) return false;
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

int64_t place(std::string_view token, bool digits) {
  if (!digits || token.size() > kMostDigits) return number_of_place(token);
  return static_cast<int64_t>(value_of_digits(token));
}

}  // namespace

size_t EventParser::parse(int64_t file, ChunkText& chunk, ChunkRows& rows) {
  if (file > file_) {
    layouts_.begin_file();
    file_ = file;
  }
  const size_t size = chunk.view().find_last_not_of(" \t\r\n,") + 1;  // 0 where there is nothing else
  chunk.pad();
  tokens_live_on_ = true;
  text_ = chunk.text();
  offset_ = chunk.offset;
  size_t rest = 0, array_end = std::string_view::npos;
  const bool clean =
      (!use_sieve_ || parse_laid_out(chunk, size, rows, rest)) && parse_in_place(chunk, rest, size, rows, array_end);
  // At the end of the file the closers of the whole may have closed an event that lacks its own, and with it all
  // behind.
  const bool swallowed = chunk.last && array_end == std::string_view::npos && size > 0 &&
                         (text_[size - 1] == '}' || text_[size - 1] == ']');
  if (clean && !swallowed) return array_end;
  rows.clear();
  return parse_damaged(chunk.view(), 0, chunk.offset, chunk.last, rows);
}

// Reads the events of laid-out text but the last one, each by the cheapest way that knows it. `rest`: the place of the
// text that is left. False: damage.
bool EventParser::parse_laid_out(TextBuffer& chunk, size_t size, ChunkRows& rows, size_t& rest) {
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
    if (unread_end > rest && !parse_events(chunk, rest, unread_end, rows)) return false;
    rest = events.following();
    if (!passes) {
      rows.events++;
    } else if (layouts_.read(event, event_)) {
      rows.events++;
      rows.cpu_rows += event_.event_class == EventClass::cpu_op;
      keep(event_, rows);
    } else if (!parse_and_learn(chunk, events.begin(), events.end(), rows)) {
      return false;
    }
  }
  return true;
}

// Events that others follow: a bracket that closes them all is damage.
bool EventParser::parse_events(TextBuffer& chunk, size_t begin, size_t end, ChunkRows& rows) {
  size_t array_end = std::string_view::npos;
  return parse_in_place(chunk, begin, end, rows, array_end) && array_end == std::string_view::npos;
}

bool EventParser::parse_and_learn(TextBuffer& chunk, size_t begin, size_t end, ChunkRows& rows) {
  const int64_t events = rows.events;
  if (!parse_events(chunk, begin, end, rows)) return false;
  const bool one = rows.events == events + 1;
  if (one && event_.kept && !event_.is_half && event_.flow == 0 && !event_.repeats_arg) {
    layouts_.learn(chunk.view().substr(begin, end - begin), event_);
  }
  return true;
}

// The bytes before and behind the text become brackets for as long as that takes.
bool EventParser::parse_in_place(TextBuffer& chunk, size_t begin, size_t end, ChunkRows& rows, size_t& array_end) {
  char* text = chunk.text() + begin;
  const size_t size = end - begin;
  const char before = text[-1], behind = text[size];
  const bool clean = parse_array(text, size, rows, array_end);
  text[-1] = before;
  text[size] = behind;
  if (array_end != std::string_view::npos) array_end += begin;
  return clean;
}

bool EventParser::parse_array(char* text, size_t size, ChunkRows& rows, size_t& array_end) {
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
    const Outcome outcome = read_event(std::move(object).value_unsafe(), event_, rows);
    if (outcome == Outcome::broken) return false;
    rows.events++;
    if (outcome == Outcome::kept) keep(event_, rows);
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

EventParser::Outcome EventParser::read_event(ondemand::object&& object, RawEvent& event, ChunkRows& rows) {
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
          const std::string_view place = bare(event.pid);
          if (place == "CPU functions"sv) {
            event.event_class = EventClass::cpu_op;
            event.has_category = said_what = true;
          } else if (place == "CUDA functions"sv) {
            rows.defects.add(Defect::operator_gpu_time, place_of(event.pid));
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
        if (is_key(key, "args\"") && read_args(value, event, rows) == Outcome::broken) return Outcome::broken;
        break;
      default:
        break;
    }
    if (!said_what || !event.has_category || event.name.empty()) continue;
    if (!name_wanted) name_wanted = is_wanted(event);
    if (!name_wanted && event.complete && !event.is_half) break;
  }
  if (!event.is_half && (!event.has_category || !event.complete)) return Outcome::skipped;
  rows.cpu_rows += event.event_class == EventClass::cpu_op;
  event.kept = name_wanted;
  return name_wanted || event.is_half ? Outcome::kept : Outcome::skipped;
}

bool EventParser::is_wanted(const RawEvent& event) const {
  if (event.event_class == EventClass::skip) return false;
  return details_ || wants_name(event.event_class, bare(event.name));
}

EventParser::Outcome EventParser::read_args(ondemand::value& value, RawEvent& event, ChunkRows& rows) {
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
      rows.defects.add(Defect::duplicate_key, place_of(token));
      event.repeats_arg = true;
    }
    event.args[static_cast<size_t>(arg)] = token;
    event.present |= mask_of(arg);
    if (event.present == wanted) break;
  }
  return Outcome::kept;
}

int64_t EventParser::place_of(std::string_view token) const {
  if (!tokens_live_on_) return offset_;
  return offset_ + (token.data() - text_);
}

StringId EventParser::intern(std::string_view token, ChunkRows& rows) {
  const StringId id = rows.strings.intern(bare(token), tokens_live_on_);
  const int64_t bad_escapes = rows.strings.bad_escapes(id);
  if (bad_escapes > 0) rows.defects.add(Defect::bad_escape, place_of(token), bad_escapes);
  return id;
}

// `last`: an id that it may have.
StringId EventParser::intern_after(std::string_view token, StringId& last, ChunkRows& rows) {
  if (!rows.strings.is_id_of(last, bare(token))) last = intern(token, rows);
  return last;
}

StringId EventParser::intern_name(const RawEvent& event, ChunkRows& rows) {
  return event.layout == nullptr ? intern(event.name, rows) : intern_after(event.name, event.layout->last_name, rows);
}

StringId EventParser::intern_arg(std::string_view token, Arg arg, const RawEvent& event, ChunkRows& rows) {
  if (event.layout == nullptr) return intern(token, rows);
  return intern_after(token, event.layout->last_args[static_cast<size_t>(arg)], rows);
}

StringId EventParser::text(const RawEvent& event, Arg arg, ChunkRows& rows) {
  if ((event.present & mask_of(arg)) == 0) return {};
  return intern_arg(event.args[static_cast<size_t>(arg)], arg, event, rows);
}

int64_t EventParser::integer(const RawEvent& event, Arg arg, ChunkRows& rows) {
  if ((event.present & mask_of(arg)) == 0) return -1;
  const std::string_view token = event.args[static_cast<size_t>(arg)];
  if (event.layout != nullptr && (event.layout->digits & mask_of(arg)) && token.size() <= kMostDigits) {
    return static_cast<int64_t>(value_of_digits(token));
  }
  int64_t value = -1;
  const bool is_number = read_integer(token, value);
  if (token.front() == '"' && is_number) rows.defects.add(Defect::number_as_string, place_of(token));
  if (!is_number && token.front() != '"' && !is_null(token)) {
    rows.defects.add(Defect::bare_nan, place_of(token));
  }
  return is_number ? value : -1;
}

int64_t EventParser::thread_of(const RawEvent& event) {
  return place(event.tid, event.layout != nullptr && event.layout->digit_tid);
}

int64_t EventParser::process_of(const RawEvent& event) {
  return place(event.pid, event.layout != nullptr && event.layout->digit_pid);
}

bool EventParser::read_times(const RawEvent& event, ChunkRows& rows, LocalNs& start, int64_t& duration_ns) {
  return read_times(event, rows.stamps, rows.defects, start, duration_ns);
}

bool EventParser::read_times(const RawEvent& event, StampForms& stamps, DefectCounts& defects, LocalNs& start,
                             int64_t& duration_ns) {
  const auto read = [&](std::string_view token, int64_t& ns) {
    FractionForm form;
    const bool done = event.layout != nullptr && event.layout->digit_times && read_digit_microseconds(token, ns, form);
    if (!done && (token.empty() || !read_microseconds(token, unpadded_fractions_, ns, form))) return false;
    if (form.digits > 0) {
      // Zero is written the same way in every form (".0" by Python): it tells nothing.
      stamps.fractions += form.nonzero;
      stamps.short_fractions += form.nonzero && form.digits < 3;
      stamps.starting_with_0 += form.starts_with_0;
      if (form.digits > 3) defects.add(Defect::long_fraction, place_of(token));
    }
    if (token.front() == '"') defects.add(Defect::number_as_string, place_of(token));
    return true;
  };
  if (!read(event.stamp, start.ns)) {
    if (!event.stamp.empty()) defects.add(Defect::bare_nan, place_of(event.stamp));
    defects.add(Defect::dropped_event, place_of(event.stamp.empty() ? event.name : event.stamp));
    return false;
  }
  duration_ns = 0;
  if (event.duration.empty() || !read(event.duration, duration_ns)) {
    const bool absent = event.duration.empty() || is_null(event.duration);
    const bool has_none = event.is_half || event.flow != 0 || is_told_by_phase(event.event_class);
    if (!absent) defects.add(Defect::bare_nan, place_of(event.duration));
    if (absent && !has_none) defects.add(Defect::no_duration, place_of(event.stamp));
  }
  if (duration_ns < 0) {
    defects.add(Defect::negative_duration, place_of(event.duration));
    duration_ns = 0;
  }
  return true;
}

void EventParser::keep(const RawEvent& event, ChunkRows& rows) {
  if (event.is_half) return keep_half(event, rows);
  keep_complete(event, rows);
}

void EventParser::keep_complete(const RawEvent& event, ChunkRows& rows) {
  if (details_) return keep_with_details(event, rows);
  keep_row(event, rows);
}

void EventParser::keep_row(const RawEvent& event, ChunkRows& rows) {
  switch (event.event_class) {
    case EventClass::kernel:
    case EventClass::gpu_memcpy:
    case EventClass::gpu_memset:
      return keep_gpu_row(event, rows);
    case EventClass::launch:
      return keep_launch(event, rows);
    case EventClass::stream_wait:
      return keep_stream_wait(event, rows);
    case EventClass::cpu_op:
    case EventClass::user_annotation:
      return keep_host_op(event, rows);
    case EventClass::python_function:
      return keep_module(event, rows);
    case EventClass::gpu_annotation:
      return keep_gpu_annotation(event, rows.gpu_annotations, rows);
    case EventClass::pass_flow:
      return keep_pass_flow(event, rows);
    case EventClass::process_label:
      return keep_label(event, rows);
    case EventClass::instant:
      return keep_sync(event, rows);
    default:
      return;
  }
}

}  // namespace skewscope::ingest
