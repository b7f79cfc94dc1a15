#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <regex>

#include "skewscope/base/file_text.h"
#include "skewscope/base/printable.h"
#include "skewscope/hang.h"
#include "src/hang/dumps/dump_fields.h"
#include "src/hang/dumps/gzip_bytes.h"
#include "src/hang/dumps/json.h"
#include "src/hang/dumps/pickle.h"

namespace skewscope {
namespace {

namespace files = std::filesystem;

constexpr size_t kMostProblems = 100;

// The last number in the file's name, its suffixes aside: "nccl_trace_rank_12", "_dump_3", "rank7.pkl.gz".
int32_t rank_in_name(const std::string& file) {
  std::string name = files::path(file).filename().string();
  for (const char* suffix : {".gz", ".pkl", ".pickle", ".json", ".bin"}) {
    if (name.ends_with(suffix)) name.resize(name.size() - std::string_view(suffix).size());
  }
  const size_t last = name.find_last_of("0123456789");
  if (last == std::string::npos) return -1;
  const size_t before = name.find_last_not_of("0123456789", last);
  const std::string digits = name.substr(before + 1, last - before);
  return digits.size() > 6 ? -1 : std::stoi(digits);
}

struct Read {
  std::optional<FlightDump> dump;
  std::string problem;
};

Read read_one(const std::string& file, const std::optional<std::regex>& rank_regex) {
  const auto bytes = file_text(file);
  if (!bytes) return {std::nullopt, fmt::format("{}: cannot be read", file)};
  auto dump = read_flight_dump(*bytes, file);
  if (!dump.ok()) return {std::nullopt, dump.error().message};
  int32_t& rank = dump.value().rank;
  std::smatch match;
  if (rank_regex) {
    const bool found = std::regex_search(file, match, *rank_regex) && match.size() > 1;
    const std::string digits = found ? match[1].str() : "";
    rank = !digits.empty() && digits.size() < 7 && digits.find_first_not_of("0123456789") == std::string::npos
               ? std::stoi(digits)
               : -1;
  } else if (rank < 0) {
    rank = rank_in_name(file);
  }
  if (rank < 0) return {std::nullopt, fmt::format("{}: its name says no rank (--rank-regex)", file)};
  return {std::move(dump.value()), ""};
}

// The expression's named group `rank` as its first group: std::regex has no names.
Result<std::optional<std::regex>> compiled(const std::string& text) {
  if (text.empty()) return std::optional<std::regex>();
  static const std::string kNamed = "(?<rank>", kNamedP = "(?P<rank>";
  std::string plain = text;
  for (const std::string& named : {kNamed, kNamedP}) {
    const size_t at = plain.find(named);
    if (at == std::string::npos) continue;
    if (plain.substr(0, at).find('(') != std::string::npos) break;
    try {
      return std::optional<std::regex>(std::regex(plain.replace(at, named.size(), "(")));
    } catch (const std::regex_error& error) {
      return Error{ErrorKind::usage, fmt::format("--rank-regex: {}", error.what())};
    }
  }
  return Error{ErrorKind::usage, "--rank-regex wants one group, (?<rank>[0-9]+), and none ahead of it"};
}

Result<std::vector<std::string>> files_in(const std::vector<std::string>& paths) {
  std::vector<std::string> found;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!files::is_directory(path, error)) {
      if (!files::exists(path, error))
        return Error{ErrorKind::no_input, fmt::format("{}: there is no such file or folder", path)};
      found.push_back(path);
      continue;
    }
    for (auto at = files::recursive_directory_iterator(path, files::directory_options::skip_permission_denied, error);
         !error && at != files::recursive_directory_iterator(); at.increment(error)) {
      if (at->is_regular_file(error)) found.push_back(at->path().string());
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

// Beside dumps lie logs and other files: what has no number in its name is passed over in silence.
bool may_be_dump(const std::string& file) {
  const std::string name = files::path(file).filename().string();
  static const std::vector<std::string> kOthers = {".log", ".txt", ".csv", ".html", ".md",
                                                   ".py",  ".out", ".err", ".yaml"};
  return rank_in_name(file) >= 0 && name.find(".trace.json") == std::string::npos &&
         std::none_of(kOthers.begin(), kOthers.end(),
                      [&](const std::string& suffix) { return name.ends_with(suffix); });
}

}  // namespace

Result<FlightDump> read_flight_dump(std::string_view bytes, const std::string& file) {
  const auto placed = [&](const Error& error) { return Error{error.kind, fmt::format("{}: {}", file, error.message)}; };
  std::string inflated;
  if (hang::is_gzip(bytes)) {
    auto plain = hang::gzip_bytes(bytes);
    if (!plain.ok()) return placed(plain.error());
    inflated = std::move(plain.value());
    bytes = inflated;
  }
  if (bytes.empty()) return placed({ErrorKind::no_input, "the file is empty"});
  const size_t first = bytes.find_first_not_of(" \t\r\n");
  const bool json = first != std::string_view::npos && bytes[first] == '{';
  const auto document = json ? hang::read_json(bytes) : hang::read_pickle(bytes);
  if (!document.ok()) return placed(document.error());
  auto dump = hang::dump_of(document.value());
  if (!dump.ok()) return placed(dump.error());
  dump.value().file = file;
  return dump;
}

Result<ReadDumps> read_flight_dumps(const std::vector<std::string>& paths, const DumpOptions& options) {
  const auto rank_regex = compiled(options.rank_regex);
  if (!rank_regex.ok()) return rank_regex.error();
  auto found = files_in(paths);
  if (!found.ok()) return found.error();
  std::vector<std::string> chosen;
  for (const std::string& file : found.value()) {
    const bool given = std::find(paths.begin(), paths.end(), file) != paths.end();
    if (given || !options.rank_regex.empty() || may_be_dump(file)) chosen.push_back(file);
  }
  std::vector<Read> read(chosen.size());
  tbb::parallel_for(size_t{0}, chosen.size(), [&](size_t i) { read[i] = read_one(chosen[i], rank_regex.value()); });
  ReadDumps out;
  for (Read& one : read) {
    if (one.dump) out.dumps.push_back(std::move(*one.dump));
    if (!one.problem.empty() && out.problems.size() < kMostProblems) out.problems.push_back(printable(one.problem));
  }
  std::stable_sort(out.dumps.begin(), out.dumps.end(),
                   [](const FlightDump& a, const FlightDump& b) { return a.rank < b.rank; });
  for (size_t i = 1; i < out.dumps.size();) {
    if (out.dumps[i].rank != out.dumps[i - 1].rank) {
      ++i;
      continue;
    }
    out.problems.push_back(printable(fmt::format("{}: a second dump of rank {}; the first, {}, counts",
                                                 out.dumps[i].file, out.dumps[i].rank, out.dumps[i - 1].file)));
    out.dumps.erase(out.dumps.begin() + static_cast<int64_t>(i));
  }
  if (out.dumps.empty()) {
    return Error{ErrorKind::no_input, fmt::format("no flight recorder dump in {}{}", paths.empty() ? "" : paths.front(),
                                                  out.problems.empty() ? "" : ": " + out.problems.front())};
  }
  return out;
}

}  // namespace skewscope
