#include "skewscope/base/common_folder.h"

#include <algorithm>

namespace skewscope {

std::filesystem::path common_folder(const std::vector<std::filesystem::path>& folders) {
  std::filesystem::path common = folders.empty() ? std::filesystem::path() : folders.front();
  for (const std::filesystem::path& folder : folders) {
    const auto differ = std::mismatch(common.begin(), common.end(), folder.begin(), folder.end());
    std::filesystem::path shared;
    for (auto part = common.begin(); part != differ.first; ++part) shared /= *part;
    common = shared;
  }
  return common;
}

}  // namespace skewscope
