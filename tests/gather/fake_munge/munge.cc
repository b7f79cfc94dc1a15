// A libmunge without munged: a credential is "STATUS UID RESTRICTED_TO TTL PAYLOAD" in plain text, over HTTP with
// commas for blanks. It takes FAKE_MUNGE_MS milliseconds to decode one.
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>

namespace {
struct Context {
  unsigned restricted_to = 0;
  int ttl = 0;
};
}  // namespace

extern "C" {

void* munge_ctx_create() { return new Context; }
void munge_ctx_destroy(void* context) { delete static_cast<Context*>(context); }
int munge_ctx_set(void*, int, ...) { return 0; }

int munge_ctx_get(void* opaque, int option, ...) {
  const auto* const context = static_cast<const Context*>(opaque);
  va_list arguments;
  va_start(arguments, option);
  void* const out = va_arg(arguments, void*);
  va_end(arguments);
  if (option == 4) std::memcpy(out, &context->ttl, sizeof(int));
  if (option == 9) std::memcpy(out, &context->restricted_to, sizeof(unsigned));
  return 0;
}

int munge_decode(const char* credential, void* opaque, void** data, int* size, unsigned* uid, unsigned*) {
  auto* const context = static_cast<Context*>(opaque);
  std::string text(credential);
  std::replace(text.begin(), text.end(), ',', ' ');
  if (const char* const ms = std::getenv("FAKE_MUNGE_MS")) ::usleep(1000 * std::atoi(ms));
  std::istringstream in(text);
  int status = 8;
  std::string payload;
  in >> status >> *uid >> context->restricted_to >> context->ttl >> payload;
  *data = ::strdup(payload.c_str());
  *size = static_cast<int>(payload.size());
  return status;
}
}
