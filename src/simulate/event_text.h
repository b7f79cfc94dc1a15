// Kineto's layout of events, as libkineto's ChromeTraceLogger prints them.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "skewscope/simulate.h"

namespace skewscope::simulate {

using Text = fmt::memory_buffer;

template <class... Args>
void print(Text& text, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
}
inline void print_plain(Text& text, std::string_view plain) { text.append(plain.data(), plain.data() + plain.size()); }

// Digits of a time as a style writes it: whole microseconds, or microseconds with three decimals.
class TimeText {
 public:
  TimeText(int64_t ns, bool whole_microseconds);
  operator std::string_view() const { return {digits_ + begin_, sizeof digits_ - begin_}; }  // NOLINT: reads as text

 private:
  char digits_[24];
  size_t begin_;
};

// How a style writes stamps: relative to its base time or absolute.
struct StampStyle {
  bool whole_microseconds = false;
  int64_t base_ns = 0;

  TimeText stamp(int64_t local_ns) const { return {local_ns - base_ns, whole_microseconds}; }
  TimeText duration(int64_t ns) const { return {ns, whole_microseconds}; }
};

struct Place {
  int64_t pid = 0, tid = 0;
};

// Opens a complete event up to its args; the caller prints them and calls close_event. Times are local.
void open_event(Text& text, const StampStyle& style, std::string_view category, std::string_view name, Place place,
                int64_t start_ns, int64_t end_ns);
void close_event(Text& text);

// The two ends of an arrow from launch to GPU row.
void flow_start(Text& text, const StampStyle& style, int64_t id, Place place, int64_t at_ns);
void flow_end(Text& text, const StampStyle& style, int64_t id, Place place, int64_t at_ns);

}  // namespace skewscope::simulate
