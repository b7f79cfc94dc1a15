#pragma once

#include <string>

namespace skewscope::hang {

// The page of a hang: groups by ranks, the culprits and the chain; works from a file, without a network.
std::string page_of(const std::string& json);

}  // namespace skewscope::hang
