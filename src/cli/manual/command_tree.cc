#include "command_tree.h"

#include <algorithm>
#include <string_view>

namespace skewscope::cli {
namespace {

constexpr int kMany = 1 << 16;  // and more: as often as one likes

std::vector<std::string> parts_of(std::string_view text, char between) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(between, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// Lower case is what is typed, upper case is a placeholder.
bool is_typed(const std::string& word) {
  return std::none_of(word.begin(), word.end(), [](unsigned char c) { return std::isupper(c) != 0; });
}

ValueForm value_of(const CLI::Option& option) {
  using Kind = ValueForm::Kind;
  const std::string type = option.get_type_name();
  if (type.empty()) return {};
  if (type == "FILE" || type == "CSV") return {Kind::file, type, {}};
  if (type == "DIR") return {Kind::directory, type, {}};
  for (const auto& [between, kind] : {std::pair{'|', Kind::word}, std::pair{',', Kind::words}}) {
    if (type.find(between) != std::string::npos && is_typed(type)) return {kind, type, parts_of(type, between)};
  }
  return {Kind::text, type, {}};
}

bool repeats(const CLI::Option& option) {
  return option.get_expected_max() >= kMany || option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
}

ArgumentForm argument_of(const CLI::Option& option) {
  ArgumentForm argument{usage_of(option), option.get_name(true, false), value_of(option), option.get_expected_max() > 1,
                        option.get_description()};
  if (argument.value.kind == ValueForm::Kind::none) argument.value.kind = ValueForm::Kind::file;  // traces, or reports
  return argument;
}

FlagForm flag_of(const CLI::Option& option) {
  FlagForm flag{{}, value_of(option), repeats(option), option.get_description()};
  for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
  return flag;
}

}  // namespace

std::string usage_of(const CLI::Option& argument) {
  const std::string name = argument.get_name(true, false);
  std::string usage;
  for (int i = 1; i < argument.get_expected_min(); ++i) usage += name + " ";
  usage += name + (argument.get_expected_max() >= kMany ? "..." : "");
  return argument.get_required() ? usage : "[" + usage + "]";
}

CommandForm form_of(const CLI::App& command) {
  CommandForm form{command.get_name(), command.get_description(), {}, {}, command.get_footer()};
  for (const CLI::Option* option : command.get_options({})) {
    if (option->get_positional()) {
      form.arguments.push_back(argument_of(*option));
    } else {
      form.flags.push_back(flag_of(*option));
    }
  }
  return form;
}

}  // namespace skewscope::cli
