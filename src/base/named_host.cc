#include "skewscope/base/named_host.h"

#include <algorithm>
#include <cctype>

namespace skewscope {
namespace {

constexpr size_t kLongestHost = 253;       // RFC 1035
constexpr std::ptrdiff_t kLeastStamp = 9;  // digits of a time in a name

constexpr std::string_view kSuffixes[] = {".digest",  ".gz", ".zst",    ".json", ".trace", ".pt", ".sqlite",
                                          ".sqlite3", ".pb", ".xplane", ".rpd",  ".log",   ".db", ".pftrace"};

bool is_digit(unsigned char c) { return std::isdigit(c) != 0; }

// Where the suffixes of a trace begin, and the time in front of them: ".1694128201545.pt.trace.json.gz".
size_t suffixes_at(std::string_view name) {
  for (const std::string_view suffix : kSuffixes) {
    if (name.size() > suffix.size() && name.ends_with(suffix)) name.remove_suffix(suffix.size());
  }
  const auto digits = std::find_if_not(name.rbegin(), name.rend(), is_digit) - name.rbegin();
  const size_t rest = name.size() - static_cast<size_t>(digits);
  return digits >= kLeastStamp && rest > 1 && name[rest - 1] == '.' ? rest - 1 : name.size();
}

}  // namespace

bool is_host_name(std::string_view text) {
  const auto is_of_name = [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_'; };
  return !text.empty() && text.size() <= kLongestHost && std::isalnum(static_cast<unsigned char>(text.front())) != 0 &&
         std::all_of(text.begin(), text.end(), is_of_name) && !text.starts_with("localhost");
}

std::string host_behind_at(std::string_view file_name) {
  const std::string_view stem = file_name.substr(0, suffixes_at(file_name));
  const size_t at = stem.rfind('@');
  if (at == std::string_view::npos) return "";
  const std::string_view host = stem.substr(at + 1, stem.find('_', at) - at - 1);
  return is_host_name(host) ? std::string(host) : "";
}

std::string with_host(const std::string& file_name, const std::string& host) {
  std::string name = file_name;
  name.insert(suffixes_at(name), "@" + host);
  const bool readable = file_name.find('@') == std::string::npos && host_behind_at(name) == host;
  return readable && !host.empty() ? name : file_name;
}

}  // namespace skewscope
