#include "world_size.h"

#include <algorithm>
#include <array>
#include <map>

namespace skewscope::ingest {
namespace {

// Rows for every rank are made from the answer, so one misread number must not decide it alone: no job is as large as
// the first; up to the second any answer will do, beyond it another source must come within the factor.
constexpr int64_t kLargestWorld = 1'000'000;
constexpr int64_t kLargestAlone = 100'000;
constexpr int64_t kNear = 1000;

using Answers = std::map<int64_t, int64_t>;  // size -> files

enum class Origin { stated, groups, named };

struct Source {
  Origin origin;
  const char* name;
  int64_t (*answer)(const RankEvidence&);  // what one file says, -1 or 0: nothing
};

constexpr Source kStated = {Origin::stated, "distributedInfo",
                            [](const RankEvidence& file) { return file.distributed.world_size; }};
constexpr Source kDefaultGroup = {Origin::groups, "default_pg",
                                  [](const RankEvidence& file) { return file.default_group_size; }};
constexpr Source kNamed = {Origin::named, "the file name",
                           [](const RankEvidence& file) { return static_cast<int64_t>(file.name.world_size); }};
constexpr Source kWidestGroup = {Origin::groups, "a group",
                                 [](const RankEvidence& file) { return file.largest_group; }};
constexpr std::array kSources = {kStated, kDefaultGroup, kNamed, kWidestGroup};

// The largest answer of this source that the rest of the evidence lets pass.
int64_t largest_believed(const std::vector<RankEvidence>& evidence, const Source& source) {
  int64_t others = static_cast<int64_t>(evidence.size());
  for (const RankEvidence& file : evidence) {
    for (const Source& other : kSources) {
      const int64_t size = other.answer(file);
      if (other.origin != source.origin && size <= kLargestWorld) others = std::max(others, size);
    }
  }
  return std::min(kLargestWorld, std::max(kLargestAlone, kNear * others));
}

Answers answers_of(const std::vector<RankEvidence>& evidence, const Source& source) {
  const int64_t largest = largest_believed(evidence, source);
  Answers answers;
  for (const RankEvidence& file : evidence) {
    const int64_t size = source.answer(file);
    if (size > 0 && size <= largest) ++answers[size];
  }
  return answers;
}

void report_absurd_answers(const std::vector<RankEvidence>& evidence, Findings& findings) {
  for (const Source& source : kSources) {
    const int64_t largest = largest_believed(evidence, source);
    for (const RankEvidence& file : evidence) {
      const int64_t size = source.answer(file);
      if (size <= largest) continue;
      add_finding(findings,
                  finding_of_file(Severity::warning, "world-size-not-believed", file.file,
                                  std::string(source.name) + " says " + std::to_string(size) +
                                      " ranks, more than any job has or far more than everything else says; ignored"));
    }
  }
}

// 0: no answer.
int32_t most_frequent(const Answers& answers) {
  const auto best = std::max_element(answers.begin(), answers.end(), [](const auto& a, const auto& b) {
    return a.second < b.second || (a.second == b.second && a.first < b.first);
  });
  return best == answers.end() ? 0 : static_cast<int32_t>(best->first);
}

}  // namespace

WorldSize world_size_of(const std::vector<RankEvidence>& evidence, Findings& findings) {
  report_absurd_answers(evidence, findings);
  WorldSize world{most_frequent(answers_of(evidence, kStated)), WorldSizeSource::distributed_info, true};
  const int32_t by_calls = most_frequent(answers_of(evidence, kDefaultGroup));  // a world has no larger group
  if (by_calls > world.size) world = {by_calls, WorldSizeSource::default_group, true};
  if (world.size == 0) {
    const Answers groups = answers_of(evidence, kWidestGroup);
    const int32_t largest = groups.empty() ? 0 : static_cast<int32_t>(groups.rbegin()->first);
    const int32_t by_name = most_frequent(answers_of(evidence, kNamed));
    world = by_name >= largest ? WorldSize{by_name, WorldSizeSource::file_name, true}
                               : WorldSize{largest, WorldSizeSource::largest_group, false};
  }
  if (world.size == 0) return {};

  for (const RankEvidence& file : evidence) {
    std::string others;
    for (const Source& source : kSources) {
      const int64_t size = source.answer(file);
      const bool at_least = source.name == kWidestGroup.name;  // groups smaller than the world are the rule
      const bool differs = at_least ? size > world.size : size != world.size;
      if (size > 0 && differs) {
        others += (others.empty() ? "" : ", ") + std::to_string(size) + " (" + source.name + ")";
      }
    }
    if (others.empty()) continue;
    add_finding(findings,
                finding_of_file(Severity::warning, "world-size-disagreement", file.file,
                                "this file says " + others + " ranks, the job has " + std::to_string(world.size) +
                                    " (" + to_string(world.source) + "): part of another job?"));
  }
  return world;
}

}  // namespace skewscope::ingest
