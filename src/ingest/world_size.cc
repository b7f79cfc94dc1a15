#include "world_size.h"

#include <algorithm>
#include <map>

namespace skewscope::ingest {
namespace {

constexpr int64_t kLargestWorld = 100'000'000;

using Answers = std::map<int64_t, int64_t>;  // size -> files

// `answer(file)`: what one file says, -1 or 0: nothing.
template <class Answer>
Answers answers_of(const std::vector<RankEvidence>& evidence, Answer answer) {
  Answers answers;
  for (const RankEvidence& file : evidence) {
    const int64_t size = answer(file);
    if (size > 0 && size <= kLargestWorld) ++answers[size];
  }
  return answers;
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
  const auto stated = [](const RankEvidence& file) { return file.distributed.world_size; };
  const auto default_group = [](const RankEvidence& file) { return file.default_group_size; };
  const auto named = [](const RankEvidence& file) { return static_cast<int64_t>(file.name.world_size); };

  WorldSize world{most_frequent(answers_of(evidence, stated)), "distributedInfo", true};
  if (world.size == 0) world = {most_frequent(answers_of(evidence, default_group)), "size of default_pg", true};
  if (world.size == 0) {
    const Answers groups = answers_of(evidence, [](const RankEvidence& file) { return file.largest_group; });
    const int32_t largest = groups.empty() ? 0 : static_cast<int32_t>(groups.rbegin()->first);
    const int32_t by_name = most_frequent(answers_of(evidence, named));
    world = by_name >= largest ? WorldSize{by_name, "file name", true} : WorldSize{largest, "largest group", false};
  }
  if (world.size == 0) return {};

  for (const RankEvidence& file : evidence) {
    std::string others;
    const auto compare = [&](int64_t size, const char* source) {
      if (size > 0 && size != world.size) others += std::string(", ") + source + " says " + std::to_string(size);
    };
    compare(stated(file), "distributedInfo");
    compare(default_group(file), "default_pg");
    compare(named(file), "the file name");
    if (file.largest_group > world.size) compare(file.largest_group, "a group");
    if (others.empty()) continue;
    add_finding(findings, {Severity::warning, "world-size-disagreement", file.file, Rank(), -1, 1,
                           "world size " + std::to_string(world.size) + " by " + world.source + others});
  }
  return world;
}

}  // namespace skewscope::ingest
