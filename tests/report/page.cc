#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "hand_built.h"
#include "page_rows.h"
#include "src/report/page_data/html_page.h"
#include "src/report/page_data/page_data.h"
#include "src/report/words/data_quality.h"

using namespace skewscope;
using namespace skewscope::test;
using nlohmann::json;

namespace {

JobReport small_report() {
  HandBuilt built = job_of(3);
  add_all_reduce(built, {0, 1000, 2000}, 5000, 4000);
  return built.report();
}

std::string page_of(const JobReport& report) { return report::html_page(report::page_data(report, kStamp)); }
json data_of(const JobReport& report) { return json::parse(report::page_data(report, kStamp)); }

// What stands in the page's data element.
std::string element_of(const std::string& page) {
  const std::string begin = R"(<script type="application/json" id="data">)";
  const size_t from = page.find(begin) + begin.size();
  return page.substr(from, page.find("</script>", from) - from);
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("what could end a script element or begin markup is escaped, and reads back as it was") {
  const json names = {"</script><img src=x onerror=alert(1)>",
                      "<!-- <script>",
                      "a & b",
                      "\xE2\x80\xA8 \xE2\x80\xA9",
                      "\"quoted\" \\back",
                      "\xE2\x80\xA7 stays"};
  const std::string escaped = report::escape_for_script(names.dump());
  for (const char* unsafe : {"<", ">", "&", "\xE2\x80\xA8", "\xE2\x80\xA9"}) CHECK(count_of(escaped, unsafe) == 0);
  CHECK(escaped.find("\\u003c/script\\u003e") != std::string::npos);
  CHECK(escaped.find("\xE2\x80\xA7 stays") != std::string::npos);
  CHECK(json::parse(escaped) == names);
}

TEST_CASE("a page is the same but for its data, whatever a trace calls things") {
  JobReport plain = small_report(), hostile = small_report();
  const std::string name = "</script><script>alert(1)</script><img src=x onerror=alert(1)>";
  hostile.job.name = name;
  hostile.ranks[0].host = name;
  hostile.communicators[0].desc = name;
  hostile.collectives[0].dtype = name;
  hostile.rank_statistics.push_back({"kernels", name, "count", 3, 1, 1, 1, 0, 0, {}});
  hostile.diagnostics.push_back({Severity::warning, "other-format", name, Rank(1), -1, 1, name});
  std::string first = page_of(plain), second = page_of(hostile);
  const std::string data = element_of(second);
  first.replace(first.find(element_of(first)), element_of(first).size(), "");
  second.replace(second.find(data), data.size(), "");
  CHECK(first == second);
  CHECK(json::parse(data)["job"]["name"] == name);
}

TEST_CASE("a page names its script and its style by hash and allows nothing else") {
  const std::string page = page_of(small_report());
  CHECK(page.find("content=\"default-src 'none'; script-src 'sha256-") != std::string::npos);
  CHECK(page.find("unsafe") == std::string::npos);
  CHECK(count_of(page, "<script") == 2);
  CHECK(json::parse(element_of(page))["schema"] == "skewscope.page/1");
}

TEST_CASE("a name of 4 MB is cut on the page, between characters") {
  JobReport report = small_report();
  report.communicators[0].name = "x";
  for (int i = 0; i < 2'000'000; ++i) report.communicators[0].name += "\xC3\xBC";  // ü: byte 300 is the second of one
  const json row = page_rows(data_of(report)["tables"]["communicators"])[0];
  const std::string name = row[1];
  CHECK(name.size() == report::kMostPageTextBytes - 1 + 3);
  CHECK(name.substr(name.size() - 5) == "\xC3\xBC\xE2\x80\xA6");
  JobReport odd = small_report();
  odd.job.name = "x\xFF";
  CHECK(data_of(odd)["job"]["name"] == "x\xEF\xBF\xBD");
}

TEST_CASE("an integer that JavaScript would round is a string of its digits") {
  JobReport report = small_report();
  report.job.window_start_ns = 1'767'323'045'123'456'789;
  report.job.window_ns = int64_t{1} << 53;
  const json data = data_of(report);
  CHECK(data["job"]["window_start_ns"] == "1767323045123456789");
  CHECK(data["job"]["window_ns"] == 9'007'199'254'740'992);
}

TEST_CASE("a table longer than the page holds shows its heaviest rows in their order, and how many are left out") {
  JobReport report = small_report();
  report.flows.clear();
  for (int32_t i = 0; i < 5000; ++i) report.flows.push_back({i, 0, 1, i % 2 == 0 ? 10 : 1'000'000 + i});
  const json table = data_of(report)["tables"]["blame_flows"];
  CHECK(table["columns"] == json({"rank", "late_in", "waited_in", "moved_ns"}));
  const std::vector<json> rows = page_rows(table);
  REQUIRE(rows.size() == report::kMostPageRows);
  CHECK(table["left_out"] == 3000);
  CHECK(rows[0] == json({1001, 0, 1, 1'001'001}));
  CHECK(rows.back() == json({4999, 0, 1, 1'004'999}));
}

TEST_CASE("every rank is on the page, and no call") {
  HandBuilt built = job_of(3000);
  add_all_reduce(built, std::vector<int64_t>(3000, 0), 5000, 4000);
  const json tables = data_of(built.report())["tables"];
  CHECK(page_rows(tables["ranks"]).size() == 3000);
  CHECK_FALSE(tables.contains("collective_ranks"));
}

TEST_CASE("a report without ranks, and one without collectives, have a page") {
  const json nothing = data_of({});
  CHECK(nothing["map"]["columns"].empty());
  CHECK(nothing["chain"]["hops"].empty());
  CHECK(nothing["efficiency"]["parallel"].is_null());
  const json lonely = data_of(job_of(1).report());
  CHECK(lonely["verdict"]["verdict"] == "No collectives were recorded, so only each rank's own timeline is known.");
  CHECK(page_rows(lonely["tables"]["ranks"]).size() == 1);
}

TEST_CASE("confidence is high where all is there, medium with a rank missing, low with most calls unmatched") {
  JobReport report = small_report();
  report.diagnostics.clear();
  for (auto& rank : report.ranks) rank.wait_ns = 1'000'000;
  CHECK(std::string(report::confidence_of(report::data_quality(report))) == "high");
  JobReport missing = report;
  missing.job.ranks_missing = {3};
  CHECK(report::data_quality(missing)[0].value == "3 of 4, no trace of 3");
  CHECK(std::string(report::confidence_of(report::data_quality(missing))) == "medium");
  JobReport unmatched = report;
  unmatched.matching.calls = 30;
  unmatched.matching.matched = 12;
  CHECK(report::data_quality(unmatched)[1].value == "40 % of 30 calls");
  CHECK(std::string(report::confidence_of(report::data_quality(unmatched))) == "low");
}

TEST_CASE("clocks are doubtful when their error bar exceeds a tenth of a call's mean wait") {
  JobReport report = small_report();  // bars of 1,200 ns, three calls
  report.diagnostics.clear();
  const auto trust = [&](int64_t wait_ns) {
    for (auto& rank : report.ranks) rank.wait_ns = 0;
    report.ranks[0].wait_ns = wait_ns;
    return report::data_quality(report)[3].trust;
  };
  CHECK(trust(36'000) == report::Trust::good);
  CHECK(trust(35'999) == report::Trust::doubtful);
  for (auto& clock : report.clocks) clock.aligned = false;
  CHECK(trust(36'000) == report::Trust::bad);
}

TEST_CASE("the page of ranks that share no call says that their pictures are not on one clock") {
  HandBuilt built = job_of(4);
  add_all_reduce(built, {0, 1000, 2000, 0}, 5000, 4000, 1);
  add_all_reduce(built, {10'000, 11'000, 12'000, 10'000}, 15'000, 4000, 2);
  CHECK(data_of(built.report())["components"].is_null());
  JobReport report = built.report();
  report.components = {{0, {0, 1}, 900}, {0, {2, 3}, 800}};
  report.islands.resize(2);
  report.islands[0].ranks = {0, 1};
  report.islands[1].ranks = {2, 3};
  report.islands[1].component = 1;
  const json data = data_of(report);
  CHECK(data["components"]["words"] == "2 components (2 + 2 ranks), not compared");
  CHECK(data["components"]["longest"] == "0, 1");
  REQUIRE(data["map"]["columns"].size() == 2);
  for (const json& column : data["map"]["columns"]) CHECK(column[2].is_null());
  CHECK(page_rows(data["tables"]["components"]).size() == 2);
  CHECK(page_of(report).find("one column is not one moment in two of them") != std::string::npos);
}
