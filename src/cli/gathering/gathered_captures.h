// The captures of a job that has several, each in a report of its own, in the folder of the job's report:
// captures/c0001/. They show how a job changed from capture to capture, and nothing of one is lost where the job's
// report leaves it out because it lies in the same time as another.
//
// Bounds: the newest captures come first, and some of them alone have a report; none is begun once those before it took
// as long as the job's report did, or when it might not fit into what the report may have of the disk. A report whose
// files, ranks and program are those of the last generation is taken over from it.
#pragma once

#include <chrono>
#include <functional>
#include <set>
#include <string>

#include "skewscope/gather.h"
#include "src/cli/process/exit_code.h"

namespace skewscope::cli {

inline constexpr size_t kCapturesReported = 16;

// Makes the report directory `output` of the traces in a folder, of a job of this name.
using ReportOnFolder =
    std::function<ExitCode(const std::string& traces, const std::string& output, const std::string& name)>;

// After the job's report, which took `report_took`. What cannot be made is told in the log.
void report_on_captures(const ReportTask& task, const std::set<int>& captures,
                        std::chrono::steady_clock::duration report_took, const ReportOnFolder& report_on);

}  // namespace skewscope::cli
