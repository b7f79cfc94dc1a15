#include "help_format.h"

#include <fmt/format.h>

#include "command_tree.h"
#include "skewscope/base/text_columns.h"

namespace skewscope::cli {
namespace {

constexpr size_t kNames = 28, kWidest = 120, kFewestOfMeaning = 30;

class HelpFormat : public CLI::Formatter {
 public:
  explicit HelpFormat(size_t columns) : columns_(std::min(columns, kWidest)) {}

  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = "Usage: " + (name.empty() ? app->get_display_name() : name);
    if (app->get_parent() == nullptr) return usage + " COMMAND [OPTIONS]\n";
    if (app->get_options([](const CLI::Option* option) { return option->nonpositional(); }).size() > 1) {
      usage += " [OPTIONS]";
    }
    for (const CLI::Option* argument :
         app->get_options([](const CLI::Option* option) { return option->get_positional(); })) {
      usage += " " + usage_of(*argument);
    }
    return usage + "\n";
  }

  std::string make_description(const CLI::App* app) const override { return lines(app->get_description(), 0); }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return row(is_positional ? option->get_name(true, false) : name_of(*option), option->get_description());
  }

  std::string make_subcommand(const CLI::App* command) const override {
    return row(command->get_name(), command->get_description());
  }

  // Examples stay as they are; the rest is wrapped.
  std::string make_footer(const CLI::App* app) const override {
    const std::string footer = app->get_footer();
    std::string text;
    for (size_t begin = 0; begin < footer.size();) {
      const size_t end = std::min(footer.find('\n', begin), footer.size());
      const std::string line = footer.substr(begin, end - begin);
      text += line.starts_with("  ") ? line + "\n" : lines(line, 0);
      begin = end + 1;
    }
    return text;
  }

 private:
  static std::string name_of(const CLI::Option& option) {
    std::string name = option.get_name(false, true);
    if (!option.get_type_name().empty()) name += " " + option.get_type_name();
    return name;
  }

  std::string lines(const std::string& text, size_t indent) const {
    std::string out;
    for (const std::string& line : wrap(text, std::max(columns_ - indent, kFewestOfMeaning))) {
      out += std::string(indent, ' ') + line + "\n";
    }
    return out;
  }

  std::string row(const std::string& name, const std::string& meaning) const {
    const std::string text = lines(meaning, kNames + 2);
    if (name.size() + 2 > kNames || text.empty()) return fmt::format("  {}\n{}", name, text);
    return fmt::format("  {:<{}}{}", name, kNames, text.substr(kNames + 2));
  }

  size_t columns_;
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_format(size_t columns) { return std::make_shared<HelpFormat>(columns); }

}  // namespace skewscope::cli
