#include <fmt/format.h>

#include "completion.h"

namespace skewscope::cli {
namespace {

// Bash takes "--align=au" for three words.
constexpr const char* kHead = R"(# Completion of skewscope in bash: source <(skewscope completion bash)
_skewscope_files() { mapfile -t COMPREPLY < <(compgen "$1" -- "$cur"); compopt -o filenames 2>/dev/null; }
_skewscope_word() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }
_skewscope_list() {
  local before=
  [[ $cur == *,* ]] && before=${cur%,*},
  mapfile -t COMPREPLY < <(compgen -P "$before" -W "$1" -- "${cur##*,}")
  compopt -o nospace 2>/dev/null
}
_skewscope() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= i
  if [[ $cur == = ]]; then
    cur=
  elif [[ $prev == = ]]; then
    prev=${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      --config) ((i++)) ;;
      -*) ;;
      *) command=${COMP_WORDS[i]}; break ;;
    esac
  done
  COMPREPLY=()
  case $command:$prev in
)";

std::string bash_action(const ValueForm& value) {
  switch (value.kind) {
    case ValueForm::Kind::file:
      return "_skewscope_files -f";
    case ValueForm::Kind::directory:
      return "_skewscope_files -d";
    case ValueForm::Kind::word:
      return fmt::format("_skewscope_word '{}'", fmt::join(value.words, " "));
    case ValueForm::Kind::words:
      return fmt::format("_skewscope_list '{}'", fmt::join(value.words, " "));
    case ValueForm::Kind::text:
    case ValueForm::Kind::none:
      break;
  }
  return ":";
}

// What follows a flag; of the program's own, after any command.
std::string values_of(const CommandForm& command, const std::string& before) {
  std::string cases;
  for (const FlagForm& flag : command.flags) {
    if (flag.value.kind == ValueForm::Kind::none) continue;
    std::string names;
    for (const std::string& name : flag.names) names += fmt::format("{}{}:{}", names.empty() ? "" : "|", before, name);
    cases += fmt::format("    {}) {}; return ;;\n", names, bash_action(flag.value));
  }
  return cases;
}

std::string flags_of(const CommandForm& command) {
  std::string flags;
  for (const FlagForm& flag : command.flags) {
    for (const std::string& name : flag.names) flags += (flags.empty() ? "" : " ") + name;
  }
  return flags;
}

}  // namespace

std::string bash_completion(const CommandForm& program, const std::vector<CommandForm>& commands) {
  std::string text = kHead, names, arguments;
  for (const CommandForm& command : commands) {
    text += values_of(command, command.name);
    names += (names.empty() ? "" : " ") + command.name;
    const std::string files = command.arguments.empty() ? ":" : bash_action(command.arguments.front().value);
    arguments += fmt::format("    {}) if [[ $cur == -* ]]; then _skewscope_word '{} --config'; else {}; fi ;;\n",
                             command.name, flags_of(command), files);
  }
  text += values_of(program, "*") + "  esac\n  case $command in\n" + arguments;
  return text + fmt::format("    '') _skewscope_word '{} {}' ;;\n  esac\n}}\ncomplete -F _skewscope skewscope\n", names,
                            flags_of(program));
}

}  // namespace skewscope::cli
