// A head as a test writes it: one line each, without CR LF.
#pragma once

#include <string_view>
#include <vector>

#include "src/gather/http/gate.h"

namespace skewscope::gather {

// Splits as an obliging parser would; the lines outlive the head.
inline RawHead head_of(const std::vector<std::string_view>& lines) {
  RawHead out;
  const std::string_view start = lines.at(0);
  const size_t first = start.find(' '), last = start.rfind(' ');
  out.method = start.substr(0, first);
  out.target = start.substr(first + 1, last - first - 1);
  out.version = start.substr(last + 1) == "HTTP/1.1" ? 11 : start.substr(last + 1) == "HTTP/1.0" ? 10 : 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    const size_t colon = lines[i].find(':');
    std::string_view value = lines[i].substr(colon + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    out.fields.emplace_back(lines[i].substr(0, colon), value);
  }
  return out;
}

inline std::variant<Request, Refused> admit_lines(const std::vector<std::string_view>& lines,
                                                  Listener listener = Listener::main) {
  return admit(head_of(lines), listener);
}

}  // namespace skewscope::gather
