#include "left_out.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

namespace skewscope::ship {

std::vector<std::string> LeftOut::take(const Scan& found) {
  std::vector<std::string> lines;
  for (const std::string& folder : found.unlisted) {
    if (std::count(last_.unlisted.begin(), last_.unlisted.end(), folder) == 0) lines.push_back(folder);
  }
  const auto add = [&](const std::vector<std::string>& before, const std::vector<std::string>& now, const char* why) {
    if (before.empty() && !now.empty()) {
      lines.push_back(fmt::format("{} {}, as {} in all: left out", now[0], why, now.size()));
    }
  };
  add(last_.foreign, found.foreign, "belongs to another user");
  add(last_.linked, found.linked, "is a symbolic link");
  last_ = found;
  last_.files.clear();
  return lines;
}

bool LeftOut::may_hide(const Candidate& file) const {
  struct stat status {};
  if (last_.unlisted.empty()) return false;
  if (lstat(file.path.c_str(), &status) == 0) return stamp_of(status) == file.stamp;
  return errno != ENOENT && errno != ENOTDIR;
}

void LeftOut::add_to(Shipped& shipped, bool nothing) const {
  shipped.left.insert(shipped.left.end(), last_.unlisted.begin(), last_.unlisted.end());
  if (nothing && last_.refused.empty() && !last_.foreign.empty()) {
    shipped.left.push_back(last_.foreign[0] + ": belongs to another user");
  }
  for (const Refusal& refusal : last_.refused) shipped.bad.push_back(refusal.path + ": " + refusal.reason);
}

}  // namespace skewscope::ship
