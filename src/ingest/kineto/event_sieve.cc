#include "event_sieve.h"

#include <cstring>
#include <type_traits>

#include "event_fields.h"
#include "src/ingest/content/row_names.h"
#include "src/ingest/text/char_set.h"
#include "src/ingest/text/number_text.h"

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

// Moves behind `"ph": "` and the like where it is at `at`. In registers: memcmp() would be called for most sizes.
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

// Notes the thread of an operator of the backward pass, from behind its name on, where it is written as tracers write
// it.
bool tells_thread(std::string_view text, ChunkRows& rows) {
  constexpr std::string_view kKey = "\"tid\": ";
  const size_t key = text.substr(0, kFarthestThread).find(kKey);
  if (key == std::string_view::npos) return false;
  const size_t begin = key + kKey.size();
  size_t end = begin;
  while (end < text.size() && is_digit(text[end])) ++end;
  if (end == begin || end - begin > kMostDigits || (text[end] != ',' && text[end] != '\n')) return false;
  add_once(rows.backward_threads, static_cast<int64_t>(value_of_digits(text.substr(begin, end - begin))));
  rows.backward_thread = text.substr(0, end + 1);
  return true;
}

// Notes the thread of an operator of the backward pass, mostly that of the one before, and keeps when it ran. `at`: in
// its name.
[[gnu::noinline]] bool tells_backward_op(std::string_view event, size_t at, ChunkRows& rows) {
  if (up_to_quote(event, at).empty()) return false;
  const std::string_view text = event.substr(at);
  const bool same = !rows.backward_thread.empty() && text.starts_with(rows.backward_thread);
  return (same || tells_thread(text, rows)) && keep_pass_text(text, rows.pass_texts);
}

// How Kineto ends an arrow behind its name: `, "bp": "e"` in one of phase "f", then a new line, two blanks, the brace.
constexpr size_t kBehindName = 4, kBehindNameOfEnd = kBehindName + 11;

// Whether the parser has to look at it. Keeps what links the passes.
[[gnu::noinline]] bool passes_other_arrow(std::string_view event, char phase, ChunkRows& rows) {
  constexpr std::string_view kName = "\"fwdbwd\"";
  const size_t behind = phase == 's' ? kBehindName : kBehindNameOfEnd;
  const bool usual = event.substr(0, event.size() - behind).ends_with(kName);
  return usual ? !keep_pass_text(event, rows.pass_texts) : event.find(kName) != event.npos;
}

// From within its name on: three quarters of a trace. Nearly all ops are "aten::", which nobody asks for.
[[gnu::always_inline]] inline bool passes_cpu_op(std::string_view event, size_t at, ChunkRows& rows) {
  if (take(event, at, "aten")) {
  } else if (event[at + 1] == 'u' && take(event, at, "autograd::engine::evaluate_function")) {
    if (!tells_backward_op(event, at, rows)) return true;
  } else {
    const std::string_view name = up_to_quote(event, at);
    if (name.empty() || wants_name(EventClass::cpu_op, name)) return true;
  }
  ++rows.cpu_rows;
  return false;
}

// Whether the parser has to look at an event whose phase is neither "X" nor an arrow's.
[[gnu::noinline]] bool passes_rare_phase(std::string_view event, char phase) {
  return phase == 'M' || phase == 'B' || phase == 'E' || (phase == 'i' && event.find(kRecordingEnd) != event.npos);
}

// Whether the parser has to look at an event of another phase than "X": mostly that is an arrow from a launch to a
// kernel ("ac2g"), on whose way no frame is made.
[[gnu::noinline]] bool passes_other_phase(std::string_view event, char phase, ChunkRows& rows) {
  if (phase != 's' && phase != 'f') return passes_rare_phase(event, phase);
  const size_t behind = phase == 's' ? kBehindName : kBehindNameOfEnd;
  if (event.size() >= PassText::kBytes && event[event.size() - behind - 2] == 'g') return false;
  return passes_other_arrow(event, phase, rows);
}

[[gnu::noinline]] bool is_memory_event(std::string_view event) { return event.find(kMemoryEvent) != event.npos; }

}  // namespace

bool passes_sieve(std::string_view event, bool details, ChunkRows& rows) {
  size_t at = 1;
  skip_blanks(event, at);
  if (!take(event, at, "\"ph\": \"") || event[at + 1] != '"') return true;
  if (event[at] != 'X') {
    return passes_other_phase(event, event[at], rows) || (details && event[at] == 'i' && is_memory_event(event));
  }
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
