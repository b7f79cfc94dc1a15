#include "event_text.h"

namespace skewscope::simulate {

TimeText::TimeText(int64_t ns, bool whole_microseconds) {
  size_t at = sizeof digits_;
  const bool negative = ns < 0;
  auto left = static_cast<uint64_t>(negative ? -ns : ns);
  int digit = 0;
  if (whole_microseconds) {
    left /= 1000;
    digit = 4;
  }
  for (; left != 0 || digit < 5; ++digit) {
    if (digit == 3) {
      digits_[--at] = '.';
      continue;
    }
    digits_[--at] = static_cast<char>('0' + left % 10);
    left /= 10;
  }
  if (negative) digits_[--at] = '-';
  begin_ = at;
}

void open_event(Text& text, const StampStyle& style, std::string_view category, std::string_view name, Place place,
                int64_t start_ns, int64_t end_ns) {
  print_plain(text, "  {\n    \"ph\": \"X\", \"cat\": \"");
  print_plain(text, category);
  print_plain(text, "\", \"name\": \"");
  print_plain(text, name);
  print(text, "\", \"pid\": {}, \"tid\": {},\n    \"ts\": ", place.pid, place.tid);
  print_plain(text, style.stamp(start_ns));
  print_plain(text, ", \"dur\": ");
  print_plain(text, style.duration(end_ns - start_ns));
  print_plain(text, ",\n    \"args\": {\n      ");
}

void close_event(Text& text) { print_plain(text, "\n    }\n  },\n"); }

void flow_start(Text& text, const StampStyle& style, int64_t id, Place place, int64_t at_ns) {
  print(text,
        "  {{\n    \"ph\": \"s\", \"id\": {}, \"pid\": {}, \"tid\": {}, \"ts\": {},\n    \"cat\": \"ac2g\", \"name\": "
        "\"ac2g\"\n  }},\n",
        id, place.pid, place.tid, std::string_view(style.stamp(at_ns)));
}

void flow_end(Text& text, const StampStyle& style, int64_t id, Place place, int64_t at_ns) {
  print(text,
        "  {{\n    \"ph\": \"f\", \"id\": {}, \"pid\": {}, \"tid\": {}, \"ts\": {},\n    \"cat\": \"ac2g\", \"name\": "
        "\"ac2g\", \"bp\": \"e\"\n  }},\n",
        id, place.pid, place.tid, std::string_view(style.stamp(at_ns)));
}

}  // namespace skewscope::simulate
