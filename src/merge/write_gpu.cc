#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lanes.h"
#include "rank_view.h"

namespace skewscope::merge {
namespace {

class GpuWriter {
 public:
  GpuWriter(const RankView& view, TraceWriter& writer, MergeResult& result)
      : view_(view), trace_(view.trace), writer_(writer), result_(result) {}

  void write_lateness() {
    if (trace_.calls.empty()) return;
    const TrackId counter = writer_.counter("arrived after the first");
    for (size_t c = 0; c < trace_.calls.size(); ++c) {
      const Membership& at = view_.membership(c);
      if (!view_.is_split(at) || !view_.selection.has_call({view_.index, static_cast<int32_t>(c)})) continue;
      const JobNs start = span_of(view_.rooms, view_.index, trace_.calls[c]).start;
      writer_.value(counter, start, start - view_.lateness.first_arrival[static_cast<size_t>(at.instance)]);
    }
    LaneTracks tracks(writer_, "late for others", false);
    for (const Late& late : view_.lateness.late[view_.index.index()]) write_late(late, tracks);
  }

  void write_streams() {
    const GpuEvents& gpu = trace_.gpu;
    std::map<std::pair<int32_t, int32_t>, std::vector<size_t>> streams;
    for (size_t i = 0; i < gpu.size(); ++i) streams[{gpu.device[i], gpu.stream[i]}].push_back(i);
    const bool one_device = streams.empty() || streams.begin()->first.first == streams.rbegin()->first.first;
    for (const auto& stream : streams) {
      const std::string device = one_device ? "" : fmt::format("device {}, ", stream.first.first);
      LaneTracks tracks(writer_, fmt::format("{}stream {}", device, stream.first.second), false);
      for (const size_t row : stream.second) write_gpu_row(row, tracks);
    }
  }

  // Collectives of processes without a GPU.
  void write_host_calls() {
    LaneTracks tracks(writer_, "collectives", false);
    for (size_t c = 0; c < trace_.calls.size(); ++c) {
      const CollectiveCall& call = trace_.calls[c];
      if (call.gpu_row >= 0 || !view_.selection.has_call({view_.index, static_cast<int32_t>(c)})) continue;
      Slice slice = slice_of(span_of(view_.rooms, view_.index, call), to_string(call.kind), "communication");
      write_row(slice, static_cast<int32_t>(c), tracks);
    }
  }

  // Nothing tells who launched them: with steps, those are kept that overlap the GPU rows kept.
  void write_annotations() {
    const GpuAnnotations& rows = view_.detail->gpu_annotations;
    const JobSpan shown = time_of_rows();
    std::map<int32_t, LaneTracks> tracks;
    for (size_t i = 0; i < rows.size(); ++i) {
      const JobSpan at = view_.span(rows.start[i], rows.duration_ns[i]);
      const bool launched = !view_.selection.options().steps || (at.start < shown.end && at.end > shown.start);
      if (!launched || !view_.selection.has(view_.index, at)) continue;
      auto place =
          tracks.try_emplace(rows.stream[i], writer_, fmt::format("annotations, stream {}", rows.stream[i]), true);
      place.first->second.put(slice_of(at, view_.detail_strings->view(rows.name[i]), "gpu_user_annotation"));
      count(MergeCategory::annotations);
    }
  }

 private:
  void count(MergeCategory category) { ++result_.events[static_cast<size_t>(category)]; }

  // Shown where its own call is.
  void write_late(const Late& late, LaneTracks& tracks) {
    const InstanceTable& table = view_.rooms.instances;
    if (!view_.selection.has_call(table.members[static_cast<size_t>(late.member)])) return;
    const CollectiveInstance& instance = table.instances[static_cast<size_t>(late.instance)];
    const std::string name = fmt::format("late: {}", to_string(instance.kind));
    Slice slice = slice_of({late.from, std::max(late.from, late.until)}, name, "lateness");
    for (const int32_t member : late.released) {
      if (!view_.selection.has_call(table.members[static_cast<size_t>(member)])) continue;
      slice.arrows_out.push_back(RankView::release_arrow(member));
    }
    slice.arguments = {{"instance", late.instance},
                       {"kept_waiting", std::ssize(late.released)},
                       {"wait_caused_ns", view_.rooms.decomposition.caused_ns[static_cast<size_t>(late.member)]}};
    result_.arrows += std::ssize(slice.arrows_out);
    tracks.put(slice);
  }

