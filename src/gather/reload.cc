#include "reload.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "webhook/target.h"

namespace skewscope::gather {
namespace {

enum class When { now, at_start, never };

constexpr const char* kWordsOfAlignedTrace[] = {"off", "excerpt", "whole"};  // by AlignedTrace
constexpr size_t kLargestNamed = 1 << 20;  // of keys and certificates: what is behind it is not looked at

Digest digest_of_file(const std::string& path) {
  std::string text(kLargestNamed, '\0');
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  const ssize_t size = file < 0 ? -1 : read(file, text.data(), text.size());
  if (file >= 0) close(file);
  return sha256(std::string_view(text).substr(0, static_cast<size_t>(std::max<ssize_t>(size, 0))));
}

// Each option under the name of its flag.
template <class Visit>
void for_each_option(const GatherOptions& o, const Visit& visit) {
  visit("spool", o.spool, When::never);
  visit("listen", o.listen, When::never);
  visit("admin", o.admin, When::never);
  visit("public-url", o.public_url, When::now);
  visit("insecure-local", o.insecure_local, When::never);
  visit("registry-socket", o.registry_socket, When::never);
  visit("registry-user", o.registry_user, When::never);
  visit("proxy-socket", o.proxy_socket, When::never);
  visit("proxy-user", o.proxy_user, When::never);
  visit("user-header", o.user_header, When::now);
  visit("user-domain", o.user_domain, When::now);
  visit("operators", fmt::format("{}", fmt::join(o.operators, ",")), When::now);
  visit("server-name", o.server_name, When::now);
  visit("certificate", o.certificate, When::now);
  visit("private-key", o.private_key, When::now);
  visit("tls-min", o.tls_min, When::now);
  visit("hsts", o.hsts.count(), When::now);
  visit("client-ca", o.client_ca, When::now);
  visit("token-key-file", o.token_key_file, When::now);
  visit("munge", o.munge, When::now);
  visit("report-processes", o.report_processes, When::now);
  visit("report-memory", o.report_memory, When::now);
  visit("aligned-trace", kWordsOfAlignedTrace[static_cast<size_t>(o.aligned_trace)], When::now);
  visit("report-time", o.report_time.count(), When::at_start);
  const GatherDeadlines& deadlines = o.deadlines;
  visit("deadline", deadlines.after_last_byte.count(), When::now);
  visit("deadline-after-end", deadlines.after_end.count(), When::now);
  visit("debounce", deadlines.debounce.count(), When::now);
  visit("log-period", deadlines.logs.count(), When::now);
  const GatherWebhook& webhook = o.webhook;
  visit("webhook", without_path(webhook.url), When::now);
  visit("webhook-secret-file", webhook.secret_file, When::now);
  visit("webhook-ca", webhook.ca_file, When::now);
  visit("webhook-on", fmt::format("{}", fmt::join(webhook.on, "+")), When::now);
  visit("webhook-least-gain", webhook.least_gain, When::now);
  visit("webhook-give-up", webhook.give_up.count(), When::now);
  const GatherRetention& retention = o.retention;
  visit("retention", retention.age.count(), When::now);
  visit("retention-size", retention.total_bytes, When::now);
  visit("quarantine-age", retention.quarantine_age.count(), When::now);
  visit("quarantine-size", retention.quarantine_bytes, When::now);
  visit("trash-retention", retention.trash_age.count(), When::now);
  visit("history-retention", retention.history.count(), When::now);
  const GatherLimits& limits = o.limits;
  visit("largest-file", limits.largest_file, When::now);
  visit("largest-job", limits.largest_job, When::now);
  visit("largest-user", limits.largest_user, When::now);
  visit("largest-report", limits.largest_report, When::now);
  visit("files-per-job", limits.files_per_job, When::now);
  visit("reserved-disk", limits.reserved_disk, When::now);
  visit("soft-disk", limits.soft_disk, When::now);
  visit("hard-disk", limits.hard_disk, When::now);
  visit("soft-memory", limits.soft_memory, When::now);
  visit("connections", limits.connections, When::now);
  visit("connections-per-address", limits.connections_per_address, When::now);
  visit("unauthenticated-connections", limits.unauthenticated_connections, When::now);
  visit("bodies", limits.bodies, When::now);
  visit("bodies-per-job", limits.bodies_per_job, When::now);
  visit("downloads", limits.downloads, When::now);
  visit("downloads-per-job", limits.downloads_per_job, When::now);
  visit("open-uploads", limits.open_uploads, When::now);
  visit("handshake-time", limits.handshake.count(), When::now);
  visit("head-time", limits.before_authentication.count(), When::now);
  visit("idle-time", limits.idle.count(), When::now);
  visit("silence-time", limits.silence.count(), When::now);
  visit("least-rate", limits.least_rate, When::now);
  visit("longest-body", limits.longest_body.count(), When::now);
  visit("upload-life", limits.upload_life.count(), When::now);
  visit("upload-progress", limits.upload_progress.count(), When::now);
}

}  // namespace

Reload reload_of(const GatherOptions& before, const GatherOptions& after) {
  std::vector<std::string> old;
  for_each_option(before, [&](const char*, const auto& value, When) { old.push_back(fmt::format("{}", value)); });
  Reload out;
  auto was = old.begin();
  for_each_option(after, [&](const char* flag, const auto& value, When when) {
    const std::string from = *was++, to = fmt::format("{}", value);
    if (from == to) return;
    // Whether TLS is spoken at all belongs to the addresses.
    const bool certificate = std::string_view(flag) == "certificate" && from.empty() != to.empty();
    if (certificate) when = When::never;
    std::string& list = when == When::now ? out.taken : when == When::at_start ? out.at_start : out.refused;
    list += fmt::format("{}{} {} -> {}", list.empty() ? "" : ", ", flag, from, to);
  });
  return out;
}

NamedFiles secrets_of(const GatherOptions& options) {
  NamedFiles out;
  const std::pair<const char*, const std::string&> named[] = {{"certificate", options.certificate},
                                                              {"private-key", options.private_key},
                                                              {"client-ca", options.client_ca},
                                                              {"token-key-file", options.token_key_file},
                                                              {"webhook-secret-file", options.webhook.secret_file}};
  for (const auto& [flag, path] : named) {
    if (path.empty()) continue;
    out[flag] = {path, digest_of_file(path)};
  }
  return out;
}

std::string exchanged(const NamedFiles& before, const NamedFiles& after) {
  std::string out;
  for (const auto& [flag, file] : after) {
    const auto old = before.find(flag);
    if (old == before.end() || old->second.path != file.path || old->second.content == file.content) continue;
    out += fmt::format("{}{} {}: other content", out.empty() ? "" : ", ", flag, file.path);
  }
  return out;
}

}  // namespace skewscope::gather
