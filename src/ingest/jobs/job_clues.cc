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

#include "skewscope/base/named_host.h"

namespace skewscope::ingest {
namespace {

constexpr size_t kNamesToTell = 4;  // fewer kernels are no program

std::string without_extensions(std::string name) {
  for (const std::string_view suffix : {".gz", ".zst", ".json", ".trace", ".pt"}) {
    if (name.size() > suffix.size() && name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  }
  return name;
}

// The host tells nodes of one job apart, not jobs.
std::string without_host(std::string name) {
  const std::string host = host_behind_at(name);
  if (!host.empty()) name.erase(name.rfind('@'), host.size() + 1);
  return name;
}

void read_name(const std::string& path, JobClues& clues) {
  clues.stem = without_host(without_extensions(std::filesystem::path(path).filename().string()));
  const std::string& name = clues.stem;
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

// By its number, or its name in that of the file.
bool another_process(const JobClues& a, const JobClues& b) {
  const int64_t x = a.evidence().process_id, y = b.evidence().process_id;
  return both_differ(a.process, b.process) || (x >= 0 && y >= 0 && x != y);
}

// One rank has one place in the grid of a job.
bool at_another_place(const JobClues& a, const JobClues& b) {
  const Coordinates &x = a.evidence().name.coordinates, &y = b.evidence().name.coordinates;
  const auto differ = [](int32_t one, int32_t other) { return one >= 0 && other >= 0 && one != other; };
  return differ(x.tp, y.tp) || differ(x.cp, y.cp) || differ(x.dp, y.dp) || differ(x.pp, y.pp);
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

// Every GPU row of a trace, in order: what a tool leaves out of it leaves the others as they are.
bool is_part_of(const JobClues& part, const JobClues& whole) {
  if (!is_called_a_copy(part) || part.folder != whole.folder) return false;
  const LinkedTrace &x = part.file->linked, &y = whole.file->linked;
  size_t at = 0, found = 0;
  for (size_t row = 0; row < x.trace.gpu.size(); ++row) {
    const auto is_it = [&](size_t i) {
      return y.trace.gpu.start[i] == x.trace.gpu.start[row] &&
             y.trace.gpu.duration_ns[i] == x.trace.gpu.duration_ns[row] &&
             y.strings.view(y.trace.gpu.name[i]) == x.strings.view(x.trace.gpu.name[row]);
    };
    while (at < y.trace.gpu.size() && y.trace.gpu.start[at] < x.trace.gpu.start[row]) ++at;
    size_t same = at;
    while (same < y.trace.gpu.size() && y.trace.gpu.start[same] == x.trace.gpu.start[row] && !is_it(same)) ++same;
    found += same < y.trace.gpu.size() && is_it(same) ? 1 : 0;
  }
  return found > 0 && found == x.trace.gpu.size();
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
  const RankEvidence &e = a.evidence(), &f = b.evidence();
  const bool same_window = a.timed() && e.first_event == f.first_event && e.last_event == f.last_event;
  // The beginning alone may be that of another run of a simulator.
  if (!same_window || a.steps != b.steps) return is_part_of(a, b) || is_part_of(b, a);
  const FirstRows x = first_rows_of(a), y = first_rows_of(b);
  return 2 * common_of(x, y) >= std::min(x.size(), y.size());
}

bool is_called_a_copy(const JobClues& clues) {
  return clues.stem.starts_with("overlaid_critical_path_") || clues.stem.find("_with_counters") != std::string::npos;
}

bool is_called_an_engines(const JobClues& clues) {
  static const std::regex kEngine(R"(^dp\d+_pp\d+_tp\d+_.*)");
  return std::regex_match(clues.stem, kEngine);
}

bool groups_contradict(const JobClues& a, const JobClues& b) {
  if (a.evidence().distributed.groups.empty() || b.evidence().distributed.groups.empty()) return false;
  const auto x = listed_groups(a), y = listed_groups(b);
  return std::any_of(x.begin(), x.end(), [&](const auto& group) {
    const auto other = y.find(group.first);
    return other != y.end() && *other->second != *group.second && share_a_member(*other->second, *group.second);
  });
}

bool share_steps_of_one_clock(const JobClues& a, const JobClues& b) {
  if (a.evidence().host.empty() || a.evidence().host != b.evidence().host) return false;
  return std::any_of(a.steps.begin(), a.steps.end(),
                     [&](int64_t step) { return std::binary_search(b.steps.begin(), b.steps.end(), step); });
}

double common_program(const JobClues& a, const JobClues& b) {
  const std::set<std::string_view> x = program_of(a), y = program_of(b);
  const size_t smaller = std::min(x.size(), y.size());
  return smaller < kNamesToTell ? 1 : static_cast<double>(common_of(x, y)) / static_cast<double>(smaller);
}

bool is_another_run(const JobClues& earlier, const JobClues& later) {
  if (at_another_place(earlier, later)) return true;
  if (another_machine(earlier, later) || another_process(earlier, later)) return true;
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
