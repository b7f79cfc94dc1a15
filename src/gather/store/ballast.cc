#include "ballast.h"

#include <string>

#include "src/gather/disk/spool_paths.h"

namespace skewscope::gather {
namespace {

constexpr uint64_t kBallast = 16 << 20;

}  // namespace

void Ballast::refill() {
  const std::lock_guard lock(mutex_);
  PathInfo info;
  int file = -1;
  if (files_.info(kBallastName, info) == 0) {
    there_ = true;
    return;
  }
  const std::string made = std::string(kBallastName) + ".tmp";  // what has the name has its bytes
  files_.remove(made);
  if (files_.create(made, file) != 0) return;
  const bool reserved = files_.reserve(file, kBallast) == 0;
  files_.close(file);
  there_ = reserved && files_.rename(made, kBallastName, true) == 0;
  if (!there_) files_.remove(made);
}

bool Ballast::is_there() {
  if (!there_) refill();
  return there_;
}

bool Ballast::give_away() {
  const std::lock_guard lock(mutex_);
  return there_.exchange(false) && files_.remove(kBallastName) == 0;
}

}  // namespace skewscope::gather
