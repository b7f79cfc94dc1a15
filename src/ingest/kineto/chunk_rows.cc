#include "chunk_rows.h"

#include <algorithm>
#include <cstring>

#include "src/ingest/content/memory_budget.h"
#include "src/ingest/text/unescape.h"

namespace skewscope::ingest {
namespace {

// Multiply-xorshift over words; names share long prefixes, so every byte counts.
uint64_t hash_text(std::string_view text) {
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15ULL;
  uint64_t hash = text.size() * kMultiplier;
  const char* at = text.data();
  size_t left = text.size();
  for (; left >= 8; at += 8, left -= 8) {
    uint64_t word = 0;
    std::memcpy(&word, at, 8);
    hash = (hash ^ word) * kMultiplier;
    hash ^= hash >> 32;
  }
  uint64_t word = 0;
  std::memcpy(&word, at, left);
  hash = (hash ^ word) * kMultiplier;
  return hash ^ (hash >> 29);
}

constexpr size_t kFirstSlots = 1024;
// No rank has more; only a hostile file does.
constexpr size_t kMostProcesses = 256;

ProcessUse& process_in(std::vector<ProcessUse>& processes, int64_t pid) {
  for (ProcessUse& known : processes) {
    if (known.pid == pid) return known;
  }
  if (processes.size() == kMostProcesses) return processes.back();
  return processes.emplace_back(ProcessUse{pid, 0});
}

// For as many rows as there will be if the file goes on as it began: `share` of it has led here. Mostly no row is
// copied then; where the file goes on otherwise, each is copied a few times.
template <class Row, class Allocator>
void make_room(std::vector<Row, Allocator>& column, size_t more, double share) {
  constexpr double kLeastShare = 1.0 / 1024, kDoubt = 1.1;
  const size_t needed = column.size() + more;
  if (needed <= column.capacity()) return;
  if (share >= 1 && column.empty()) return column.reserve(needed);
  const double expected = kDoubt * static_cast<double>(needed) / std::max(share, kLeastShare);
  column.reserve(std::max(static_cast<size_t>(expected), needed + needed / 2));
}

// Before the rows of the chunk are appended.
void append_phases(const std::vector<PhaseRow>& more, const std::vector<StringId>& ids, const FileContent& content,
                   std::vector<PhaseRow>& phases) {
  if (more.empty()) return;
  const ListSizes sizes = sizes_of(content);
  for (PhaseRow phase : more) {
    phase.name = mapped(ids, phase.name);
    for (size_t list = 0; list < sizes.size(); ++list) {
      if (phase.rows[list] >= 0) phase.rows[list] += static_cast<int32_t>(sizes[list]);
    }
    phases.push_back(phase);
  }
}

}  // namespace

StringId ChunkStrings::intern(std::string_view raw, bool lives_on) { return find_or_add(raw, false, lives_on); }

StringId ChunkStrings::intern_json(std::string_view raw, bool lives_on) {
  return find_or_add(raw, raw.find('\\') != std::string_view::npos, lives_on);
}

StringId ChunkStrings::find_or_add(std::string_view raw, bool keeps_escapes, bool lives_on) {
  if (2 * (entries_.size() + 1) > slots_.size()) grow();
  const uint64_t hash = hash_text(raw);
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  while (slots_[slot] >= 0) {
    const Entry& entry = entries_[static_cast<size_t>(slots_[slot])];
    const bool same = entry.hash == hash && entry.raw == raw;
    if (same && (entry.bad_escapes == kKept) == keeps_escapes) return StringId(slots_[slot]);
    slot = (slot + 1) & mask;
  }
  slots_[slot] = static_cast<int32_t>(entries_.size());
  entries_.push_back(entry_for(raw, hash, keeps_escapes, lives_on));
  return StringId(slots_[slot]);
}

ChunkStrings::Entry ChunkStrings::entry_for(std::string_view raw, uint64_t hash, bool keeps_escapes, bool lives_on) {
  Entry entry;
  entry.raw = lives_on ? raw : std::string_view(copies_.emplace_back(raw));
  entry.text = entry.raw;
  entry.hash = hash;
  if (keeps_escapes) {
    entry.bad_escapes = kKept;
  } else if (raw.find('\\') != std::string_view::npos) {
    int64_t bad_escapes = 0;
    std::string& text = copies_.emplace_back();
    unescape(raw, text, bad_escapes);
    entry.text = text;
    entry.bad_escapes = static_cast<int32_t>(bad_escapes);
  }
  return entry;
}

void ChunkStrings::grow() {
  slots_.assign(std::max(kFirstSlots, 2 * slots_.size()), -1);
  const size_t mask = slots_.size() - 1;
  for (size_t i = 0; i < entries_.size(); i++) {
    size_t slot = entries_[i].hash & mask;
    while (slots_[slot] >= 0) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<int32_t>(i);
  }
}

void ChunkStrings::clear() {
  entries_.clear();
  std::fill(slots_.begin(), slots_.end(), -1);
  copies_.clear();
}

void ChunkRows::clear() {
  std::apply([](auto&... lists) { (lists.clear(), ...); }, row_lists(*this));
  pass_texts.clear();
  backward_thread = {};
  processes.clear();
  labelled_ranks.clear();
  backward_threads.clear();
  details.clear();
  strings.clear();
  stamps = {};
  defects = {};
  events = 0;
  cpu_rows = 0;
  hip_launches = intel_launches = cuda_launches = false;
  kernel_launches = 0;
}

ProcessUse& ChunkRows::process(int64_t pid) { return process_in(processes, pid); }

void add_processes(const std::vector<ProcessUse>& more, std::vector<ProcessUse>& processes) {
  for (const ProcessUse& use : more) {
    ProcessUse& known = process_in(processes, use.pid);
    known.launches += use.launches;
    known.collectives += use.collectives;
  }
}

void add_once(std::vector<int64_t>& numbers, int64_t number) {
  const auto at = std::lower_bound(numbers.begin(), numbers.end(), number);
  if (at == numbers.end() || *at != number) numbers.insert(at, number);
}

int64_t append_rows(ChunkRows& rows, double share, KernelWorks& works, FileContent& content,
                    UnfinishedRows& unfinished) {
  std::vector<StringId> ids(rows.strings.size());
  int64_t bytes = -bytes_of(content.gpu) - bytes_of(content.launches) - content.comm_args.bytes();
  for (size_t i = 0; i < ids.size(); i++) {
    const std::string_view text = rows.strings.view(StringId(static_cast<int64_t>(i)));
    const size_t known = content.strings.size();
    ids[i] = content.strings.intern(text);
    if (content.strings.size() > known) bytes += bytes_of_string(text);
  }
  append_phases(rows.phases, ids, content, unfinished.phases);
  const int32_t first_args = static_cast<int32_t>(content.comm_args.size());
  content.comm_args.visit_columns([&](auto& column) { make_room(column, rows.comm_args.size(), share); });
  make_room(content.comm_ops, rows.comm_ops.size(), share);
  make_room(content.gpu_annotations, rows.gpu_annotations.size(), share);
  for_each_column(content.gpu, [&](auto& column) { make_room(column, rows.gpu.size(), share); });
  for_each_column(content.launches, [&](auto& column) { make_room(column, rows.launches.size(), share); });
  for (CommArgs args : rows.comm_args) {
    for (StringId* id :
         {&args.collective_name, &args.dtype, &args.group_name, &args.group_description, &args.group_ranks}) {
      *id = mapped(ids, *id);
    }
    content.comm_args.push_back(args);
  }
  for (const SplitLists& lists : rows.splits) {
    content.splits.push_back({lists.args + first_args, mapped(ids, lists.in), mapped(ids, lists.out)});
  }
  for (GpuRow& row : rows.gpu) {
    row.name = mapped(ids, row.name);
    if (row.work == GpuWork::compute) row.work = works.of(row.name, content.strings);
    if (row.args >= 0) row.args += first_args;
    if (row.work == GpuWork::compute) content.kernel_grids.add(row);
  }
  content.gpu.append(rows.gpu);
  for (CommOpRow row : rows.comm_ops) {
    row.name = mapped(ids, row.name);
    row.input_type = mapped(ids, row.input_type);
    if (row.args >= 0) row.args += first_args;
    content.comm_ops.push_back(row);
  }
  for (GpuAnnotationRow row : rows.gpu_annotations) {
    row.name = mapped(ids, row.name);
    content.gpu_annotations.push_back(row);
  }
  content.launches.append(rows.launches);
  content.steps.insert(content.steps.end(), rows.steps.begin(), rows.steps.end());
  content.syncs.insert(content.syncs.end(), rows.syncs.begin(), rows.syncs.end());
  content.stream_waits.insert(content.stream_waits.end(), rows.stream_waits.begin(), rows.stream_waits.end());
  content.optimizer_steps.insert(content.optimizer_steps.end(), rows.optimizer_steps.begin(),
                                 rows.optimizer_steps.end());
  for (ModuleRow row : rows.modules) {
    row.name = mapped(ids, row.name);
    content.modules.push_back(row);
  }
  content.backward_ops.insert(content.backward_ops.end(), rows.backward_ops.begin(), rows.backward_ops.end());
  content.pass_flows.insert(content.pass_flows.end(), rows.pass_flows.begin(), rows.pass_flows.end());
  for (const int64_t thread : rows.backward_threads) add_once(content.backward_threads, thread);
  if (content.details) {
    bytes -= bytes_of(*content.details);
    append_details(rows.details, ids, content.events, *content.details);
    bytes += bytes_of(*content.details);
  }
  content.events += rows.events;
  content.kernel_launches += rows.kernel_launches;
  content.hip_launches |= rows.hip_launches;
  content.intel_launches |= rows.intel_launches;
  content.cuda_launches |= rows.cuda_launches;
  bytes += static_cast<int64_t>(
      rows.comm_ops.size() * sizeof(CommOpRow) + rows.gpu_annotations.size() * sizeof(GpuAnnotationRow) +
      rows.steps.size() * sizeof(StepRow) + rows.syncs.size() * sizeof(SyncRow) +
      rows.optimizer_steps.size() * sizeof(OptimizerRow) + rows.stream_waits.size() * sizeof(StreamWaitRow) +
      rows.modules.size() * sizeof(ModuleRow) + rows.backward_ops.size() * sizeof(BackwardRow) +
      rows.pass_flows.size() * sizeof(PassFlowRow) + rows.splits.size() * sizeof(SplitLists));
  bytes += append_pass_texts(std::exchange(rows.pass_texts, {}), !content.modules.empty(), unfinished.pass_texts);
  return bytes + bytes_of(content.gpu) + bytes_of(content.launches) + content.comm_args.bytes();
}

}  // namespace skewscope::ingest
