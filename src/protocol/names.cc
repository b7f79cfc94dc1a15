#include "skewscope/protocol/names.h"

#include <algorithm>

namespace skewscope {
namespace {

// std::isalnum asks the locale.
bool is_alphanumeric(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

}  // namespace

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > kLongestName || !is_alphanumeric(text.front())) return false;
  const auto allowed = [](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; };
  return std::all_of(text.begin(), text.end(), allowed) && text.find("..") == std::string_view::npos;
}

bool is_upload_id(std::string_view text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == 32 && std::all_of(text.begin(), text.end(), is_digit);
}

}  // namespace skewscope
