// Problem: PyTorch before 2.2 wrote no rank into the trace, and people name files by a number alone. Idea: such names
// are equal but for numbers, and the rank is the number that counts the files: 0 to n - 1, each once; with gaps only
// behind the word rank. Process ids and stamps do not; nodes, replicas, steps and the like might, so a word before the
// number that says so rules it out. Captures of one process count as well, but follow each other: all windows must
// share a moment. Where two numbers would do, none does.
#include "number_in_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string>
#include <string_view>

namespace skewscope::ingest {
namespace {

using namespace std::string_view_literals;

// A path as text with its numbers taken out.
struct Name {
  std::string frame;               // "gpu#/trace.json"
  std::vector<std::string> words;  // letters before each number, in lower case: "gpu"
  std::vector<int64_t> numbers;    // of up to 6 digits; else -1
};

bool is_numeral(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

std::string word_before(std::string_view text, size_t end) {
  while (end > 0 && "-_.[="sv.find(text[end - 1]) != std::string_view::npos) --end;
  size_t begin = end;
  while (begin > 0 && is_letter(text[begin - 1])) --begin;
  std::string word(text.substr(begin, end - begin));
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return word;
}

Name name_of(std::string_view path) {
  constexpr size_t kMostDigits = 6;
  Name name;
  for (size_t at = 0; at < path.size();) {
    size_t end = at;
    while (end < path.size() && is_numeral(path[end])) ++end;
    if (end == at) {
      name.frame += path[at++];
      continue;
    }
    const std::string digits(path.substr(at, end - at));
    name.words.push_back(word_before(path, at));
    name.numbers.push_back(digits.size() <= kMostDigits ? std::stoll(digits) : -1);
    name.frame += '#';
    at = end;
  }
  return name;
}

bool counts_something_else(const std::string& word) {
  constexpr std::array kOthers = {"node"sv, "host"sv,  "replica"sv, "step"sv,  "iter"sv,  "iteration"sv, "epoch"sv,
                                  "ba"sv,   "batch"sv, "ep"sv,      "stage"sv, "run"sv,   "attempt"sv,   "restart"sv,
                                  "pid"sv,  "layer"sv, "version"sv, "v"sv,     "cycle"sv, "session"sv};
  return std::find(kOthers.begin(), kOthers.end(), word) != kOthers.end();
}

bool share_a_moment(const std::vector<RankEvidence>& files) {
  const auto last_begin = std::max_element(files.begin(), files.end(),
                                           [](const auto& a, const auto& b) { return a.first_event < b.first_event; });
  const auto first_end = std::min_element(files.begin(), files.end(),
                                          [](const auto& a, const auto& b) { return a.last_event < b.last_event; });
  return last_begin->first_event < first_end->last_event;
}

// Number `k` of every name, each once, where these are 0 to n - 1 or called ranks.
std::vector<int64_t> counted_by(const std::vector<Name>& names, size_t k) {
  std::vector<int64_t> numbers;
  for (const Name& name : names) numbers.push_back(name.numbers[k]);
  const std::set<int64_t> different(numbers.begin(), numbers.end());
  const std::string& word = names.front().words[k];
  const bool from_0 = *different.begin() == 0 && *different.rbegin() == static_cast<int64_t>(names.size()) - 1;
  const bool counts = different.size() == names.size() && (from_0 || (word == "rank" && *different.begin() >= 0));
  return counts && !counts_something_else(word) ? numbers : std::vector<int64_t>();
}

}  // namespace

std::vector<int64_t> numbers_in_names(const std::vector<RankEvidence>& files) {
  if (files.size() < 2 || !share_a_moment(files)) return {};
  std::vector<Name> names;
  for (const RankEvidence& file : files) names.push_back(name_of(file.file));
  const bool alike =
      std::all_of(names.begin(), names.end(), [&](const Name& name) { return name.frame == names.front().frame; });
  if (!alike) return {};
  std::vector<int64_t> found;
  for (size_t k = 0; k < names.front().numbers.size(); ++k) {
    std::vector<int64_t> numbers = counted_by(names, k);
    if (numbers.empty()) continue;
    if (!found.empty() && found != numbers) return {};
    found = std::move(numbers);
  }
  return found;
}

}  // namespace skewscope::ingest
