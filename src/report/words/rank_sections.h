// Sections of a rank's summary on the terminal, each "" where there is nothing to say.
#pragma once

#include <string>

#include "rank_layout.h"

namespace skewscope::report {

// Where the GPU's time went, and how full the GPU was.
std::string time_section(const RankReport& report, const RankTextOptions& options);
std::string findings_section(const RankReport& report, const RankTextOptions& options);
std::string steps_section(const RankReport& report, const RankTextOptions& options);
std::string streams_section(const RankReport& report, const RankTextOptions& options);
std::string launches_section(const RankReport& report, const RankTextOptions& options);
std::string kernels_section(const RankReport& report, const RankTextOptions& options);
std::string copies_section(const RankReport& report, const RankTextOptions& options);
// Calls that wait for the GPU.
std::string waits_section(const RankReport& report, const RankTextOptions& options);
std::string warnings_section(const RankReport& report, const RankTextOptions& options);

std::string categories_section(const RankReport& report, const RankTextOptions& options);
std::string operators_section(const RankReport& report, const RankTextOptions& options);
// Operations of compiled programs (HLO of XLA), and their categories.
std::string hlo_section(const RankReport& report, const RankTextOptions& options);
// FLOPs and bytes against what the device can do.
std::string work_section(const RankReport& report, const RankTextOptions& options);
std::string modules_section(const RankReport& report, const RankTextOptions& options);
// Forward operators with their backward nodes.
std::string passes_section(const RankReport& report, const RankTextOptions& options);
std::string annotations_section(const RankReport& report, const RankTextOptions& options);
std::string stacks_section(const RankReport& report, const RankTextOptions& options);
// What the program waited for, by kind, and what took most of it.
std::string path_section(const RankReport& report, const RankTextOptions& options);
// What each step's time went to, GPU and host together, as TensorBoard has it.
std::string execution_section(const RankReport& report, const RankTextOptions& options);
std::string memory_section(const RankReport& report, const RankTextOptions& options);
std::string compiled_section(const RankReport& report, const RankTextOptions& options);

}  // namespace skewscope::report
