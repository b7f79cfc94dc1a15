// Which files are traces, by what a user gave: names, folders, patterns.
#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "share_files.h"
#include "skewscope/digest.h"
#include "skewscope/ingest.h"
#include "src/ingest/ascend/profile_files.h"
#include "src/ingest/content/other_format.h"
#include "trace_readers.h"

namespace skewscope {
namespace {

namespace fs = std::filesystem;

bool has_suffix(std::string_view name, std::string_view suffix) {
  return name.size() > suffix.size() && name.substr(name.size() - suffix.size()) == suffix;
}

const ingest::TraceReaders& readers_of_all() {
  static const ingest::TraceReaders readers;
  return readers;
}

bool looks_like_trace_name(const std::string& name) {
  return name.front() != '.' && (has_suffix(name, kDigestSuffix) || readers_of_all().take_name(name));
}

// "no file in it whose name ends in .json or .sqlite, plain, .gz or .zst".
std::string no_trace_in_it() {
  std::vector<std::string> plain;
  for (const std::string& suffix : readers_of_all().suffixes()) {
    const bool known = std::find(plain.begin(), plain.end(), suffix) != plain.end();
    if (!known && !suffix.ends_with(".gz") && !suffix.ends_with(".zst")) plain.push_back(suffix);
  }
  std::string text = "no file in it whose name ends in ";
  for (size_t i = 0; i < plain.size(); ++i) {
    text += (i == 0 ? "" : i + 1 < plain.size() ? ", " : " or ") + plain[i];
  }
  return text + ", plain, .gz or .zst";
}

// A report directory of ours: its JSON files are results, not traces.
bool is_report_directory(const fs::path& folder) {
  std::error_code failed;
  return fs::exists(folder / "COMPLETE", failed) && fs::exists(folder / "report.json", failed);
}

// Documents of ours next to traces (truth.json of `simulate`, a loose report.json) name their schema at the head.
bool is_own_document(const fs::path& file) {
  if (!has_suffix(file.filename().native(), ".json")) return false;
  std::ifstream in(file, std::ios::binary);
  std::string head(256, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(in.gcount()));
  return head.find("\"schema\"") != std::string::npos && head.find("\"skewscope.") != std::string::npos;
}

struct Found {
  std::vector<std::string> files;
  std::vector<Error> unlisted;  // folders
};

Error cannot_list(const std::string& folder, int error) {
  const bool forbidden = error == EACCES || error == EPERM;
  return {forbidden ? ErrorKind::no_input : ErrorKind::unreadable,
          folder + ": cannot be listed: " + std::strerror(error)};
}

// Folders that go away meanwhile have nothing; links to folders are not followed.
void add_directory(const fs::path& folder, Found& found) {
  if (is_report_directory(folder)) return;
  std::error_code failed;
  fs::directory_iterator entry(folder, failed);
  for (const fs::directory_iterator end; !failed && entry != end; entry.increment(failed)) {
    const fs::path& path = entry->path();
    const std::string name = path.filename().string();
    std::error_code unreadable;
    if (entry->is_directory(unreadable)) {
      if (name.front() == '.' || entry->is_symlink(unreadable)) continue;
      add_directory(path, found);
    } else if (looks_like_trace_name(name) && entry->is_regular_file(unreadable) && !is_own_document(path) &&
               ingest::profile_file(path.string()) != ingest::ProfileFile::side) {
      found.files.push_back(path.string());
    }
  }
  const bool gone = failed == std::errc::no_such_file_or_directory || failed == std::errc::not_a_directory;
  if (failed && !gone) found.unlisted.push_back(cannot_list(folder.string(), failed.value()));
}

bool is_pattern(const std::string& path) { return path.find_first_of("*?[") != std::string::npos; }

thread_local std::vector<Error> unlisted_by_glob;

void add_pattern(const std::string& pattern, Found& found) {
  glob_t hits{};
  const auto on_error = [](const char* folder, int error) {
    unlisted_by_glob.push_back(cannot_list(folder, error));
    return 0;
  };
  const bool any = glob(pattern.c_str(), GLOB_NOSORT, on_error, &hits) == 0;
  for (Error& error : std::exchange(unlisted_by_glob, {})) found.unlisted.push_back(std::move(error));
  if (any) {
    for (size_t i = 0; i < hits.gl_pathc; ++i) {
      const std::string path = hits.gl_pathv[i];
      std::error_code unreadable;
      if (fs::is_directory(path, unreadable)) {
        add_directory(path, found);
      } else if (!fs::is_regular_file(path, unreadable) || !is_own_document(path)) {
        found.files.push_back(path);
      }
    }
  }
  globfree(&hits);
}

// Where files really are, or as they are spelled where that cannot be known. Where files are no links, only the
// folders are resolved, each once.
class RealPaths {
 public:
  std::string of(const fs::path& file) {
    std::error_code failed;
    if (fs::is_symlink(file, failed)) return resolved(file);
    const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
    const auto [known, fresh] = folders_.try_emplace(folder.native());
    if (fresh) known->second = resolved(folder);
    return known->second / file.filename();
  }

