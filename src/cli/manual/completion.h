// Completion of commands, flags and their values in shells, as a script that the shell reads.
#pragma once

#include <string>
#include <vector>

#include "command_tree.h"

namespace skewscope::cli {

// `program`: with the flags that come before a command.
std::string bash_completion(const CommandForm& program, const std::vector<CommandForm>& commands);
std::string zsh_completion(const CommandForm& program, const std::vector<CommandForm>& commands);
std::string fish_completion(const CommandForm& program, const std::vector<CommandForm>& commands);

}  // namespace skewscope::cli
