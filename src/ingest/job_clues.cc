// Problem: profilers record one job again and again, and people leave two runs in one folder; either way a rank has two
// files of different times. Idea: captures of one job come from one process, which goes on: its pid, host, GPU and
// groups stay, its step numbers rise, its captures are numbered. A second run begins again: the same numbers of steps
// or captures, in another folder or under another name. Where nothing speaks for two runs, it is one.
#include "job_clues.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <tuple>

namespace skewscope::ingest {
namespace {

constexpr size_t kNamesToTell = 4;  // fewer kernels are no program
constexpr double kAnotherProgram = 0.25;

std::string without_extensions(std::string name) {
  for (const std::string_view suffix : {".gz", ".zst", ".json", ".trace", ".pt"}) {
    if (name.size() > suffix.size() && name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  }
  return name;
}

void read_name(const std::string& path, JobClues& clues) {
  const std::string name = without_extensions(std::filesystem::path(path).filename().string());
  for (size_t at = 0; at < name.size();) {
    size_t end = at;
    while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end])) != 0) ++end;
    if (end == at) {
      clues.frame += name[at++];
      continue;
    }
    clues.frame += '#';
    clues.numbers.push_back(name.substr(at, end - at));
    at = end;
  }
}

// The default name is "host_pid"; a name that tells a rank or a capture was chosen by a program.
std::string process_in_name(const FileNameFacts& name) {
  static const std::regex kHostAndPid(R"(^.*[^\d_]_\d{2,8}$)");
  const bool chosen = name.rank >= 0 || name.local_rank >= 0 || name.coordinates.any() || !name.capture.empty();
  return !chosen && std::regex_match(name.worker, kHostAndPid) ? name.worker : "";
}

bool both_differ(const std::string& a, const std::string& b) { return !a.empty() && !b.empty() && a != b; }

const std::string& device_of(const JobClues& clues) { return clues.file->linked.trace.device_name; }

// Captures in folders of their own: the paths differ in nothing but such folders.
bool in_capture_folders(const JobClues& a, const JobClues& b) {
  if (a.folder.size() != b.folder.size()) return false;
  for (size_t i = 0; i < a.folder.size(); ++i) {
    if (a.folder[i] == b.folder[i]) continue;
    if (!is_capture_folder(a.folder[i]) || !is_capture_folder(b.folder[i])) return false;
  }
  return a.folder != b.folder;
}

bool another_machine(const JobClues& a, const JobClues& b) {
  return both_differ(a.evidence().host, b.evidence().host) || both_differ(device_of(a), device_of(b)) ||
         both_differ(a.evidence().distributed.backend, b.evidence().distributed.backend);
}

// The first row of each name.
using FirstRows = std::set<std::tuple<std::string_view, int64_t, int64_t>>;

FirstRows first_rows_of(const JobClues& clues) {
  const LinkedTrace& linked = clues.file->linked;
  const GpuEvents& gpu = linked.trace.gpu;
  std::set<StringId> seen;
  FirstRows rows;
  for (size_t row = 0; row < gpu.size(); ++row) {
    if (!seen.insert(gpu.name[row]).second) continue;
    rows.emplace(linked.strings.view(gpu.name[row]), gpu.start[row].ns, gpu.duration_ns[row]);
  }
  return rows;
}

// The names of its GPU rows: what a digest keeps of a trace's, too.
std::set<std::string_view> program_of(const JobClues& clues) {
  const LinkedTrace& linked = clues.file->linked;
  std::vector<bool> used(linked.strings.size());
  for (const StringId name : linked.trace.gpu.name) used[name.index()] = true;
  std::set<std::string_view> program;
  for (size_t i = 0; i < used.size(); ++i) {
    if (used[i]) program.insert(linked.strings.view(StringId(static_cast<int64_t>(i))));
  }
  return program;
}

template <class Set>
size_t common_of(const Set& a, const Set& b) {
  std::vector<typename Set::value_type> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both.size();
}

// Name of the group -> its members, of the groups whose members are all listed.
std::map<std::string, const RankRuns*> listed_groups(const JobClues& clues) {
  std::map<std::string, const RankRuns*> groups;
  for (const ProcessGroup& group : clues.evidence().distributed.groups) {
    if (!group.name.empty() && !group.ranks.empty()) groups.emplace(group.name, &group.ranks);
  }
  return groups;
}

