#include "event_sieve.h"

#include <cstring>
#include <type_traits>

#include "char_set.h"
#include "event_fields.h"
#include "number_text.h"

namespace skewscope::ingest {
namespace {

using namespace std::string_view_literals;

// Whether the `kSize` bytes at both are the same, as words of which the last may overlap the one before.
template <class Word, size_t kSize>
[[gnu::always_inline]] inline bool same_words(const char* one, const char* other) {
  static_assert(kSize >= sizeof(Word));
  const auto difference = [&](size_t at) {
    Word a = 0, b = 0;
    std::memcpy(&a, one + at, sizeof(Word));
    std::memcpy(&b, other + at, sizeof(Word));
    return a ^ b;
  };
  auto differs = difference(kSize - sizeof(Word));
  for (size_t at = 0; at + sizeof(Word) < kSize; at += sizeof(Word)) differs |= difference(at);
  return differs == 0;
}

// Moves behind `"ph": "` and the like where it stands at `at`. In registers: memcmp() would be called for most sizes.
template <size_t kBytes>
[[gnu::always_inline]] inline bool take(std::string_view text, size_t& at, const char (&what)[kBytes]) {
  constexpr size_t kSize = kBytes - 1;
  using Word = std::conditional_t<(kSize < 4), uint8_t, std::conditional_t<(kSize < 8), uint32_t, uint64_t>>;
  if (text.size() - at < kSize || !same_words<Word, kSize>(text.data() + at, what)) return false;
  at += kSize;
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
  if (take(event, at, "cpu_op\"")) return EventClass::cpu_op;
  if (take(event, at, "cuda_runtime\"")) return EventClass::launch;
  if (take(event, at, "kernel\"")) return EventClass::kernel;
  if (take(event, at, "python_function\"")) return EventClass::python_function;
  return class_of_category(up_to_quote(event, at));
}

constexpr size_t kFarthestThread = 64;  // behind a name

// Of an operator of the backward pass, from within its name on: notes the thread, where it stands as tracers write it.
bool tells_thread(std::string_view event, size_t at, ChunkRows& rows) {
  constexpr std::string_view kKey = "\"tid\": ";
  if (up_to_quote(event, at).empty()) return false;
  const size_t key = event.substr(0, at + kFarthestThread).find(kKey, at);
  if (key == std::string_view::npos) return false;
  const size_t begin = key + kKey.size();
  size_t end = begin;
  while (end < event.size() && event[end] >= '0' && event[end] <= '9') ++end;
  if (end == begin || end - begin > kMostDigits || (event[end] != ',' && event[end] != '\n')) return false;
  add_once(rows.backward_threads, static_cast<int64_t>(value_of_digits(event.substr(begin, end - begin))));
  return true;
}

// From within its name on: three quarters of a trace. Nearly all ops are "aten::", which nobody asks for.
[[gnu::always_inline]] inline bool passes_cpu_op(std::string_view event, size_t at, ChunkRows& rows) {
  if (take(event, at, "aten")) {
  } else if (event[at + 1] == 'u' && take(event, at, "autograd::engine::evaluate_function")) {
    if (!tells_thread(event, at, rows)) return true;
  } else {
    const std::string_view name = up_to_quote(event, at);
    if (name.empty() || wants_name(EventClass::cpu_op, name)) return true;
  }
  ++rows.cpu_rows;
  return false;
}

// Of a phase that is not "X": few of them are looked at.
[[gnu::noinline]] bool may_have_other_phase(char phase, std::string_view event) {
  return phase == 'B' || phase == 'E' || (phase == 'i' && event.find(kRecordingEnd) != std::string_view::npos);
}

}  // namespace

bool passes_sieve(std::string_view event, bool details, ChunkRows& rows) {
  size_t at = 1;
  skip_blanks(event, at);
  if (!take(event, at, "\"ph\": \"") || event[at + 1] != '"' || event[at] == 'M') return true;
  if (event[at] != 'X') return event[at] <= 'i' && event[at] != 'f' && may_have_other_phase(event[at], event);
  at += 2;
  if (!take(event, at, ",")) return true;
  skip_blanks(event, at);
  if (!take(event, at, "\"cat\": \"")) return true;
  const EventClass event_class = take_class(event, at);
  if (!take(event, at, ",")) return true;
  skip_blanks(event, at);
  if (!take(event, at, "\"name\": \"")) return true;
  if (details) return event_class != EventClass::skip;
  if (event_class == EventClass::cpu_op) return passes_cpu_op(event, at, rows);
  switch (event_class) {
    case EventClass::skip:
    case EventClass::overhead:
      return false;
    case EventClass::user_annotation: {
      const std::string_view name = up_to_quote(event, at);
      return name.empty() || wants_name(event_class, name);
    }
    default:
      return wants_name(event_class, event.substr(at));  // by how the name begins
  }
}

}  // namespace skewscope::ingest
