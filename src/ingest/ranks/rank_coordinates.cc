// Problem: a name such as "TP-1-DP-0-PP-1" places a process in a grid but does not say how large the grid is, nor which
// dimensions lie inside another: under SGLang's attention parallelism DP is a part of TP.
// Idea: a reading is a set of dimensions, numbered with tp fastest, then cp, dp, pp, each as large as its largest
// coordinate says. It counts if it gives the files every number of the world, and only one.
// Why right: a set too small repeats numbers or falls short of the world; one with a dependent dimension leaves holes.
// Launchers that number otherwise are refuted by content: a rank known by a better source, or a group of the process
// that lacks the rank; then no file's coordinates are believed, nor where two readings fit and differ.
// Cost: 15 readings, each linear in files times the members of their groups. Source: KINETO.md, section 8.
#include "rank_coordinates.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>

#include "rank_clashes.h"

namespace skewscope::ingest {
namespace {

constexpr size_t kDimensions = 4;
constexpr std::array<const char*, kDimensions> kNames = {"TP", "CP", "DP", "PP"};

std::array<int32_t, kDimensions> fastest_first(const Coordinates& c) { return {c.tp, c.cp, c.dp, c.pp}; }

using Numbers = std::vector<int64_t>;  // per file, -1: the name has no coordinates

// Bit d of `reading`: dimension d counts. None unless the numbers are 0..world-1, each present.
std::optional<Numbers> numbers_by(unsigned reading, const std::vector<RankEvidence>& evidence, int64_t world) {
  Numbers numbers(evidence.size(), -1);
  int64_t stride = 1;
  for (size_t d = 0; d < kDimensions; ++d) {
    if ((reading >> d & 1U) == 0) continue;
    int64_t size = 0;
    for (size_t i = 0; i < evidence.size(); ++i) {
      if (!evidence[i].name.coordinates.any()) continue;
      const int64_t place = fastest_first(evidence[i].name.coordinates)[d];
      if (place < 0 || place >= world) return std::nullopt;
      numbers[i] = std::max<int64_t>(numbers[i], 0) + place * stride;
      size = std::max(size, place + 1);
    }
    stride *= size;
    if (stride > world) return std::nullopt;
  }
  if (stride != world) return std::nullopt;
  Numbers present = numbers;
  std::sort(present.begin(), present.end());
  present.erase(std::unique(present.begin(), present.end()), present.end());
  const int64_t distinct = std::count_if(present.begin(), present.end(), [](int64_t n) { return n >= 0; });
  if (distinct != world) return std::nullopt;
  return numbers;
}

std::string source_of(unsigned reading) {
  std::string names;
  for (size_t d = 0; d < kDimensions; ++d) {
    if ((reading >> d & 1U) != 0) names += std::string(names.empty() ? "" : "/") + kNames[d];
  }
  return "file name " + names + (names.size() > 2 ? " coordinates" : " coordinate");
}

void report(Findings& findings, const std::string& file, const std::string& what) {
  add_finding(findings,
              finding_of_file(Severity::warning, "rank-coordinates", file, what + "; no file's coordinates are used"));
}

// Two processes at one place: captures of one process follow each other and stay on its host.
bool may_be_one_process(const RankEvidence& a, const RankEvidence& b) {
  const bool apart = a.last_event <= b.first_event || b.last_event <= a.first_event;
  return apart && (a.host.empty() || b.host.empty() || a.host == b.host);
}

bool agrees_with_content(const RankEvidence& file, int64_t number, int64_t known, Findings& findings) {
  const std::string says = "coordinates of the file name make this rank " + std::to_string(number);
  if (known >= 0 && known != number) {
    report(findings, file.file, says + ", a better source says " + std::to_string(known));
    return false;
  }
  if (in_all_groups(file, number)) return true;
  report(findings, file.file, says + ", which is not in all groups of the process");
  return false;
}

bool unique_per_process(const std::vector<RankEvidence>& evidence, const Numbers& numbers, Findings& findings) {
  std::map<int64_t, std::vector<size_t>> files_of;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] >= 0) files_of[numbers[i]].push_back(i);
  }
  bool unique = true;
  for (auto& [number, files] : files_of) {
    std::sort(files.begin(), files.end(), [&](size_t a, size_t b) {
      return std::tie(evidence[a].first_event, a) < std::tie(evidence[b].first_event, b);
    });
    for (size_t k = 1; k < files.size(); ++k) {
      if (may_be_one_process(evidence[files[k - 1]], evidence[files[k]])) continue;
      report(findings, evidence[files[k]].file, "another process has the coordinates of this one");
      unique = false;
    }
  }
  return unique;
}

}  // namespace

CoordinateRanks ranks_by_coordinates(const std::vector<RankEvidence>& evidence, const std::vector<int64_t>& known,
                                     int32_t world_size, Findings& findings) {
  if (world_size <= 0) return {};
  CoordinateRanks ranks;
  for (unsigned reading = 1; reading < 1U << kDimensions; ++reading) {
    std::optional<Numbers> numbers = numbers_by(reading, evidence, world_size);
    if (!numbers || *numbers == ranks.of_file) continue;
    if (!ranks.of_file.empty()) {
      report(findings, "", source_of(reading) + " and " + ranks.source + " give different ranks");
      return {{}, "", true};
    }
    ranks = {std::move(*numbers), source_of(reading), false};
  }
  if (ranks.of_file.empty()) return {};
  bool agree = unique_per_process(evidence, ranks.of_file, findings);
  for (size_t i = 0; i < evidence.size(); ++i) {
    if (ranks.of_file[i] < 0) continue;
    agree = agrees_with_content(evidence[i], ranks.of_file[i], known[i], findings) && agree;
  }
  return agree ? ranks : CoordinateRanks{{}, "", true};
}

}  // namespace skewscope::ingest