 private:
  static fs::path resolved(const fs::path& path) {
    std::error_code failed;
    const fs::path real = fs::weakly_canonical(path, failed);
    return failed ? path : real;
  }

  std::map<std::string, fs::path> folders_;
};

// One entry per file, whatever the spellings of its path; the smallest stays of those that are no links, else of all.
std::vector<std::string> sorted_unique(std::vector<std::string> found) {
  std::sort(found.begin(), found.end());
  std::map<std::string, std::string> spellings;
  RealPaths real;
  for (const std::string& file : found) {
    std::error_code failed;
    const auto [kept, first] = spellings.emplace(real.of(file), file);
    if (!first && fs::is_symlink(kept->second, failed) && !fs::is_symlink(file, failed)) kept->second = file;
  }
  std::vector<std::string> files;
  for (const auto& [path, file] : spellings) files.push_back(file);
  std::sort(files.begin(), files.end());
  return files;
}

// What lies in a folder without a trace, by the first of its names that tells; empty: none does.
std::string what_is_there(const fs::path& folder) {
  std::string first;
  std::error_code failed;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, failed);
  for (const fs::recursive_directory_iterator end; !failed && entry != end; entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    const bool tells = ingest::other_format_of_name(name) != nullptr;
    if (tells && (first.empty() || name < first)) first = name;
  }
  if (first.empty()) return "";
  const ingest::OtherFormat& format = *ingest::other_format_of_name(first);
  return "; " + first + " is " + format.name + ": " + format.next_step;
}

Result<Found> files_of(const std::string& path) {
  Found found;
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (fs::is_directory(status)) {
    add_directory(path, found);
    if (found.files.empty() && found.unlisted.empty()) {
      const bool report = is_report_directory(path);
      return Error{ErrorKind::no_input,
                   path + (report ? std::string(": is a report directory, not a directory of traces")
                                  : ": " + no_trace_in_it() + what_is_there(path))};
    }
  } else if (fs::exists(status) || file_of_part(path) != path) {
    found.files.push_back(path);
  } else if (is_pattern(path)) {
    add_pattern(path, found);
    if (found.files.empty() && found.unlisted.empty())
      return Error{ErrorKind::no_input, path + ": no file matches the pattern"};
  } else {
    return Error{ErrorKind::no_input, path + ": no such file or directory"};
  }
  return found;
}

// What all processes found: on disks of the nodes, each finds its own.
std::set<std::string> found_somewhere(const std::vector<std::string>& own, Exchange& exchange) {
  ByteWriter writer;
  for (const std::string& path : own) writer.put(path);
  std::set<std::string> all;
  for (const Bytes& bytes : exchange.all_gather(writer.take())) {
    for (ByteReader reader(bytes); !reader.done();) all.insert(reader.get<std::string>());
  }
  return all;
}

}  // namespace

std::string file_of_part(const std::string& name) {
  const size_t mark = name.rfind('#');
  std::error_code failed;
  if (mark == std::string::npos || fs::exists(name, failed)) return name;
  std::string file = name.substr(0, mark);
  return fs::is_regular_file(file, failed) ? file : name;
}

Result<std::vector<std::string>> discover_files(const std::vector<std::string>& paths, Exchange& exchange,
                                                std::vector<Error>* unlisted) {
  std::vector<std::string> files, good;
  std::vector<std::pair<std::string, Error>> errors;
  Result<Done> own = Done{};
  for (const std::string& path : paths) {
    Result<Found> below = files_of(path);
    if (!below.ok()) {
      errors.emplace_back(path, below.error());
      continue;
    }
    std::vector<Error>& unread = below.value().unlisted;
    if (unlisted != nullptr) {
      unlisted->insert(unlisted->end(), unread.begin(), unread.end());
    } else {  // folders that we may not see into have nothing
      const auto lost = std::find_if(unread.begin(), unread.end(),
                                     [](const Error& error) { return error.kind == ErrorKind::unreadable; });
      if (lost != unread.end()) own = *lost;
      if (below.value().files.empty() && !unread.empty()) {
        errors.emplace_back(path, unread.front());
        continue;
      }
    }
    files.insert(files.end(), below.value().files.begin(), below.value().files.end());
    good.push_back(path);
  }
  const std::set<std::string> found = found_somewhere(good, exchange);
  if (found.empty()) own = Error{ErrorKind::no_input, "no files given"};
  const auto lost = std::find_if(errors.begin(), errors.end(), [&](const auto& e) { return !found.contains(e.first); });
  if (lost != errors.end()) own = lost->second;
  if (const Result<Done> all = agree(exchange, own); !all.ok()) return all.error();
  return ingest::own_share(sorted_unique(std::move(files)), exchange);
}

}  // namespace skewscope
