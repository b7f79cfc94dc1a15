#include "src/hang/words/page.h"

#include <string_view>

#include "src/hang/words/embedded.h"

namespace skewscope::hang {

std::string page_of(const std::string& json) {
  constexpr std::string_view kPlace = "/*DATA*/null";
  std::string page = embedded::hang_page();
  std::string data;
  for (const char c : json) {
    if (c == '<') {
      data += "\\u003c";  // no text ends the script
    } else {
      data += c;
    }
  }
  page.replace(page.find(kPlace), kPlace.size(), data);
  return page;
}

}  // namespace skewscope::hang
