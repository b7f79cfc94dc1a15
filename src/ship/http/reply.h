// The gatherer's answer, read as if an enemy had written it: bounded, each field by itself, what is not understood is
// not there.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "skewscope/protocol/sha256.h"

namespace skewscope::ship {

struct Reply {
  int status = 0;  // 0: no whole answer came
  std::optional<uint64_t> offset, length;
  std::optional<Digest> digest;  // Repr-Digest
  std::optional<std::chrono::seconds> retry_after;
  std::string location;
  std::string job;       // which run of the job's name it is about: is_job(), or ""
  std::string filename;  // of Content-Disposition; a name as of jobs
  std::string detail;    // why, for people: of the problem document, or of the connection
  // One side does not trust the other: a token or a certificate must be replaced. With status 0, `detail` says all.
  bool untrusted = false;
};

inline constexpr size_t kLargestHead = 32 << 10;
inline constexpr size_t kLargestBody = 64 << 10;

class ReplyReader {
 public:
  // A line of the head with its end; a status line begins again (100 Continue comes first). False: too much.
  bool take_line(std::string_view line);
  // A piece of the body. False: too much.
  bool take_body(std::string_view bytes);
  int status() const { return reply_.status; }
  Reply reply() const;

 private:
  Reply reply_;
  size_t head_bytes_ = 0;
  std::string body_;
};

// The path of an upload on this very gatherer, of a Location: "/v1/uploads/1f…"; nullopt: another host, or no path that
// could be asked for. `base`: http(s)://HOST[:PORT].
std::optional<std::string> upload_path(std::string_view location, std::string_view base);

}  // namespace skewscope::ship
