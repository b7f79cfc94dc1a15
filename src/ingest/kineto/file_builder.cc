#include "file_builder.h"

#include <tbb/parallel_invoke.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "src/ingest/content/defects.h"

namespace skewscope::ingest {
namespace {

constexpr size_t kLargestTail = 8 << 20;
// KINETO.md, section 2: below this many fractions their form proves nothing.
constexpr int64_t kEnoughFractions = 1000;

LocalNs& start_of(LocalNs& start) { return start; }
template <class Row>
LocalNs& start_of(Row& row) {
  return row.start;
}

// How many starts are such as no trace can have, then.
template <class Rows>
int64_t shift(Rows& rows, int64_t base_ns) {
  int64_t impossible = 0;
  for (auto& row : rows) {
    LocalNs& start = start_of(row);
    start = start + base_ns;
    impossible += start.ns < -kFurthestNs || start.ns > kFurthestNs ? 1 : 0;
  }
  return impossible;
}

template <class Rows>
int64_t bring_near(Rows& rows) {
  for (auto& row : rows) start_of(row).ns = std::clamp(start_of(row).ns, -kFurthestNs, kFurthestNs);
  return 0;
}

// Whether `text`, which follows the events of one trace, ends that trace and leads to the events of another.
bool leads_to_second_document(std::string_view text, bool bare_array) {
  size_t depth = bare_array ? 0 : 1, at = 0;
  for (bool in_string = false; at < text.size() && depth > 0; at++) {
    const char c = text[at];
    if (c == '"') in_string = !in_string;
    if (in_string) {
      at += c == '\\';
    } else if (c == '{' || c == '[') {
      depth++;
    } else if (c == '}' || c == ']') {
      depth--;
    }
  }
  const size_t next = depth > 0 ? std::string_view::npos : text.find_first_not_of(" \t\r\n", at);
  if (next == std::string_view::npos) return false;
  if (bare_array) return text[next] == '[';
  return text[next] == '{' && text.find("\"traceEvents\"", next) != std::string_view::npos;
}

}  // namespace

FileBuilder::FileBuilder(const std::string& file, MemoryBudget& budget, const ReadSettings& settings)
    : budget_(budget), settings_(settings), works_(*settings.kernels), event_reader_(settings) {
  content_.file = file;
  content_.format = "kineto json";
  content_.kernels = settings.kernels;
  if (settings.details) content_.details.emplace();
}

FileBuilder::~FileBuilder() { budget_.give_back(taken_); }

void FileBuilder::start(const ChunkCutter& cutter) {
  bare_array_ = cutter.bare_array();
  read_top_level(cutter.head(), false, 0, content_, top_, defects_);
}

void FileBuilder::append(const ChunkText& chunk, ChunkRows& rows, size_t events_end) {
  events_found_ = true;
  size_t from = 0;
  if (!events_closed_) {
    append_rows_of(rows, chunk.share);
    if (events_end == std::string_view::npos) return;
    events_closed_ = true;
    from = events_end;
  }
  append_tail(chunk, from);
}

void FileBuilder::append_rows_of(ChunkRows& rows, double share) {
  const int64_t bytes = append_rows(rows, share, works_, content_, unfinished_);
  taken_ += bytes;
  if (!budget_.take(bytes)) over_budget_ = true;
  defects_.add(rows.defects);
  stamps_.fractions += rows.stamps.fractions;
  stamps_.short_fractions += rows.stamps.short_fractions;
  stamps_.starting_with_0 += rows.stamps.starting_with_0;
  cpu_rows_ += rows.cpu_rows;
  launches_seen_ += static_cast<int64_t>(rows.launches.size());
  for (const int64_t rank : rows.labelled_ranks) add_once(labelled_ranks_, rank);
  add_processes(rows.processes, processes_);
}

// Text behind the events: other keys, or, where a second writer or a stray bracket closed them too early, more events.
void FileBuilder::append_tail(const ChunkText& chunk, size_t from) {
  if (second_document_) return;
  const std::string_view text = chunk.view();
  size_t plain = text.find("{\"ph\"", from), boundary = next_event_boundary(text, from);
  while (true) {
    if (tail_.empty()) tail_offset_ = chunk.offset + static_cast<int64_t>(from);
    const size_t event = std::min(plain, boundary);
    if (event == std::string_view::npos) break;
    defects_.add(Defect::interleaved_files, chunk.offset + static_cast<int64_t>(event));
    tail_ += text.substr(from, event - from);
    if (leads_to_second_document(tail_, bare_array_)) {
      second_document_ = true;  // one file is one rank: the first trace is kept, whole
      return;
    }
    tail_.clear();
    ChunkRows rows;
    from = event_reader_.read_damaged(text, event, chunk.offset, chunk.last, rows, boundary > event ? boundary : 0);
    append_rows_of(rows, chunk.share);
    events_closed_ = from != std::string_view::npos;
    if (!events_closed_) return;
    if (plain < from) plain = text.find("{\"ph\"", from);
    if (boundary < from) boundary = next_event_boundary(text, from);
  }
  tail_ += text.substr(from, kLargestTail - std::min(kLargestTail, tail_.size()));
}

void FileBuilder::read_tail() {
  if (!events_closed_) return;
  object_closed_ = bare_array_ || read_top_level(tail_, true, tail_offset_, content_, top_, defects_);
}

bool FileBuilder::fractions_are_unpadded() const {
  return !settings_.unpadded_fractions && stamps_.short_fractions > 0 && stamps_.starting_with_0 == 0 &&
         stamps_.fractions >= kEnoughFractions;
}

void FileBuilder::finish(const ChunkCutter& cutter, const ByteSource& source) {
  content_.bytes = cutter.bytes();
  content_.compression = source.compression();
  read_tail();
  count_source_end(source.end(), content_.bytes, defects_);
  if (cutter.skipped_bytes() > 0) defects_.add(Defect::oversized_event, cutter.first_skipped(), cutter.skipped_bytes());
  const bool cut = events_found_ ? !events_closed_ || !object_closed_ : top_.is_kineto;
  if (cut && !over_budget_) {
    const bool known = defects_.count(Defect::truncated_file) > 0;
    if (!known) defects_.add(Defect::truncated_file, content_.bytes);
  }
  if (settings_.unpadded_fractions) defects_.add(Defect::unpadded_fractions, -1);
  content_.has_cpu_ops = cpu_rows_ > 0;
  content_.resolution_ns = stamps_.fractions > 0 ? 1 : 1000;
  if (!unfinished_.phases.empty()) join_begins_and_ends(std::move(unfinished_.phases), content_, defects_);
  read_pass_texts(unfinished_.pass_texts, settings_.unpadded_fractions, content_);
  unfinished_ = {};
  add_base_time();
  drop_repeated_steps();
  content_.kind = kind_of(cutter);
  content_.process_id = main_process();
  const bool known_to_be_empty = content_.kind == ContentKind::empty && source.end() != SourceEnd::unreadable;
  if (known_to_be_empty) defects_.add(Defect::empty_file, -1);
  content_.findings = defects_.to_findings(content_.file);
}

// A base that takes most stamps out of all time is none of theirs. The few that it does are wrong themselves: they stay
// as far away as can be.
void FileBuilder::add_base_time() {
  const int64_t base_ns = top_.base_time_ns;
  if (!top_.has_base_time) return;
  content_.has_base_time = true;
  if (base_ns == 0) return;
  const int64_t starts = sum_over_starts([](const auto& rows) { return std::ssize(rows); });
  const int64_t impossible = sum_over_starts([&](auto& rows) { return shift(rows, base_ns); });
  content_.has_base_time = 2 * impossible <= starts;
  if (!content_.has_base_time) {
    sum_over_starts([&](auto& rows) { return shift(rows, -base_ns); });
    defects_.add(Defect::damaged_head, -1);
    return;
  }
  content_.base_time_ns = base_ns;
  if (impossible > 0) sum_over_starts([](auto& rows) { return bring_near(rows); });
}

template <class Work>
int64_t FileBuilder::sum_over_starts(const Work& work) {
  int64_t rows = 0, launches = 0;
  tbb::parallel_invoke([&] { rows = work(content_.gpu.events.start); },
                       [&] { launches = work(content_.launches.events.start); });
  int64_t sum = rows + launches + work(content_.comm_ops) + work(content_.gpu_annotations) + work(content_.steps) +
                work(content_.syncs) + work(content_.stream_waits) + work(content_.optimizer_steps) +
                work(content_.modules) + work(content_.backward_ops) + work(content_.pass_flows);
  if (content_.details) {
    sum += work(content_.details->host.start) + work(content_.details->gpu_annotations) +
           work(content_.details->memory.at);
  }
  return sum;
}

// 2021 builds write a step both as an op and as an annotation.
void FileBuilder::drop_repeated_steps() {
  std::set<std::tuple<int64_t, LocalNs, int64_t>> seen;
  std::erase_if(content_.steps,
                [&](const StepRow& step) { return !seen.emplace(step.number, step.start, step.duration_ns).second; });
}

// One process wrote one trace. Launches of several processes, or labels of several ranks, come from merged files; a
// second process without launches (a forked data loader) and several devices do not.
bool FileBuilder::several_ranks() const {
  int64_t launching = 0;
  for (const ProcessUse& process : processes_)
    launching += process.launches * 100 >= std::max<int64_t>(launches_seen_, 1);
  return launching > 1 || labelled_ranks_.size() > 1 || top_.several_jobs;
}

// The one that launched most; where none did, the one that made most collective calls.
int64_t FileBuilder::main_process() const {
  const auto most =
      std::max_element(processes_.begin(), processes_.end(), [](const ProcessUse& a, const ProcessUse& b) {
        return std::tie(a.launches, a.collectives) < std::tie(b.launches, b.collectives);
      });
  return most == processes_.end() ? -1 : most->pid;
}

ContentKind FileBuilder::kind_of(const ChunkCutter& cutter) const {
  if (cutter.execution_trace()) return ContentKind::execution_trace;
  if (content_.bytes == 0) return ContentKind::empty;
  if (!events_found_) return top_.is_kineto ? ContentKind::empty : ContentKind::not_a_trace;
  if (content_.events == 0) return ContentKind::empty;
  if (several_ranks()) return ContentKind::merged_trace;
  const bool works = !content_.gpu.empty() || !content_.comm_ops.empty() || launches_seen_ > 0;
  if (works) return ContentKind::rank_trace;
  // Another writer's events, of which none means anything here.
  const bool known = top_.is_torch || cpu_rows_ > 0 || !content_.steps.empty();
  return known ? ContentKind::front_end : ContentKind::not_a_trace;
}

Error FileBuilder::budget_error() const {
  return Error{ErrorKind::resource_limit, content_.file + ": its reduced rows do not fit into the memory limit of " +
                                              size_text(budget_.limit_bytes()) +
                                              "; raise --memory-limit, or read fewer ranks"};
}

FileContent FileBuilder::take_content() {
  taken_ = 0;
  return std::move(content_);
}

}  // namespace skewscope::ingest
