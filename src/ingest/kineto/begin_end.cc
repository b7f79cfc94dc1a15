// Problem: the duration of a row is in an event that comes later in the text, perhaps in another chunk. Idea: rows
// are kept as they begin, and what began and ended is listed; once the file is read, one walk over that list in the
// order of time, thread by thread, with a stack of what is open, tells the durations. Right because events of one
// thread lie within each other; those of a GPU stream may overlap, and are found by their names. Cost: a sort of the
// list, which files of complete events do not have.
#include "begin_end.h"

#include <algorithm>
#include <tuple>

#include "chunk_rows.h"
#include "src/ingest/content/defects.h"
#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {
namespace {

constexpr ptrdiff_t kDeepestOpen = 1024;  // events within each other; what lies deeper was never ended

int64_t& duration_in(FileContent& content, RowList list, size_t row) {
  switch (list) {
    case RowList::launches:
      return content.launches.events.duration_ns[row];
    case RowList::comm_ops:
      return content.comm_ops[row].duration_ns;
    case RowList::gpu_annotations:
      return content.gpu_annotations[row].duration_ns;
    case RowList::steps:
      return content.steps[row].duration_ns;
    case RowList::syncs:
      return content.syncs[row].duration_ns;
    case RowList::optimizer_steps:
      return content.optimizer_steps[row].duration_ns;
    case RowList::modules:
      return content.modules[row].duration_ns;
    case RowList::detail_host:
      return content.details->host.duration_ns[row];
    case RowList::detail_annotations:
      return content.details->gpu_annotations[row].duration_ns;
    default:
      return content.gpu.events.duration_ns[row];
  }
}

void set_duration(const PhaseRow& begin, int64_t duration_ns, FileContent& content) {
  for (size_t list = 0; list < begin.rows.size(); ++list) {
    if (begin.rows[list] < 0) continue;
    const auto row = static_cast<size_t>(begin.rows[list]);
    duration_in(content, static_cast<RowList>(list), row) = duration_ns;
    const bool computes =
        static_cast<RowList>(list) == RowList::gpu && content.gpu.events.work[row] == GpuWork::compute;
    if (computes) content.kernel_grids.add_time(content.gpu.events.name[row], duration_ns);
  }
}

}  // namespace

ListSizes sizes_of(const ChunkRows& rows) {
  return {rows.gpu.size(),
          rows.launches.size(),
          rows.comm_ops.size(),
          rows.gpu_annotations.size(),
          rows.steps.size(),
          rows.syncs.size(),
          rows.optimizer_steps.size(),
          rows.modules.size(),
          rows.details.host.size(),
          rows.details.gpu_annotations.size()};
}

ListSizes sizes_of(const FileContent& content) {
  const bool details = content.details.has_value();
  return {content.gpu.size(),
          content.launches.size(),
          content.comm_ops.size(),
          content.gpu_annotations.size(),
          content.steps.size(),
          content.syncs.size(),
          content.optimizer_steps.size(),
          content.modules.size(),
          details ? content.details->host.size() : 0,
          details ? content.details->gpu_annotations.size() : 0};
}

void join_begins_and_ends(std::vector<PhaseRow> phases, FileContent& content, DefectCounts& defects) {
  const auto thread_of = [](const PhaseRow& row) { return std::tie(row.process, row.thread); };
  std::stable_sort(phases.begin(), phases.end(), [&](const PhaseRow& a, const PhaseRow& b) {
    return std::tie(a.process, a.thread, a.start) < std::tie(b.process, b.thread, b.start);
  });
  std::vector<const PhaseRow*> open;
  int64_t single = 0;
  for (size_t i = 0; i < phases.size(); ++i) {
    const PhaseRow& phase = phases[i];
    if (i > 0 && thread_of(phases[i - 1]) != thread_of(phase)) {
      single += std::ssize(open);
      open.clear();
    }
    if (phase.begins) {
      open.push_back(&phase);
      continue;
    }
    const auto deepest = open.rbegin() + std::min<ptrdiff_t>(std::ssize(open), kDeepestOpen);
    const auto begin = std::find_if(open.rbegin(), deepest, [&](const PhaseRow* row) {
      return !phase.name.known() || !row->name.known() || row->name == phase.name;
    });
    if (begin == deepest) {
      ++single;
      continue;
    }
    set_duration(**begin, phase.start - (*begin)->start, content);
    open.erase(std::next(begin).base());
  }
  single += std::ssize(open);
  if (single > 0) defects.add(Defect::open_event, -1, single);
}

}  // namespace skewscope::ingest
