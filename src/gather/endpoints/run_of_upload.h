// Which run of its name a file is of. A second run under a used name is kept as a job of its own, NAME~2, the next one
// as NAME~3: store, reports, retention and history need no other notion of it, and no report mixes two runs. Senders
// name NAME alone, and the daemon decides when an upload is created or a rank is PUT, from what the runs have. Agents
// on several nodes need not agree on anything: the same facts give the same run, and two that begin one give it the
// same name.
//
// Idea: the ranks of a capture write their files at about the same time, and a rank writes one file of it. Senders say
// how old a file is, so that no clock but the daemon's counts.
//   1. A file whose content the rank has in one of the runs is of that run: whatever is repeated changes nothing.
//   2. Of the newest run are dumps of flight recorders, a file that is to replace another, and one of which nobody says
//      when it was written.
//   3. Else it is of the run in which files of its capture were written nearest to it: at most that run's deadline
//      apart, and not later than --deadline-after-end after its end. Where the rank has other content in an older run,
//      that run is not it.
//   4. Else it is of the newest run where that lacks the capture and had not ended by then: captures of one run may be
//      hours apart. Else it is of the next run.
// Where by 2 or 3 it would be of the newest run, and the rank has other content there, it is of the next run if the
// newest is over (it is whole, has ended, or its deadline has passed since its last byte), or if the file was written
// after the other one had come: the rank has run again. Else it is refused for now.
// A log that grows is of the run in which it was begun, as are the lines of a process that takes its place (README.md).
//
// What this cannot tell apart: a run that begins again within the deadline of one that is not whole, where a rank comes
// first that the older run lacks. A shorter deadline (--deadline, or the job's) makes that time shorter; ending the job
// ends it.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "src/gather/kept/store.h"

namespace skewscope::gather {

// Runs of a name that there are at a time: whoever may send for a job cannot make more.
inline constexpr size_t kMostRuns = 1000;

struct ChosenRun {
  enum class Kind {
    run,       // `job`
    conflict,  // other content for a rank of a run that is not over: it may be in `wait`, if nothing more comes of it
    too_many,
  };
  Kind kind = Kind::run;
  std::string job;
  std::chrono::seconds wait{};
};

// `runs`: of the file's name, the first one first.
ChosenRun run_of_upload(const NewUpload& file, const std::vector<RunFacts>& runs, const GatherDeadlines& deadlines,
                        Time now);

}  // namespace skewscope::gather
