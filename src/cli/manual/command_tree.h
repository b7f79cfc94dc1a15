// The commands and their flags as plain data, taken from what CLI11 parses by: what man pages and completions are made
// of.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace skewscope::cli {

// What a flag or an argument takes.
struct ValueForm {
  enum class Kind : uint8_t { none, text, file, directory, word, words } kind = Kind::none;
  std::string name;                // "DIR", "auto|always|never"; empty: it takes nothing
  std::vector<std::string> words;  // of word (one of these) and words (several, with commas)
};

struct FlagForm {
  std::vector<std::string> names;  // "-o", "--output"
  ValueForm value;
  bool repeats = false;
  std::string meaning;
};

struct ArgumentForm {
  std::string usage;  // "PATH...", "[TOPIC]"
  std::string name;   // "PATH"
  ValueForm value;
  bool repeats = false;
  std::string meaning;
};

struct CommandForm {
  std::string name, purpose;
  std::vector<ArgumentForm> arguments;
  std::vector<FlagForm> flags;
  std::string footer;
};

// The flags must have been described already.
CommandForm form_of(const CLI::App& command);

// "RUN RUN...", "PATH...", "[TOPIC]": an argument as it is typed.
std::string usage_of(const CLI::Option& argument);

}  // namespace skewscope::cli
