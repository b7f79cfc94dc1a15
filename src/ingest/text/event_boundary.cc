// Where events begin. In valid JSON `{ "ph"` cannot be inside a string: a quote there is written \". So a `{` behind
// `}` and `,` and before the key of an event begins an event wherever the text was entered, without reading from the
// start. Keys that only events have (ph, cat, args, ...) are enough by themselves; those that nested objects have too
// (name, id, ...) need a "ph" in the same flat object.
#include <array>
#include <cstring>

#include "characters.h"
#include "chunk_cutter.h"

namespace skewscope::ingest {
namespace {

using namespace std::string_view_literals;

constexpr std::array kEventKeys = {"\"ph\""sv, "\"args\""sv, "\"cat\""sv, "\"bp\""sv, "\"dur\""sv};
constexpr std::array kSharedKeys = {"\"name\""sv, "\"ts\""sv, "\"pid\""sv, "\"tid\""sv,
                                    "\"id\""sv,   "\"s\""sv,  "\"tts\""sv};

bool has_ph(std::string_view object_body) {
  const size_t brace = object_body.find_first_of("{}");
  const size_t ph = object_body.substr(0, brace).find("\"ph\""sv);
  return ph != std::string_view::npos;
}

// `at` is the position of a `{`.
bool event_begins_at(std::string_view text, size_t at) {
  const std::string_view body = text.substr(skip_space(text, at + 1));
  if (body.empty() || body.front() != '"') return false;
  for (const std::string_view key : kEventKeys) {
    if (body.starts_with(key)) return true;
  }
  for (const std::string_view key : kSharedKeys) {
    if (body.starts_with(key)) return has_ph(body);
  }
  return false;
}

bool follows_an_object(std::string_view text, size_t at) {
  while (at > 0 && is_space(text[at - 1])) at--;
  if (at == 0 || text[at - 1] != ',') return false;
  at--;
  while (at > 0 && is_space(text[at - 1])) at--;
  return at > 0 && text[at - 1] == '}';
}

}  // namespace

bool begins_event(std::string_view text) { return !text.empty() && text.front() == '{' && event_begins_at(text, 0); }

size_t last_event_boundary(std::string_view text, size_t from) {
  size_t end = text.size();
  while (end > from) {
    const void* found = memrchr(text.data() + from, '{', end - from);
    if (found == nullptr) return std::string_view::npos;
    const size_t at = static_cast<size_t>(static_cast<const char*>(found) - text.data());
    if (follows_an_object(text, at) && event_begins_at(text, at)) return at;
    end = at;
  }
  return std::string_view::npos;
}

size_t next_event_boundary(std::string_view text, size_t from) {
  for (size_t at = text.find('{', from); at != std::string_view::npos; at = text.find('{', at + 1)) {
    if (follows_an_object(text, at) && event_begins_at(text, at)) return at;
  }
  return std::string_view::npos;
}

}  // namespace skewscope::ingest
