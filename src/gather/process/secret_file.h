// Files whose content nobody else may know.
#pragma once

#include <string>

#include "skewscope/base/result.h"

namespace skewscope::gather {

// The first 256 bytes of a regular file that its owner alone, this user or root, can use. Errors: usage, what is wrong
// without the file's name. `recipe`: the command whose output is such a secret.
Result<std::string> read_secret_file(const std::string& file, const std::string& recipe);

bool others_may_use(const std::string& file);  // besides its owner, and who an access control list gives it to

}  // namespace skewscope::gather
