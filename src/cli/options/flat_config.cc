#include "flat_config.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

namespace skewscope::cli {
namespace {

// CLI11's own reader takes repeated keys and knows neither the quotes nor the numbers of TOML 1.0.
class FlatConfig : public CLI::Config {
 public:
  explicit FlatConfig(const CLI::App& app) : app_(app) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    const auto commands = app_.get_subcommands();
    if (commands.empty()) return {};
    const toml::table file = parse(input);
    Reading reading{*commands.front(), {}, {}};
    for (const auto& [key, value] : file) {
      const toml::table* section = value.as_table();
      if (section == nullptr) {
        add(reading, key, value);
      } else if (key == commands.front()->get_name()) {
        for (const auto& [inner, inner_value] : *section) add(reading, inner, inner_value);
      }
    }
    return reading.items;
  }

  std::string to_config(const CLI::App*, bool, bool, std::string) const override { return ""; }

 private:
  struct Reading {
    const CLI::App& command;
    std::vector<CLI::ConfigItem> items;
    std::map<const CLI::Option*, toml::source_index> lines;  // of the keys
  };

  [[noreturn]] void fail(toml::source_index line, const std::string& problem) const {
    throw CLI::ConfigError(fmt::format("{}:{}: {}", app_.get_config_ptr()->as<std::string>(), line, problem),
                           CLI::ExitCodes::ConfigError);
  }

  toml::table parse(std::istream& input) const {
    try {
      return toml::parse(input);
    } catch (const toml::parse_error& error) {
      fail(error.source().begin.line, std::string(error.description()));
    }
  }

  void add(Reading& reading, const toml::key& key, const toml::node& value) const {
    const std::string name(key.str());
    const toml::source_index line = key.source().begin.line;
    const std::string flag = (name.size() == 1 ? "-" : "--") + name;
    const CLI::Option* option = reading.command.get_option_no_throw(flag);
    if (option == nullptr || !option->get_configurable()) {
      fail(line, fmt::format("'{}' is no flag of {}", name, reading.command.get_name()));
    }
    const auto [before, is_new] = reading.lines.emplace(option, line);
    if (!is_new) {
      const auto [first, second] = std::minmax(before->second, line);
      fail(second, fmt::format("'{}' is in line {} already", name, first));
    }
    CLI::ConfigItem item;
    item.parents = {reading.command.get_name()};
    item.name = name;
    if (const toml::array* values = value.as_array()) {
      for (const toml::node& one : *values) item.inputs.push_back(text_of(name, one));
    } else {
      item.inputs.push_back(text_of(name, value));
    }
    reading.items.push_back(std::move(item));
  }

  // As it would be on the command line.
  std::string text_of(const std::string& name, const toml::node& value) const {
    if (const auto* text = value.as_string()) return text->get();
    if (const auto* flag = value.as_boolean()) return flag->get() ? "true" : "false";
    if (const auto* number = value.as_integer()) return std::to_string(number->get());
    if (const auto* number = value.as_floating_point()) return fmt::format("{}", number->get());
    fail(value.source().begin.line,
         fmt::format("'{}' wants a string, a number, true or false, or an array of them", name));
  }

  const CLI::App& app_;
};

}  // namespace

void add_config(CLI::App& app) {
  app.set_config("--config", "", "TOML file whose keys are the command's flags")->type_name("FILE");
  app.config_formatter(std::make_shared<FlatConfig>(app));
  app.allow_config_extras(CLI::config_extras_mode::error);
}

}  // namespace skewscope::cli
