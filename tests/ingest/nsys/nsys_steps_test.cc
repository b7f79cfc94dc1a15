// Which ranges are steps.
#include "made_export.h"
#include "src/ingest/nsys/step_ranges.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

// Four kernels, launched at 100, 200, 300, 400.
MadeExport four_kernels() {
  MadeExport file;
  for (int64_t i = 1; i <= 4; ++i) file.launch(9, 100 * i, i).kernel(9, "gemm", 1000 * i, 1000 * i + 500, i);
  return file;
}

std::vector<int64_t> steps_of(const MadeExport& file, const std::string& wanted = "") {
  ReaderSettings settings;
  settings.step_range = wanted;
  std::vector<int64_t> numbers;
  for (const StepRange& step : file.link(settings).linked.trace.steps) numbers.push_back(step.number);
  return numbers;
}

}  // namespace

TEST_CASE("ranges that are called steps are the steps, by their numbers") {
  MadeExport file = four_kernels();
  file.range(9, "iteration 12", 90, 190).range(9, "iteration 13", 190, 290).range(9, "forward", 95, 180);
  file.range(9, "forward", 195, 280);
  CHECK(steps_of(file) == std::vector<int64_t>{12, 13});
}

TEST_CASE("among ranges that are not called steps, those that count up come first") {
  MadeExport file = four_kernels();
  file.range(9, "batch 7", 90, 250).range(9, "batch 8", 250, 450);
  file.range(9, "everything", 80, 260).range(9, "everything", 260, 460);
  CHECK(steps_of(file) == std::vector<int64_t>{7, 8});
}

TEST_CASE("a range that repeats and holds most of the work counts from 0") {
  MadeExport file = four_kernels();
  file.range(9, "train_loop_body", 90, 250).range(9, "train_loop_body", 250, 450);
  file.range(9, "attention", 90, 150).range(9, "attention", 250, 350);
  CHECK(steps_of(file) == std::vector<int64_t>{0, 1});
}

TEST_CASE("there are no steps where ranges hold little, lie in one another, or number the layers of each pass") {
  MadeExport little = four_kernels();
  little.range(9, "load", 10, 20).range(9, "load", 90, 110);
  CHECK(steps_of(little).empty());
  MadeExport nested = four_kernels();
  nested.range(9, "call", 90, 450).range(9, "call", 95, 440);
  CHECK(steps_of(nested).empty());
  MadeExport layers = four_kernels();
  layers.range(9, "layer0", 90, 190)
      .range(9, "layer1", 190, 290)
      .range(9, "layer0", 290, 390)
      .range(9, "layer1", 390, 490);
  CHECK(steps_of(layers).empty());
}

TEST_CASE("the option --step-range names the ranges, with their numbers or without") {
  MadeExport file = four_kernels();
  file.range(9, "iteration 12", 90, 290).range(9, "iteration 13", 290, 490);
  file.range(9, "micro 1", 90, 190).range(9, "micro 2", 190, 290).range(9, "micro 3", 290, 390);
  CHECK(steps_of(file, "micro") == std::vector<int64_t>{1, 2, 3});
  CHECK(steps_of(file, "iteration 12") == std::vector<int64_t>{12, 13});
}

TEST_CASE("a name of steps that no range has is said, and no other is taken") {
  ReaderSettings settings;
  settings.step_range = "epoch";
  const TraceFile rank = four_kernels().range(9, "step 1", 90, 490).link(settings);
  CHECK(rank.linked.trace.steps.empty());
  CHECK(std::any_of(rank.linked.findings.begin(), rank.linked.findings.end(),
                    [](const Finding& finding) { return finding.code == FindingCode("step-range-no-match"); }));
}

TEST_CASE(
    "processes of a file have the ranges of most of them for their steps, and one that has none of these its own") {
  MadeExport file;
  for (int64_t pid = 1; pid <= 4; ++pid) {
    for (int64_t i = 1; i <= 4; ++i) file.launch(pid, 100 * i, i).kernel(pid, "gemm", 1000 * i, 1000 * i + 500, i);
  }
  for (int64_t pid = 1; pid <= 3; ++pid) file.range(pid, "turn 5", 90, 250).range(pid, "turn 6", 250, 450);
  file.range(3, "iteration 1", 80, 260).range(3, "iteration 2", 260, 460);
  file.range(4, "batch 8", 90, 250).range(4, "batch 9", 250, 450);
  const std::vector<FileContent> ranks = file.read();
  REQUIRE(ranks.size() == 4);
  const auto numbers = [&](size_t rank) {
    std::vector<int64_t> all;
    for (const StepRow& step : ranks[rank].steps) all.push_back(step.number);
    return all;
  };
  for (const size_t rank : {0, 1, 2}) CHECK(numbers(rank) == std::vector<int64_t>{5, 6});
  CHECK(numbers(3) == std::vector<int64_t>{8, 9});
  const auto said = [&](size_t rank) {
    return std::any_of(ranks[rank].findings.begin(), ranks[rank].findings.end(), [](const Finding& finding) {
      return finding.message.find("most processes of the file") != std::string::npos;
    });
  };
  CHECK_FALSE(said(0));
  CHECK(said(2));
}

TEST_CASE("modules of XLA that run again and again are the steps") {
  MadeExport file = four_kernels();
  file.range(9, "TSL:XlaModule:#hlo_module=pjit__wrapped_step_fn,program_id=40#", 90, 250);
  file.range(9, "TSL:XlaModule:#hlo_module=pjit__wrapped_step_fn,program_id=40#", 250, 450);
  CHECK(steps_of(file) == std::vector<int64_t>{0, 1});
}

TEST_CASE("the number of a step is the first in its name") {
  int64_t number = 0;
  CHECK(name_of_step("Iteration 12/100", number) == "Iteration");
  CHECK(number == 12);
  CHECK(name_of_step("ProfilerStep#7", number) == "ProfilerStep");
  CHECK(number == 7);
  CHECK(name_of_step("train_step", number) == "train_step");
  CHECK(number == -1);
  CHECK(name_of_step("3rd", number) == "3rd");
}
