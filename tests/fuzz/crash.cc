// Requests to the store and a loss of power, both as the input says, on a disk in memory: what a sender was told holds.
//   input: 2 bytes of the step at which the power goes, 1 of what survives, 1 of the step of the start at which it goes
//   again, then requests of 3 bytes: kind and job, rank, size
#include <cstdlib>

#include "tests/gather/store/model.h"

namespace skewscope::gather::test {
namespace {

Step step_of(const uint8_t* bytes) {
  Step step;
  step.kind = static_cast<Step::Kind>(bytes[0] % (Step::report + 1));
  step.job = bytes[0] >= 192 ? "other" : "train";
  step.rank = step.kind == Step::settings ? 1 + bytes[1] % 8 : bytes[1] % 3;
  step.bytes = 1 + bytes[2] * size_t{8};
  return step;
}

}  // namespace
}  // namespace skewscope::gather::test

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skewscope::gather::test;
  if (size < 7) return -1;
  std::vector<Step> script;
  for (size_t at = 4; at + 3 <= size && script.size() < 24; at += 3) script.push_back(step_of(data + at));
  constexpr Survives kSurvives[] = {Survives::nothing, Survives::some, Survives::everything};
  Crash how;
  how.step = (data[0] << 8 | data[1]) % 1024;
  how.survives = kSurvives[data[2] % 3];
  how.seed = data[2];
  how.in_recovery = data[3] % 64;
  const CrashResult result = crash(script, how);
  for (const std::string& sentence : result.broken) std::fprintf(stderr, "%s\n", sentence.c_str());
  if (!result.broken.empty()) std::abort();
  return 0;
}