bool share_a_member(const RankRuns& a, const RankRuns& b) {
  const std::vector<int64_t> ranks = a.ranks();
  return std::any_of(ranks.begin(), ranks.end(), [&](int64_t rank) { return b.contains(rank); });
}

}  // namespace

JobClues clues_of(const TraceFile& file) {
  JobClues clues;
  clues.file = &file;
  for (const auto& part : std::filesystem::path(file.evidence.folder)) clues.folder.push_back(part.string());
  read_name(file.evidence.file, clues);
  clues.process = process_in_name(file.evidence.name);
  if (file.steps_before_filter) {
    clues.steps = *file.steps_before_filter;
  } else {
    for (const StepRange& step : file.linked.trace.steps) clues.steps.push_back(step.number);
  }
  std::sort(clues.steps.begin(), clues.steps.end());
  return clues;
}

bool is_capture_folder(const std::string& part) {
  static const std::regex kCapture(
      R"((iter(ation)?|step|epoch|cycle|capture|profile|trace|session|window|repeat|batch|phase)s?[-_=]?\d+)",
      std::regex::icase);
  static const std::regex kUnixTime(R"(1\d{9}([.\d]\d*)?)");  // what SGLang names its captures by
  return std::regex_match(part, kCapture) || std::regex_match(part, kUnixTime);
}

bool overlap(const JobClues& a, const JobClues& b) {
  const RankEvidence &x = a.evidence(), &y = b.evidence();
  if (!a.timed() || !b.timed()) return false;
  return x.first_event < y.last_event && y.first_event < x.last_event;
}

bool is_copy(const JobClues& a, const JobClues& b) {
  const FirstRows x = first_rows_of(a), y = first_rows_of(b);
  const RankEvidence &e = a.evidence(), &f = b.evidence();
  const bool same_window = a.timed() && e.first_event == f.first_event && e.last_event == f.last_event;
  // The beginning alone may be that of another run of a simulator.
  return same_window && a.steps == b.steps && 2 * common_of(x, y) >= std::min(x.size(), y.size());
}

bool groups_contradict(const JobClues& a, const JobClues& b) {
  if (a.evidence().distributed.groups.empty() || b.evidence().distributed.groups.empty()) return false;
  const auto x = listed_groups(a), y = listed_groups(b);
  return std::any_of(x.begin(), x.end(), [&](const auto& group) {
    const auto other = y.find(group.first);
    return other != y.end() && *other->second != *group.second && share_a_member(*other->second, *group.second);
  });
}

double common_program(const JobClues& a, const JobClues& b) {
  const std::set<std::string_view> x = program_of(a), y = program_of(b);
  const size_t smaller = std::min(x.size(), y.size());
  return smaller < kNamesToTell ? 1 : static_cast<double>(common_of(x, y)) / static_cast<double>(smaller);
}

bool is_another_run(const JobClues& earlier, const JobClues& later) {
  if (another_machine(earlier, later) || both_differ(earlier.process, later.process)) return true;
  if (both_differ(earlier.file->job_name, later.file->job_name) || groups_contradict(earlier, later)) return true;
  if (!earlier.process.empty() && earlier.process == later.process) return false;
  const FileNameFacts &a = earlier.evidence().name, &b = later.evidence().name;
  if (a.capture.empty() && b.capture.empty() && common_program(earlier, later) < kAnotherProgram) return true;

  // From here on the two may be one process: does it go on, or begin again?
  const bool elsewhere = earlier.folder != later.folder;
  if (elsewhere && in_capture_folders(earlier, later)) return false;
  if (a.capture_number >= 0 && a.capture == b.capture) return true;
  const bool goes_on =
      !a.capture.empty() && !b.capture.empty() && a.capture != b.capture && a.capture_number <= b.capture_number;
  if (goes_on) return false;
  if (earlier.steps.empty() || later.steps.empty()) return elsewhere;
  return (elsewhere || earlier.frame != later.frame) && later.steps.front() <= earlier.steps.back();
}

}  // namespace skewscope::ingest
