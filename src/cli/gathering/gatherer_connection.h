// How the gatherer is spoken to: the flags that `ship` and `jobs` share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "skewscope/ship/gatherer_client.h"

namespace skewscope::cli {

// --to, --token-file, --ca, --cert, --key, --pin, --timeout.
void add_connection_options(CLI::App& command, GathererConnection& connection);

// The body of the gatherer's answer. A refusal is an error, too (no_input).
Result<std::string> body_of(GathererClient& client, const std::string& method, const std::string& path);

}  // namespace skewscope::cli
