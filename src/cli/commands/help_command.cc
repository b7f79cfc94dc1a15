#include "help_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "src/cli/manual/completion.h"
#include "src/cli/manual/glossary.h"
#include "src/cli/manual/man_page.h"
#include "src/cli/options/choice.h"

namespace skewscope::cli {
namespace {

constexpr const char* kTerms = "terms";

std::vector<CommandForm> forms_of(const CLI::App& program) {
  std::vector<CommandForm> forms;
  for (const CLI::App* command : program.get_subcommands({})) forms.push_back(form_of(*command));
  return forms;
}

ExitCode printed(const std::string& text) {
  return print(text) ? kDone : fail({ErrorKind::output, "cannot write to standard output"});
}

ExitCode write_man_pages(const CLI::App& program, const std::filesystem::path& folder) {
  const std::vector<CommandForm> commands = forms_of(program);
  std::map<std::string, std::string> pages = {
      {"skewscope.1", man_page_of_all(form_of(program), commands, SKEWSCOPE_VERSION)}};
  for (const CommandForm& command : commands) {
    pages["skewscope-" + command.name + ".1"] = man_page(command, SKEWSCOPE_VERSION);
  }
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  for (const auto& [name, text] : pages) {
    std::ofstream file(folder / name, std::ios::binary);
    file << text;
    file.close();
    if (file.fail()) return fail({ErrorKind::output, "cannot write " + (folder / name).string()});
  }
  return kDone;
}

}  // namespace

void add_help_options(CLI::App& command, HelpOptions& options) {
  command.add_option("TOPIC", options.topic, "A command, or terms: the words of summaries and pages")
      ->type_name(fmt::format("{}|{}", fmt::join(options.commands, "|"), kTerms));
  command.add_flag("--man", options.man, "The same as a man page (roff)");
  command.add_option("--man-pages", options.man_directory, "Write the man pages of all commands into this folder")
      ->type_name("DIR");
  command.footer(
      "Examples:\n"
      "  skewscope help report\n"
      "  skewscope help terms\n"
      "  skewscope help --man report | man -l -");
}

void add_version_options(CLI::App&, VersionOptions&) {}

void add_completion_options(CLI::App& command, CompletionOptions& options) {
  add_choice<std::string>(command, "SHELL", options.shell, {{"bash", "bash"}, {"zsh", "zsh"}, {"fish", "fish"}},
                          "For which shell");
  command.get_option("SHELL")->required();
  command.footer(
      "Examples:\n"
      "  source <(skewscope completion bash)\n"
      "  skewscope completion zsh > ~/.zfunc/_skewscope\n"
      "  skewscope completion fish > ~/.config/fish/completions/skewscope.fish");
}

ExitCode run_help(const HelpOptions& options, const CLI::App& program) {
  if (!options.man_directory.empty()) return write_man_pages(program, options.man_directory);
  if (options.topic == kTerms && !options.man) return printed(glossary_text(terminal_columns(STDOUT_FILENO)));
  if (options.topic.empty()) {
    const CommandForm form = form_of(program);
    if (options.man) return printed(man_page_of_all(form, forms_of(program), SKEWSCOPE_VERSION));
    // App::help() would be that of the command `help`, which was parsed.
    return printed(program.get_formatter()->make_help(&program, program.get_name(), CLI::AppFormatMode::Normal));
  }
  for (const CLI::App* command : program.get_subcommands({})) {
    if (command->get_name() != options.topic) continue;
    return printed(options.man ? man_page(form_of(*command), SKEWSCOPE_VERSION) : command->help("skewscope"));
  }
  return fail({ErrorKind::usage, fmt::format("no help on '{}': there is {} and {}", options.topic,
                                             fmt::join(options.commands, ", "), kTerms)});
}

ExitCode run_version() { return printed("skewscope " SKEWSCOPE_VERSION "\n"); }

ExitCode run_completion(const CompletionOptions& options, const CLI::App& program) {
  const CommandForm form = form_of(program);
  if (options.shell == "bash") return printed(bash_completion(form, forms_of(program)));
  if (options.shell == "zsh") return printed(zsh_completion(form, forms_of(program)));
  return printed(fish_completion(form, forms_of(program)));
}

}  // namespace skewscope::cli
