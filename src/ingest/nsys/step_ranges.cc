// Problem: a program calls its steps as it likes ("iteration 12", "train_step", "ProfilerStep#7"), and puts ranges
// around much else. Idea: steps come one after the other on one thread and hold the work. A name that says so needs to
// hold little of it (warm-up may be most of a recording), a name that counts up more, any other one half. Of several
// the better name counts, then the larger share of the launches, then the fewer ranges, which is the outer one. Why
// right: what it takes for steps divides the recording, whatever it is called, and it is said. Cost: two searches per
// range.
#include "step_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <tuple>

#include "src/ingest/text/number_text.h"

namespace skewscope::ingest {
namespace {

using namespace std::string_view_literals;

// Letters alone, in lower case.
constexpr std::array kStepWords = {
    "step"sv,           "iteration"sv,         "iter"sv,      "trainstep"sv,  "trainingstep"sv,
    "trainiteration"sv, "trainingiteration"sv, "trainiter"sv, "globalstep"sv, "profilerstep"sv,
    "batchstep"sv};
constexpr std::array<int64_t, 3> kLeastPercent = {10, 30, 50};

bool is_step_word(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    const char lower = static_cast<char>(c | 0x20);
    if (lower >= 'a' && lower <= 'z') letters += lower;
  }
  if (std::find(kStepWords.begin(), kStepWords.end(), letters) != kStepWords.end()) return true;
  // XLA's modules: jit_train_step, pjit__wrapped_step_fn.
  return letters.starts_with("jit"sv) || letters.starts_with("pjit"sv) ? letters.find("step") != std::string::npos
                                                                       : false;
}

bool counts_up(const std::vector<StepRow>& ranges) {
  return std::adjacent_find(ranges.begin(), ranges.end(),
                            [](const StepRow& a, const StepRow& b) { return b.number <= a.number; }) == ranges.end();
}

bool one_after_the_other(const std::vector<StepRow>& ranges) {
  return std::adjacent_find(ranges.begin(), ranges.end(), [](const StepRow& a, const StepRow& b) {
           return b.start < a.start + a.duration_ns;
         }) == ranges.end();
}

std::vector<StepRow> by_start(std::vector<StepRow> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const StepRow& a, const StepRow& b) { return a.start < b.start; });
  return ranges;
}

// When kernels were launched; where no call was recorded, when they ran.
std::vector<LocalNs> times_of_work(const FileContent& content) {
  std::vector<LocalNs> times;
  for (size_t i = 0; i < content.launches.size(); ++i) {
    if (content.launches.role[i] == LaunchRole::kernel) times.push_back(content.launches.events.start[i]);
  }
  if (times.empty()) times.assign(content.gpu.events.start.begin(), content.gpu.events.start.end());
  std::sort(times.begin(), times.end());
  return times;
}

}  // namespace

std::string_view name_of_step(std::string_view text, int64_t& number) {
  number = -1;
  const size_t digits = text.find_first_of("0123456789");
  if (digits == std::string_view::npos || digits == 0) return text;
  if (std::from_chars(text.data() + digits, text.data() + text.size(), number).ec != std::errc()) return text;
  const size_t last = text.find_last_not_of(" #_-:=.([", digits - 1);
  return last == std::string_view::npos ? text : text.substr(0, last + 1);
}

void StepCandidates::add(std::string_view text, LocalNs start, int64_t duration_ns, int64_t thread) {
  int64_t number = -1;
  const std::string_view name = name_of_step(text, number);
  key_.assign(name);
  key_ += '\0';
  key_ += std::to_string(thread);
  auto at = candidates_.find(key_);
  if (at == candidates_.end()) {
    if (candidates_.size() == kMostCandidates) return;
    at = candidates_.emplace(key_, Candidate{std::string(name), std::string(text), number >= 0, false, {}}).first;
  }
  Candidate& candidate = at->second;
  if (candidate.too_many) return;
  candidate.ranges.push_back({start, duration_ns, number, thread});
  if (candidate.ranges.size() < kMostRanges) return;
  candidate.too_many = true;
  std::vector<StepRow>().swap(candidate.ranges);
}

