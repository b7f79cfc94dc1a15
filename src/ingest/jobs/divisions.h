// By what the files of several jobs may be distinguished.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "job_clues.h"

namespace skewscope::ingest {

using Rows = std::vector<size_t>;  // of files
using Parts = std::vector<Rows>;
using DivisionKey = std::function<std::string(const JobClues&)>;

// `clues`: row = row of files.
Parts parts_by(const std::vector<JobClues>& clues, const Rows& rows, const DivisionKey& key);

// Files are divided by communicators that have names of their own; files that tell none of these are one part. That
// part takes in the one that lacks members of its largest communicator, where only one does: the missing members may be
// among its files.
Parts parts_by_communicators(const std::vector<JobClues>& files, const Rows& rows);

// The folder at each depth, and the path down to it. Folders of captures are one.
std::vector<DivisionKey> folder_keys(const std::vector<JobClues>& clues, const Rows& rows);

// The tracer, the job's name, what files are called and the numbers in it, the machine, the backend.
std::vector<DivisionKey> other_keys(const std::vector<JobClues>& clues, const Rows& rows);

}  // namespace skewscope::ingest
