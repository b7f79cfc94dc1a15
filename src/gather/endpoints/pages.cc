#include "pages.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "history_text.h"
#include "job_text.h"
#include "skewscope/protocol/sha256.h"
#include "src/gather/http/page_policy.h"

namespace skewscope::gather {
namespace {

constexpr size_t kMostShown = 200;  // missing ranks on a page

constexpr const char* kStyle =
    ":root{color-scheme:light dark}"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem}"
    ".wide{overflow-x:auto}table{border-collapse:collapse;width:100%}"
    "th,td{text-align:left;padding:.35rem .75rem .35rem 0;border-bottom:1px solid #8884;white-space:nowrap}"
    "td.name{white-space:normal;overflow-wrap:anywhere;min-width:9rem}td.verdict{white-space:normal;min-width:16rem}td."
    "n,th.n{text-align:right}"
    "progress{width:8rem;max-width:20vw}dt{font-weight:600}dd{margin:0 0 .6rem}h1,dd,code{overflow-wrap:anywhere}"
    "pre{margin:0;white-space:pre-wrap}input{font:inherit;width:100%;max-width:40rem;box-sizing:border-box}";

// No `sandbox`: there is no script to shut in, and a link out of a sandboxed page would go without the cookie.
std::string policy(const char* form_action) {
  static const Digest style = sha256(kStyle);
  return fmt::format(
      "default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action {}; frame-ancestors 'none'",
      base64({reinterpret_cast<const char*>(style.data()), style.size()}), form_action);
}

std::string html_of(const std::string& title, const std::string& body, bool refresh) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">{}"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>{}</title>"
      "<style>{}</style></head>\n<body>{}</body></html>\n",
      refresh ? "<meta http-equiv=\"refresh\" content=\"10\">" : "", escaped(title), kStyle, body);
}

std::string bytes_text(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double size = static_cast<double>(bytes);
  size_t unit = 0;
  for (; size >= 1024 && unit + 1 < std::size(kUnits); ++unit) size /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", size, kUnits[unit]);
}

