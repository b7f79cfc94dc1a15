// The host in the name of a trace file, as scripts/torch_handler.py and `skewscope ship` write it:
// "job_rank3-of-8@node17_step120.pt.trace.json.gz".
#pragma once

#include <string>
#include <string_view>

namespace skewscope {

// Letters, digits, '.', '-' and '_', and no "localhost", which every machine is.
bool is_host_name(std::string_view text);

// The text behind the last "@" of a file's name, up to the next "_" or the suffixes of a trace; "" where that is no
// host.
std::string host_behind_at(std::string_view file_name);

// The name with "@host" in front of its suffixes; as it is where it has an "@", or the host cannot be read back.
std::string with_host(const std::string& file_name, const std::string& host);

}  // namespace skewscope
