// The steps of recover(), one object per start.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "recovery.h"
#include "src/gather/disk/spool_paths.h"

namespace skewscope::gather {

inline constexpr const char* kStrangers = "quarantine/.strangers";  // no job's name begins with a dot

class Recovery {
 public:
  Recovery(FileSystem& files, const RecoveryOptions& options) : files_(files), options_(options) {}
  Recovered run();

 private:
  bool begin();
  void take(OpenedManifest opened);
  bool read_rows();
  bool read_all();
  void bury_deleted_jobs();
  void settle_replacements();
  void put_back(const std::string& aside, const std::string& path);
  std::vector<std::string> files_of(const std::string& job, int capture, int rank);
  bool has_file(const std::string& job, int capture, int rank);
  void check_files();
  bool was_replaced(FileRow& row);
  void take_in(const FileRow& row);
  void find_strangers();
  void adopt_or_set_aside(const std::string& job, int capture, const RankName& name, const std::string& path);
  UploadRow* upload_of(const FileRow& file);
  void check_uploads();
  bool part_is_whole(const UploadRow& row);
  void cut_off(int file, const UploadRow& row);
  void find_stray_parts();
  void check_reports();
  void check_reports_of(const std::string& job);
  bool is_complete(const std::string& report);
  void take_in_report(const std::string& job, int generation);
  void point_current(const std::string& job);
  void write();
  void write_rows();

  void to_do(std::string sentence) { out_.to_do.push_back(std::move(sentence)); }
  void problem(std::string sentence) { out_.problems.push_back(std::move(sentence)); }
  bool exists(const std::string& path, uint64_t* size = nullptr);
  bool is_unknown(const std::string& path);
  std::vector<FolderEntry> entries_of(const std::string& folder);
  std::optional<Digest> digest_of_file(const std::string& path, uint64_t size);
  std::string beginning_of(const std::string& path);  // "" where it cannot be read
  void set_aside(const std::string& path, const std::string& folder, const std::string& name);
  void trash(const std::string& path);
  void change(std::function<void(Manifest&)> row) { changes_.push_back(std::move(row)); }
  JobRow& job_of(const std::string& name);
  uint32_t epoch_of_now() const;

  FileSystem& files_;
  const RecoveryOptions& options_;
  Recovered out_;
  bool restored_ = false;
  std::map<std::string, uint32_t> restored_jobs_;  // of restore_job(); the uid of each one's owner
  std::map<std::string, JobRow> jobs_;
  std::map<std::string, UploadRow> uploads_;
  std::map<std::tuple<std::string, int, int>, FileRow> rows_;  // job, capture, rank
  std::map<std::string, std::map<int, ReportRow>> reports_;
  std::set<std::string> settled_;  // paths that were set aside
  FoldersToFlush dirty_;           // before the rows are written
  std::vector<std::function<void(Manifest&)>> changes_;
};

}  // namespace skewscope::gather
