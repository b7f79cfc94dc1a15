// Operators of the backward pass, and the arrows that lead to them, as text.
//
// Problem: they name the module of what the backward pass launches (call_modules.cc), and most traces have no modules;
// to parse them costs some hundredths of all reading. Idea: the sieve keeps the bytes in which their numbers are,
// and these are read once the whole file is, where it names a module. A file of which the first 16 MB of such text
// are before any module names none: its texts are given back.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace skewscope::ingest {

struct FileContent;

// The text of an operator begins behind its name, that of an arrow at its brace.
struct PassText {
  static constexpr size_t kBytes = 104;
  explicit PassText(const char* from) { std::memcpy(text.data(), from, kBytes); }

  std::array<char, kBytes> text;
};

// False: too short; nothing was kept.
inline bool keep_pass_text(std::string_view text, std::vector<PassText>& texts) {
  if (text.size() < PassText::kBytes) return false;
  texts.emplace_back(text.data());
  return true;
}

struct PassTexts {
  std::vector<std::vector<PassText>> chunks;
  size_t count = 0;
  bool given_up = false;
};

// Returns the bytes by which `kept` grew. `any_module`: the file named one up to the end of the chunk.
int64_t append_pass_texts(std::vector<PassText> texts, bool any_module, PassTexts& kept);

// Reads them into backward_ops and pass_flows, and puts these in an order that is the same whoever read them. Without
// modules, and where they were given up, `content` keeps none. `unpadded`: as read_microseconds().
void read_pass_texts(const PassTexts& kept, bool unpadded, FileContent& content);

}  // namespace skewscope::ingest
