#include "uid_of_user.h"

#include <pwd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <vector>

namespace skewscope::cli {

uint32_t uid_of_user(const std::string& flag, const std::string& user) {
  const char* const text_end = user.data() + user.size();
  uint32_t uid = 0;
  const auto [end, error] = std::from_chars(user.data(), text_end, uid);
  if (error == std::errc() && end == text_end && std::to_string(uid) == user) return uid;
  std::vector<char> text(16 << 10);
  passwd entry{};
  passwd* found = nullptr;
  getpwnam_r(user.c_str(), &entry, text.data(), text.size(), &found);
  if (found == nullptr) throw CLI::ValidationError(flag, "no user of this name: " + user);
  return entry.pw_uid;
}

}  // namespace skewscope::cli
