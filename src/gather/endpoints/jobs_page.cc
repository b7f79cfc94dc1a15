// The cluster's page: a search, and a row for each job that it finds.
#include <fmt/format.h>

#include <algorithm>

#include "history_text.h"
#include "job_text.h"
#include "live_update.h"
#include "pages.h"
#include "src/gather/http/page_policy.h"

namespace skewscope::gather {
namespace {

std::string value_in(const JobSearch& search, const char* key) {
  const auto found = search.find(key);
  return found == search.end() ? "" : found->second;
}

std::string in_query(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string address_of(const JobSearch& search, size_t page) {
  std::string address = "/?";
  for (const auto& [key, value] : search) address += fmt::format("{}={}&", key, in_query(value));
  return address + fmt::format("page={}", page);
}

// A GET of this page: its fields are in the address, so that a reload and a bookmark keep them.
std::string search_form(const JobSearch& search, bool of_one_user) {
  std::string form = "<form class=\"search\" action=\"/\">";
  const auto field = [&](const char* key, const char* label, const char* type) {
    form += fmt::format("<label>{}<br><input type=\"{}\" name=\"{}\" value=\"{}\"></label>", label, type, key,
                        escaped(value_in(search, key)));
  };
  field("q", of_one_user ? "Name, node, verdict" : "Name, owner, node, verdict", "search");
  form += "<label>State<br><select name=\"state\">";
  for (const std::string state : {"", "receiving", "complete", "ended"}) {
    form += fmt::format("<option value=\"{}\"{}>{}</option>", state,
                        state == value_in(search, "state") ? " selected" : "", state.empty() ? "any" : state);
  }
  form += "</select></label>";
  if (!of_one_user) field("owner", "Owner (name or uid)", "text");
  field("node", "Node", "text");
  field("loss", "Largest loss", "text");
  field("since", "Since", "date");
  field("until", "Until", "date");
  return form + "<p><button>Search</button> <a href=\"/\">All jobs</a></p></form>\n";
}

std::string owner_cell(const ListedJob& listed) {
  const uint32_t uid = listed.job.state.owner_uid;
  if (uid == 0) return "–";
  return fmt::format("<a href=\"/?owner={}\">{}</a>", uid,
                     listed.owner.empty() ? std::to_string(uid) : fmt::format("{} ({})", escaped(listed.owner), uid));
}

std::string ranks_cell(const ListedJob& listed) {
  const JobState& job = listed.job.state;
  const size_t nodes = std::max(job.settings.nodes.size(), listed.outcome ? listed.outcome->hosts.size() : 0);
  const std::string on = nodes == 0 ? "" : fmt::format(" on {} node{}", nodes, nodes == 1 ? "" : "s");
  const std::string captures = is_whole(job) && job.captures > 1 ? fmt::format(" in {} captures", job.captures) : "";
  return (is_whole(job) ? std::to_string(job.expected) : progress(job)) + captures + on;
}

std::string gain_cell(const std::optional<ReportOutcome>& outcome) {
  if (!outcome) return "–";
  std::string gain = percent(outcome->gain);
  if (outcome->loss.empty()) return gain;
  std::string kind = outcome->loss;
  std::replace(kind.begin(), kind.end(), '_', ' ');
  return fmt::format("{} <a href=\"/?loss={}\">{}</a>", gain, in_query(outcome->loss), escaped(kind));
}

// What weighs most.
std::string cause_cell(const std::optional<ReportOutcome>& outcome) {
  if (!outcome || outcome->causes.empty()) return "–";
  const ReportOutcome::Cause& cause = outcome->causes.front();
  std::string who = cause.part == ReportOutcome::Part::link ? "a link" : fmt::format("rank {}", cause.rank);
  if (cause.host.empty()) return who;
  return fmt::format("{} of <a href=\"/?node={}\">{}</a>", who, in_query(cause.host), escaped(cause.host));
}

std::string row_of(const ListedJob& listed) {
  const JobState& job = listed.job.state;
  const std::string name = escaped(job.name);
  const bool has_log = job.report_generation > 0 || job.report == ReportState::failed;
  const std::string log = has_log ? fmt::format(" <a href=\"/v1/jobs/{}/report.log\">log</a>", name) : "";
  return fmt::format(
      "<tr id=\"job-{0}\"><td class=\"name\"><a href=\"/jobs/{0}\">{0}</a><br><a "
      "href=\"/jobs/{0}#files\">files</a>{1}</td>"
      "<td data-of=\"Owner\">{2}</td><td>{3}<br>{4}</td><td data-of=\"Begun\">{5}</td><td class=\"verdict\">{6}</td>"
      "<td class=\"n\" data-of=\"Waiting\">{7}</td><td data-of=\"Could be gained\">{8}</td>"
      "<td data-of=\"Late\">{9}</td><td class=\"n\" data-of=\"Size\">{10}</td></tr>\n",
      name, log, owner_cell(listed), state_of(job), ranks_cell(listed), time_text(job.created),
      report_links(listed.job), listed.outcome ? percent(listed.outcome->waiting) : "–", gain_cell(listed.outcome),
      cause_cell(listed.outcome), bytes_text(job.bytes));
}

std::string places(const JobsPage& shown) {
  std::string text = fmt::format("<p>{} of {} jobs, the newest first.", shown.found, shown.all);
  if (shown.pages > 1) {
    text += fmt::format(" Page {} of {}.", shown.page, shown.pages);
    if (shown.page > 1)
      text += fmt::format(" <a href=\"{}\">Newer</a>", escaped(address_of(shown.search, shown.page - 1)));
    if (shown.page < shown.pages)
      text += fmt::format(" <a href=\"{}\">Older</a>", escaped(address_of(shown.search, shown.page + 1)));
  }
  return text + "</p>\n";
}

}  // namespace

Response jobs_page(const JobsPage& shown) {
  std::string nodes;
  for (const NodeRecord& record : shown.nodes) nodes += "<p>" + escaped(sentence_of(record)) + "</p>\n";
  if (!shown.nodes.empty()) nodes += "<p><a href=\"/nodes\">All nodes that were the cause</a></p>\n";
  std::string body = live_part("nodes", nodes);
  body += shown.whose.empty() ? "<h1>Jobs</h1>\n" : "<h1>Jobs of " + escaped(shown.whose) + "</h1>\n";
  if (shown.signed_in) body += "<form method=\"post\" action=\"/logout\"><button>Sign out</button></form>\n";
  std::string jobs = places(shown);
  if (!shown.jobs.empty()) {
    jobs +=
        "<div class=\"wide\"><table class=\"cards\"><thead><tr><th>Job</th><th>Owner</th><th>State, ranks</th>"
        "<th>Begun</th><th>Report</th><th class=\"n\">Waiting</th><th>Could be gained</th><th>Late</th>"
        "<th class=\"n\">Size</th></tr></thead><tbody>\n";
    for (const ListedJob& listed : shown.jobs) jobs += row_of(listed);
    jobs += "</tbody></table></div>";
  }
  body += search_form(shown.search, !shown.whose.empty()) + live_part("jobs", jobs);
  return page(200, html_of("skewscope: jobs", body, Liveness::live), policy("'self'", Liveness::live),
              shown.signed_in ? "same-origin" : "no-referrer");
}

}  // namespace skewscope::gather
