// The store on a disk that loses its power at every step of recorded scripts, and at random steps of random ones.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <random>

#include "model.h"

namespace skewscope::gather {
namespace {

using test::Crash;
using test::Flush;
using test::Step;
using test::Survives;

struct Script {
  const char* name;
  std::vector<Step> steps;
};

// Two sectors and a bit: what is torn shows.
constexpr size_t kFile = 1300;

const std::vector<Script> kScripts = {
    {"create", {{Step::create, "train", 0, kFile}, {Step::create, "train", 1, kFile}}},
    {"append", {{Step::create, "train", 0, kFile}, {Step::append, "train", 0, 600}, {Step::append, "train", 0, 300}}},
    {"checked append",
     {{Step::create, "train", 0, kFile},
      {Step::append_checked, "train", 0, 600},
      {Step::append_broken, "train", 0, 300},
      {Step::append_checked, "train", 0, 300}}},
    {"finish", {{Step::create, "train", 0, kFile}, {Step::append, "train", 0, 600}, {Step::append, "train", 0, kFile}}},
    {"put", {{Step::put, "train", 0, kFile}, {Step::put, "train", 1, kFile}, {Step::put, "other", 0, 10}}},
    {"replace", {{Step::put, "train", 0, kFile}, {Step::replace, "train", 0, 700}, {Step::replace, "train", 0, 900}}},
    {"one request",
     {{Step::put, "train", 0, kFile, true},
      {Step::put, "train", 1, kFile, true},
      {Step::put_again, "train", 0, 0, true}}},
    {"one request replaces",
     {{Step::put, "train", 0, kFile, true},
      {Step::replace, "train", 0, 700, true},
      {Step::replace, "train", 0, 900, true}}},
    {"duplicate",
     {{Step::put, "train", 0, kFile},
      {Step::put_again, "train", 0, 0},
      {Step::create, "train", 0, 800},
      {Step::append, "train", 0, 800}}},
    {"remove", {{Step::create, "train", 0, kFile}, {Step::append, "train", 0, 600}, {Step::remove, "train", 0, 0}}},
    {"delete job",
     {{Step::put, "train", 0, kFile},
      {Step::create, "train", 1, kFile},
      {Step::append, "train", 1, 600},
      {Step::delete_job, "train", 0, 0},
      {Step::put, "train", 0, 500}}},
    {"report",
     {{Step::put, "train", 0, kFile},
      {Step::report, "train", 0, 0},
      {Step::report, "train", 0, 0},
      {Step::report, "train", 0, 0}}},
    {"settings", {{Step::settings, "train", 8, 0}, {Step::put, "train", 0, 10}, {Step::settings, "train", 16, 0}}},
};

std::vector<Step> random_script(uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
  const Step::Kind kinds[] = {Step::put,      Step::put,        Step::replace,        Step::create,        Step::create,
                              Step::append,   Step::append,     Step::append_checked, Step::append_broken, Step::remove,
                              Step::settings, Step::delete_job, Step::report};
  std::vector<Step> out;
  for (int i = 0; i < 14; ++i) {
    Step step;
    step.kind = kinds[below(std::size(kinds))];
    step.job = below(3) == 0 ? "other" : "train";
    step.rank = step.kind == Step::settings ? 1 + below(8) : below(3);
    step.bytes = 1 + static_cast<size_t>(below(2000));
    step.one_request = below(2) == 0;
    out.push_back(step);
  }
  return out;
}

// SKEWSCOPE_POWER_LOSS=10: ten times as many.
int dose() {
  const char* asked = std::getenv("SKEWSCOPE_POWER_LOSS");
  return asked == nullptr ? 1 : std::max(1, std::atoi(asked));
}

constexpr Survives kSurvives[] = {Survives::nothing, Survives::some, Survives::everything};

TEST_CASE("nothing that was told is lost when the power goes at any step of a script") {
  for (const Script& script : kScripts) {
    const uint64_t steps = test::crash(script.steps, {}).steps;
    for (uint64_t step = 1; step <= steps + 1; ++step) {
      for (int round = 0; round < dose(); ++round) {
        Crash crash;
        crash.step = step;
        crash.seed = static_cast<uint32_t>(step + 1000 * round);
        crash.survives = kSurvives[(step + static_cast<uint64_t>(round)) % 3];
        const std::vector<std::string> broken = test::crash(script.steps, crash).broken;
        INFO(script.name << ", step " << step << " of " << steps << ", survives " << static_cast<int>(crash.survives));
        CHECK(broken == std::vector<std::string>());
      }
    }
  }
}

TEST_CASE("nothing that was told is lost at random steps of random scripts, nor when the next start is cut short") {
  for (uint32_t seed = 1; seed <= 400 * static_cast<uint32_t>(dose()); ++seed) {
    const std::vector<Step> script = random_script(seed);
    std::mt19937 random(seed);
    Crash crash;
    crash.step = 1 + random() % 400;
    crash.seed = seed;
    crash.survives = kSurvives[random() % 3];
    if (seed % 2 == 0) crash.in_recovery = 1 + random() % 40;
    const std::vector<std::string> broken = test::crash(script, crash).broken;
    INFO("seed " << seed << ", step " << crash.step);
    CHECK(broken == std::vector<std::string>());
  }
}

TEST_CASE("a start that is cut short at any of its steps is done by the next one") {
  for (const Script& script : kScripts) {
    const uint64_t steps = test::crash(script.steps, {}).steps;
    for (uint64_t step = 5; step <= steps; step += 11) {
      for (uint64_t in_recovery = 1 + step % 3; in_recovery <= 30; in_recovery += 3) {
        Crash crash;
        crash.step = step;
        crash.seed = static_cast<uint32_t>(step);
        crash.survives = kSurvives[(step + in_recovery) % 3];
        crash.in_recovery = in_recovery;
        const std::vector<std::string> broken = test::crash(script.steps, crash).broken;
        INFO(script.name << ", step " << step << " of " << steps << ", then step " << in_recovery << " of the start");
        CHECK(broken == std::vector<std::string>());
      }
    }
  }
}

TEST_CASE("a store without one of its flushes is found out") {
  const auto found_out = [](Flush flush) {
    for (const Script& script : kScripts) {
      Crash crash;
      crash.ignored = flush;
      if (!test::crash(script.steps, crash).broken.empty()) return true;
    }
    return false;
  };
  CHECK_FALSE(found_out(Flush::none));
  CHECK(found_out(Flush::part));
  CHECK(found_out(Flush::manifest));
  CHECK(found_out(Flush::in_folder));
  CHECK(found_out(Flush::rank_folder));
  CHECK(found_out(Flush::job_folders));
  CHECK(found_out(Flush::report_files));
  CHECK(found_out(Flush::report_folder));
}

}  // namespace
}  // namespace skewscope::gather
