// Where things lie in the spool:
//   gather.sqlite                                the manifest
//   history.sqlite                               what became of jobs (history/history.h)
//   restoring                                    a start put a copy in its place, and is not done with it
//   in/<id>.part                                 uploads; st_size = offset
//   jobs/<job>/ranks/c0001/r00042.json.gz        complete files, read-only
//   jobs/<job>/ranks/c0001/r00048+8.sqlite       one that holds eight ranks, 48 to 55
//   jobs/<job>/ranks/c0001/r00007.json           a log that grows: an upload, st_size = offset
//   jobs/<job>/ranks/c29735212/r00003.frdump     a dump, by the minute since 1970 in which it was written
//   jobs/<job>/report/g0003/, current -> g0003   reports
//   quarantine/<job>/, .strangers/, .manifests/  what is wrong: of a job, of nobody, the manifest itself
//   trash/, backup/                              what is being deleted; copies of the manifest
//   trash/job.<job>.<owner>-<hexadecimal>/       a deleted job, for a while; its owner's uid, 0: nobody's
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace skewscope::gather {

// Of ranks' files: of one that holds several, "+8.sqlite".
inline constexpr std::string_view kSuffixes[] = {".json",   ".json.gz",   ".json.zst", ".digest",
                                                 ".sqlite", ".xplane.pb", ".pftrace",  ".frdump"};
inline constexpr const char* kDumpSuffix = ".frdump";
inline constexpr const char* kGrowingSuffix = ".json";  // of logs that grow: lines of JSON
inline constexpr const char* kManifestName = "gather.sqlite";
inline constexpr const char* kHistoryName = "history.sqlite";
inline constexpr const char* kRestoringName = "restoring";
inline constexpr const char* kLockName = "LOCK";
inline constexpr const char* kRestoredName =
    "restored";  // in a job's folder: restore_job() has put it back; its owner's uid
inline constexpr const char* kBallastName = "ballast";

// Where changed folders are in the order in which they are flushed: where things go before where they come from. An
// upload leaves in/ for jobs/, quarantine/ or trash/, a file jobs/ for quarantine/ or trash/, and what is set aside
// goes to trash/. Were the place that it left on the disk first, a power loss in between would leave it in neither.
enum class FlushRank { trash, quarantine, jobs, in, backup };
struct SpoolFolder {
  const char* name;
  FlushRank rank;
};
inline constexpr SpoolFolder kFolders[] = {{"in", FlushRank::in},
                                           {"jobs", FlushRank::jobs},
                                           {"quarantine", FlushRank::quarantine},
                                           {"trash", FlushRank::trash},
                                           {"backup", FlushRank::backup}};
FlushRank flush_rank(std::string_view path);  // of the folder of the spool that `path` is or lies in
// By rank; in one, a folder before those that it lies in.
struct FlushOrder {
  bool operator()(const std::string& a, const std::string& b) const;
};
using FoldersToFlush = std::set<std::string, FlushOrder>;

std::string part_path(const std::string& id);
std::string job_folder(const std::string& job);
std::string ranks_folder(const std::string& job);
std::string capture_folder(const std::string& job, int capture);
std::string rank_path(const std::string& job, int capture, int rank, const std::string& suffix);
std::string quarantine_folder(const std::string& job);
std::string reports_folder(const std::string& job);
std::string report_name(int generation);  // g0003
std::string report_folder(const std::string& job, int generation);

std::string trash_path(const std::string& job, uint32_t owner_uid, const std::string& id);
// Of an entry of trash/; "": of no job. The owner's uid; 0: nobody's, or that of a deletion before it was kept.
std::string job_in_trash(std::string_view name);
uint32_t owner_in_trash(std::string_view name);
uint32_t uid_in(std::string_view text);  // 0: it is no uid

std::optional<std::string> id_of_part(std::string_view name);
std::optional<int> capture_of(std::string_view name);
struct RankName {
  int rank = 0;
  std::string suffix;
};
std::optional<RankName> rank_of(std::string_view name);
std::string suffix_of_ranks(int ranks, std::string_view suffix);  // "+8.sqlite"; of one rank ".sqlite"
int ranks_of(std::string_view suffix);                            // 8; 0: no such suffix
std::string_view kind_of(std::string_view suffix);                // ".sqlite", as in kSuffixes
std::optional<int> generation_of(std::string_view name);

}  // namespace skewscope::gather
