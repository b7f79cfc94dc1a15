#include "event_sieve.h"

#include <algorithm>
#include <cstring>

#include "event_fields.h"
#include "laid_out_events.h"

namespace skewscope::ingest {
namespace {

using namespace std::string_view_literals;

constexpr size_t kNowhere = std::string_view::npos;

// Inlined with a size known at compile time: compared in registers.
[[gnu::always_inline]] inline bool starts_at(std::string_view text, size_t at, std::string_view what) {
  return text.size() - at >= what.size() && std::memcmp(text.data() + at, what.data(), what.size()) == 0;
}

// Moves behind `"ph": "` and the like where it stands at `at`.
[[gnu::always_inline]] inline bool take(std::string_view text, size_t& at, std::string_view what) {
  if (!starts_at(text, at, what)) return false;
  at += what.size();
  return true;
}

// Between two keys: `, ` or a comma and a new line.
void skip_blanks(std::string_view text, size_t& at) {
  while (text[at] == ' ' || text[at] == '\n') ++at;
}

// The text up to the next quote, which has no escape before it, and moves behind the quote. "" where there is none.
std::string_view up_to_quote(std::string_view text, size_t& at) {
  const size_t begin = at;
  const void* quote = std::memchr(text.data() + begin, '"', text.size() - begin);
  if (quote == nullptr) return {};
  const auto end = static_cast<size_t>(static_cast<const char*>(quote) - text.data());
  if (text[end - 1] == '\\') return {};
  at = end + 1;
  return text.substr(begin, end - begin);
}

// The class of the category at `at`; moves behind its quote. The frequent ones are compared in registers.
EventClass take_class(std::string_view event, size_t& at) {
  if (take(event, at, "cpu_op\""sv)) return EventClass::cpu_op;
  if (take(event, at, "cuda_runtime\""sv)) return EventClass::launch;
  if (take(event, at, "kernel\""sv)) return EventClass::kernel;
  if (take(event, at, "python_function\""sv)) return EventClass::skip;
  return class_of_category(up_to_quote(event, at));
}

// First characters of the ops and ranges that wants_name() knows; nearly all ops are "aten::".
bool may_be_wanted(char first) { return "nrguhmxs_P"sv.find(first) != kNowhere; }

// Whether an event, from its opening brace on, leaves a row or has to be looked at by the parser. Counts a CPU op that
// leaves none.
bool is_kept(std::string_view event, ChunkRows& rows) {
  size_t at = 1;
  skip_blanks(event, at);
  if (!take(event, at, "\"ph\": \""sv) || event[at + 1] != '"' || event[at] == 'M') return true;
  if (event[at] != 'X') return false;
  at += 2;
  if (!take(event, at, ","sv)) return true;
  skip_blanks(event, at);
  if (!take(event, at, "\"cat\": \""sv)) return true;
  const EventClass event_class = take_class(event, at);
  if (!take(event, at, ","sv)) return true;
  skip_blanks(event, at);
  if (!take(event, at, "\"name\": \""sv)) return true;
  switch (event_class) {
    case EventClass::skip:
      return false;
    case EventClass::cpu_op:
    case EventClass::user_annotation:
      if (may_be_wanted(event[at])) {
        const std::string_view name = up_to_quote(event, at);
        if (name.empty() || wants_name(event_class, name)) return true;
      }
      rows.cpu_rows += event_class == EventClass::cpu_op;
      return false;
    default:
      return wants_name(event_class, event.substr(at));  // by how the name begins
  }
}

}  // namespace

bool EventSieve::sift(std::string_view text, TextBuffer& kept, ChunkRows& rows) {
  LaidOutEvents events(text);
  spans_.clear();
  if (!events.laid_out()) return false;
  kept.clear();
  kept.reserve(text.size());
  size_t run = 0;  // start of the text that is kept and not yet copied
  const auto flush = [&](size_t end) {
    if (end == run) return;
    spans_.push_back({kept.size(), run - kept.size()});
    kept.append(text.substr(run, end - run));
  };
  while (events.next()) {
    if (is_kept(text.substr(events.begin(), events.following() - events.begin()), rows)) continue;
    rows.events++;
    flush(events.begin());
    run = events.following();
  }
  flush(text.size());
  return true;
}

bool EventSieve::dropped_behind(size_t place) const { return !spans_.empty() && place < spans_.back().begin; }

size_t EventSieve::original_place(size_t place) const {
  const auto after =
      std::upper_bound(spans_.begin(), spans_.end(), place, [](size_t p, const Span& span) { return p < span.begin; });
  return after == spans_.begin() ? place : place + (after - 1)->shift;
}

}  // namespace skewscope::ingest
