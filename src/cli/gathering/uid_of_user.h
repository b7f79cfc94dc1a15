// Whom a flag names: a user of this machine, as NSS knows it, or a UID.
#pragma once

#include <cstdint>
#include <string>

namespace skewscope::cli {

// Throws CLI::ValidationError of this flag where there is no such user.
uint32_t uid_of_user(const std::string& flag, const std::string& user);

}  // namespace skewscope::cli
