#include "pages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "history_text.h"
#include "job_text.h"
#include "live_update.h"
#include "page_parts.h"
#include "runs_section.h"
#include "skewscope/gather/report_folder.h"
#include "src/gather/http/page_policy.h"

namespace skewscope::gather {
namespace {

constexpr size_t kMostShown = 200;  // missing ranks on a page

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

// The newest first, the one that is shown without a link.
std::string links_of(const std::vector<std::string>& runs, const std::string& shown) {
  std::string links;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    const std::string name = escaped(*run);
    links += links.empty() ? "" : ", ";
    links += *run == shown ? name : fmt::format("<a href=\"/jobs/{0}\">{0}</a>", name);
  }
  return links;
}

std::string files_section(const std::string& job, const std::vector<Store::ReportFile>& files) {
  std::string list;
  for (const Store::ReportFile& file : files) {
    list += fmt::format("<li><a href=\"/v1/jobs/{}/report/files/{}\">{}</a> <span class=\"soft\">{}</span></li>\n",
                        escaped(job), escaped(file.name), escaped(file.name), bytes_text(file.size));
  }
  return list.empty() ? "" : "<h2 id=\"files\">Files of the report</h2>\n<ul class=\"files\">" + list + "</ul>";
}

}  // namespace

Response job_page(const JobPage& shown) {
  const JobState& job = shown.job.state;
  const Straggler& straggler = shown.straggler;
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
  if (shown.runs_of_name.size() > 1) row("Runs of this name", links_of(shown.runs_of_name, job.name));
  row("Received", bytes_text(job.bytes));
  row("Open uploads", std::to_string(job.open_uploads));
  row("Last byte", time_text(job.last_byte));
  if (job.dumps > 0) {
    row("Flight recorders",
        fmt::format("{} dump{}, the last {}", job.dumps, job.dumps == 1 ? "" : "s", time_text(job.last_dump)));
  }
  row("Report", report_links(shown.job));
  if (!shown.aligned_trace.empty()) {
    row("Aligned trace",
        fmt::format("<a href=\"/v1/jobs/{}/report/files/{}\">All ranks on one clock</a>. {}. Save it and open it at "
                    "<a href=\"https://ui.perfetto.dev\">ui.perfetto.dev</a>, which sends it nowhere.",
                    escaped(job.name), kAlignedTrace, escaped(shown.aligned_trace)));
  }
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
  if (!shown.report_log.empty()) {
    row("Last lines of its log", fmt::format("<pre>{}</pre><a href=\"/v1/jobs/{}/report.log\">Whole log</a>",
                                             escaped(shown.report_log), escaped(job.name)));
  }
  body += "</dl>" + captures_section(job, shown.captures) + runs_section(shown.series, shown.runs) +
          files_section(job.name, shown.files);
  return page(200, html_of("skewscope: " + job.name, live_part("job", body), Liveness::live),
              policy("'none'", Liveness::live));
}

Response nodes_page(const std::vector<NodeRecord>& nodes) {
  std::string body = "<p><a href=\"/\">All jobs</a></p><h1>Nodes that were the cause</h1>\n";
  body += fmt::format("<p>Nodes for which others waited in two or more of their last {} jobs.</p>", kRecentJobs);
  if (nodes.empty()) body += "<p>There are none.</p>";
  if (!nodes.empty()) {
    body +=
        "<div class=\"wide\"><table class=\"cards\"><thead><tr><th>Node</th><th>Part</th><th class=\"n\">Jobs of "
        "late</th>"
        "<th class=\"n\">It was the cause in</th><th class=\"n\">In all</th><th>Since</th><th>GPUs</th>"
        "<th class=\"n\">Could be gained</th><th>Jobs</th></tr></thead><tbody>\n";
  }
  for (const NodeRecord& record : nodes) {
    std::string jobs;
    for (const std::string& job : record.jobs)
      jobs += fmt::format("{0}<a href=\"/jobs/{1}\">{1}</a>", jobs.empty() ? "" : ", ", escaped(job));
    body += fmt::format(
        "<tr><td class=\"name\">{}</td><td data-of=\"Part\">{}</td><td class=\"n\" data-of=\"Jobs of late\">{}</td>"
        "<td class=\"n\" data-of=\"It was the cause in\">{}</td><td class=\"n\" data-of=\"In all\">{}</td>"
        "<td data-of=\"Since\">{}</td><td data-of=\"GPUs\">{}</td><td class=\"n\" data-of=\"Could be gained\">{:.0f} "
        "%</td>"
        "<td class=\"verdict\" data-of=\"Jobs\">{}</td></tr>\n",
        escaped(record.node), record.part == ReportOutcome::Part::link ? "link" : "GPU", record.recent, record.caused,
        record.caused_ever, time_text(record.since), fmt::join(record.devices, ", "), 100 * record.worst, jobs);
  }
  if (!nodes.empty()) body += "</tbody></table></div>";
  return page(200, html_of("skewscope: nodes", live_part("nodes", body), Liveness::live),
              policy("'none'", Liveness::live));
}

Response login_page(bool refused) {
  std::string body = "<h1>Sign in</h1>\n";
  if (refused) body += "<p>This token is not valid here.</p>\n";
  body +=
      "<form method=\"post\" action=\"/login\"><p><label>Token with the scope <code>read</code><br>"
      "<input type=\"password\" name=\"token\" autocomplete=\"off\" required></label></p>"
      "<p><button>Sign in</button></p></form>";
  return page(refused ? 401 : 200, html_of("skewscope: sign in", body, Liveness::still),
              policy("'self'", Liveness::still), "same-origin");
}

Response refusal_page(int status, const std::string& why, const std::string& user) {
  const std::string who = user.empty() ? "" : fmt::format("<p>Signed in as {}.</p>", escaped(user));
  return page(status, html_of("skewscope: no access", "<h1>No access</h1><p>" + why + "</p>" + who, Liveness::still),
              policy("'none'", Liveness::still));
}

Response page_not_found() {
  return page(
      404, html_of("skewscope: no such job", "<p><a href=\"/\">All jobs</a></p><h1>No such job</h1>", Liveness::still),
      policy("'none'", Liveness::still));
}

}  // namespace skewscope::gather
