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
  report_again,    // POST    /v1/jobs/{job}/report
  job_revoke,      // POST    /v1/jobs/{job}/revoke
  upload_create,   // POST    /v1/uploads
  upload_head,     // HEAD    /v1/uploads/{id}
  upload_patch,    // PATCH   /v1/uploads/{id}
  upload_delete,   // DELETE  /v1/uploads/{id}
  rank_put,        // PUT     /v1/jobs/{job}/ranks/{rank}
  rank_get,        // GET     /v1/jobs/{job}/ranks/{rank}
  report,          // GET     /v1/jobs/{job}/report[.json|.html]   /v1/jobs/{job}/report/{gen}[.json|.html]
                   //         /v1/jobs/{job}/captures/{capture}/report[.json|.html]
  report_file,     // GET     /v1/jobs/{job}/report/files/{file}   /v1/jobs/{job}/captures/{capture}/report/files/{file}
  nodes,           // GET     /v1/nodes
  history,         // GET     /v1/history?job=&limit=
  login,           // GET, POST /login
  logout,          // POST    /logout
  page_jobs,       // GET     /?q=&state=&owner=&node=&loss=&since=&until=&page=
  page_job,        // GET     /jobs/{job}
  page_nodes,      // GET     /nodes
  metrics,
  healthy,
  ready,  // GET, on the admin listener alone
};
// Is it one of the admin listener?
inline bool is_admin(Endpoint endpoint) {
  return endpoint == Endpoint::metrics || endpoint == Endpoint::healthy || endpoint == Endpoint::ready;
}

// The head as the parser gives it: names in any case, values without surrounding blanks, fields in order, repeated ones
// as often as they stood.
struct RawHead {
  std::string_view method, target;
  int version = 11;  // 10, 11
  std::vector<std::pair<std::string_view, std::string_view>> fields;
};

struct Request {
  Method method = Method::get;
  Endpoint endpoint = Endpoint::page_jobs;
  std::string job, upload_id;  // is_job(), of rank_put is_name(); 32 lower-case hexadecimal digits
  int rank = 0, capture = 0;   // ?capture=, or of the path
  int generation = 0;          // of a report; 0: the newest
  std::string suffix;          // of a report: "", ".json", ".html"
  std::string file;            // of a report, as is_report_file()
  std::string within;          // of a report: a capture's own in it, "captures/c0001/"
  bool hang = false;           // of it, what dumps say
  // Decoded; only keys that the endpoint knows, each at most once: job_list state, after, limit (1..1000); rank_put
  // capture, ranks, world_size, filename, replace, age; rank_get capture; page_jobs as above, less empty ones. Numbers
  // are in range, names are names.
  std::vector<std::pair<std::string, std::string>> query;
  std::optional<uint64_t> content_length;  // absent: no body follows
  bool expects_continue = false, keep_alive = true;
  // Fields that handlers read; empty when absent. Each stood at most once.
  std::string host;                  // name or address, with or without port
  std::string origin;                // as sent: whose page asks; "": no page, or one that only reads
  std::string authorization_scheme;  // lower case: "bearer", "munge", ...
  std::string bearer;                // what follows the scheme: the job token, or the MUNGE credential
  std::string cookie, content_type, range;
  std::string user, forwarded_for;  // on the proxy's socket alone: whom it has signed on; for whom it asks, for the log
  // upload_create has exactly one of upload_length and upload_defer_length ("1"), upload_patch has upload_offset.
  // Both numbers are decimal and below 2^63.
  std::string upload_metadata, upload_length, upload_offset, upload_checksum, upload_defer_length, repr_digest,
      tus_resumable;
};

// The answer to a request that is not let through. The connection is closed after it: where the next request begins is
// not known.
struct Refused {
  int status = 400;
  const char* reason = "";  // for the problem document and refused_total{reason}; never the client's own text
  std::vector<std::pair<const char*, std::string>> fields;  // Allow, Tus-Version, ...
};

enum class Listener { main, admin };

// Bounds of a head; longer ones are refused with 414 or 431.
inline constexpr size_t kLongestHead = 8 << 10, kLongestTarget = 2 << 10, kMostFields = 64;
// The longest body of a request that carries none of a file: JSON, a form.
inline constexpr uint64_t kLongestDocument = 64 << 10;

// What the parsed head no longer shows. `bytes`: the head as it came, up to and with its empty line. Refuses lines that
// do not end in CR LF, folded fields (Beast would join them), control characters.
std::optional<Refused> refuse_bytes(std::string_view bytes);

// `user_header`: which field names the user, where a proxy asks that has signed him on; "": elsewhere, where such a
// field means nothing. Authorization, Cookie and TE are then between browser and proxy, and are passed over.
std::variant<Request, Refused> admit(const RawHead& head, Listener listener, std::string_view user_header = "");

// Decimal digits alone, without leading zeros, at most `most`.
std::optional<uint64_t> whole_number(std::string_view text, uint64_t most);
// ASCII letters alike in either case.
bool same_ignoring_case(std::string_view a, std::string_view b);

}  // namespace skewscope::gather
