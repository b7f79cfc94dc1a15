#include <fmt/format.h>

#include "completion.h"

namespace skewscope::cli {
namespace {

std::string quoted_for_fish(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += (c == '\'' || c == '\\' ? "\\" : "") + std::string(1, c);
  return out + "'";
}

// What may follow; fish knows no lists with commas, and offers their words once.
std::string values_for_fish(const ValueForm& value) {
  switch (value.kind) {
    case ValueForm::Kind::file:
      return " -r -F";
    case ValueForm::Kind::directory:
      return " -x -a '(__fish_complete_directories)'";
    case ValueForm::Kind::word:
    case ValueForm::Kind::words:
      return fmt::format(" -x -a '{}'", fmt::join(value.words, " "));
    case ValueForm::Kind::text:
      return " -x";
    case ValueForm::Kind::none:
      break;
  }
  return "";
}

std::string line_for_fish(const std::string& where, const FlagForm& flag) {
  std::string line = "complete -c skewscope" + where;
  for (const std::string& name : flag.names) {
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  return line + values_for_fish(flag.value) + " -d " + quoted_for_fish(flag.meaning) + "\n";
}

}  // namespace

std::string fish_completion(const CommandForm& program, const std::vector<CommandForm>& commands) {
  std::string text =
      "# Completion of skewscope in fish: skewscope completion fish > ~/.config/fish/completions/skewscope.fish\n"
      "complete -c skewscope -f\n";
  for (const FlagForm& flag : program.flags) text += line_for_fish("", flag);
  for (const CommandForm& command : commands) {
    text += fmt::format("complete -c skewscope -n __fish_use_subcommand -a {} -d {}\n", command.name,
                        quoted_for_fish(command.purpose));
    const std::string where = fmt::format(" -n '__fish_seen_subcommand_from {}'", command.name);
    for (const FlagForm& flag : command.flags) {
      if (flag.names.back() != "--help") text += line_for_fish(where, flag);
    }
    if (command.arguments.empty()) continue;
    const ValueForm& value = command.arguments.front().value;
    text += "complete -c skewscope" + where +
            (value.kind == ValueForm::Kind::file ? " -F" : fmt::format(" -a '{}'", fmt::join(value.words, " "))) + "\n";
  }
  return text;
}

}  // namespace skewscope::cli
