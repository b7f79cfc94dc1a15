// Events that begin and end in two, and complete ones without a duration.
#include <catch2/catch.hpp>

#include "tests/ingest/reader_support.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

struct PhaseText {
  const char* ph;
  std::string name;
  double at_us;
  int thread = 20;
  std::string category = "kernel";
};

std::string phase_text(const PhaseText& phase, bool named_end = true) {
  const bool begins = std::string(phase.ph) == "B";
  const std::string what =
      begins || named_end ? fmt::format(R"("name": "{}", "cat": "{}", )", phase.name, phase.category) : std::string();
  return fmt::format(R"({{{}"ph": "{}", "pid": 0, "tid": {}, "ts": {:.3f}{}}})", what, phase.ph, phase.thread,
                     phase.at_us, begins ? R"(, "args": {"device": 0, "stream": 20, "correlation": 7})" : "");
}

std::string trace_of_phases(const std::vector<PhaseText>& phases, bool named_ends = true) {
  std::string events;
  for (const PhaseText& phase : phases) events += (events.empty() ? "" : ",\n") + phase_text(phase, named_ends);
  return trace_of(events);
}

struct Timed {
  std::string name;
  int64_t duration_ns;
  friend bool operator==(const Timed&, const Timed&) = default;
};

std::vector<Timed> timed_rows(const FileContent& content) {
  std::vector<Timed> rows;
  for (size_t i = 0; i < content.gpu.size(); ++i) rows.push_back({name_of(content, i), content.gpu[i].duration_ns});
  return rows;
}

}  // namespace

TEST_CASE("a beginning and its end are one row, also where rows of other threads stand between, in every chunk size") {
  const std::string text = trace_of_phases({{"B", "ProfilerStep#3", 0, 5, "user_annotation"},
                                            {"B", "cudaLaunchKernel", 1, 5, "cuda_runtime"},
                                            {"B", "first", 5},
                                            {"E", "cudaLaunchKernel", 7.5, 5, "cuda_runtime"},
                                            {"E", "first", 9.25},
                                            {"B", "aten::mm", 10, 5, "cpu_op"},
                                            {"E", "aten::mm", 12, 5, "cpu_op"},
                                            {"E", "ProfilerStep#3", 20, 5, "user_annotation"}});
  const FileContent whole = read_text(text);
  CHECK(timed_rows(whole) == std::vector<Timed>{{"first", 4250}});
  REQUIRE(whole.steps.size() == 1);
  CHECK(whole.steps[0].duration_ns == 20'000);
  REQUIRE(whole.launches.size() == 1);
  CHECK(whole.launches[0].duration_ns == 6500);
  CHECK(whole.has_cpu_ops);
  CHECK(whole.findings.empty());
  ReadSettings small;
  small.chunk_bytes = 200;
  CHECK(timed_rows(read_text(text, small)) == timed_rows(whole));
}

TEST_CASE("ends without names are of what is open, those of a stream that overlap go by name") {
  const std::vector<PhaseText> nested = {{"B", "outer", 0}, {"B", "inner", 1}, {"E", "", 3}, {"E", "", 10}};
  CHECK(timed_rows(read_text(trace_of_phases(nested, false))) ==
        std::vector<Timed>{{"outer", 10'000}, {"inner", 2000}});
  const std::vector<PhaseText> overlapping = {{"B", "a", 0}, {"B", "b", 1}, {"E", "a", 3}, {"E", "b", 10}};
  CHECK(timed_rows(read_text(trace_of_phases(overlapping))) == std::vector<Timed>{{"a", 3000}, {"b", 9000}});
}

TEST_CASE("an end of what no report needs closes that, and not a row") {
  const std::vector<PhaseText> phases = {
      {"B", "kept", 0}, {"B", "counter thread", 1, 20, "unknown"}, {"E", "", 3, 20, "unknown"}, {"E", "", 10}};
  CHECK(timed_rows(read_text(trace_of_phases(phases, false))) == std::vector<Timed>{{"kept", 10'000}});
}

TEST_CASE("what began and never ended, or ended and never began, is counted") {
  const FileContent content =
      read_text(trace_of_phases({{"E", "before", 0}, {"B", "whole", 1}, {"E", "whole", 2}, {"B", "cut", 3}}));
  CHECK(timed_rows(content) == std::vector<Timed>{{"whole", 1000}, {"cut", 0}});
  CHECK(count_of(content, "open-event") == 2);
}

TEST_CASE("begin and end events stand beside complete ones, with details and without") {
  const std::string text = trace_of(kernel("complete", "1", "2") + ",\n" + phase_text({"B", "pair", 5}) + ",\n" +
                                    phase_text({"E", "pair", 8}));
  for (const bool details : {false, true}) {
    ReadSettings settings;
    settings.details = details;
    CHECK(timed_rows(read_text(text, settings)) == std::vector<Timed>{{"complete", 2000}, {"pair", 3000}});
  }
}

TEST_CASE("complete events without a duration count as 0, and are counted") {
  const std::string none = R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 20, "ts": 5, "args": {}})";
  const FileContent content = read_text(trace_of(kernel("first", "1", "2") + ", " + none + ", " + none));
  CHECK(timed_rows(content) == std::vector<Timed>{{"first", 2000}, {"k", 0}, {"k", 0}});
  CHECK(count_of(content, "no-duration") == 2);
}

TEST_CASE("calls that wait for the device, and the end of recording, are known, however the text is laid out") {
  const std::string sync = R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 1, "tid": 1,)"
                           R"( "ts": 10, "dur": 5, "args": {"cbid": 165, "correlation": 9}})";
  const std::string end = R"({"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 20})";
  const std::string other =
      R"({"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": 9})";
  for (const std::string between : {", ", ",\n  "}) {
    const std::string events = kernel("k", "1", "2") + between + other + between + sync + between + end;
    const FileContent content = read_text(trace_of(events + between + kernel("k", "30", "2")));
    REQUIRE(content.syncs.size() == 2);
    CHECK(content.syncs[0].duration_ns == 5000);
    CHECK_FALSE(content.syncs[0].ends_recording);
    CHECK(content.syncs[1].start.ns == 20'000);
    CHECK(content.syncs[1].ends_recording);
    CHECK(content.launches.empty());
    CHECK(content.findings.empty());
  }
}