std::string time_text(Time time) {
  if (time == Time{}) return "–";
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

std::string progress(const JobState& job) {
  const int64_t expected = files_expected(job);
  if (expected == 0) return fmt::format("{} arrived", job.arrived);
  return fmt::format("<progress max=\"{1}\" value=\"{0}\"></progress> {0} of {1}", job.arrived, expected);
}

// What a report's state links is the report of that state, by what it says first.
std::string report_link(const ShownJob& shown) {
  const JobState& job = shown.state;
  std::string state = name_of(job.report);
  if (job.report_generation == 0) return state;
  const bool is_its_own = job.report == ReportState::complete || job.report == ReportState::partial;
  std::string link = fmt::format("<a href=\"/v1/jobs/{}/report.html\">{}{}{}</a>", escaped(job.name),
                                 is_its_own ? "Open report" : "previous report", shown.verdict.empty() ? "" : ": ",
                                 escaped(shown.verdict));
  if (job.report == ReportState::complete) return link;
  return is_its_own ? fmt::format("{} ({})", link, state) : fmt::format("{} ({})", state, link);
}

// Of dumps: what the newest ones say.
std::string hang_link(const ShownJob& shown) {
  return fmt::format("<a href=\"/v1/jobs/{}/hang.html\">Hang: {}</a>", escaped(shown.state.name), escaped(shown.hang));
}

// Of dumps alone the report is what they say: once is enough.
std::string report_links(const ShownJob& shown) {
  if (shown.hang.empty()) return report_link(shown);
  return shown.hang == shown.verdict ? hang_link(shown) : hang_link(shown) + "<br>" + report_link(shown);
}

std::string why_failed(int exit_code) {
  if (exit_code == kReportTooLarge) return "The report was too large.";
  if (exit_code < 0) return "No process could be started for the report.";
  return fmt::format("skewscope report ended with code {}", exit_code);
}

// "0-3, 7"
std::string ranges(const std::vector<int>& ranks) {
  std::string text;
  size_t shown = 0;
  for (size_t i = 0; i < ranks.size() && shown < kMostShown; ++shown) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (!text.empty()) text += ", ";
    text += end - i > 1 ? fmt::format("{}-{}", ranks[i], ranks[end - 1]) : std::to_string(ranks[i]);
    i = end;
  }
  return shown == kMostShown ? text + ", …" : text;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

Response jobs_page(const std::vector<ShownJob>& jobs, const std::vector<NodeRecord>& nodes, bool more, bool signed_in) {
  std::string body;
  for (const NodeRecord& record : nodes) body += "<p>" + escaped(sentence_of(record)) + "</p>\n";
  if (!nodes.empty()) body += "<p><a href=\"/nodes\">All nodes that were the cause</a></p>\n";
  body += "<h1>Jobs</h1>\n";
  if (signed_in) body += "<form method=\"post\" action=\"/logout\"><button>Sign out</button></form>\n";
  if (jobs.empty()) body += "<p>No job has sent anything yet.</p>";
  if (!jobs.empty()) {
    body +=
        "<div class=\"wide\"><table><thead><tr><th>Job</th><th>State</th><th>Ranks</th><th class=\"n\">Size</th>"
        "<th>Last byte</th><th>Report</th></tr></thead><tbody>\n";
    for (const ShownJob& shown : jobs) {
      const JobState& job = shown.state;
      body += fmt::format(
          "<tr><td class=\"name\"><a href=\"/jobs/{0}\">{0}</a></td><td>{1}</td><td>{2}</td>"
          "<td class=\"n\">{3}</td><td>{4}</td><td class=\"verdict\">{5}</td></tr>\n",
          escaped(job.name), state_of(job), progress(job), bytes_text(job.bytes), time_text(job.last_byte),
          report_links(shown));
    }
    body += "</tbody></table></div>";
  }
  if (more) body += "<p>This page shows only some of the jobs; <code>GET /v1/jobs</code> lists all.</p>";
  const std::string title = "skewscope: jobs";
  if (signed_in) return page(200, html_of(title, body, true), policy("'self'"), "same-origin");
  return page(200, html_of(title, body, true), policy("'none'"));
}

Response job_page(const ShownJob& shown, const Straggler& straggler, const std::string& report_log) {
  const JobState& job = shown.state;
  std::string body = fmt::format("<p><a href=\"/\">All jobs</a></p><h1>{}</h1>\n<dl>", escaped(job.name));
  const auto row = [&](const char* term, const std::string& markup) {
    body += fmt::format("<dt>{}</dt><dd>{}</dd>\n", term, markup);
  };
  row("State", state_of(job));
  row("Ranks", progress(job));
  if (job.expected == 0 && (job.arrived > 0 || job.dumps == 0))
    row("Missing ranks", "The number of ranks is not known yet; until then a report is partial.");
  if (job.conflict) row("Doubt", "The senders disagree about the number of ranks; the largest number counts.");
  for (const MissingRanks& missing : job.missing) {
    const std::string where = job.captures > 1 ? fmt::format("Missing ranks of capture {}", missing.capture) : "";
    row(where.empty() ? "Missing ranks" : where.c_str(), ranges(missing.ranks));
  }
  row("Received", bytes_text(job.bytes));
  row("Open uploads", std::to_string(job.open_uploads));
  row("Last byte", time_text(job.last_byte));
  if (job.dumps > 0) {
    row("Flight recorders",
        fmt::format("{} dump{}, the last {}", job.dumps, job.dumps == 1 ? "" : "s", time_text(job.last_dump)));
  }
  row("Report", report_links(shown));
  if (!straggler.rank.empty()) {
    row("In the last windows",
        fmt::format("The others waited {:.1f} % of their time for rank {}{}, the worst in {:.0f} % of these windows.",
                    100 * straggler.waiting, escaped(straggler.rank),
                    straggler.host.empty() ? "" : " on " + escaped(straggler.host), 100 * straggler.worst));
  }
  for (const std::string& note : report_notes(job)) row("Note", escaped(note));
  if (job.report == ReportState::failed) {
    row("Why it failed", why_failed(job.report_exit_code));
  }
  if (!report_log.empty()) {
    row("Last lines of its log", fmt::format("<pre>{}</pre><a href=\"/v1/jobs/{}/report.log\">Whole log</a>",
                                             escaped(report_log), escaped(job.name)));
  }
  body += "</dl>";
  return page(200, html_of("skewscope: " + job.name, body, true), policy("'none'"));
}

Response nodes_page(const std::vector<NodeRecord>& nodes) {
  std::string body = "<p><a href=\"/\">All jobs</a></p><h1>Nodes that were the cause</h1>\n";
  body += fmt::format("<p>Nodes for which others waited in two or more of their last {} jobs.</p>", kRecentJobs);
  if (nodes.empty()) body += "<p>There are none.</p>";
  if (!nodes.empty()) {
    body +=
        "<div class=\"wide\"><table><thead><tr><th>Node</th><th>Part</th><th class=\"n\">Jobs of late</th>"
        "<th class=\"n\">It was the cause in</th><th class=\"n\">In all</th><th>Since</th><th>GPUs</th>"
        "<th class=\"n\">Could be gained</th><th>Jobs</th></tr></thead><tbody>\n";
  }
  for (const NodeRecord& record : nodes) {
    std::string jobs;
    for (const std::string& job : record.jobs)
      jobs += fmt::format("{0}<a href=\"/jobs/{1}\">{1}</a>", jobs.empty() ? "" : ", ", escaped(job));
    body += fmt::format(
        "<tr><td class=\"name\">{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>"
        "<td>{}</td><td>{}</td><td class=\"n\">{:.0f} %</td><td class=\"verdict\">{}</td></tr>\n",
        escaped(record.node), record.part == ReportOutcome::Part::link ? "link" : "GPU", record.recent, record.caused,
        record.caused_ever, time_text(record.since), fmt::join(record.devices, ", "), 100 * record.worst, jobs);
  }
  if (!nodes.empty()) body += "</tbody></table></div>";
  return page(200, html_of("skewscope: nodes", body, true), policy("'none'"));
}

Response login_page(bool refused) {
  std::string body = "<h1>Sign in</h1>\n";
  if (refused) body += "<p>This token is not valid here.</p>\n";
  body +=
      "<form method=\"post\" action=\"/login\"><p><label>Token with the scope <code>read</code><br>"
      "<input type=\"password\" name=\"token\" autocomplete=\"off\" required></label></p>"
      "<p><button>Sign in</button></p></form>";
  return page(refused ? 401 : 200, html_of("skewscope: sign in", body, false), policy("'self'"), "same-origin");
}

Response page_not_found() {
  return page(404, html_of("skewscope: no such job", "<p><a href=\"/\">All jobs</a></p><h1>No such job</h1>", false),
              policy("'none'"));
}

}  // namespace skewscope::gather
