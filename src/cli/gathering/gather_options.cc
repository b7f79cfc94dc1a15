#include "gather_options.h"

#include "src/cli/options/choice.h"
#include "src/cli/options/option_values.h"

namespace skewscope::cli {
namespace {

constexpr int64_t kLongestSetting_s = int64_t{10} * 365 * 24 * 3600;

std::string with_default(const std::string& help, const std::string& value) { return help + " [" + value + "]"; }

void add_seconds(CLI::App& command, const std::string& flag, std::chrono::seconds& value, const std::string& help) {
  command
      .add_option_function<int64_t>(
          flag, [&value](const int64_t& seconds) { value = std::chrono::seconds(seconds); },
          with_default(help, std::to_string(value.count())))
      ->check(CLI::Range(int64_t{1}, kLongestSetting_s).description(""))
      ->type_name("SECONDS");
}

void add_bytes(CLI::App& command, const std::string& flag, uint64_t& value, const std::string& help,
               const std::string& shown) {
  command
      .add_option_function<std::string>(
          flag,
          [&value, flag](const std::string& text) {
            const auto bytes = parse_size(text);
            if (!bytes) throw CLI::ValidationError(flag, "'" + text + "' is no SIZE, such as 16G");
            value = static_cast<uint64_t>(*bytes);
          },
          with_default(help, shown))
      ->type_name("SIZE");
}

void add_count(CLI::App& command, const std::string& flag, int& value, const std::string& help) {
  command.add_option(flag, value, with_default(help, std::to_string(value)))
      ->check(CLI::Range(1, 1 << 20).description(""))
      ->type_name("N");
}

void add_share(CLI::App& command, const std::string& flag, double& value, const std::string& help,
               const std::string& shown) {
  command.add_option(flag, value, with_default(help, shown))
      ->check(CLI::Range(0.01, 1.0).description(""))
      ->type_name("SHARE");
}

void add_access(CLI::App& command, GatherOptions& options) {
  command.add_flag("--insecure-local", options.insecure_local, "Ask nobody for a credential; on loopback alone")
      ->group("Access");
  const auto file = [&](const std::string& flag, std::string& value, const std::string& help) {
    command.add_option(flag, value, help)->type_name("FILE")->group("Access");
  };
  file("--token-key-file", options.token_key_file,
       "Keys that sign job tokens: 64 hexadecimal digits a line, the first signs, two count; mode 0600");
  file("--certificate", options.certificate,
       "Certificate chain, PEM: HTTPS instead of HTTP, with TLS 1.3 alone unless --tls-min");
  file("--private-key", options.private_key, "Its private key, PEM");
  command.add_option("--tls-min", options.tls_min, with_default("Oldest TLS that is spoken", options.tls_min))
      ->check(CLI::IsMember({"1.2", "1.3"}).description(""))
      ->type_name("1.2|1.3")
      ->group("Access");
  command
      .add_option_function<int64_t>(
          "--hsts", [&options](const int64_t& seconds) { options.hsts = std::chrono::seconds(seconds); },
          "Tell browsers to use HTTPS alone with this host, on all its ports, for so long; 0: do not [0]")
      ->check(CLI::Range(int64_t{0}, kLongestSetting_s).description(""))
      ->type_name("SECONDS")
      ->group("Access");
  file("--client-ca", options.client_ca,
       "Nodes may show a certificate signed by this one, PEM; none of another counts");
  command
      .add_option("--server-name", options.server_name,
                  "Name that requests must give as Host; default: any, with --insecure-local this machine's alone")
      ->type_name("NAME")
      ->group("Access");
  command
      .add_flag("--munge", options.munge,
                "Owners of jobs get tokens for MUNGE credentials, and users one for all their jobs")
      ->group("Access");
  command
      .add_option("--registry-socket", options.registry_socket,
                  "Unix socket on which root, as the prolog of a job, says whose job it is")
      ->type_name("PATH")
      ->group("Access");
  command
      .add_option("--registry-user", options.registry_user,
                  "Who else than root may say so: the user that PrologSlurmctld runs as, usually slurm")
      ->type_name("NAME")
      ->group("Access");
}

void add_sign_on(CLI::App& command, GatherOptions& options) {
  const auto text = [&](const char* flag, std::string& value, const char* type, const std::string& help) {
    command.add_option(flag, value, help)->type_name(type)->group("Access");
  };
  text("--proxy-socket", options.proxy_socket, "PATH",
       "Unix socket on which a reverse proxy, as root, asks for users that it has signed on: what they may read");
  text("--proxy-user", options.proxy_user, "NAME", "Who else than root may ask there: the user that the proxy runs as");
  text("--user-header", options.user_header, "FIELD",
       with_default("Field of its requests that names the user, as NSS knows him", options.user_header));
  text("--user-domain", options.user_domain, "DOMAIN",
       "NAME@DOMAIN in that field is the user NAME, and any other domain nobody; default: names stay whole");
  command
      .add_option("--operators", options.operators, "Users, by name, who see all jobs when that proxy signs them on")
      ->delimiter(',')
      ->type_name("LIST")
      ->group("Access");
}

void add_reports(CLI::App& command, GatherOptions& options) {
  add_count(command, "--report-processes", options.report_processes,
            "Reports made at a time; of several, one is kept for other owners");
  add_seconds(command, "--report-time", options.report_time, "Longest time a report may take");
  add_bytes(command, "--report-memory", options.report_memory, "Memory a report may take", "8G");
  add_choice<AlignedTrace>(
      command, "--aligned-trace", options.aligned_trace,
      {{"off", AlignedTrace::off}, {"excerpt", AlignedTrace::excerpt}, {"whole", AlignedTrace::whole}},
      "A trace of all ranks for the Perfetto UI with each report: none; of small jobs whole, else around findings; "
      "whole of all but very large ones [excerpt]");
  GatherDeadlines& deadlines = options.deadlines;
  add_seconds(command, "--deadline", deadlines.after_last_byte,
              "A job's report is made without its missing ranks after so long without a byte");
  add_seconds(command, "--deadline-after-end", deadlines.after_end, "The same, once the job has ended");
  add_seconds(command, "--debounce", deadlines.debounce, "A report is made again when arrivals pause for so long");
  add_seconds(command, "--log-period", deadlines.logs,
              "The report of logs that grow is made again so long after the last, and at most a tenth of the time");
  add_seconds(command, "--retention", options.retention.age,
              "A job whose every file was reported on, or that has none, is deleted so long after its last change");
  add_bytes(command, "--retention-size", options.retention.total_bytes,
            "While all jobs are larger, the owner with most of them loses his oldest of these sooner; 0: never", "0");
  add_seconds(command, "--quarantine-age", options.retention.quarantine_age,
              "Damaged, replaced and stray files, which are set aside, are deleted after so long");
  add_bytes(command, "--quarantine-size", options.retention.quarantine_bytes,
            "While all are larger, the owner with most of them loses his oldest; 0: never", "100G");
  add_seconds(command, "--trash-retention", options.retention.trash_age,
              "A deleted job can be put back by --restore for so long, while the disk has room");
  add_seconds(command, "--history-retention", options.retention.history,
              "What reports said of jobs and nodes is kept for so long, also when the jobs are deleted");
}

void add_webhook(CLI::App& command, GatherOptions& options) {
  GatherWebhook& webhook = options.webhook;
  command
      .add_option("--webhook", webhook.url,
                  "Receiver that is sent a signed message when a report has ended; https, or http on loopback")
      ->type_name("URL");
  command
      .add_option(
          "--webhook-secret-file", webhook.secret_file,
          "What signs these, as Standard Webhooks has it: a line whsec_BASE64, or two that both sign; mode 0600")
      ->type_name("FILE");
  command.add_option("--webhook-ca", webhook.ca_file, "Certificates to trust there, PEM; default: the system's")
      ->type_name("FILE");
  command
      .add_option("--webhook-on", webhook.on,
                  "What causes a message: report (one was made), hang (of the dumps of a job that hangs), failed [all]")
      ->delimiter(',')
      ->check(CLI::IsMember({"report", "hang", "failed"}).description(""))
      ->type_name("LIST");
  command
      .add_option("--webhook-least-gain", webhook.least_gain,
                  "Only reports that find so large a share of the job's length to gain, or more [0]")
      ->check(CLI::Range(0.0, 1.0).description(""))
      ->type_name("SHARE");
  add_seconds(command, "--webhook-give-up", webhook.give_up, "A message that nobody took for so long is dropped");
  command
      .add_option("--public-url", options.public_url,
                  "Where people find this server, for links in messages; default: by --server-name and --listen")
      ->type_name("URL");
}

void add_limits(CLI::App& command, GatherLimits& limits) {
  add_bytes(command, "--largest-file", limits.largest_file, "Largest file", "16G");
  add_bytes(command, "--largest-job", limits.largest_job, "Most bytes of a job", "4T");
  add_bytes(command, "--largest-user", limits.largest_user, "Most bytes of one user's jobs", "8T");
  add_bytes(command, "--largest-report", limits.largest_report,
            "Largest report; what is there counts as bytes of its job and user", "4G");
  add_count(command, "--files-per-job", limits.files_per_job, "Most files of a job, of all captures and runs");
  add_bytes(command, "--reserved-disk", limits.reserved_disk, "Kept free, at most 5 % of the file system", "10G");
  add_share(command, "--soft-disk", limits.soft_disk, "Share in use from which no new job is taken", "0.85");
  add_share(command, "--hard-disk", limits.hard_disk, "Share in use from which no new upload is taken", "0.95");
  add_bytes(command, "--soft-memory", limits.soft_memory,
            "Memory of the daemon in use from which no new file or piece of one is taken", "3G");
  add_count(command, "--connections", limits.connections, "Connections");
  add_count(command, "--connections-per-address", limits.connections_per_address, "Most of these from one address");
  add_count(command, "--unauthenticated-connections", limits.unauthenticated_connections,
            "Most of these without a credential yet");
  add_count(command, "--bodies", limits.bodies, "Bodies received at a time");
  add_count(command, "--bodies-per-job", limits.bodies_per_job, "Most of these for one job");
  add_count(command, "--downloads", limits.downloads, "Files sent at a time");
  add_count(command, "--downloads-per-job", limits.downloads_per_job, "Most of these of one job");
  add_count(command, "--open-uploads", limits.open_uploads,
            "Uploads that are not complete; of one job half of them, and twice its ranks where it named their number");
  add_seconds(command, "--handshake-time", limits.handshake, "Longest TLS handshake");
  add_seconds(command, "--head-time", limits.before_authentication,
              "From connecting to a whole request with a credential");
  add_seconds(command, "--idle-time", limits.idle, "A connection without a request is closed after so long");
  add_seconds(command, "--silence-time", limits.silence, "Longest pause within a body or an answer");
  add_bytes(command, "--least-rate", limits.least_rate, "Least bytes a second of a body, over 30 s", "64K");
  add_seconds(command, "--longest-body", limits.longest_body, "A body or download that takes longer is ended");
  add_seconds(command, "--upload-life", limits.upload_life, "An upload is forgotten so long after its creation");
  add_seconds(command, "--upload-progress", limits.upload_progress, "Or so long after its last byte");
}

}  // namespace

void add_gather_options(CLI::App& command, GatherOptions& options) {
  command.add_option("--spool", options.spool, "Directory for all that is kept; made where it is missing")
      ->type_name("DIR");
  command.add_option("--listen", options.listen, with_default("Address of the server", options.listen))
      ->type_name("ADDR:PORT");
  command
      .add_option("--admin", options.admin,
                  with_default("Address of metrics and health; not on loopback only with TLS, and metrics for tokens",
                               options.admin))
      ->type_name("ADDR:PORT");
  add_access(command, options);
  add_sign_on(command, options);
  add_reports(command, options);
  add_webhook(command, options);
  add_limits(command, options.limits);
}

}  // namespace skewscope::cli
