// Problem: PyTorch before 2.2 wrote no rank into the trace, and people name files by a number alone. Idea: such names
// are equal but for numbers, and the rank is the number that counts the processes: 0 to n - 1, each in equally many
// files; with gaps only behind the word rank. Process ids and stamps do not; nodes, replicas, steps and the like might,
// so a word before the number that says so rules it out. Captures of one process count as well, but follow each other,
// and what ranks do at one time does not: the files of a number must follow each other, and the first, the second, …
// of all must share a moment. Where two numbers would do, none does. What one process is, only a folder called rank
// tells.
#include "number_in_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <map>
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

std::vector<Name> names_of(const std::vector<RankEvidence>& files) {
  std::vector<Name> names;
  for (const RankEvidence& file : files) names.push_back(name_of(file.file));
  return names;
}

bool alike(const std::vector<Name>& names) {
  return std::all_of(names.begin(), names.end(), [&](const Name& name) { return name.frame == names.front().frame; });
}

void sort_by_time(std::vector<const RankEvidence*>& files) {
  std::stable_sort(files.begin(), files.end(),
                   [](const auto* a, const auto* b) { return a->first_event < b->first_event; });
}

// "rank_3/trace.json": 3. -1: no folder is called so.
int64_t rank_folder(const std::string& path) {
  int64_t rank = -1;
  for (const std::filesystem::path& part : std::filesystem::path(path).parent_path()) {
    const Name folder = name_of(part.string());
    const bool called_so = folder.numbers.size() == 1 && folder.words.front() == "rank" && folder.frame.back() == '#' &&
                           std::tolower(static_cast<unsigned char>(folder.frame.front())) == 'r';
    if (called_so) rank = folder.numbers.front();
  }
  return rank;
}

bool share_a_moment(const std::vector<const RankEvidence*>& files) {
  LocalNs last_begin = files.front()->first_event, first_end = files.front()->last_event;
  for (const RankEvidence* file : files) {
    last_begin = std::max(last_begin, file->first_event);
    first_end = std::min(first_end, file->last_event);
  }
  return last_begin < first_end;
}

// By number, in the order of time.
using Captures = std::map<int64_t, std::vector<const RankEvidence*>>;

bool follow_each_other(const std::vector<const RankEvidence*>& files) {
  const auto overlap = std::adjacent_find(files.begin(), files.end(), [](const auto* before, const auto* after) {
    return after->first_event < before->last_event;
  });
  return overlap == files.end();
}

bool are_of_processes(const Captures& captures) {
  const size_t each = captures.begin()->second.size();
  for (const auto& [number, files] : captures) {
    if (files.size() != each || !follow_each_other(files)) return false;
  }
  for (size_t n = 0; n < each; ++n) {
    std::vector<const RankEvidence*> of_all;
    for (const auto& [number, files] : captures) of_all.push_back(files[n]);
    if (!share_a_moment(of_all)) return false;
  }
  return true;
}

// Number `k` of every name, where these count processes from 0 or are called ranks; empty: they do not.
std::vector<int64_t> counted_by(const std::vector<RankEvidence>& files, const std::vector<Name>& names, size_t k) {
  std::vector<int64_t> numbers;
  Captures captures;
  for (size_t i = 0; i < files.size(); ++i) {
    numbers.push_back(names[i].numbers[k]);
    captures[names[i].numbers[k]].push_back(&files[i]);
  }
  for (auto& [number, some] : captures) sort_by_time(some);
  const std::string& word = names.front().words[k];
  const int64_t first = captures.begin()->first, last = captures.rbegin()->first;
  const bool counts = (first == 0 && last == std::ssize(captures) - 1) || (word == "rank" && first >= 0);
  if (captures.size() < 2 || !counts || counts_something_else(word) || !are_of_processes(captures)) return {};
  return numbers;
}

}  // namespace

std::vector<int64_t> numbers_in_names(const std::vector<RankEvidence>& files) {
  if (files.empty()) return {};
  if (files.size() == 1 || are_captures_of_one_process(files)) {
    const int64_t rank = rank_folder(files.front().file);
    const bool of_all =
        std::all_of(files.begin(), files.end(), [&](const auto& file) { return rank_folder(file.file) == rank; });
    return of_all && rank >= 0 ? std::vector<int64_t>(files.size(), rank) : std::vector<int64_t>();
  }
  const std::vector<Name> names = names_of(files);
  if (!alike(names)) return {};
  std::vector<int64_t> found;
  for (size_t k = 0; k < names.front().numbers.size(); ++k) {
    std::vector<int64_t> numbers = counted_by(files, names, k);
    if (numbers.empty()) continue;
    if (!found.empty() && found != numbers) return {};
    found = std::move(numbers);
  }
  return found;
}

bool are_captures_of_one_process(const std::vector<RankEvidence>& files) {
  const std::vector<Name> names = names_of(files);
  if (files.size() < 2 || !alike(names)) return false;
  std::vector<const RankEvidence*> all;
  for (const RankEvidence& file : files) {
    if (file.host != files.front().host || file.largest_group > 1 || file.default_group_size > 1) return false;
    all.push_back(&file);
  }
  for (size_t k = 0; k < names.front().numbers.size(); ++k) {
    const std::string& word = names.front().words[k];
    if (counts_something_else(word)) continue;
    std::set<int64_t> numbers;
    for (const Name& name : names) numbers.insert(name.numbers[k]);
    const bool from_0 = *numbers.begin() == 0 && *numbers.rbegin() == std::ssize(numbers) - 1;
    if (numbers.size() > 1 && (from_0 || word == "rank")) return false;
  }
  sort_by_time(all);
  return follow_each_other(all);
}

}  // namespace skewscope::ingest
