#include "judgement.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "skewscope/base/printable.h"

namespace skewscope::cli {
namespace {

using Verdict = RuleOutcome::Verdict;

constexpr const char* kStrict = "--strict";

const char* word_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::passed:
      return "passed";
    case Verdict::failed:
      return "failed";
    case Verdict::unknown:
      break;
  }
  return "not checked";
}

// "--strict" is a rule, too.
RuleOutcome strict_outcome(const Findings& diagnostics) {
  const bool partial = count_partial(diagnostics) > 0;
  return {partial ? Verdict::failed : Verdict::passed, kStrict,
          fmt::format("{}: {}", kStrict, partial ? partial_words(diagnostics) : "no warnings")};
}

std::string xml(const std::string& text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string junit_case(const RuleOutcome& outcome, const std::string& of) {
  const std::string head = fmt::format("    <testcase classname=\"skewscope.{}\" name=\"{}\"", of, xml(outcome.rule)),
                    words = xml(outcome.words);
  switch (outcome.verdict) {
    case Verdict::failed:
      return fmt::format("{}>\n      <failure type=\"fail-on\" message=\"{}\"/>\n    </testcase>\n", head, words);
    case Verdict::unknown:
      return fmt::format("{}>\n      <skipped message=\"{}\"/>\n    </testcase>\n", head, words);
    case Verdict::passed:
      break;
  }
  return fmt::format("{}>\n      <system-out>{}</system-out>\n    </testcase>\n", head, words);
}

// As Jenkins, GitLab and others read it.
std::string junit_text(const std::vector<RuleOutcome>& outcomes, const std::string& of) {
  std::string cases;
  size_t failed = 0, skipped = 0;
  for (const RuleOutcome& outcome : outcomes) {
    cases += junit_case(outcome, of);
    failed += outcome.verdict == Verdict::failed ? 1 : 0;
    skipped += outcome.verdict == Verdict::unknown ? 1 : 0;
  }
  const std::string counts =
      fmt::format("tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\"", outcomes.size(), failed, skipped);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"skewscope\" {}>\n"
      "  <testsuite name=\"skewscope {}\" {}>\n{}  </testsuite>\n</testsuites>\n",
      counts, of, counts, cases);
}

// A workflow command of GitHub; what its syntax needs is escaped.
std::string github_line(const RuleOutcome& outcome) {
  std::string words;
  for (const char c : printable(outcome.words)) words += c == '%' ? "%25" : std::string(1, c);
  const char* level = outcome.verdict == Verdict::failed ? "error" : "warning";
  return fmt::format("::{} title=skewscope: rule {}::{}\n", level, word_of(outcome.verdict), words);
}

Result<Done> write_junit(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file.fail()) return Error{ErrorKind::output, fmt::format("cannot write {}: {}", path, std::strerror(errno))};
  return Done{};
}

}  // namespace

void add_judgement_options(CLI::App& command, JudgementOptions& options, const std::string& strict_help) {
  command.add_option("--fail-on", options.fail_on, "Exit 1 when this holds, such as 'wait_share>20%'; repeatable")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("EXPR");
  command.add_flag(kStrict, options.strict, strict_help);
  command
      .add_option("--junit", options.junit,
                  "Write the outcome of each --fail-on and of --strict as a JUnit test report")
      ->type_name("FILE");
  command.add_flag("--github", options.github,
                   "Print a failed --fail-on or --strict as an annotation of a GitHub workflow, on standard error");
}

Result<Done> check_judgement(const JudgementOptions& options) {
  if (options.asks()) return Done{};
  for (const auto& [flag, given] : {std::pair{"--junit", !options.junit.empty()}, {"--github", options.github}}) {
    if (given)
      return Error{ErrorKind::usage, fmt::format("{} needs a --fail-on or --strict whose outcome it could show", flag)};
  }
  return Done{};
}

ExitCode pronounce(const std::vector<RuleOutcome>& outcomes, const Findings& diagnostics,
                   const JudgementOptions& options, const std::string& of, bool quiet) {
  std::vector<RuleOutcome> all = outcomes;
  bool failed = false;
  for (const RuleOutcome& outcome : outcomes) {
    const bool fails = outcome.verdict == Verdict::failed;
    failed = failed || fails;
    if (fails || !quiet) fmt::print(stderr, "skewscope: {}: {}\n", word_of(outcome.verdict), printable(outcome.words));
  }
  if (options.strict) all.push_back(strict_outcome(diagnostics));
  const ExitCode input = exit_code_of(diagnostics, options.strict);
  if (options.github) {
    for (const RuleOutcome& outcome : all) {
      if (outcome.verdict != Verdict::passed) fmt::print(stderr, "{}", github_line(outcome));
    }
  }
  if (!options.junit.empty()) {
    if (const auto written = write_junit(options.junit, junit_text(all, of)); !written.ok())
      return fail(written.error());
  }
  return input != kDone ? input : failed ? kConditionHolds : kDone;
}

}  // namespace skewscope::cli
