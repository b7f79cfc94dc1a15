// The way of the daemon: bytes -> Beast's parser -> gate.
#pragma once

#include <string_view>
#include <vector>

#include "src/gather/http/gate.h"

namespace skewscope::gather {

struct Read {
  enum class Outcome { admitted, refused, parser_error, incomplete } outcome = Outcome::incomplete;
  Request request;     // admitted
  Refused refused;     // refused
  size_t head = 0;     // bytes of the head
  bool agrees = true;  // Beast sees the same body as the gate
};

Read read_with_beast(std::string_view bytes, Listener listener = Listener::main);

// What a connection takes for requests as these bytes come in: reads heads, skips bodies, stops where it closes.
std::vector<Request> requests_in(std::string_view bytes);

}  // namespace skewscope::gather
