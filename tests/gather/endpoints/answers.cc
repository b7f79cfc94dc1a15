// What goes out: problem documents, pages and their policies, jobs as JSON; and what comes in as a job's settings.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "src/gather/endpoints/history_text.h"
#include "src/gather/endpoints/job_text.h"
#include "src/gather/endpoints/pages.h"
#include "src/gather/http/page_policy.h"
#include "src/gather/http/response.h"
#include "src/gather/kept/verdict.h"
#include "tests/gather/store/spool.h"

namespace skewscope::gather {
namespace {

std::string field_of(const Response& response, const std::string& name) {
  for (const auto& [key, value] : response.fields) {
    if (key == name) return value;
  }
  return "";
}

JobState job_of(const std::string& name) {
  JobState job;
  job.name = name;
  job.expected = 4;
  job.arrived = 2;
  job.missing_ranks = {1, 3};
  job.missing = {{0, {1, 3}}};
  return job;
}

TEST_CASE("who is refused for a time is told to come back within 30 s, and not all at once") {
  std::vector<int> waits;
  for (int i = 0; i < 200; ++i) waits.push_back(std::stoi(field_of(problem(503, "busy"), "Retry-After")));
  CHECK(*std::min_element(waits.begin(), waits.end()) >= 1);
  CHECK(*std::max_element(waits.begin(), waits.end()) <= 30);
  CHECK(std::set<int>(waits.begin(), waits.end()).size() > 10);
  CHECK(field_of(problem(404, "no such job"), "Retry-After").empty());
}

TEST_CASE("an answer without a body says no length, one with a body its own") {
  Response nothing;
  nothing.status = 204;
  CHECK(head_of(nothing, "id", true).find("Content-Length") == std::string::npos);
  Response some;
  some.body = "12345";
  const std::string head = head_of(some, "id", false);
  CHECK(head.find("Content-Length: 5\r\n") != std::string::npos);
  CHECK(head.find("Connection: close\r\n") != std::string::npos);
  CHECK(head.substr(head.size() - 4) == "\r\n\r\n");
}

TEST_CASE("a report's page may run what its own policy names by hash, and nothing else that it names") {
  const std::string hash = "'sha256-" + std::string(43, 'A') + "='";
  const std::string honest =
      policy_of_report("<meta content=\"default-src 'none'; script-src " + hash + "; style-src " + hash + "\">");
  CHECK(honest.find("script-src " + hash + ";") != std::string::npos);
  CHECK(honest.find("style-src " + hash + ";") != std::string::npos);
  CHECK(honest.find("sandbox allow-scripts") != std::string::npos);
  for (const char* forged : {"script-src *", "script-src 'unsafe-inline'", "script-src 'sha256-x' https://evil'", "",
                             "script-src 'sha256-AAAA; connect-src *'"}) {
    const std::string policy = policy_of_report(forged);
    CHECK(policy.find("script-src 'none';") != std::string::npos);
    CHECK(policy.find('*') == std::string::npos);
    CHECK(policy.find("evil") == std::string::npos);
  }
}

// A page has one, which keeps it current.
size_t scripts_in(const std::string& page) {
  size_t count = 0;
  for (size_t at = page.find("<script"); at != std::string::npos; at = page.find("<script", at + 1)) ++count;
  return count;
}

TEST_CASE("text from outside is no markup on a page") {
  CHECK(escaped("<b a=\"1\" c='2'>&") == "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;");
  JobState hostile = job_of("<script>alert(1)</script>");
  hostile.report = ReportState::failed;
  Run run;
  run.job = run.verdict = "<script>";
  run.outcome.step_ns = 1;
  const JobPage hostile_page{{hostile, "<script>alert(3)</script>"},
                             {"<script>", "<script>", 1, 1},
                             "<script>alert(2)</script>",
                             {{"<script>", 1}},
                             "<script>",
                             {run, run},
                             {{1, "<script>", {}}}};
  CHECK(scripts_in(job_page(hostile_page).body) == 1);
  ListedJob listed{{hostile, "<script>alert(3)</script>"}, "<script>", ReportOutcome{}};
  listed.job.state.owner_uid = 1000;
  listed.outcome->loss = "<script>";
  listed.outcome->causes = {{ReportOutcome::Part::gpu, "<script>", 1, 0, 0.5, "<script>"}};
  JobsPage list;
  list.jobs = {listed};
  list.search = {{"q", "\"><script>"}};
  list.pages = 2;
  CHECK(scripts_in(jobs_page(list).body) == 1);
}

TEST_CASE("a node that was the cause is said before all jobs, and its text is no markup either") {
  NodeRecord record;
  record.node = "<script>";
  record.recent = 8;
  record.caused = 6;
  record.since_job = "<script>";
  record.jobs = {"<script>"};
  record.since = Time(std::chrono::hours(24));
  JobsPage list;
  list.nodes = {record};
  const std::string page = jobs_page(list).body;
  CHECK(page.find("&lt;script&gt; was the cause in 6 of its last 8 jobs, since &lt;script&gt; (1970-01-02).") <
        page.find("<h1>Jobs"));
  CHECK(scripts_in(page) == 1);
  CHECK(scripts_in(nodes_page({record}).body) == 1);
}

TEST_CASE("a verdict with bytes that are no UTF-8 is told with others in their place") {
  const test::Spool spool("verdict");
  const auto history = History::open(":memory:");
  Run run;
  run.job = "train-1";
  run.verdict = "rank \xff waits";
  history->add(run);
  Call call;
  call.caller.insecure_local = true;
  call.request.query = {{"job", "train-1"}};
  const Response answer = runs_of_series(*spool.store, *history, call);
  CHECK(answer.status == 200);
  CHECK(answer.body.find("rank \xef\xbf\xbd waits") != std::string::npos);
}

TEST_CASE("a job's page names its missing ranks and links the report once there is one") {
  JobState job = job_of("run");
  CHECK(job_page({{job, ""}, {}, "", {}, "", {}}).body.find("<dd>1, 3</dd>") != std::string::npos);
  CHECK(job_page({{job, ""}, {}, "", {}, "", {}}).body.find("report.html") == std::string::npos);
  job.report_generation = 1;
  job.report = ReportState::partial;
  CHECK(job_page({{job, ""}, {}, "", {}, "", {}})
            .body.find("<a href=\"/v1/jobs/run/report.html\">Open report</a> (partial)") != std::string::npos);
}

TEST_CASE("the list of jobs links each report by what it says first") {
  JobState job = job_of("run");
  job.report_generation = 1;
  job.report = ReportState::complete;
  JobsPage list;
  list.jobs = {{{job, "Rank 13 causes 36 % of all waiting."}, "", {}}};
  const std::string page = jobs_page(list).body;
  CHECK(page.find("<a href=\"/v1/jobs/run/report.html\">Rank 13 causes 36 % of all waiting.</a>") != std::string::npos);
}

TEST_CASE("a report's verdict is what follows its label in the summary, without its line breaks") {
  CHECK(verdict_in_summary("Verdict    Rank 13 causes 36 % of\n           all waiting.\nWhy        kernels\n") ==
        "Rank 13 causes 36 % of all waiting.");
  CHECK(verdict_in_summary("Verdict    Nobody waits.\n\nJob        run\n") == "Nobody waits.");
  CHECK(verdict_in_summary("Verdict    cut off here") == "cut off here");
  CHECK(
      verdict_in_summary("Hang       8 ranks, 8 dumps\nVerdict    Rank 1 did not\n           come.\nWhy        x\n") ==
      "Rank 1 did not come.");
  CHECK(verdict_in_summary("Base       a run of two\n").empty());
  CHECK(verdict_in_summary("").empty());
  CHECK(verdict_in_summary("Verdict    " + std::string(500, 'x')) == std::string(300, 'x') + "…");
}

TEST_CASE("a report that failed is not linked by its state, and says why it failed") {
  JobState job = job_of("run");
  job.report = ReportState::failed;
  job.report_exit_code = 3;
  job.report_generation = 1;
  const std::string page = job_page({{job, ""}, {}, "no trace can be read\n", {}, "", {}}).body;
  CHECK(page.find("failed (<a href=\"/v1/jobs/run/report.html\">previous report</a>)") != std::string::npos);
  CHECK(page.find("<pre>no trace can be read\n</pre>") != std::string::npos);
  CHECK(page.find("href=\"/v1/jobs/run/report.log\"") != std::string::npos);
}

TEST_CASE("a job's page has the runs of its series, with the one from which on steps are slower marked") {
  JobPage shown{{job_of("train-8"), ""}, {}, "", {}, "train", {}};
  for (int number = 8; number >= 1; --number) {
    Run run;
    run.job = "train-" + std::to_string(number);
    run.created = Time(std::chrono::hours(24 * number));
    run.verdict = "Fix " + run.job + " first.";
    run.outcome.step_ns = (number < 5 ? 100 : 125) * 1'000'000;
    run.outcome.efficiency = 0.5;
    shown.runs.push_back(run);
  }
  const std::string page = job_page(shown).body;
  CHECK(page.find("<h2>Runs of train</h2>") != std::string::npos);
  CHECK(page.find("<tr class=\"changed\"><td class=\"name\"><a href=\"/jobs/train-5\">") != std::string::npos);
  CHECK(page.find("<tr class=\"changed\">") == page.rfind("<tr class=\"changed\">"));
  CHECK(page.find("25 % slower</text>") != std::string::npos);
  CHECK(page.find("<title>train-1: 100 ms</title>") < page.find("<title>train-8: 125 ms</title>"));
  CHECK(page.find("Fix train-3 first.") != std::string::npos);
  shown.runs.resize(1);
  CHECK(job_page(shown).body.find("Runs of") == std::string::npos);
}

TEST_CASE("a job's page lists the files of its report") {
  const JobPage shown{{job_of("run"), ""}, {}, "", {{"summary.txt", 10}, {"tables/ranks.csv", 2048}}, "run", {}};
  const std::string page = job_page(shown).body;
  CHECK(page.find("<a href=\"/v1/jobs/run/report/files/summary.txt\">summary.txt</a>") != std::string::npos);
  CHECK(page.find("<a href=\"/v1/jobs/run/report/files/tables/ranks.csv\">") != std::string::npos);
  CHECK(page.find("2.0 KiB") != std::string::npos);
}

TEST_CASE("a job's captures show how its steps went and those without a report of their own are counted") {
  JobState job = job_of("run");
  CHECK(captures_section(job, {}).empty());
  job.captures = 18;
  ReportOutcome outcome;
  outcome.ranks = 4;
  outcome.steps = 3;
  outcome.step_ns = 12'500'000;
  outcome.waiting = 0.25;
  outcome.recorded_ns = 86'400'000'000'000;
  const std::string section = captures_section(job, {{7, "Fix rank 1 first.", outcome}, {8, "", {}}});
  for (const char* part : {"<a href=\"/v1/jobs/run/captures/7/report.html\">7</a>", "1970-01-02 00:00:00 UTC",
                           "12.5 ms", "25.0 %", "Fix rank 1 first.", "Of 18 captures, 16 have no report here"}) {
    INFO(part);
    CHECK(section.find(part) != std::string::npos);
  }
  const auto rows = captures_json({{7, "Fix rank 1 first.", outcome}, {8, "", {}}});
  CHECK(
      rows.at(0).dump() ==
      R"({"capture":7,"ranks":4,"recorded":"1970-01-02T00:00:00Z","step_ns":12500000,"steps":3,"verdict":"Fix rank 1 first.","waiting":0.25})");
  CHECK((rows.at(1).at("step_ns").is_null() && rows.at(1).at("waiting").is_null() &&
         rows.at(1).at("recorded").is_null()));
}

TEST_CASE("a job that has received nothing shows no last byte") {
  JobState job = job_of("run");
  job.created = Time(std::chrono::seconds(1'700'000'000));
  CHECK(job_page({{job, ""}, {}, "", {}, "", {}}).body.find("<dt>Last byte</dt><dd>–</dd>") != std::string::npos);
}

TEST_CASE("a job's JSON has what its readers rely on") {
  const std::string text = job_json(job_of("run"));
  for (const char* part : {"\"arrived\":2", "\"expected\":4", "\"missing_ranks\":[1,3]", "\"report_state\":\"none\"",
                           "\"bytes\":0", "\"generation\":0", "\"epoch\":0", "\"state\":\"receiving\""}) {
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("a job's settings are taken whole or not at all") {
  const auto good =
      parse_job_settings(R"({"world_size": 8, "captures": 2, "deadline_s": 60, "retention_s": null})", false);
  REQUIRE(good.problem == nullptr);
  CHECK(good.settings.world_size == 8);
  CHECK(good.settings.captures == 2);
  CHECK(good.settings.deadline == std::chrono::seconds(60));
  CHECK_FALSE(good.settings.retention);
  CHECK(parse_job_settings("", false).problem == nullptr);
  for (const char* bad :
       {"[]", "{", "null", R"({"world_size": 0})", R"({"world_size": -1})", R"({"world_size": 1048577})",
        R"({"world_size": 1.5})", R"({"captures": 10000})", R"({"deadline_s": "9"})", R"({"owner_uid": 0})",
        R"({"nodes": ["n1"]})", R"({"anything": 1})"}) {
    CHECK(parse_job_settings(bad, false).problem != nullptr);
  }
}

TEST_CASE("only the registry says whose job it is and on which nodes it runs") {
  const auto told = parse_job_settings(R"({"owner_uid": 1000, "nodes": ["n1", "n2"], "world_size": null})", true);
  REQUIRE(told.problem == nullptr);
  CHECK(told.settings.owner_uid == 1000U);
  CHECK(told.settings.nodes == std::vector<std::string>{"n1", "n2"});
  CHECK(parse_job_settings(R"({"nodes": ["../x"]})", true).problem != nullptr);
  CHECK(parse_job_settings(R"({"owner_uid": 4294967296})", true).problem != nullptr);
}

}  // namespace
}  // namespace skewscope::gather
