#include "src/cli/gathering/jobs_text.h"

#include <catch2/catch.hpp>
#include <sstream>
#include <vector>

#include "skewscope/base/text_columns.h"

using namespace skewscope;
using namespace skewscope::cli;
using Document = nlohmann::json;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

Document job_of(const std::string& name, const std::string& verdict) {
  return {{"job", name},
          {"state", "complete"},
          {"arrived", 8},
          {"expected", 8},
          {"report_state", "complete"},
          {"created", "2026-11-29T10:00:00Z"},
          {"owner_uid", 4294967290u},
          {"verdict", verdict}};
}

}  // namespace

TEST_CASE("a list of no jobs, no nodes and no runs says so or is a heading alone") {
  const Document none = Document::array();
  CHECK(jobs_table(none, 80) == "JOB  STATE  RANKS  REPORT  VERDICT\n");
  CHECK(nodes_text(none, 80) == "No node was the cause of waiting in two or more of its last eight jobs.\n");
  CHECK(history_table(none, 80) == "CREATED  STEP  EFFIC.  WAITING  GAIN  JOB  CHANGE\n");
}

TEST_CASE("a long verdict is cut at the width of the terminal and stands whole on one line") {
  const std::string verdict(300, 'v');
  const Document jobs = Document::array({job_of("run1", verdict), job_of("run-of-a-longer-name", "short")});
  for (const size_t columns : {size_t{80}, size_t{100}, size_t{160}}) {
    const auto lines = lines_of(jobs_table(jobs, columns));
    REQUIRE(lines.size() == 3);
    CHECK(lines[1].size() == columns);
    CHECK(lines[1].substr(columns - 3) == "v..");
    CHECK(lines[2].substr(lines[2].size() - 5) == "short");
  }
  CHECK(one_line(jobs[0]) == "run1: complete: 8 of 8 ranks; report complete. " + verdict + "\n");
}

TEST_CASE("columns line up behind names of wide, combining and accented letters, and no letter is cut in two") {
  Document nodes = Document::array();
  for (const char* name : {"node1", "knöten", "計算機",
                           "e\xcc\x81"
                           "cole"}) {
    nodes.push_back({{"node", name},
                     {"part", "gpu"},
                     {"caused_jobs", 3},
                     {"recent_jobs", 8},
                     {"since", "2026-11-29T10:00:00Z"},
                     {"worst_gain", 0.25},
                     {"jobs", {"run1"}},
                     {"sentence", "It was the cause."}});
  }
  const auto lines = lines_of(nodes_text(nodes, 80));
  REQUIRE(lines.size() == 10);
  const size_t part = lines[5].find("PART");
  for (size_t i = 6; i < lines.size(); ++i) {
    const size_t at = lines[i].find("gpu");
    REQUIRE(at != std::string::npos);
    CHECK(text_width(lines[i].substr(0, at)) == part);
    CHECK(text_width(lines[i]) <= 80);
  }
  std::string verdict;
  for (int i = 0; i < 100; ++i) verdict += "机";
  const auto cut = lines_of(jobs_table(Document::array({job_of("run1", verdict)}), 80));
  CHECK(text_width(cut[1]) <= 80);
  CHECK(text_width(cut[1]) >= 79);
  CHECK(cut[1].find("?") == std::string::npos);
}

TEST_CASE("what a gatherer sends cannot steer the terminal, and what it leaves out is no error") {
  const std::string text = one_line(job_of("run1", "a\nb\x1b[2J"));
  CHECK(text == "run1: complete: 8 of 8 ranks; report complete. a?b?[2J\n");
  CHECK(one_line(Document::object()) == ": : 0 ranks, of an unknown number; report \n");
  CHECK(lines_of(jobs_table(Document::array({Document::object(), {{"job", 7}}}), 80)).size() == 3);
  CHECK(job_text(job_of("run1", ""), "https://head", 80).find("Verdict") == std::string::npos);
}

TEST_CASE("a state names the ranks that are missing") {
  Document job = job_of("run1", "");
  job["state"] = "receiving";
  job["arrived"] = 5;
  job["missing_ranks"] = {2, 3, 7};
  job["report_state"] = "waiting";
  CHECK(state_line(job) == "receiving: 5 of 8 ranks, missing 2, 3, 7; report waiting");
}
