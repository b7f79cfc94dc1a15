#include "flat_config.h"

#include <memory>

namespace skewscope::cli {
namespace {

// CLI11 reads the keys of a command in a section of its name; here, keys outside sections are the command's, too.
class FlatConfig : public CLI::ConfigTOML {
 public:
  explicit FlatConfig(const CLI::App& app) : app_(app) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    const auto commands = app_.get_subcommands();
    if (commands.empty()) return {};
    const std::string command = commands.front()->get_name();
    std::vector<CLI::ConfigItem> kept;
    for (CLI::ConfigItem& item : CLI::ConfigTOML::from_config(input)) {
      if (item.name == "++" || item.name == "--") continue;  // CLI11's marks of a section's ends
      if (item.parents.empty()) item.parents = {command};
      if (item.parents.front() == command) kept.push_back(std::move(item));
    }
    return kept;
  }

 private:
  const CLI::App& app_;
};

}  // namespace

void add_config(CLI::App& app) {
  app.set_config("--config", "", "TOML file whose keys are the command's flags")->type_name("FILE");
  app.config_formatter(std::make_shared<FlatConfig>(app));
  app.allow_config_extras(CLI::config_extras_mode::error);
}

}  // namespace skewscope::cli
