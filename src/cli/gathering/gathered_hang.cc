#include "gathered_hang.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "skewscope/base/file_text.h"
#include "skewscope/base/whole_file.h"
#include "skewscope/hang.h"
#include "skewscope/protocol/names.h"
#include "skewscope/protocol/sha256.h"
#include "src/cli/commands/report_stamp.h"

namespace skewscope::cli {
namespace {

namespace files = std::filesystem;

constexpr const char* kRankOfDump = "/r(?<rank>[0-9]+)\\.frdump$";

std::string hash_between(const std::string& page, const std::string& begin, const std::string& end) {
  const size_t from = page.find(begin), to = page.find(end, from);
  if (from == std::string::npos || to == std::string::npos) return "'none'";
  const std::string text = page.substr(from + begin.size(), to - from - begin.size());
  const Digest digest = sha256(text);
  return fmt::format("'sha256-{}'", base64({reinterpret_cast<const char*>(digest.data()), digest.size()}));
}

// The daemon serves a page with the hashes of script and style that the page itself names, and lets nothing else run.
Result<Done> seal_page(const std::string& path) {
  const auto page = file_text(path);
  const size_t at = page ? page->find("<meta charset") : std::string::npos;
  if (at == std::string::npos) return Error{ErrorKind::output, path + ": cannot be read"};
  const std::string policy = fmt::format(
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src {}; style-src {}; "
      "base-uri 'none'; form-action 'none'\">\n",
      hash_between(*page, "<script>", "</script>"), hash_between(*page, "<style>", "</style>"));
  return write_whole_file(page->substr(0, at) + policy + page->substr(at), path, true);
}

}  // namespace

Gathered gathered_in(const std::string& folder) {
  Gathered out;
  std::vector<KeptDump> dumps;
  std::error_code failed;
  for (const auto& capture : files::directory_iterator(folder, failed)) {
    int number = -1;
    if (std::sscanf(capture.path().filename().c_str(), "c%d", &number) != 1) continue;
    for (const auto& file : files::directory_iterator(capture.path(), failed)) {
      int rank = -1;
      if (std::sscanf(file.path().filename().c_str(), "r%d", &rank) != 1) continue;
      if (!is_dump(number)) out.captures.insert(number);
      if (is_dump(number)) dumps.push_back({number, rank, file.path().string()});
    }
  }
  out.dumps = last_incident(std::move(dumps));
  return out;
}

ExitCode make_hang(const ReportTask& task, const Gathered& gathered, const std::string& command) {
  std::vector<std::string> paths;
  for (const KeptDump& dump : gathered.dumps) paths.push_back(dump.path);
  const auto read = read_flight_dumps(paths, {kRankOfDump});
  if (!read.ok()) return fail(read.error());
  HangReport report = find_hang(read.value().dumps, task.world_size);
  report.problems = read.value().problems;
  for (const std::string& problem : report.problems) fmt::print(stderr, "{}\n", problem);
  const ReportStamp stamp = stamp_of(command);
  const HangStamp made = {stamp.command, SKEWSCOPE_VERSION, stamp.created_utc};
  std::vector<std::string> places = {task.output + "/hang"};
  if (gathered.captures.empty()) places.insert(places.begin(), task.output);
  for (const std::string& place : places) {
    const auto written = write_hang(report, place, made, false);
    if (!written.ok()) return fail(written.error());
    const auto sealed = seal_page(place + "/index.html");
    if (!sealed.ok()) return fail(sealed.error());
  }
  return report.problems.empty() ? kDone : kInPart;
}

}  // namespace skewscope::cli
