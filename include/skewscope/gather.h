// The daemon of `skewscope gather`: receives traces and digests of jobs over HTTP, keeps them so that nothing that was
// acknowledged is lost, and has each job's report made as soon as its ranks are there. It never reads a trace.
// Promises and storage order: src/gather/README.md; endpoints: src/gather/http/route.cc; limits: below.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "skewscope/base/result.h"

namespace skewscope {

struct GatherLimits {
  uint64_t largest_file = 16ull << 30;
  uint64_t largest_job = 4ull << 40;
  uint64_t largest_user = 8ull << 40;
  uint64_t largest_report = 4ull << 30;  // of one; what is there counts as bytes of its job and of the job's owner
  int files_per_job = 1 << 20;           // complete ones and open uploads: each has a row and some memory
  uint64_t reserved_disk = 10ull << 30;  // kept free; never more than 5 % of the file system
  uint64_t soft_memory = 3ull << 30;     // of the daemon, in use; from there on no new body is taken
  double soft_disk = 0.85;               // share in use from which no new job is taken
  double hard_disk = 0.95;               // and from which no new upload is
  int connections = 4096;
  int connections_per_address = 64;
  int unauthenticated_connections = 256;
  int bodies = 256;         // requests whose body is being read
  int bodies_per_job = 64;  // of an owner's jobs together, where their tokens name him
  int downloads = 128;      // answers that are a file
  int downloads_per_job = 32;
  std::chrono::seconds handshake{10}, before_authentication{15}, idle{30}, silence{30};
  uint64_t least_rate = 64 << 10;  // bytes per second of a body, over 30 s, after 10 s of grace
  std::chrono::seconds longest_body{6 * 3600};
  // For all jobs. One has at most half of them, and twice its ranks (16 at least) where their number is known.
  int open_uploads = 1 << 16;
  std::chrono::seconds upload_life{24 * 3600}, upload_progress{3600};
};

struct GatherRetention {
  std::chrono::seconds age{30 * 24 * 3600};             // of finished jobs
  uint64_t total_bytes = 0;                             // 0: no bound; else the oldest finished ones of who has most
  std::chrono::seconds quarantine_age{30 * 24 * 3600};  // of what was set aside
  uint64_t quarantine_bytes = 100ull << 30;             // of all of it; 0: no bound; else the oldest of who has most
  std::chrono::seconds trash_age{24 * 3600};            // deleted jobs can be restored for so long
  std::chrono::seconds history{366 * 24 * 3600};        // of what the reports of jobs said, deleted ones included
};

struct GatherDeadlines {
  std::chrono::seconds after_last_byte{15 * 60}, after_end{2 * 60}, debounce{30};
  std::chrono::seconds logs{60};  // between reports of logs that grow
};

// AlignedTrace says what of a job is in the trace for the Perfetto UI next to its report
// (src/cli/gathering/aligned_trace.h).
enum class AlignedTrace : uint8_t { off, excerpt, whole };

// Tells a receiver elsewhere of each report that has ended, with a signed POST: src/gather/webhook.
struct GatherWebhook {
  std::string url;          // "": nobody is told
  std::string secret_file;  // 0600; a line "whsec_BASE64", or two while a secret is replaced: both sign
  std::string ca_file;      // PEM; "": what the system trusts
  std::vector<std::string> on{"report", "hang", "failed"};
  double least_gain = 0;                    // of reports: what a fix would save, a share of the job's length
  std::chrono::seconds give_up{24 * 3600};  // a message that was not delivered for so long is dropped
};

struct GatherOptions {
  std::string spool;
  std::string listen = "127.0.0.1:7475";
  std::string admin = "127.0.0.1:7476";
  std::string server_name;  // what Host must say besides the listening address; "": src/gather/http/host.h
  std::string public_url;   // of links that are sent to others; "": by server_name and listen
  bool insecure_local = false;
  std::string certificate, private_key;  // PEM files: TLS when given
  std::string tls_min = "1.3";           // or 1.2
  std::chrono::seconds hsts{0};          // what browsers hear of this host, with TLS; 0: nothing
  std::string client_ca;                 // PEM file: client certificates are asked for and must be signed by it
  std::string token_key_file;            // 0600; current key in the first line, the one before it in the second
  bool munge = false;                    // POST /v1/tokens takes MUNGE credentials
  std::string registry_socket;           // Unix socket on which the head node's prolog registers jobs; "": none
  std::string registry_user;  // who, by name, is let in there besides root and the daemon's own user; "": nobody
  std::string proxy_socket;   // Unix socket of a reverse proxy that signs users on; "": none
  std::string proxy_user;     // who, by name, is let in there besides root and the daemon's own user; "": nobody
  std::string user_header = "X-Forwarded-User";  // the field of its requests that names the user
  std::string user_domain;                       // of addresses that name a user of this cluster; "": no address does
  std::vector<std::string> operators;            // users whom it signs on and who see all jobs
  int report_processes = 2;                      // one owner has all but one of them
  std::chrono::seconds report_time{30 * 60};
  uint64_t report_memory = 8ull << 30;
  AlignedTrace aligned_trace = AlignedTrace::excerpt;
  GatherLimits limits;
  GatherRetention retention;
  GatherDeadlines deadlines;
  GatherWebhook webhook;
};

// Makes a report directory of the traces in a folder; runs in a process of its own. Returns the exit code.
struct ReportTask {
  std::string traces;  // folder with one file per rank
  std::string output;  // report directory to make; does not exist
  std::string job;
  int threads = 0;
  uint64_t memory = 0;  // bytes it may use; more ends it
  int world_size = 0;   // ranks that the job has at least; 0: not known
  uint64_t room = 0;    // bytes that its output may have; more ends it
  // Hosts of ranks, as the names tell that files came with: lines "CAPTURE FIRST LAST HOST", of ranks in a row; "": not
  // known, or too many to tell.
  std::string hosts = "";
  AlignedTrace aligned_trace = AlignedTrace::off;
  bool with_more = true;  // what comes with the job's report, too: a second try does without
};

// A dump of a flight recorder in that folder: it lies there as the file of a rank in a capture whose number is the
// minute in which it was written (is_dump() of names.h).
struct KeptDump {
  int minute = 0, rank = 0;
  std::string path;
};
// Those of the last incident, by rank, the newest of each. Dumps of one incident follow one another within minutes.
std::vector<KeptDump> last_incident(std::vector<KeptDump> dumps);
using MakeReport = std::function<int(const ReportTask&)>;

// Serves until SIGTERM or SIGINT. Prints one line on standard output when it is ready. Call before any thread is
// started (it forks the process that makes reports) and with SIGTERM, SIGINT and SIGHUP blocked.
// `reload`: gives the options again on SIGHUP; an error keeps the old ones.
Result<Done> gather_traces(const GatherOptions& options, const MakeReport& make_report,
                           const std::function<Result<GatherOptions>()>& reload);

// What --check says of a spool that no daemon uses.
struct SpoolCheck {
  uint64_t jobs = 0, files = 0, uploads = 0;
  std::vector<std::string> problems;  // one sentence each: what is damaged or lost
  std::vector<std::string> to_do;     // one sentence each: what the next start does, after an end at any moment
};
// `repair`: does what the daemon's start does (truncates parts, rolls forward, quarantines); else only looks.
Result<SpoolCheck> check_spool(const std::string& spool, bool repair);

// Puts a deleted job that is still in the trash back, of several the newest; no daemon may have the spool. Its next
// start takes the files up, and makes their report again.
Result<Done> restore_job(const std::string& spool, const std::string& job);

struct TokenRequest {
  std::string job;  // or "*", every job, with the scope admin or read; or "@UID", each job of that user, who is `uid`
  std::vector<std::string> scopes = {"upload", "read"};  // upload, read, admin
  std::chrono::seconds life{24 * 3600};
  uint32_t epoch = 0;             // of the job, as GET /v1/jobs/{job} says: raised when its tokens were revoked
  std::optional<uint32_t> uid{};  // whose files these are: quotas and turns are by owner; none: who mints
};
// A job token, signed with the first key of `token_key_file`.
Result<std::string> mint_token(const GatherOptions& options, const TokenRequest& request);

}  // namespace skewscope
