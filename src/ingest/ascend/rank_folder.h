// What the files around a rank's profile say of the rank: torch_npu writes each rank into a folder
// `<host>_<pid>_<stamp>_ascend_pt`, whose files each tell a part.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {

// The folder of the rank whose profile `file` is a part of.
std::filesystem::path rank_folder_of(const std::string& file);

// Rank, world, groups, host and process into `content`: from profiler_info_<rank>.json, profiler_metadata.json and the
// name of the folder. What is not there stays as it was.
void read_rank_folder(const std::filesystem::path& folder, FileContent& content);

// The groups of "parallel_group_info", which profiler_metadata.json and the database's META_DATA hold alike. Each is
// called by its hash.
void add_parallel_groups(std::string_view json, FileContent& content);

// The group of this hash; null: it is not told.
const ProcessGroup* group_called(const FileContent& content, std::string_view hash);

}  // namespace skewscope::ingest
