// Problem: a page that anybody opens from a mail must work without a network and must not run what a trace holds.
// Idea: the shell is a constant; the data is in an element that browsers never run, escaped so that it cannot end
// the element. The shell's Content-Security-Policy names its one script and its one style by hash, so that even markup
// that came through could not run; and it puts text on the page by textContent alone.
#include "html_page.h"

#include <string_view>

namespace skewscope {
namespace embedded {
const char* page_shell();
}

namespace report {
namespace {

constexpr std::string_view kDataGoesHere = "{\"schema\":\"data goes here\"}";

}  // namespace

std::string escape_for_script(const std::string& json) {
  std::string out;
  out.reserve(json.size() + json.size() / 50);
  for (size_t i = 0; i < json.size(); ++i) {
    const std::string_view rest(json.data() + i, json.size() - i);
    if (json[i] == '<') {
      out += "\\u003c";
    } else if (json[i] == '>') {
      out += "\\u003e";
    } else if (json[i] == '&') {
      out += "\\u0026";
    } else if (rest.starts_with("\xE2\x80\xA8") || rest.starts_with("\xE2\x80\xA9")) {
      out += json[i + 2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      out += json[i];
    }
  }
  return out;
}

std::string html_page(const std::string& json) {
  const std::string_view shell = embedded::page_shell();
  const size_t place = shell.find(kDataGoesHere);
  const std::string data = escape_for_script(json);
  std::string page;
  page.reserve(shell.size() + data.size());
  page += shell.substr(0, place);
  page += data;
  page += shell.substr(place + kDataGoesHere.size());
  return page;
}

}  // namespace report
}  // namespace skewscope
