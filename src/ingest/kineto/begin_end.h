// Events that are written as two, a beginning (ph "B") and an end (ph "E"): what viewers save in place of complete
// ones.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "skewscope/base/ids.h"
#include "skewscope/base/time.h"

namespace skewscope::ingest {

struct FileContent;
struct ChunkRows;
class DefectCounts;

// The lists that a row with a duration may be in.
enum class RowList : uint8_t {
  gpu,
  launches,
  comm_ops,
  gpu_annotations,
  steps,
  syncs,
  optimizer_steps,
  modules,
  detail_host,
  detail_annotations,
  count_,
};
// How long each is.
using ListSizes = std::array<size_t, static_cast<size_t>(RowList::count_)>;
ListSizes sizes_of(const ChunkRows& rows);
ListSizes sizes_of(const FileContent& content);

// A beginning or an end. `rows`: in each list the row that a beginning left there, whose duration is open; -1: none.
struct PhaseRow {
  LocalNs start;
  int64_t process = 0, thread = 0;
  StringId name;
  bool begins = false;
  std::array<int32_t, static_cast<size_t>(RowList::count_)> rows{};
};

// Gives the rows of `content` their durations. Ends are of the last open event of their name on their thread; without a
// name, of the last open one.
void join_begins_and_ends(std::vector<PhaseRow> phases, FileContent& content, DefectCounts& defects);

}  // namespace skewscope::ingest
