// MUNGE: the credential by which a cluster's munged proves a user. libmunge is loaded when it is wanted: neither the
// build nor a daemon without --munge needs it.
//
// A credential for POST /v1/tokens encloses "ss1|<server>|<job>|<nonce>", with "@" as the job where it asks for the
// token of its user, is restricted to the uid that the daemon runs
// as (so that nobody else could have decoded it and pass it on) and lives for at most 60 s. munged refuses one that was
// decoded before.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "authorize.h"
#include "skewscope/base/result.h"

namespace skewscope::gather {

struct MungeAnswer {
  std::optional<MungeIdentity> identity;
  const char* reason = "";   // without identity: why, for refused_total{reason} and the log
  bool unavailable = false;  // munged does not answer: 503, not 401
};

class Munge {
 public:
  // Error: libmunge is not there; names Debian's package. `socket`: of munged; "": the usual one.
  static Result<std::unique_ptr<Munge>> load(const std::string& library = "libmunge.so.2",
                                             const std::string& socket = "");
  // `server`: whom the credential must be for. Asks munged and waits for its answer, so not on a thread that serves
  // connections. Any number of threads at once.
  MungeAnswer decode(const std::string& credential, const std::string& server) const;

  ~Munge();

 private:
  struct Library;
  explicit Munge(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
};

}  // namespace skewscope::gather
