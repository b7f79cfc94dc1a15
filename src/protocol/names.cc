#include "skewscope/protocol/names.h"

#include <algorithm>
#include <charconv>

namespace skewscope {
namespace {

constexpr char kBeforeRun = '~';

// std::isalnum asks the locale.
bool is_alphanumeric(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

}  // namespace

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > kLongestName || !is_alphanumeric(text.front())) return false;
  const auto allowed = [](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; };
  return std::all_of(text.begin(), text.end(), allowed) && text.find("..") == std::string_view::npos;
}

bool is_job(std::string_view text) {
  const std::string_view name = name_of_run(text);
  return is_name(name) && text == run_of(name, number_of_run(text));
}

std::string_view name_of_run(std::string_view job) { return job.substr(0, job.find(kBeforeRun)); }

int number_of_run(std::string_view job) {
  const size_t mark = job.find(kBeforeRun);
  if (mark == std::string_view::npos) return 1;
  int number = 0;
  const char* end = job.data() + job.size();
  const auto [stop, error] = std::from_chars(job.data() + mark + 1, end, number);
  return error == std::errc() && stop == end && number >= 2 && number <= kMostRunNumber ? number : 1;
}

std::string run_of(std::string_view name, int number) {
  return number < 2 ? std::string(name) : std::string(name) + kBeforeRun + std::to_string(number);
}

bool is_upload_id(std::string_view text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == 32 && std::all_of(text.begin(), text.end(), is_digit);
}

}  // namespace skewscope
