// Problem: a report directory must never look whole when it is not, and --force must never delete what is not ours.
// Idea: everything is written into a sibling directory of a name that says so, COMPLETE last, and then takes the final
// name in one step (rename, or exchange with the old report, which is then deleted). A crash leaves at most the
// sibling. Ours is a directory that is empty, or holds a COMPLETE or a document that names a schema of skewscope and no
// entry that no command writes.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <numeric>
#include <set>

#include "report_directory.h"
#include "src/report/tables/csv_file.h"
#include "src/report/tables/run_tables.h"
#include "src/report/tables/sqlite_file.h"
#include "src/report/tables/xlsx_file.h"

namespace skewscope {
namespace fs = std::filesystem;
namespace report {
namespace {

struct Format {
  std::string_view name;
  bool by_default;
};
constexpr std::array kFormats = {Format{"json", true}, Format{"csv", true},   Format{"sqlite", true},
                                 Format{"html", true}, Format{"xlsx", false}, Format{"prometheus", false}};
constexpr std::string_view kTables = "tables", kComplete = "COMPLETE";
constexpr std::array<std::string_view, 4> kDocuments = {"report.json", "rank.json", "scale.json", "compare.json"};
constexpr std::array<std::string_view, 7> kFiles = {kComplete,     "diagnostics.json", "index.html", "report.sqlite",
                                                    "report.xlsx", "report.prom",      "summary.txt"};

constexpr uintmax_t kWorthThreads = 32 << 20;  // bytes that are compared or copied while TBB starts

Error output_error(const std::string& what, const std::string& why) {
  return {ErrorKind::output, fmt::format("{}: {}", what, why)};
}

// Without trailing slashes; a link to a directory is followed, so that the link stays and its target is replaced.
fs::path final_path(const std::string& directory) {
  fs::path path = fs::absolute(directory).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  std::error_code error;
  const fs::path target = fs::canonical(path, error);
  return error ? path : target;
}

bool names_our_schema(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string head(256, '\0');
  in.read(head.data(), std::ssize(head));
  head.resize(static_cast<size_t>(in.gcount()));
  return head.find("skewscope.") != std::string::npos;
}

std::set<std::string> files_of(const std::initializer_list<std::vector<Table>>& sets) {
  std::set<std::string> files;
  for (const std::vector<Table>& tables : sets) {
    for (const Table& table : tables) files.insert(table.name + ".csv");
  }
  return files;
}

// Whether some command writes a table of this name. Those of `report` are looked up first: most directories hold no
// others.
bool is_table_file(const std::string& name) {
  static const std::set<std::string> kOfJobs = files_of({tables_of(JobReport())});
  if (kOfJobs.count(name) > 0) return true;
  static const std::set<std::string> kOthers = [] {
    RankReport detailed;
    detailed.tables.detailed = true;
    return files_of({tables_of(detailed), tables_of(ScaleReport()), tables_of(CompareReport())});
  }();
  return kOthers.count(name) > 0;
}

// As the directory says, where it does: no file is looked at then.
fs::file_type type_of(const fs::directory_entry& entry) {
  std::error_code ignored;
  if (entry.is_symlink(ignored)) return fs::file_type::symlink;
  if (entry.is_regular_file(ignored)) return fs::file_type::regular;
  if (entry.is_directory(ignored)) return fs::file_type::directory;
  return entry.symlink_status(ignored).type();
}

// The first entry, by name, of a report directory or of its tables that no command writes; "" for none.
// A directory that cannot be read is foreign itself.
std::string foreign_entry(const fs::path& directory, const std::string& inside = "") {
  std::vector<std::string> foreign;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const fs::file_type type = type_of(*entry);
    const auto among = [&](const auto& names) { return std::find(names.begin(), names.end(), name) != names.end(); };
    const bool known = inside.empty() ? among(kFiles) || among(kDocuments) : is_table_file(name);
    if (inside.empty() && name == kTables && type == fs::file_type::directory) {
      if (std::string below = foreign_entry(entry->path(), name + "/"); !below.empty()) foreign.push_back(below);
    } else if (!known || type != fs::file_type::regular) {
      foreign.push_back(inside + name);
    }
  }
  if (error) return inside.empty() ? "." : inside;
  return foreign.empty() ? "" : *std::min_element(foreign.begin(), foreign.end());
}

Result<Done> check_ours(const fs::path& path, const std::string& name) {
  std::error_code error;
  if (fs::is_empty(path, error)) return Done{};
  const bool ours = names_our_schema(path / kComplete) ||
                    std::any_of(kDocuments.begin(), kDocuments.end(),
                                [&](std::string_view document) { return names_our_schema(path / document); });
  if (!ours) {
    return output_error(name, "exists and is no report of skewscope, which does not delete it: choose another -o");
  }
  if (const std::string foreign = foreign_entry(path); !foreign.empty()) {
    return output_error(
        name, fmt::format("holds '{}', which is no part of a report and would be lost: choose another -o", foreign));
  }
  return Done{};
}

Result<Done> write_text(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), std::ssize(text));
  file.close();
  if (!file) return output_error("cannot write " + path.string(), std::strerror(errno));
  return Done{};
}

