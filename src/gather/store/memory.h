// What the store knows: jobs, uploads, whose the disk is, figures, the clocks. The only Memory of a store is in a
// Guarded: nobody reaches it, nor the classes that it is made of, without its lock, and they take no lock of their own.
//
// Memory follows the manifest: a change shows in it when its transaction is committed. Only what is being asked for (a
// job's or an upload's first sight, the disk it is charged for) shows before, so that limits hold.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "disk_budget.h"
#include "guarded.h"
#include "job_table.h"
#include "src/gather/recovery/recovery.h"
#include "upload.h"

namespace skewscope::gather {

struct Memory {
  JobTable jobs;
  std::unordered_map<std::string, UploadPointer> uploads;  // by id
  DiskBudget budget;
  StoreFigures figures;
  Aging aging;

  // What a start has found.
  void take_over(Recovered& recovered, FileSystem& files);

  UploadPointer find(const std::string& id) const;  // null: none
  // The upload of the log that grows for that rank; "": none.
  std::string log_of(const UploadMetadata& metadata) const;
  // May such an upload come in? `same`: the file that makes it needless.
  Refusal admit(const NewUpload& asked, const GatherLimits& most, const FileRow*& same) const;
  // Counts and charges it.
  Refusal enter(const UploadPointer& upload, const GatherLimits& most, bool& of_new_job);
  void close(Upload& upload);   // no longer open: neither counted nor charged
  void forget(Upload& upload);  // not known any more
  // What a job's commits and bodies do to it.
  void take_in(const FileRow& file, const std::optional<FileRow>& replaced);
  // A log is as long by now as its upload's row says.
  void grow(const UploadRow& log, Time at);
  void note_byte(const std::string& job, Time at);
  void charge_aside(const std::string& job, int64_t bytes);
  void remove_job(const std::string& job);

 private:
  void show(const UploadRow& log);  // as the file of its rank
};

}  // namespace skewscope::gather
