#include "skewscope/base/finding.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

using namespace skewscope;

namespace {

Finding finding(FindingCode code, const char* file, int64_t byte_offset = -1, Severity severity = Severity::warning) {
  Finding f;
  f.severity = severity;
  f.code = code;
  f.file = file;
  f.byte_offset = byte_offset;
  return f;
}

}  // namespace

TEST_CASE("a finding that is seen again is counted and keeps its first place") {
  Findings findings;
  add_finding(findings, finding("bare-nan", "a.json", 10));
  add_finding(findings, finding("bare-nan", "a.json", 99, Severity::error));
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].count == 2);
  CHECK(findings[0].byte_offset == 10);
  CHECK(findings[0].severity == Severity::error);
}

TEST_CASE("findings of different files, ranks or codes stay apart") {
  Findings findings;
  add_finding(findings, finding("bare-nan", "a.json"));
  add_finding(findings, finding("bare-nan", "b.json"));
  add_finding(findings, finding("bad-escape", "a.json"));
  Finding of_rank = finding("bare-nan", "a.json");
  of_rank.rank = Rank(3);
  add_finding(findings, of_rank);
  CHECK(findings.size() == 4);
}

TEST_CASE("findings are ordered by severity, then code, then file, whatever the order they came in") {
  Findings findings = {finding("bad-escape", "x"), finding("ambiguous-group", "y"), finding("ambiguous-group", "x"),
                       finding("zero-stamp", "x", -1, Severity::error),
                       finding("ambiguous-group", "a", -1, Severity::info)};
  sort_findings(findings);
  std::string order;
  for (const Finding& f : findings) order += fmt::format("{} {} {}; ", to_string(f.severity), f.code.text(), f.file);
  CHECK(order ==
        "error zero-stamp x; warning ambiguous-group x; warning ambiguous-group y; warning bad-escape x; "
        "info ambiguous-group a; ");
}
