#include "event_sieve.h"

#include <algorithm>
#include <cstring>

#include "event_fields.h"
#include "number_text.h"

namespace skewscope::ingest {
namespace {

using namespace std::string_view_literals;

constexpr size_t kNowhere = std::string_view::npos;

// Inlined with a size known at compile time: compared in registers.
[[gnu::always_inline]] inline bool starts_at(std::string_view text, size_t at, std::string_view what) {
  return text.size() - at >= what.size() && std::memcmp(text.data() + at, what.data(), what.size()) == 0;
}

// The opening brace of the event behind the one at `event`, where nothing but a comma parts them. npos: otherwise.
size_t next_event(std::string_view text, size_t event) {
  constexpr std::string_view kClosing = "\n  }";
  constexpr std::string_view kBetween = ",\n  {";
  for (size_t at = event + kClosing.size(); at < text.size(); ++at) {
    const void* brace = std::memchr(text.data() + at, '}', text.size() - at);
    if (brace == nullptr) return kNowhere;
    at = static_cast<size_t>(static_cast<const char*>(brace) - text.data());
    if (!starts_at(text, at + 1 - kClosing.size(), kClosing)) continue;
    return starts_at(text, at + 1, kBetween) ? at + kBetween.size() : kNowhere;
  }
  return kNowhere;
}

// Reads `VALUE"` after `before` at `at`, without escapes, and moves behind it. "" where the text reads otherwise.
[[gnu::always_inline]] inline std::string_view quoted_after(std::string_view text, size_t& at,
                                                            std::string_view before) {
  if (!starts_at(text, at, before)) return {};
  const size_t begin = at + before.size();
  const void* quote = std::memchr(text.data() + begin, '"', text.size() - begin);
  if (quote == nullptr) return {};
  const auto end = static_cast<size_t>(static_cast<const char*>(quote) - text.data());
  if (text[end - 1] == '\\') return {};
  at = end + 1;
  return text.substr(begin, end - begin);
}

// Whether an event, from its opening brace on, leaves a row or has to be looked at by the parser. Counts a CPU op that
// leaves none.
bool is_kept(std::string_view event, ChunkRows& rows) {
  size_t at = 0;
  const std::string_view phase = quoted_after(event, at, "{\n    \"ph\": \""sv);
  if (phase.size() != 1 || phase == "M"sv) return true;
  if (phase != "X"sv) return false;
  const std::string_view category = quoted_after(event, at, ", \"cat\": \""sv);
  if (category.empty()) return true;
  const std::string_view name = quoted_after(event, at, ", \"name\": \""sv);
  if (name.empty()) return true;
  constexpr std::string_view kPid = ", \"pid\": ";
  if (!starts_at(event, at, kPid)) return true;
  const EventClass event_class = class_of_category(category);
  if (event_class == EventClass::skip) return false;
  if (wants_name(event_class, name)) return true;
  if (event_class != EventClass::cpu_op) return false;
  at += kPid.size();
  int64_t pid = 0;
  const size_t end = event.find_first_not_of("0123456789"sv, at);
  if (end == kNowhere || event[end] != ',' || !read_integer(event.substr(at, end - at), pid)) return true;
  rows.cpu_rows++;
  rows.process(pid).cpu_ops++;
  return false;
}

}  // namespace

bool EventSieve::sift(std::string_view text, TextBuffer& kept, ChunkRows& rows) {
  size_t event = text.find_first_not_of(" \t\r\n,"sv);
  if (event == kNowhere || !starts_at(text, event, "{\n    \""sv)) return false;
  kept.clear();
  kept.reserve(text.size());
  spans_.clear();
  size_t run = 0;  // start of the text that is kept and not yet copied
  const auto flush = [&](size_t end) {
    if (end == run) return;
    spans_.push_back({kept.size(), run - kept.size()});
    kept.append(text.substr(run, end - run));
  };
  for (size_t next = next_event(text, event); next != kNowhere; next = next_event(text, event)) {
    if (!is_kept(text.substr(event, next - event), rows)) {
      rows.events++;
      flush(event);
      run = next;
    }
    event = next;
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