Result<Done> write_csv_tables(const std::vector<Table>& tables, const fs::path& directory) {
  std::error_code error;
  fs::create_directory(directory, error);
  if (error) return output_error("cannot create " + directory.string(), error.message());
  for (const Table& table : tables) {
    if (auto done = write_csv(table, directory / (table.name + ".csv")); !done.ok()) return done;
  }
  return Done{};
}

// Files side by side, and COMPLETE when all are there.
Result<Done> write_files(const DirectoryContent& content, const WriteOptions& options, const fs::path& directory) {
  const auto wanted = [&](std::string_view name) {
    if (!options.formats.empty()) {
      return std::find(options.formats.begin(), options.formats.end(), name) != options.formats.end();
    }
    return std::any_of(kFormats.begin(), kFormats.end(),
                       [&](const Format& format) { return format.name == name && format.by_default; });
  };
  Result<Done> summary = Done{}, json = Done{}, csv = Done{}, sqlite = Done{}, xlsx = Done{}, page = Done{};
  tbb::parallel_invoke(
      [&] {
        if (wanted("sqlite")) sqlite = write_sqlite(content.tables, content.views, directory / "report.sqlite");
      },
      [&] {
        if (wanted("json")) json = write_text(directory / content.document, content.json());
      },
      [&] {
        if (content.page && wanted("html")) page = write_text(directory / "index.html", content.page());
      },
      [&] {
        if (wanted("csv")) csv = write_csv_tables(content.tables, directory / kTables);
      },
      [&] {
        if (!wanted("xlsx")) return;
        const SummarySheet first = content.sheet ? content.sheet() : summary_sheet(content.summary());
        xlsx = write_xlsx(first, content.tables, directory / "report.xlsx");
      },
      [&] {
        summary = write_text(directory / "summary.txt", content.summary());
        if (summary.ok()) summary = write_text(directory / "diagnostics.json", content.diagnostics());
        if (summary.ok() && wanted("prometheus") && content.prometheus) {
          summary = write_text(directory / "report.prom", content.prometheus());
        }
      });
  for (const Result<Done>* done : {&summary, &json, &csv, &sqlite, &xlsx, &page}) {
    if (!done->ok()) return *done;
  }
  return write_text(directory / kComplete, fmt::format("{}\n", content.schema));
}

