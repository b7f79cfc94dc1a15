#include "page_parts.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "job_text.h"
#include "live_update.h"
#include "src/gather/http/page_policy.h"

namespace skewscope::gather {
namespace {

constexpr const char* kStyle =
    ":root{color-scheme:light dark}"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:90rem;margin:2rem auto;padding:0 1rem}"
    ".wide{overflow-x:auto}table{border-collapse:collapse;width:100%}"
    "th,td{text-align:left;padding:.35rem .75rem .35rem 0;border-bottom:1px solid #8884;white-space:nowrap}"
    "td.name{white-space:normal;overflow-wrap:anywhere;min-width:9rem}td.verdict{white-space:normal;min-width:16rem}"
    "td.n,th.n{text-align:right}table.cards td{vertical-align:top}"
    "table.cards td,table.cards th{white-space:normal}table.cards td.n{white-space:nowrap}"
    "progress{width:8rem;max-width:20vw}dt{font-weight:600}dd{margin:0 0 .6rem}h1,dd,code{overflow-wrap:anywhere}"
    "form.search{display:flex;flex-wrap:wrap;gap:.3rem .8rem;align-items:end}form.search label{flex:1 1 7rem}"
    "form.search label:first-child{flex:2 1 14rem}form.search p{margin:0}"
    "svg.steps{width:100%;min-width:36rem;max-width:48rem;height:auto;display:block;margin:.5rem 0}"
    "svg.steps .run{fill:none;stroke:currentColor;stroke-width:1.5}svg.steps .point{fill:currentColor}"
    "svg.steps .change{stroke:#d2691e;stroke-width:1.5;stroke-dasharray:4 3}"
    "svg.steps text{fill:currentColor;font-size:11px}svg.steps text.changed{fill:#d2691e}"
    "td.change{min-width:9rem}tr.changed td{border-bottom:2px solid #d2691e}"
    "ul.files{columns:18rem;padding-left:1.2rem}.soft{opacity:.75}"
    "pre{margin:0;white-space:pre-wrap}input{max-width:40rem}"
    "input,select{font:inherit;width:100%;box-sizing:border-box}"
    // A narrow screen has a row's cells below one another, each with what its column is called.
    "@media(max-width:48rem){table.cards thead{display:none}table.cards tr{display:block;padding:.5rem 0;"
    "border-bottom:1px solid #8884}table.cards td{display:block;border:0;padding:0;text-align:left}"
    "table.cards td[data-of]::before{content:attr(data-of) \": \"}}";

// What a report's state links is the report of that state, by what it says first.
std::string report_link(const ShownJob& shown) {
  const JobState& job = shown.state;
  std::string state = name_of(job.report);
  if (job.report_generation == 0) return state;
  const bool is_its_own = job.report == ReportState::complete || job.report == ReportState::partial;
  const std::string of = is_its_own ? "Open report" : "previous report";
  const std::string text = is_its_own ? escaped(shown.verdict) : of + ": " + escaped(shown.verdict);
  std::string link =
      fmt::format("<a href=\"/v1/jobs/{}/report.html\">{}</a>", escaped(job.name), shown.verdict.empty() ? of : text);
  if (job.report == ReportState::complete) return link;
  return is_its_own ? fmt::format("{} ({})", link, state) : fmt::format("{} ({})", state, link);
}

// Of dumps: what the newest ones say.
std::string hang_link(const ShownJob& shown) {
  return fmt::format("<a href=\"/v1/jobs/{}/hang.html\">Hang: {}</a>", escaped(shown.state.name), escaped(shown.hang));
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

// No `sandbox`: a link out of a sandboxed page would go without the cookie.
std::string policy(const char* form_action, Liveness liveness) {
  static const std::string style = hash_source(kStyle);
  return fmt::format("default-src 'none'; style-src {};{} base-uri 'none'; form-action {}; frame-ancestors 'none'",
                     style, liveness == Liveness::live ? live_policy() : "", form_action);
}

std::string html_of(const std::string& title, const std::string& body, Liveness liveness) {
  const bool live = liveness == Liveness::live;
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">{}"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>{}</title>"
      "<style>{}</style></head>\n<body>{}{}</body></html>\n",
      live ? live_head() : "", escaped(title), kStyle, body, live ? live_script() : "");
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

std::string duration_text(int64_t ns) {
  constexpr const char* kUnits[] = {"ns", "µs", "ms", "s"};
  double time = static_cast<double>(ns);
  size_t unit = 0;
  for (; time >= 1000 && unit + 1 < std::size(kUnits); ++unit) time /= 1000;
  return fmt::format("{:.4g} {}", time, kUnits[unit]);
}

std::string percent(double share) { return share < 0 ? "–" : fmt::format("{:.1f} %", 100 * share); }

std::string progress(const JobState& job) {
  const int64_t expected = files_expected(job);
  if (expected == 0) return fmt::format("{} arrived", job.arrived);
  const std::string captures = job.captures > 1 ? fmt::format(", of {} captures", job.captures) : "";
  return fmt::format("<progress max=\"{1}\" value=\"{0}\"></progress> {0} of {1}{2}", job.arrived, expected, captures);
}

// Of dumps alone the report is what they say: once is enough.
std::string report_links(const ShownJob& shown) {
  if (shown.hang.empty()) return report_link(shown);
  return shown.hang == shown.verdict ? hang_link(shown) : hang_link(shown) + "<br>" + report_link(shown);
}

}  // namespace skewscope::gather
