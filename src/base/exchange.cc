#include "skewscope/base/exchange.h"

namespace skewscope {

Exchange& alone() {
  static Alone exchange;
  return exchange;
}

std::vector<Bytes> gather(Exchange& exchange, Bytes own) {
  std::vector<Bytes> to(static_cast<size_t>(exchange.processes()));
  to.front() = std::move(own);
  std::vector<Bytes> from = exchange.all_to_all(std::move(to));
  if (!exchange.first()) from.clear();
  return from;
}

Bytes broadcast(Exchange& exchange, Bytes of_first) {
  return std::move(exchange.all_gather(exchange.first() ? std::move(of_first) : Bytes()).front());
}

Result<Done> agree(Exchange& exchange, const Result<Done>& own) {
  if (exchange.processes() == 1) return own;
  ByteWriter writer;
  if (!own.ok()) {
    writer.put(own.error().kind);
    writer.put(own.error().message);
  }
  for (const Bytes& bytes : exchange.all_gather(writer.take())) {
    if (bytes.empty()) continue;
    ByteReader reader(bytes);
    Error error;
    reader.get(error.kind);
    reader.get(error.message);
    return error;
  }
  return Done{};
}

bool any_process(Exchange& exchange, bool own) {
  for (const char one : all_rows(exchange, std::vector<char>{own ? '\1' : '\0'})) {
    if (one != 0) return true;
  }
  return false;
}

}  // namespace skewscope
