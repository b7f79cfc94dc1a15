// The table of finding codes, and its page configs/findings.md. SKEWSCOPE_WRITE=1 writes the page anew.
#include "skewscope/base/finding_code.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "skewscope/base/finding.h"

using namespace skewscope;

namespace {

const std::string kPage = std::string(SKEWSCOPE_SOURCE_DIR) + "/configs/findings.md";

// The table as Markdown.
std::string page() {
  std::string text =
      "# Findings\n\n"
      "Written from `include/skewscope/base/finding_codes.h` by `SKEWSCOPE_WRITE=1 test_base \"the page of "
      "findings*\"`.\n\n"
      "Imperfect input does not end a report: it becomes a finding, counted, with its place, in `diagnostics.json` and "
      "in\n"
      "`diagnostics[]` of `report.json`. Codes are stable: filter on them. The severity is the worst that a code is "
      "reported\n"
      "with; `--strict` fails on warnings and errors. What `skewscope rank` sees in the work of one GPU is another "
      "list:\n"
      "`configs/rank_rules.json`.\n\n"
      "| code | severity | meaning | what to do |\n|---|---|---|---|\n";
  for (const FindingMeaning& finding : kFindingMeanings) {
    text += std::string("| `") + finding.code + "` | " + to_string(finding.severity) + " | " + finding.meaning + " | " +
            finding.action + " |\n";
  }
  return text;
}

}  // namespace

TEST_CASE("each finding has a code of its own in kebab-case, a meaning that is a sentence, and an action or none") {
  std::set<std::string> codes;
  for (const FindingMeaning& finding : kFindingMeanings) {
    INFO(finding.code);
    CHECK(codes.insert(finding.code).second);
    CHECK(std::regex_match(finding.code, std::regex("[a-z]+(-[a-z]+)*")));
    CHECK(std::string(finding.meaning).ends_with("."));
    const std::string action = finding.action;
    CHECK((action.empty() || action.ends_with(".")));
  }
}

TEST_CASE("a code is found by its text, and no code by another text") {
  CHECK(FindingCode::from_text("truncated-file") == FindingCode("truncated-file"));
  CHECK(FindingCode("truncated-file").text() == "truncated-file");
  CHECK(FindingCode::from_text("no-such-code") == std::nullopt);
  CHECK(FindingCode().text().empty());
}

TEST_CASE("codes are in the order of their texts") {
  CHECK(FindingCode("another-job") < FindingCode("bad-escape"));
  CHECK(FindingCode("unmatched-alone") > FindingCode("ties"));
}

TEST_CASE("the page of findings is the table of finding codes") {
  if (std::getenv("SKEWSCOPE_WRITE") != nullptr) std::ofstream(kPage) << page();
  std::ifstream file(kPage);
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == page());
}
