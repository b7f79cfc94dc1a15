// An option that takes one of a few words.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

namespace skewscope::cli {

// Another word is a usage error that names the ones known; `value` must live until the command line is parsed.
template <class Value>
void add_choice(CLI::App& command, const std::string& flag, Value& value,
                const std::vector<std::pair<std::string, Value>>& words, const std::string& help) {
  std::string known;
  for (const auto& word : words) known += (known.empty() ? "" : "|") + word.first;
  command
      .add_option_function<std::string>(
          flag,
          [flag, &value, words, known](const std::string& text) {
            for (const auto& [word, meaning] : words) {
              if (word != text) continue;
              value = meaning;
              return;
            }
            throw CLI::ValidationError(flag, fmt::format("'{}' is none of {}", text, known));
          },
          help)
      ->type_name(known);
}

}  // namespace skewscope::cli