StepCandidates::Rating StepCandidates::rate(const Candidate& candidate, const std::vector<LocalNs>& work) const {
  Rating rating;
  const std::vector<StepRow> ranges = by_start(candidate.ranges);
  const bool counted = candidate.numbered && counts_up(ranges);
  const bool called = is_step_word(candidate.name);
  rating.kind = called ? 0 : counted ? 1 : 2;
  if (!one_after_the_other(ranges) || (candidate.numbered && !counted && !called)) return rating;
  if (ranges.size() < 2 && !called) return rating;
  int64_t held = 0;
  for (const StepRow& range : ranges) {
    const auto first = std::lower_bound(work.begin(), work.end(), range.start);
    held += std::lower_bound(first, work.end(), range.start + range.duration_ns) - first;
  }
  rating.percent = work.empty() ? 0 : held * 100 / std::ssize(work);
  rating.fits = rating.percent >= kLeastPercent[static_cast<size_t>(rating.kind)];
  return rating;
}

StepCandidates::Choice StepCandidates::best(std::string_view name, const FileContent& content) const {
  const std::vector<LocalNs> work = times_of_work(content);
  int64_t none = 0;
  const std::string_view without_number = name_of_step(name, none);
  Choice best;
  const auto order = [](const Candidate& c, const Rating& r) {
    return std::make_tuple(r.kind, -r.percent, c.ranges.size(), std::string_view(c.name), c.ranges.front().thread);
  };
  for (const auto& [key, candidate] : candidates_) {
    if (candidate.ranges.empty()) continue;
    if (!name.empty() && candidate.name != name && candidate.name != without_number) continue;
    const Rating rating = rate(candidate, work);
    if (!rating.fits && name.empty()) continue;
    if (best.candidate != nullptr && order(*best.candidate, best.rating) <= order(candidate, rating)) continue;
    best = {&candidate, rating};
  }
  return best;
}

std::string StepCandidates::best_name(const FileContent& content) const {
  const Choice choice = best("", content);
  return choice.candidate == nullptr ? "" : choice.candidate->name;
}

bool StepCandidates::take(const std::string& name, NamedBy by, FileContent& content) const {
  const Choice choice = best(name, content);
  if (choice.candidate == nullptr) return false;
  content.steps = by_start(choice.candidate->ranges);
  if (!choice.candidate->numbered || !counts_up(content.steps)) {
    for (size_t i = 0; i < content.steps.size(); ++i) content.steps[i].number = static_cast<int64_t>(i);
  }
  if (by == NamedBy::option) return true;
  report(content, Severity::info, "steps-from-range", std::ssize(content.steps),
         fmt::format("steps are the {} ranges \"{}\", in which {} % of the kernels were launched{}; --step-range names "
                     "others",
                     content.steps.size(), choice.candidate->name, choice.rating.percent,
                     by == NamedBy::peers ? ", since most processes of the file have them" : ""));
  return true;
}

void choose_steps(const std::vector<StepCandidates>& candidates, const std::string& wanted,
                  std::vector<FileContent>& ranks) {
  std::vector<std::string> own;
  std::map<std::string, int64_t> votes;
  for (size_t i = 0; i < ranks.size() && wanted.empty(); ++i) {
    own.push_back(candidates[i].best_name(ranks[i]));
    if (!own.back().empty()) ++votes[own.back()];
  }
  const auto most =
      std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (!wanted.empty()) {
      if (!candidates[i].take(wanted, StepCandidates::NamedBy::option, ranks[i]))
        report(ranks[i], Severity::warning, "step-range-no-match", 1,
               fmt::format("no range is called \"{}\" (--step-range): no steps", wanted));
      continue;
    }
    if (most == votes.end()) continue;
    const bool agrees = own[i] == most->first;
    const auto by = agrees ? StepCandidates::NamedBy::own_choice : StepCandidates::NamedBy::peers;
    if (!candidates[i].take(most->first, by, ranks[i]) && !own[i].empty())
      candidates[i].take(own[i], StepCandidates::NamedBy::own_choice, ranks[i]);
  }
}

}  // namespace skewscope::ingest
