// A job as it is in memory, and what its files, uploads and reports say of its state.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "src/gather/disk/manifest.h"

namespace skewscope::gather {

struct Job {
  JobRow row;
  bool stands = false;                          // its row is in the manifest
  std::map<int, std::map<int, FileRow>> files;  // capture -> rank
  std::map<int, ReportRow> reports;
  int failed_tries = 0;       // in a row, of the newest report's arrivals, for want of something; see most_tries
  bool partial = false;       // when the running report began
  uint64_t report_bytes = 0;  // of those that are there
  uint64_t room = 0;          // of the running report
  uint64_t aside_bytes = 0;   // in quarantine
  bool room_is_of_disk = false, waits_for_disk = false;
  std::map<int, std::map<int, int>> generations;  // capture -> generation -> files
  std::map<int, int> open_of_capture;             // open uploads, where there are any
  uint64_t bytes = 0;                             // of complete files
  uint64_t charged = 0;                           // and of open uploads, of reports, and of what is in quarantine
  std::map<std::pair<int, int>, std::string> remembered;  // capture, rank -> id of the upload that completed last
  std::map<std::pair<int, int>, std::string> growing;     // capture, rank -> id of the upload of a log that grows
  int open_uploads = 0;
  int bodies = 0;   // uploads that have a writer
  int uploads = 0;  // with the complete ones that are still remembered
  int highest_rank = -1;
};

// Ranks per capture by `row`, as put_job and uploads say, or as many as the ranks that came need: the largest.
int expected_of(const Job& job, const JobRow& row);
int captures_of(const Job& job, const JobRow& row);
// Is another set of files expected by `row` than until now, though some have come: a report of these may say otherwise.
bool expects_other_files(const Job& job, const JobRow& row);
int64_t ranks_arrived(const Job& job);  // over all captures
struct DumpsOfJob {
  int64_t count = 0;
  Time last{};
};
DumpsOfJob dumps_of(const Job& job);
JobState brief_state_of(const Job& job, Time now);  // without missing ranks
JobState state_of(const Job& job, Time now);
RunFacts facts_of(const Job& run, int capture, int rank, Time now);

bool is_readable(ReportState state);
// Did the newest report fail for want of something that may be there by now?
bool is_to_be_tried_again(const Job& job);
// A start gives each failure one more try; not to what has ended the forker twice.
void count_tries(Job& job);

}  // namespace skewscope::gather
