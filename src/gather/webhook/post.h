// One POST to a receiver that may be slow, absent or hostile.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace skewscope::gather {

struct Posted {
  int status = 0;   // of an answer whose head came whole; 0: none did
  std::string why;  // then
};

// Within ten seconds, or soon after `go_on` says no. Of the answer the head counts, 32 KiB at most, and no more is
// read; a redirect is an answer like others. `fields`: "Name: value".
Posted post(const std::string& url, const std::string& ca_file, const std::vector<std::string>& fields,
            const std::string& body, const std::function<bool()>& go_on);

}  // namespace skewscope::gather
