// Where files of one job lie.
#pragma once

#include <filesystem>
#include <vector>

namespace skewscope {

// The deepest folder that is or holds each of `folders`, as they are written; empty where there is none.
std::filesystem::path common_folder(const std::vector<std::filesystem::path>& folders);

}  // namespace skewscope
