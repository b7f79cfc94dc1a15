#include "munge.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "skewscope/protocol/names.h"

namespace skewscope::gather {
namespace {

constexpr size_t kLongestCredential = 4096, kShortestNonce = 16, kLongestNonce = 64;
constexpr int kLongestLife_s = 60;

// As in munge.h (0.5.15); part of the library's ABI, as "so.2" says.
enum Status {
  kSuccess = 0,
  kSocket = 6,
  kTimeout = 7,
  kExpired = 15,
  kRewound = 16,
  kReplayed = 17,
  kUnauthorized = 18
};
enum Option { kTtl = 4, kSocketPath = 8, kUidRestriction = 9 };

const char* munge_reason(int status) {
  switch (status) {
    case kSocket:
    case kTimeout:
      return "munged does not answer";
    case kExpired:
      return "the MUNGE credential has expired";
    case kRewound:
      return "the MUNGE credential comes from the future: a clock is wrong";
    case kReplayed:
      return "the MUNGE credential was used before";
    case kUnauthorized:
      return "the MUNGE credential is for another user";
    default:
      return "this is no valid MUNGE credential";
  }
}

// The job or kOwnJobs, of a payload that is meant for `server`.
std::optional<std::string> job_of(std::string_view payload, std::string_view server) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= payload.size();) {
    const size_t end = std::min(payload.find('|', begin), payload.size());
    parts.push_back(payload.substr(begin, end - begin));
    begin = end + 1;
  }
  if (parts.size() != 4 || parts[0] != "ss1" || parts[1] != server) return std::nullopt;
  if (!is_name(parts[2]) && parts[2] != kOwnJobs) return std::nullopt;
  const std::string_view nonce = parts[3];
  if (nonce.size() < kShortestNonce || nonce.size() > kLongestNonce || !is_name(nonce)) return std::nullopt;
  return std::string(parts[2]);
}

}  // namespace

struct Munge::Library {
  void* handle = nullptr;
  std::string socket;
  void* (*ctx_create)() = nullptr;
  void (*ctx_destroy)(void*) = nullptr;
  int (*ctx_get)(void*, int, ...) = nullptr;
  int (*ctx_set)(void*, int, ...) = nullptr;
  int (*decode)(const char*, void*, void**, int*, uid_t*, gid_t*) = nullptr;

  template <class Function>
  bool find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(::dlsym(handle, name));
    return function != nullptr;
  }
  bool find_all() {
    return find(ctx_create, "munge_ctx_create") && find(ctx_destroy, "munge_ctx_destroy") &&
           find(ctx_get, "munge_ctx_get") && find(ctx_set, "munge_ctx_set") && find(decode, "munge_decode");
  }
  ~Library() {
    if (handle != nullptr) ::dlclose(handle);
  }
};

Munge::Munge(std::unique_ptr<Library> library) : library_(std::move(library)) {}
Munge::~Munge() = default;

Result<std::unique_ptr<Munge>> Munge::load(const std::string& library, const std::string& socket) {
  auto loaded = std::make_unique<Library>();
  loaded->socket = socket;
  loaded->handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded->handle == nullptr || !loaded->find_all()) {
    const char* reason = ::dlerror();
    return Error{ErrorKind::usage, "MUNGE credentials need " + library +
                                       ", of Debian's package libmunge2 (apt-get install munge): " +
                                       (reason == nullptr ? "it lacks a function" : reason)};
  }
  return std::unique_ptr<Munge>(new Munge(std::move(loaded)));
}

MungeAnswer Munge::decode(const std::string& credential, const std::string& server) const {
  if (credential.size() > kLongestCredential) return {{}, "the MUNGE credential is too long"};
  const std::unique_ptr<void, void (*)(void*)> context(library_->ctx_create(), library_->ctx_destroy);
  if (!context) return {{}, "out of memory", true};
  if (!library_->socket.empty()) library_->ctx_set(context.get(), kSocketPath, library_->socket.c_str());

  void* data = nullptr;
  int size = 0, life_s = 0;
  uid_t uid = 0, restricted_to = 0;
  gid_t gid = 0;
  const int status = library_->decode(credential.c_str(), context.get(), &data, &size, &uid, &gid);
  const std::unique_ptr<void, void (*)(void*)> owned(data, std::free);
  if (status != kSuccess) return {{}, munge_reason(status), status == kSocket || status == kTimeout};
  if (library_->ctx_get(context.get(), kUidRestriction, &restricted_to) != kSuccess || restricted_to != ::geteuid()) {
    return {{}, "the MUNGE credential is not restricted to the daemon's user"};
  }
  if (library_->ctx_get(context.get(), kTtl, &life_s) != kSuccess || life_s <= 0 || life_s > kLongestLife_s) {
    return {{}, "the MUNGE credential lives longer than 60 s"};
  }
  const std::string_view payload(static_cast<const char*>(data), data == nullptr ? 0 : static_cast<size_t>(size));
  std::optional<std::string> job = job_of(payload, server);
  if (!job) return {{}, "the MUNGE credential was not made for this server"};
  return {MungeIdentity{uid, std::move(*job)}};
}

}  // namespace skewscope::gather
