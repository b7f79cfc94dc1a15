#include "rank_writer.h"

#include <algorithm>

namespace skewscope::simulate {
namespace {

constexpr size_t kFlushBytes = 1 << 20;

const CommunicationText& no_call() {
  static const CommunicationText none;
  return none;
}

}  // namespace

RankWriter::RankWriter(const Job& job, int32_t rank, const std::string& directory)
    : job_(job),
      rank_(rank),
      clock_(job.clocks[static_cast<size_t>(rank)]),
      layout_(make_layout(job, rank)),
      file_name_(fmt::format("rank{}_trace.json{}", rank, compression_suffix(job.options.compression))),
      sink_(directory + "/" + file_name_, job.options.compression) {
  for (const Op& op : job.program(rank).ops) {
    const bool communication = op.what == OpClass::communication;
    calls_.push_back(communication ? communication_text(job, rank, op) : no_call());
  }
}

bool RankWriter::flush_if_full() {
  if (text_.size() < kFlushBytes) return true;
  const bool written = sink_.write({text_.data(), text_.size()});
  text_.clear();
  return written;
}

bool RankWriter::write_step(int32_t step, const RankStep& timeline) {
  if (!begun_) {
    begun_ = true;
    first_ns_ = local(timeline.begin);
    print_head(text_, job_, rank_, layout_);
  }
  last_ns_ = local(timeline.end);
  const Program& program = job_.program(rank_);
  step_annotations(step, timeline);
  if (job_.options.vendor == TraceVendor::cpu) {
    gloo_rows(step, timeline);
    return flush_if_full();
  }
  std::vector<Link> links;
  for (size_t row = 0; row < program.ops.size(); ++row) {
    links.push_back(cpu_rows(step, program.ops[row], timeline.ops[row], row));
    if (!flush_if_full()) return false;
  }
  wait_row(timeline);
  launched_as_.clear();
  for (size_t row = 0; row < program.ops.size(); ++row) {
    if (writes_stream_wait(job_.options, program, row)) stream_wait_row(program, timeline, row);
    const int64_t correlation = next_correlation_++;
    launched_as_.push_back(correlation);
    if (job_.options.sync_events) ++next_correlation_;  // of the event that is recorded behind it
    Link link = links[row];
    if (job_.options.style == TraceStyle::era_a) link.external_id = correlation;
    launch_row(program.ops[row], timeline.ops[row], calls_[row], correlation, link);
    if (job_.kernel_lost(step, rank_, static_cast<int32_t>(row))) {
      ++lost_rows_;
    } else {
      ++gpu_rows_;
      gpu_rows_of(step, program.ops[row], timeline.ops[row], calls_[row], correlation, link);
    }
    if (!flush_if_full()) return false;
  }
  sync_row(timeline, next_correlation_++);
  return flush_if_full();
}

bool RankWriter::finish() {
  if (!begun_) print_head(text_, job_, rank_, layout_);
  print_tail(text_, job_, layout_, file_name_, first_ns_, last_ns_);
  const bool written = sink_.write({text_.data(), text_.size()}) && sink_.close();
  text_ = Text();
  return written;
}

// Opens a row that has an External id; returns the id. The caller closes it.
int64_t RankWriter::open_range(std::string_view category, std::string_view name, Place place, int64_t begin_true,
                               int64_t end_true) {
  open_event(text_, layout_.stamps, category, name, place, local(begin_true), local(end_true));
  const int64_t id = next_external_++;
  if (job_.options.style == TraceStyle::era_a) {
    print(text_, "\"External id\": {},\"Ev Idx\": {}", id, next_event_++);
  } else {
    print(text_, "\"External id\": {},\"Record function id\": {}, ", id, 0);
  }
  return id;
}

void RankWriter::step_annotations(int32_t step, const RankStep& timeline) {
  const bool old = job_.options.style == TraceStyle::era_a;
  const Place main = layout_.host(false);
  const auto close = [&] {
    if (!old) print(text_, "\"Ev Idx\": {}", next_event_++);
    close_event(text_);
  };
  const std::string name = fmt::format("ProfilerStep#{}", job_.options.first_step + step);
  const int64_t id = open_range("user_annotation", name, main, timeline.begin, timeline.end);
  close();
  if (timeline.gap_end > timeline.gap_begin) {
    open_range("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", main,
               timeline.gap_begin, timeline.gap_end);
    close();
  }
  if (old || job_.options.vendor == TraceVendor::cpu) return;
  int64_t begin = timeline.end, end = timeline.begin;
  for (size_t row = 0; row < timeline.ops.size(); ++row) {
    if (job_.program(rank_).ops[row].stream != kComputeStream) continue;
    begin = std::min(begin, timeline.ops[row].start);
    end = std::max(end, timeline.ops[row].end);
  }
  open_event(text_, layout_.stamps, "gpu_user_annotation", name,
             {layout_.device, stream_number(job_, layout_, kComputeStream)}, local(begin) - 1, local(end) + 1);
  print(text_, "\"External id\": {}", id);
  close_event(text_);
}

void RankWriter::print_seq(int32_t step, const Op& op, const CommunicationText& call) {
  if (job_.options.style != TraceStyle::era_e) return;
  const int64_t seq = job_.seq(step, rank_, op);
  print(text_, ", \"Seq\": {}, \"Comms Id\": {}", seq, comms_id(call, seq, op.p2p_index >= 0));
}

}  // namespace skewscope::simulate