// Gives the whole directory `partial` the name `path`; what was there is deleted.
Result<Done> take_place(const fs::path& partial, const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    fs::rename(partial, path, error);
    if (error) return output_error("cannot create " + path.string(), error.message());
    return Done{};
  }
  if (renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) != 0) {
    // Only a file system that cannot exchange goes on: for a moment neither report has the name.
    if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) {
      return output_error("cannot replace " + path.string(), std::strerror(errno));
    }
    const fs::path aside = partial.string() + ".old";
    fs::rename(path, aside, error);
    if (!error) fs::rename(partial, path, error);
    if (error) {
      std::error_code ignored;
      fs::rename(aside, path, ignored);
      return output_error("cannot replace " + path.string(), error.message());
    }
    fs::remove_all(aside, error);
    return Done{};
  }
  fs::remove_all(partial, error);  // holds the old report now
  return Done{};
}

// `fill` writes into the directory that it is given, COMPLETE last.
Result<Done> write_whole(const WriteOptions& options, const std::function<Result<Done>(const fs::path&)>& fill) {
  if (auto checked = check_output(options); !checked.ok()) return checked;
  const fs::path path = final_path(options.directory);
  const fs::path partial = partial_directory(options.directory);
  std::error_code error;
  fs::remove_all(partial, error);  // of a dead process that had our id
  fs::create_directories(partial, error);
  if (error) return output_error("cannot create " + partial.string(), error.message());
  auto done = fill(partial);
  if (done.ok() && options.before_named) options.before_named(partial.string());
  if (done.ok()) done = take_place(partial, path);
  if (!done.ok()) fs::remove_all(partial, error);
  return done;
}

bool same_bytes(const fs::path& one, const fs::path& other) {
  std::error_code error;
  const uintmax_t bytes = fs::file_size(one, error);
  if (error || fs::file_size(other, error) != bytes) return false;
  constexpr size_t kBlock = 1 << 17;
  std::ifstream in_one(one, std::ios::binary), in_other(other, std::ios::binary);
  std::vector<char> of_one(kBlock), of_other(kBlock);
  for (uintmax_t left = bytes; left > 0;) {
    const size_t size = std::min<uintmax_t>(left, kBlock);
    if (!in_one.read(of_one.data(), static_cast<std::streamsize>(size))) return false;
    if (!in_other.read(of_other.data(), static_cast<std::streamsize>(size))) return false;
    if (std::memcmp(of_one.data(), of_other.data(), size) != 0) return false;
    left -= size;
  }
  return true;
}

// Whether a file has the bytes of `from`, and owner, group and modes of `written`, a file that was made just now.
bool is_as_copied(const fs::path& path, nlink_t links, const fs::path& from, const struct stat& written) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && status.st_mode == written.st_mode && status.st_uid == written.st_uid &&
         status.st_gid == written.st_gid && status.st_nlink == links && same_bytes(path, from);
}

// A file that the report which is replaced has already goes over by a link, its old name goes with the old report: to
// make and to delete files takes file systems longer than to compare them. Compared is what was linked, which no
// other process can exchange any more.
bool take_over(const fs::path& old, const fs::path& target, const fs::path& from, const struct stat& written) {
  struct stat status {};
  if (lstat(old.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink != 1) return false;
  std::error_code error;
  fs::create_hard_link(old, target, error);
  if (error) return false;
  if (is_as_copied(target, 2, from, written)) {
    fs::last_write_time(target, fs::file_time_type::clock::now(), error);
    return true;
  }
  fs::remove(target, error);
  return false;
}

Result<Done> copy_file(const fs::path& from, const ReportFile& file, const fs::path& replaced, const fs::path& to,
                       const struct stat& written) {
  std::error_code error;
  const fs::path target = to / file.name;
  if (!take_over(replaced / file.name, target, from / file.name, written)) {
    fs::copy_file(from / file.name, target, error);
    if (!error) fs::permissions(target, static_cast<fs::perms>(written.st_mode & ALLPERMS), error);
    if (error) return output_error("cannot copy " + (from / file.name).string(), error.message());
  }
  if (fs::file_size(target, error) != file.bytes) return output_error(target.string(), "is cut");
  return Done{};
}

}  // namespace

