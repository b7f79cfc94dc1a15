// Man pages (roff, man macros) of the commands.
#pragma once

#include <string>
#include <vector>

#include "command_tree.h"

namespace skewscope::cli {

// skewscope-COMMAND(1). `version`: of the program.
std::string man_page(const CommandForm& command, const std::string& version);

// skewscope(1): the commands and the flags of all, and the words that they use.
std::string man_page_of_all(const CommandForm& program, const std::vector<CommandForm>& commands,
                            const std::string& version);

}  // namespace skewscope::cli