  void write_gpu_row(size_t row, LaneTracks& tracks) {
    if (!view_.has_gpu_row(row)) return;
    const GpuEvents& gpu = trace_.gpu;
    Slice slice = slice_of(view_.gpu_span(row), view_.rooms.job.strings.view(gpu.name[row]), to_string(gpu.work[row]));
    if (view_.has_launch_arrow(row)) slice.arrows_in.push_back(view_.launch_arrow(row));
    write_row(slice, view_.call_of[row], tracks);
  }

  void write_row(Slice& slice, int32_t call, LaneTracks& tracks) {
    if (call >= 0) describe_call(static_cast<size_t>(call), slice);
    const TrackId track = tracks.put(slice);
    if (call >= 0) write_parts(view_.membership(static_cast<size_t>(call)), slice.start, track);
    count(MergeCategory::gpu);
  }

  void describe_call(size_t c, Slice& slice) const {
    const CollectiveCall& call = trace_.calls[c];
    const Membership& at = view_.membership(c);
    slice.arguments = {{"op", to_string(call.kind)}, {"dtype", to_string(call.dtype)}};
    if (at.instance < 0) return;
    const CollectiveInstance& instance = view_.rooms.instances.instances[static_cast<size_t>(at.instance)];
    const InstanceTiming& timing = view_.rooms.decomposition.instances[static_cast<size_t>(at.instance)];
    slice.arguments.push_back({"instance", at.instance});
    slice.arguments.push_back({"communicator", view_.rooms.instances.communicators[instance.communicator].name});
    slice.arguments.push_back({"members", instance.member_count});
    slice.arguments.push_back({"expected_members", instance.expected});
    slice.arguments.push_back({"bytes", instance.bytes});
    if (timing.reason != SplitReason::split) {
      slice.arguments.push_back({"not_split", to_string(timing.reason)});
      return;
    }
    const CallParts& parts = view_.rooms.decomposition.members[static_cast<size_t>(at.member)];
    slice.arguments.push_back({"wait_ns", parts.wait_ns});
    slice.arguments.push_back({"transfer_ns", parts.transfer_ns});
    slice.arguments.push_back({"wait_bar_ns", timing.wait_bar_ns});
  }

  // Wait and transfer within the call. At the transfer ends the arrow from the one that was awaited.
  void write_parts(const Membership& at, JobNs start, TrackId track) {
    if (!view_.is_split(at)) return;
    const CallParts& parts = view_.rooms.decomposition.members[static_cast<size_t>(at.member)];
    const JobNs release = start + parts.wait_ns;
    if (parts.wait_ns > 0) write_part(slice_of({start, release}, "wait", "part"), track);
    Slice transfer = slice_of({release, release + parts.transfer_ns}, "transfer", "part");
    const int32_t by = view_.lateness.released_by[static_cast<size_t>(at.member)];
    if (by >= 0 && view_.selection.has_call(view_.rooms.instances.members[static_cast<size_t>(by)])) {
      transfer.arrows_in.push_back(RankView::release_arrow(at.member));
    }
    write_part(transfer, track);
  }

  void write_part(const Slice& part, TrackId track) {
    writer_.slice(track, part);
    ++result_.parts;
  }

  // From the first start to the last end of the rows kept.
  JobSpan time_of_rows() const {
    JobSpan all{JobNs{INT64_MAX}, JobNs{INT64_MIN}};
    for (size_t i = 0; i < trace_.gpu.size(); ++i) {
      const JobSpan at = view_.gpu_span(i);
      if (!view_.selection.has_gpu_row(view_.index, i, at)) continue;
      all = {std::min(all.start, at.start), std::max(all.end, at.end)};
    }
    return all;
  }

  const RankView& view_;
  const RankTrace& trace_;
  TraceWriter& writer_;
  MergeResult& result_;
};

}  // namespace

void write_gpu(const RankView& view, TraceWriter& writer, MergeResult& result) {
  GpuWriter gpu(view, writer, result);
  if (view.wants(MergeCategory::gpu)) {
    gpu.write_lateness();
    gpu.write_streams();
    gpu.write_host_calls();
  }
  if (view.detail != nullptr && view.wants(MergeCategory::annotations)) gpu.write_annotations();
}

}  // namespace skewscope::merge
