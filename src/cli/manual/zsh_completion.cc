#include <fmt/format.h>

#include "completion.h"

namespace skewscope::cli {
namespace {

// Within single quotes of a specification of _arguments; `ends`: characters that would end its part.
std::string escaped(const std::string& text, std::string_view ends) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += (ends.find(c) != std::string_view::npos ? "\\" : "") + std::string(1, c);
    }
  }
  return out;
}

// ":DIR:_files -/"
std::string zsh_action(const ValueForm& value) {
  const std::string name = escaped(value.name, ":[]\\");
  switch (value.kind) {
    case ValueForm::Kind::file:
      return fmt::format(":{}:_files", name);
    case ValueForm::Kind::directory:
      return fmt::format(":{}:_files -/", name);
    case ValueForm::Kind::word:
      return fmt::format(":{}:({})", name, fmt::join(value.words, " "));
    case ValueForm::Kind::words:
      return fmt::format(":{0}:_values -s , {0} {1}", name, fmt::join(value.words, " "));
    case ValueForm::Kind::text:
      return fmt::format(":{}: ", name);
    case ValueForm::Kind::none:
      break;
  }
  return "";
}

std::string specification(const FlagForm& flag) {
  const bool takes = flag.value.kind != ValueForm::Kind::none;
  const std::string meaning = fmt::format("[{}]{}", escaped(flag.meaning, ":[]\\"), zsh_action(flag.value));
  std::string all, typed;
  for (const std::string& name : flag.names) {
    all += (all.empty() ? "" : " ") + name;
    typed += (typed.empty() ? "" : ",") + name + (!takes ? "" : name.starts_with("--") ? "=" : "+");
  }
  const std::string before = flag.repeats ? "*" : fmt::format("({})", all);
  if (flag.names.size() == 1) return fmt::format("'{}{}{}'", before, typed, meaning);
  return fmt::format("'{}'{{{}}}'{}'", before, typed, meaning);
}

std::string arguments_of(const CommandForm& command, const std::vector<FlagForm>& of_all) {
  std::string text = "          _arguments -s -S";
  for (const std::vector<FlagForm>* flags : {&command.flags, &of_all}) {
    for (const FlagForm& flag : *flags) {
      const bool again = flags == &of_all && (flag.names.back() == "--help" || flag.names.back() == "--version");
      if (!again) text += " \\\n            " + specification(flag);
    }
  }
  for (const ArgumentForm& argument : command.arguments) {
    ValueForm value = argument.value;
    value.name = argument.name;
    text += fmt::format(" \\\n            '{}{}'", argument.repeats ? "*" : "", zsh_action(value));
  }
  return text + " ;;\n";
}

}  // namespace

std::string zsh_completion(const CommandForm& program, const std::vector<CommandForm>& commands) {
  std::string text =
      "#compdef skewscope\n"
      "# Completion of skewscope in zsh: skewscope completion zsh > a folder of $fpath/_skewscope\n"
      "_skewscope() {\n"
      "  local context state state_descr line\n"
      "  typeset -A opt_args\n"
      "  _arguments -C";
  for (const FlagForm& flag : program.flags) text += " \\\n    " + specification(flag);
  text +=
      " \\\n    '1:command:->command' '*::argument:->argument'\n"
      "  case $state in\n"
      "    command)\n"
      "      local -a commands=(\n";
  for (const CommandForm& command : commands) {
    text += fmt::format("        '{}:{}'\n", command.name, escaped(command.purpose, ":\\"));
  }
  text +=
      "      )\n"
      "      _describe command commands ;;\n"
      "    argument)\n"
      "      case $words[1] in\n";
  for (const CommandForm& command : commands) {
    text += fmt::format("        {})\n", command.name) + arguments_of(command, program.flags);
  }
  return text +
         "      esac ;;\n"
         "  esac\n"
         "}\n"
         "if [ \"$funcstack[1]\" = _skewscope ]; then _skewscope \"$@\"; else compdef _skewscope skewscope; fi\n";
}

}  // namespace skewscope::cli
