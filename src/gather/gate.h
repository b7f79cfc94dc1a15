// The strict gate: what of an HTTP/1.1 request's head is let through, and what it asks for. Beast parses more than is
// safe (transfer codings it does not know, two Content-Lengths, ...): whatever is not on the list here is refused and
// the connection closed, so that no two readers of one byte stream can disagree about where a request ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace skewscope::gather {

enum class Method { get, head, put, post, patch, delete_, options };

enum class Endpoint {
  upload_options,  // OPTIONS /v1/uploads
  tokens,          // POST    /v1/tokens
  job_put,         // PUT     /v1/jobs/{job}
  job_list,        // GET     /v1/jobs?state=&after=&limit=
  job_get,         // GET     /v1/jobs/{job}
  job_delete,      // DELETE  /v1/jobs/{job}
  job_end,         // POST    /v1/jobs/{job}/end
  upload_create,   // POST    /v1/uploads
  upload_head,     // HEAD    /v1/uploads/{id}
  upload_patch,    // PATCH   /v1/uploads/{id}
  upload_delete,   // DELETE  /v1/uploads/{id}
  rank_put,        // PUT     /v1/jobs/{job}/ranks/{rank}
  rank_get,        // GET     /v1/jobs/{job}/ranks/{rank}
  report,          // GET     /v1/jobs/{job}/report[.json|.html]   /v1/jobs/{job}/report/{gen}[.json|.html]
  login,           // GET, POST /login
  page_jobs,       // GET     /
  page_job,        // GET     /jobs/{job}
  metrics,
  healthy,
  ready,  // GET, on the admin listener alone
};

// The head as the parser gives it: names in any case, values without surrounding blanks.
struct RawHead {
  std::string_view method, target;
  int version = 11;  // 10, 11
  std::vector<std::pair<std::string_view, std::string_view>> fields;
};

struct Request {
  Method method = Method::get;
  Endpoint endpoint = Endpoint::page_jobs;
  std::string job, upload_id;  // is_name(); 32 lower-case hexadecimal digits
  int rank = 0, capture = 0;   // ?capture=
  int generation = 0;          // of a report; 0: the newest
  std::string suffix;          // of a report: "", ".json", ".html"
  std::vector<std::pair<std::string, std::string>> query;
  std::optional<uint64_t> content_length;
  bool expects_continue = false, keep_alive = true;
  // Fields that handlers read; empty when absent. Each stood at most once.
  std::string host, bearer, authorization_scheme, cookie, content_type, range;
  std::string upload_metadata, upload_length, upload_offset, upload_checksum, upload_defer_length, repr_digest,
      tus_resumable;
};

struct Refused {
  int status = 400;
  const char* reason = "";  // for the problem document and refused_total{reason}; never the client's own text
  std::vector<std::pair<const char*, std::string>> fields;  // Allow, Tus-Version, ...
};

enum class Listener { main, admin };

std::variant<Request, Refused> admit(const RawHead& head, Listener listener);

}  // namespace skewscope::gather
