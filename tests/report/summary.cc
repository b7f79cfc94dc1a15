#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

#include "hand_built.h"
#include "skewscope/base/human_units.h"
#include "skewscope/base/text_columns.h"

using namespace skewscope;
using namespace skewscope::test;

namespace {

void check_fits(const std::string& text) {
  INFO(text);
  std::istringstream lines(text);
  size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) CHECK(text_width(line) <= 80);
  CHECK(count <= 30);
  CHECK(count > 0);
}

// Wherever the lines of a text were wrapped.
bool says(std::string text, const std::string& words) {
  const std::string wrapped = "\n           ";
  for (size_t at; (at = text.find(wrapped)) != std::string::npos;) text.replace(at, wrapped.size(), " ");
  return text.find(words) != std::string::npos;
}

// Four ranks, rank 3 last in three of four collectives, waiting critical; rank 3 computes longer.
HandBuilt skewed_job() {
  HandBuilt built = job_of(4);
  for (int64_t step = 0; step < 4; ++step) {
    const int64_t at = step * 250'000;
    built.job.traces[0].steps.push_back({100 + step, LocalNs{1'000'000 + at}, 250'000});
    std::vector<int64_t> starts = {at, at, at, at};
    starts[step == 2 ? 1 : 3] += 90'000;
    add_all_reduce(built, starts, at + 100'000, 1'048'576, 100 + step);
  }
  built.summaries[3].compute_ns = 690'000;
  built.summaries[3].exposed_communication_ns = 210'000;
  return built;
}

}  // namespace

TEST_CASE("durations, sizes and shares read with three digits and a unit") {
  CHECK(human_duration(0) == "0 ns");
  CHECK(human_duration(850) == "850 ns");
  CHECK(human_duration(999'499) == "999 us");
  CHECK(human_duration(999'600) == "1.00 ms");
  CHECK(human_duration(12'345'000) == "12.3 ms");
  CHECK(human_duration(-12'345'000) == "-12.3 ms");
  CHECK(human_duration(1'000'000'000'000) == "16.7 min");
  CHECK(human_duration(INT64_MAX) == "2562048 h");
  CHECK(human_bytes(1'048'576) == "1.05 MB");
  CHECK(human_bytes(512) == "512 B");
  CHECK(human_ranks({2, 3, 4, 7, 9, 10}) == "2-4, 7, 9, 10");
  CHECK(human_percent(0.956) == "96 %");
  CHECK(human_percent(0.001) == "<1 %");
  CHECK(human_percent(0.999) == ">99 %");
  CHECK(human_percent(1) == "100 %");
  CHECK(human_percent(0) == "0 %");
}

TEST_CASE("text is cut to columns, not to bytes") {
  CHECK(fit("M\xC3\xBCnchen-01", 10) == "M\xC3\xBCnchen-01");
  CHECK(fit("M\xC3\xBCnchen-01", 4) == "M\xC3\xBC..");
  CHECK(fit("a\x1b[1mb", 10) == "a?[1mb");
  CHECK(fit("a\xC2\x9Bm", 10) == "a?m");
  CHECK(fit_tail("r\xFF.json", 10) == "r\xEF\xBF\xBD.json");
  CHECK(fit_tail("/data/run/out", 9) == "..run/out");
  CHECK(pad_left("7", 3) == "  7");
}

TEST_CASE("the summary of a job with one slow rank leads with it") {
  CHECK(terminal_summary(skewed_job().report(), "out", false) ==
        R"(Verdict    GPUs spend 62 % of the time computing, 27 % waiting for other ranks,
           4 % in exposed transfer, 10 % idle. Fix first: rank 3; the job would
           be at most 20 % shorter (high).
Why        Rank 3 probably causes 75 % of all waiting.
Next       Look at what rank 3 does ahead of its collectives.
Confidence high: ranks all 4; matched 100 % of 16 calls; split 100 % of the time
           in collectives; clocks all 4 aligned within 1.20 us

Job        train: 4 ranks, 2 nodes, steps 100-103, 1.00 ms, nvidia
Clocks     all 4 ranks agree within 1.20 us; offsets corrected
Waiting    87 % of the time in collectives, transfer 13 %
Efficiency 62 %: load balance 90 % x busiest rank 69 % (POP parallel efficiency)

Straggler   Host        Causes        Came last How often Why
  rank 3    node-b      75 % of wait  3/4       recurring -
  rank 1    node-a      25 % of wait  1/4       one-off   -

Collectives with most waiting     size   count   waiting  transfer  bus GB/s
  all_reduce in default_pg     1.05 MB       4   1.08 ms    160 us       157

Report     out
)");
}

TEST_CASE("columns stand below each other whatever names hold: wide, combining, invisible, broken") {
  for (const char* host : {"\xE4\xB8\xBB\xE6\x9C\xBA\xE4\xB8\x80\xE5\x8F\xB7\xE6\x9C\xBA\xE6\x88\xBF",  // 主机一号机房
                           "\xF0\x9F\x9A\x80\xF0\x9F\x9A\x80", "e\xCC\x81",
                           "a\xE2\x80\x8B"
                           "b",
                           "\xFF\xFE", "\x1b[2J"}) {
    HandBuilt built = skewed_job();
    for (RankTrace& trace : built.job.traces) trace.host = host;
    const std::string text = terminal_summary(built.report(), "", false);
    check_fits(text);
    const size_t at = text.find("  rank 3    ");
    REQUIRE(at != std::string::npos);
    const std::string row = text.substr(at, text.find('\n', at) - at);
    const size_t share = row.find("75 %");
    REQUIRE(share != std::string::npos);
    INFO(row);
    CHECK(text_width(row.substr(0, share)) == std::string("  rank 3    node-b      ").size());
  }
}

TEST_CASE("names of operators and modules are padded to columns, not to bytes") {
  RankReport report;
  OperatorRow op;
  op.name = "\xE8\x87\xAA\xE5\xAE\x9A\xE4\xB9\x89::\xE7\xAE\x97\xE5\xAD\x90";  // 自定义::算子
  op.launches = op.calls = 3;
  op.direct_ns = 1000;
  report.operators.operators = {op, op};
  report.operators.operators[1].name = "aten::mm";
  report.tables.timeline.resize(1);
  report.tables.timeline.front().gpu_rows = 1;
  const std::string text = rank_text(report);
  const size_t wide = text.find(op.name), plain = text.find("aten::mm");
  REQUIRE(wide != std::string::npos);
  REQUIRE(plain != std::string::npos);
  const auto width = [&](size_t at) { return text_width(text.substr(at, text.find('\n', at) - at)); };
  CHECK(width(wide) == width(plain));
}

TEST_CASE("when waiting is small the summary says that no rank is a clear straggler") {
  HandBuilt built = job_of(2);
  add_all_reduce(built, {0, 100}, 50'000, 4000);
  const std::string text = terminal_summary(built.report(), "", false);
  check_fits(text);
  CHECK(says(text, "No rank is a clear straggler"));
  CHECK(says(text, "Waiting    <1 % of the time in collectives"));
  CHECK_FALSE(says(text, "Report "));
}

TEST_CASE("incomplete instances make the verdict a bound") {
  HandBuilt built = skewed_job();
  add_all_reduce(built, {1, 2, 3, -1}, 9, 1);
  CHECK(says(terminal_summary(built.report(), "", false),
             "at least 27 % waiting for other ranks, at most 4 % in exposed"));
}

TEST_CASE("where a rank is missing and nobody proves to be the cause, its trace is asked for") {
  HandBuilt built = skewed_job();
  built.job.world_size = 5;
  add_all_reduce(built, {1, 2, 3, -1}, 9, 1);
  const std::string text = terminal_summary(built.report(), "", false);
  check_fits(text);
  CHECK(says(text, "Add the traces of the missing ranks (4)"));
  CHECK(says(text, "of these ranks)"));
}

TEST_CASE("what could not be split may be transfer as well: then transfer has no bound") {
  HandBuilt built = skewed_job();
  add_all_reduce(built, {1, 2, 3, -1}, 9, 1);
  unsplit(built, add_all_reduce(built, {0, 10, 20, 30}, 50'000, 4000), SplitReason::unconnected);
  const std::string text = terminal_summary(built.report(), "", false);
  check_fits(text);
  CHECK(says(text, "at least 27 % waiting for other ranks, 4 % in exposed"));
  CHECK_FALSE(says(text, "at most 4 %"));
}

TEST_CASE("one rank alone is told that only its timeline can be seen") {
  HandBuilt built = job_of(1);
  add_unmatched(built, 0, UnmatchedReason::alone);
  built.job.world_size = 8;
  const std::string text = terminal_summary(built.report(), "", false);
  check_fits(text);
  CHECK(says(text, "Only rank 0 of 8 was given. Waiting needs the traces of the other ranks."));
  CHECK_FALSE(says(text, "small"));
  CHECK(says(text, "GPUs spend 60 % of the time computing, 30 % in exposed communication, 10 % idle."));
  CHECK(says(text, "ranks 1 of 8, no trace of 1-7"));
}

TEST_CASE("a job without collectives or GPU rows gets a text, not a division by zero") {
  HandBuilt built = job_of(2);
  std::string text = terminal_summary(built.report(), "", false);
  check_fits(text);
  CHECK(says(text, "No collectives were recorded"));
  for (RankSummary& summary : built.summaries) summary = {};
  text = terminal_summary(built.report(), "", false);
  check_fits(text);
  CHECK(says(text, "The traces hold no GPU rows."));
  check_fits(terminal_summary(JobReport(), "", false));
}

TEST_CASE("when nothing could be split the summary says why") {
  HandBuilt built = job_of(2);
  unsplit(built, add_all_reduce(built, {0, 1000}, 15000, 40000), SplitReason::unconnected);
  CHECK(says(terminal_summary(built.report(), "", false), "No collective aligns the clocks"));
  HandBuilt wrong = job_of(2);
  unsplit(wrong, add_all_reduce(wrong, {0, 1000}, 15000, 40000), SplitReason::causality);
  CHECK(says(terminal_summary(wrong.report(), "", false), "a rank left before the last one arrived"));
  HandBuilt other = job_of(2);
  add_unmatched(other, 0, UnmatchedReason::ambiguous);
  add_unmatched(other, 1, UnmatchedReason::ambiguous);
  CHECK(says(terminal_summary(other.report(), "", false), "2 of 2 calls could not be matched"));
}

TEST_CASE("where nobody is last by more than the clocks' uncertainty, nobody is called late") {
  HandBuilt built = skewed_job();
  for (TraceTotals& totals : built.decomposition.traces) totals.late_count = 0;
  for (TraceClock& clock : built.clocks.clocks) clock.uncertainty_ns = 250'000;
  const std::string text = terminal_summary(built.report(), "", false);
  check_fits(text);
  CHECK_FALSE(says(text, "probably causes"));
  CHECK(says(text,
             "Ranks arrive too close together to say who comes last (clock uncertainty: 250 us); rank 3 causes "
             "most waiting (75 %)."));
}

TEST_CASE("clocks less certain than most waits make the split inconclusive") {
  HandBuilt built = skewed_job();
  const auto codes = [&] {
    std::string all;
    for (const Finding& finding : built.report().diagnostics) all += std::string(finding.code.text()) + " ";
    return all;
  };
  CHECK_FALSE(says(codes(), "inconclusive-clocks"));
  CHECK_FALSE(says(terminal_summary(built.report(), "", false), "too uncertain"));
  built.clocks.clocks[2].uncertainty_ns = 250'000;
  CHECK(says(codes(), "inconclusive-clocks"));
  const std::string text = terminal_summary(built.report(), "", false);
  check_fits(text);
  CHECK(
      says(text, "clocks are too uncertain to split waiting from transfer: uncertainty 250 us, median wait 90.0 us\n"));
}

TEST_CASE("waits below the clocks' uncertainty are conclusive where both are small beside the calls") {
  HandBuilt built = job_of(2);
  add_all_reduce(built, {0, 100}, 50'000, 4000);
  CHECK_FALSE(says(terminal_summary(built.report(), "", false), "too uncertain"));
}

TEST_CASE("groups that were inferred are counted in the summary and in the diagnostics") {
  HandBuilt built = skewed_job();
  CHECK_FALSE(says(terminal_summary(built.report(), "", false), "Groups"));
  built.instances.communicators.communicators[0].source = MembersSource::inferred;
  const JobReport report = built.report();
  REQUIRE(report.diagnostics.size() == 1);
  CHECK(report.diagnostics[0].code.text() == "inferred-communicators");
  CHECK(report.diagnostics[0].severity == Severity::info);
  CHECK(report.diagnostics[0].count == 1);
  CHECK(says(report.diagnostics[0].message, "16 calls were matched in 1 groups"));
  const std::string text = terminal_summary(report, "", false);
  check_fits(text);
  CHECK(says(text, "Groups     1 recognized from calls that end together, unnamed in the traces"));
}

TEST_CASE("when most time could not be split, little waiting is not called small") {
  HandBuilt built = job_of(2);
  add_all_reduce(built, {0, 10}, 1000, 4000);
  add_unmatched(built, 0, UnmatchedReason::alone);
  const std::string text = terminal_summary(built.report(), "", false);
  CHECK(says(text, "could not be split"));
  CHECK(says(text, "1 of 3 calls could not be matched"));
  CHECK_FALSE(says(text, "Do not start with waiting"));
}

TEST_CASE("exposed communication that mostly blocks is not told apart; that which coincides or is not known is") {
  HandBuilt built = skewed_job();
  built.blame = built.direct_blame();
  const auto summary_with = [&](ExposedSplit exposed) {
    for (TraceBlame& blame : built.blame.traces) blame.exposed = exposed;
    std::string text = terminal_summary(built.report(), "out", false);
    check_fits(text);
    return text;
  };
  const int64_t exposed_ns = built.summaries[0].exposed_communication_ns;
  CHECK_FALSE(says(summary_with({exposed_ns, 0, 0}), "Blocking"));
  CHECK_FALSE(says(summary_with({}), "Blocking"));
  built.summaries[3].exposed_communication_ns = exposed_ns;
  CHECK(says(summary_with({exposed_ns / 2, exposed_ns / 2, 0}),
             "Blocking   50 % of exposed communication delays computing, 50 % delays nothing\n"));
  CHECK(says(summary_with({exposed_ns / 2, exposed_ns / 4, exposed_ns / 4}),
             "Blocking   50 % of exposed communication delays computing, 25 % delays nothing, 25 % not known\n"));
}

TEST_CASE("shares of GPU time name what could not be split, from one percent on") {
  HandBuilt built = skewed_job();
  CHECK_FALSE(says(terminal_summary(built.report(), "", false), "could not be split"));
  for (RankSummary& summary : built.summaries) {
    summary.exposed_communication_ns += 50'000;
    summary.idle_ns -= 50'000;
  }
  const std::string text = terminal_summary(built.report(), "", false);
  check_fits(text);
  CHECK(says(text, "exposed transfer, 2 % in communication that could not be split, 5 % idle."));
}

TEST_CASE("a verdict of three lines is told to its end, and rows of tables give way") {
  HandBuilt built = skewed_job();
  built.job.world_size = 128;
  for (int64_t bytes = 1; bytes <= 3; ++bytes) add_all_reduce(built, {0, 30'000, 60'000, 90'000}, 200'000, bytes);
  add_all_reduce(built, {90'000, 0, 0, -1}, 100'000, 4);
  add_unmatched(built, 0, UnmatchedReason::ambiguous);
  Finding finding;
  finding.file = "a.json";
  finding.message = "cut";
  built.job.findings.push_back(finding);
  const std::string text = terminal_summary(built.report(), "out", false);
  check_fits(text);
  CHECK(says(text, "Fix first: "));
  CHECK(says(text, "Straggler "));
  CHECK(says(text, "Collectives with most waiting"));
  CHECK(says(text, "Report     out\n"));
}

TEST_CASE("huge numbers and long names stay within 80 columns: a path is shortened, a reason is not") {
  HandBuilt built = skewed_job();
  built.job.name = std::string(300, 'n');
  built.job.world_size = 100'000;
  built.job.sessions = 12;
  built.instances.communicators.communicators[0].description = std::string(200, 'c');
  for (RankTrace& trace : built.job.traces) trace.host = std::string(100, 'h');
  for (RankSummary& summary : built.summaries) summary.total_ns = INT64_MAX / 8;
  for (TraceTotals& totals : built.decomposition.traces) {
    totals.parts.wait_ns = totals.delay_caused_ns = INT64_MAX / 64;
    totals.parts.exposed_wait_ns = INT64_MAX / 64;
    totals.late_count = totals.late_candidates = 1'000'000'000'000;
  }
  add_unmatched(built, 0, UnmatchedReason::alone);
  Finding finding;
  finding.code = "truncated-file";
  finding.file = "a.json";
  finding.message = std::string(500, 'm');
  built.job.findings.push_back(finding);
  add_all_reduce(built, {1, 2, 3, -1}, 9, 1);
  const std::string path = "/" + std::string(200, 'p') + "/out";
  const std::string text = terminal_summary(built.report(), path, false);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK(text_width(line) <= 80);
  CHECK(says(text, "ppp/out"));
  CHECK(says(text, "no trace of"));
  CHECK(std::count(text.begin(), text.end(), 'm') >= 500);
}

TEST_CASE("a wider terminal gets longer lines, and every word of the narrow one") {
  HandBuilt built = skewed_job();
  const auto words_of = [](const std::string& text) {
    std::istringstream words(text.substr(0, text.find("Straggler")));
    std::vector<std::string> all;
    for (std::string word; words >> word;) all.push_back(word);
    return all;
  };
  const auto widest = [](const std::string& text) {
    size_t most = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) most = std::max(most, text_width(line));
    return most;
  };
  const JobReport report = built.report();
  const std::string narrow = terminal_summary(report, "out", false), wide = terminal_summary(report, "out", false, 160);
  CHECK(words_of(wide) == words_of(narrow));
  CHECK(widest(narrow) <= 80);
  CHECK(widest(wide) > 100);
  CHECK(widest(wide) <= 160);
  CHECK(says(wide, "all_reduce, group 0 (default_pg), ranks 0-3"));
}

TEST_CASE("colours appear only when asked for and change no word") {
  const JobReport r = skewed_job().report();
  const std::string plain = terminal_summary(r, "out", false);
  std::string colored = terminal_summary(r, "out", true);
  CHECK(plain.find('\x1b') == std::string::npos);
  REQUIRE(colored.find("\x1b[1;31m") != std::string::npos);
  for (size_t at; (at = colored.find('\x1b')) != std::string::npos;) colored.erase(at, colored.find('m', at) + 1 - at);
  CHECK(colored == plain);
}

TEST_CASE("where the size of the world decides whether calls match, the summary offers to state it") {
  HandBuilt built = job_of(2);
  for (int32_t rank = 0; rank < 2; ++rank) {
    add_unmatched(built, rank, UnmatchedReason::ambiguous);
    built.job.traces[static_cast<size_t>(rank)].calls.back().communicator = CommunicatorId();
  }
  CHECK_FALSE(says(terminal_summary(built.report(), "", false), "--world-size"));
  built.job.findings.push_back({Severity::info, "world-size-unknown", "", Rank(), -1, 1, "nothing tells"});
  const std::string text = terminal_summary(built.report(), "", false);
  check_fits(text);
  CHECK(says(text, "Next       If these are the traces of all ranks, add --world-size 2."));
}

TEST_CASE("a job that may have one rank only is not said to have others") {
  HandBuilt built = job_of(1);
  add_unmatched(built, 0, UnmatchedReason::group_of_one);
  CHECK(says(terminal_summary(built.report(), "", false), "other ranks, if the job has any; skewscope rank"));
  built.job.world_size = 2;
  CHECK(says(terminal_summary(built.report(), "", false), "Add the traces of the other ranks."));
}

TEST_CASE("the line of the job and that of the clocks say their last word, on a second line where need be") {
  HandBuilt built = skewed_job();
  built.job.name = "a_name_of_some_length";
  built.job.vendor = JobVendor::nvidia;
  built.job.sessions = 12;
  for (int64_t step = 0; step < 40; step += 2) built.job.traces[0].steps.push_back({step, LocalNs{0}, 1});
  const std::string text = terminal_summary(built.report(), "", false);
  check_fits(text);
  CHECK(says(text, " nvidia\n"));
}

TEST_CASE("the times of several devices of one process are said to be those of all together") {
  RankReport report;
  report.tables.timeline.resize(3);  // all, then each
  for (int32_t row = 0; row < 3; ++row) {
    report.tables.timeline[static_cast<size_t>(row)].gpu_rows = 9;
    report.tables.timeline[static_cast<size_t>(row)].device = row - 1;
  }
  CHECK(says(rank_text(report), "2 devices taken as one"));
  report.tables.timeline.resize(1);
  CHECK_FALSE(says(rank_text(report), "taken as one"));
}