Result<Done> write_directory(const DirectoryContent& content, const WriteOptions& options) {
  return write_whole(options, [&](const fs::path& partial) { return write_files(content, options, partial); });
}

Result<Done> copy_directory(const std::string& from, const std::vector<ReportFile>& files,
                            const std::map<std::string, std::string>& changed, const WriteOptions& options) {
  const fs::path replaced = final_path(options.directory);
  return write_whole(options, [&](const fs::path& partial) -> Result<Done> {
    for (const auto& [name, text] : changed) {
      if (auto done = write_text(partial / name, text); !done.ok()) return done;
    }
    std::error_code error;
    struct stat written {};
    if (lstat((partial / changed.begin()->first).c_str(), &written) != 0) {
      return output_error("cannot copy " + from, std::strerror(errno));
    }
    std::vector<ReportFile> same;
    const ReportFile* complete = nullptr;
    fs::path folder = partial;
    for (const ReportFile& file : files) {
      if (file.name == kComplete) complete = &file;
      if (file.name != kComplete && changed.count(file.name) == 0) same.push_back(file);
      const fs::path around = (partial / file.name).parent_path();
      if (around != folder) fs::create_directories(folder = around, error);
    }
    if (complete == nullptr) return output_error("cannot copy " + from, "it is not complete");
    std::vector<Result<Done>> done(same.size(), Done{});
    const auto copy = [&](size_t f) { done[f] = copy_file(from, same[f], replaced, partial, written); };
    const auto bytes = [](uintmax_t sum, const ReportFile& file) { return sum + file.bytes; };
    if (std::accumulate(same.begin(), same.end(), uintmax_t{0}, bytes) < kWorthThreads) {
      for (size_t f = 0; f < same.size(); ++f) copy(f);
    } else {  // largest first, side by side
      std::sort(same.begin(), same.end(), [](const ReportFile& a, const ReportFile& b) { return a.bytes > b.bytes; });
      tbb::parallel_for(size_t{0}, same.size(), copy);
    }
    for (const Result<Done>& one : done) {
      if (!one.ok()) return one;
    }
    return copy_file(from, *complete, replaced, partial, written);
  });
}

}  // namespace report

std::vector<ReportFile> files_of_report(const std::string& directory) {
  std::vector<ReportFile> files;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code gone;
    if (!entry->is_regular_file(gone)) continue;
    files.push_back({entry->path().lexically_relative(directory).string(), entry->file_size(gone)});
  }
  std::sort(files.begin(), files.end(), [](const ReportFile& a, const ReportFile& b) { return a.name < b.name; });
  return files;
}

std::string partial_directory(const std::string& directory) {
  return report::final_path(directory).string() + fmt::format(".partial-{}", getpid());
}

Result<Done> check_output(const WriteOptions& options) {
  for (const std::string& format : options.formats) {
    const bool known = std::any_of(report::kFormats.begin(), report::kFormats.end(),
                                   [&](const report::Format& f) { return f.name == format; });
    if (!known) {
      std::string names;
      for (const report::Format& f : report::kFormats) names += fmt::format("{}{}", names.empty() ? "" : ", ", f.name);
      return Error{ErrorKind::usage, fmt::format("unknown format '{}': known are {}", format, names)};
    }
  }
  const fs::path path = report::final_path(options.directory);
  std::error_code error;
  if (!fs::exists(fs::symlink_status(path, error))) return Done{};
  if (!fs::is_directory(path, error)) return report::output_error(options.directory, "exists and is no directory");
  if (auto ours = report::check_ours(path, options.directory); !ours.ok()) return ours;
  const bool whole = fs::is_empty(path, error) || report::names_our_schema(path / report::kComplete);
  if (!options.force && !whole) {
    return report::output_error(options.directory,
                                "holds a report that is not whole: choose another -o, or replace it with --force");
  }
  return Done{};
}

}  // namespace skewscope
