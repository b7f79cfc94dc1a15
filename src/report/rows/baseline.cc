// What nccl-tests prints: comments begin with #, one of which may tell the operation; then a row per size:
//   #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw
//   #wrong
//       1048576        262144     float     sum      -1    42.10   24.91   43.59      0    41.85   25.06   43.85      0
// redop and root are missing for some operations and versions: fields are counted from the end.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "skewscope/base/printable.h"
#include "skewscope/report.h"

namespace skewscope {
namespace report {
namespace {

// Fields of a row: size, count and type; time, algbw, busbw and errors out of place and in place.
constexpr size_t kFewest = 11, kMost = 13, kBusBandwidthFromEnd = 6;
constexpr size_t kMostRows = 10'000;

template <class Number>
bool read_number(const std::string& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::vector<std::string> words_in(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; words.size() <= kMost && in >> word;) words.push_back(std::move(word));
  return words;
}

// "all_reduce" of "# Collective test starting: all_reduce_perf", or of the command line that a log holds.
std::string operation_in(const std::string& line) {
  constexpr std::string_view kEnd = "_perf";
  const size_t end = line.find(kEnd);
  if (end == std::string::npos) return "";
  size_t begin = end;
  while (begin > 0 && (std::islower(static_cast<unsigned char>(line[begin - 1])) != 0 || line[begin - 1] == '_'))
    --begin;
  return line.substr(begin, end - begin);
}

bool read_point(const std::string& line, JobReport::BaselinePoint& point) {
  const std::vector<std::string> words = words_in(line);
  return words.size() >= kFewest && words.size() <= kMost && read_number(words[0], point.bytes) && point.bytes > 0 &&
         read_number(words[words.size() - kBusBandwidthFromEnd], point.bus_bandwidth_gb_per_s) &&
         std::isfinite(point.bus_bandwidth_gb_per_s) && point.bus_bandwidth_gb_per_s > 0;
}

}  // namespace
}  // namespace report

Result<std::vector<JobReport::BaselinePoint>> read_baseline(const std::string& path) {
  const auto wrong = [&](const char* what) { return Error{ErrorKind::usage, fmt::format("{}: {}", path, what)}; };
  std::ifstream file(path);
  if (!file) return wrong("cannot be read");
  JobReport::BaselinePoint point;
  point.source = valid_utf8(std::filesystem::path(path).filename().string());
  std::vector<JobReport::BaselinePoint> points;
  for (std::string line; std::getline(file, line) && points.size() < report::kMostRows;) {
    if (report::read_point(line, point)) {
      points.push_back(point);
    } else if (const std::string op = report::operation_in(line); !op.empty()) {
      point.op = op;
    }
  }
  if (points.empty()) return wrong("holds no row of nccl-tests: size count type redop root time algbw busbw");
  return points;
}

}  // namespace skewscope
