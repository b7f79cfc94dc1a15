// A few characters: whether one is of them costs one look, where std::string_view::find() calls memchr().
#pragma once

#include <array>
#include <string_view>

namespace skewscope::ingest {

class CharSet {
 public:
  constexpr explicit CharSet(std::string_view characters) {
    for (const char c : characters) holds_[static_cast<unsigned char>(c)] = true;
  }
  constexpr bool holds(char c) const { return holds_[static_cast<unsigned char>(c)]; }

 private:
  std::array<bool, 256> holds_{};
};

}  // namespace skewscope::ingest
