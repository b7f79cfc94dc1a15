// What an endpoint answers, before it becomes bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/gather/process/descriptor.h"

namespace skewscope::gather {

struct Response {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> fields;
  std::string body;
  std::shared_ptr<Descriptor> file;  // sent in place of `body`: `file_size` bytes from `file_offset`
  uint64_t file_offset = 0, file_size = 0;
  std::shared_ptr<void> held;  // let go when the file has been sent, or will not be
  bool close = false;          // the connection ends after it

  Response& field(std::string name, std::string value);
};

// An RFC 9457 problem document; `reason` is ours, never the client's text. 429 and 503 carry a Retry-After of
// 1 to 30 s, by chance, so that those who were refused together do not come back together.
Response problem(int status, const char* reason);
Response unauthorized(
    const std::string& why = "a valid credential is needed");  // the same for every credential that does not count

Response see_other(const std::string& where);
Response document(int status, const char* type, std::string body);

// The head as it goes over the wire.
std::string head_of(const Response& response, const std::string& request_id, bool keep_alive);

}  // namespace skewscope::gather
