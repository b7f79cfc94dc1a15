// What one file tells of the job it is of, in addition to its rank: place, name, process, program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skewscope/model/trace_file.h"

namespace skewscope::ingest {

struct JobClues {
  const TraceFile* file = nullptr;
  std::vector<std::string> folder;   // its parts, from the root
  std::string frame;                 // the name of the file, each number as '#', without suffix: "dp#_rank#"
  std::vector<std::string> numbers;  // in the name
  std::string stem;                  // the name without suffix
  std::string process;               // "host_pid" of the default handler of torch.profiler; "": not recorded
  std::vector<int64_t> steps;        // sorted

  const RankEvidence& evidence() const { return file->evidence; }
  bool timed() const { return file->evidence.first_event < file->evidence.last_event; }
};

JobClues clues_of(const TraceFile& file);

// "iteration_10", "epoch3", a Unix time: folders that a profiler makes for each capture.
bool is_capture_folder(const std::string& part);

// Whether two files of one rank were recorded over the same time.
bool overlap(const JobClues& a, const JobClues& b);

// Whether one of two files of one rank and one time is what another tool has written of the trace that it read, whole
// or in part, or both are the trace itself.
bool is_copy(const JobClues& a, const JobClues& b);

// Called as HTA calls what it writes next to a trace.
bool is_called_a_copy(const JobClues& clues);

// Called as vLLM calls the trace of one engine of several: "dp1_pp0_tp0_...". Engines have worlds of their own, or one
// world holds all, then of every dp.
bool is_called_an_engines(const JobClues& clues);

// Whether something says that two files of one rank, `earlier` recorded before `later`, are of two runs, not two
// captures of one.
bool is_another_run(const JobClues& earlier, const JobClues& later);

// Whether the groups that the two list contradict each other: one name, a common member, not the same members.
bool groups_contradict(const JobClues& a, const JobClues& b);

// Whether one host's clock stamped the same steps of both.
bool share_steps_of_one_clock(const JobClues& a, const JobClues& b);

// How much of the smaller one's program the two have in common; 1 where one of them is too small to tell. Less than
// kAnotherProgram is of another run.
constexpr double kAnotherProgram = 0.25;
double common_program(const JobClues& a, const JobClues& b);

}  // namespace skewscope::ingest
