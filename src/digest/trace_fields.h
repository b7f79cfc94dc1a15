// What a digest keeps of a TraceFile, in the order of its bytes: one list, walked by the writer and by the reader. A
// change here is a new kDigestVersion.
#pragma once

#include "number_column.h"
#include "skewscope/model/trace_file.h"

namespace skewscope::digest {

constexpr uint64_t kListRowBytes = 256;  // memory that a row of a list is charged with: no row is larger

// An archive has value(x) for numbers, enums, ids, stamps, booleans and texts; list(vector, visit) for a few rows;
// column(vector, slope) for many numbers; rows(vector, visit) for many structs, whose fields `visit` names by
// field(member, slope).

template <class Archive, class Evidence>
void visit_evidence(Archive& a, Evidence& e) {
  a.value(e.file);
  a.value(e.part);
  a.value(e.place);
  a.value(e.parts);
  a.value(e.folder);
  a.value(e.host);
  a.value(e.process_id);
  a.value(e.gpus);
  a.value(e.distributed.present);
  a.value(e.distributed.after_events);
  a.value(e.distributed.rank);
  a.value(e.distributed.world_size);
  a.value(e.distributed.rank_from);
  a.value(e.distributed.place_in_file);
  a.value(e.distributed.backend);
  a.list(e.distributed.groups, [&](auto& group) {
    a.value(group.name);
    a.value(group.description);
    a.value(group.size);
    a.ranks(group.ranks);
    a.value(group.ranks_text);
    a.value(group.own_rank);
  });
  a.value(e.symmetric_rank);
  a.value(e.default_group_size);
  a.value(e.largest_group);
  a.list(e.call_groups, [&](auto& listed) { a.ranks(listed); });
  a.value(e.first_event);
  a.value(e.last_event);
}

// `calls`: relative (relative_calls.h).
template <class Archive, class Trace, class Calls>
void visit_trace(Archive& a, Trace& t, Calls& calls) {
  a.value(t.host);
  a.list(t.software, [&](auto& named) { a.value(named); });
  a.value(t.device);
  a.value(t.device_name);
  a.value(t.vendor);
  a.value(t.calls_only);
  a.value(t.durations_only);
  a.value(t.one_of);
  a.value(t.has_cpu_ops);
  a.value(t.resolution_ns);
  a.value(t.first_event);
  a.value(t.last_event);
  a.column(t.gpu.start, Slope::rising);
  a.column(t.gpu.duration_ns, Slope::flat);
  a.column(t.gpu.work, Slope::flat);
  a.column(t.gpu.device, Slope::flat);
  a.column(t.gpu.stream, Slope::flat);
  a.column(t.gpu.launch, Slope::rising);
  a.column(t.launches.start, Slope::rising);
  a.column(t.launches.duration_ns, Slope::flat);
  a.column(t.launches.thread, Slope::flat);
  a.rows(t.synchronizing, [](auto& call) {
    call.field(&SynchronizingCall::start, Slope::rising);
    call.field(&SynchronizingCall::duration_ns, Slope::flat);
  });
  a.rows(t.stream_waits, [](auto& wait) {
    wait.field(&StreamWait::start, Slope::rising);
    wait.field(&StreamWait::stream, Slope::flat);
    wait.field(&StreamWait::source, Slope::flat);
    wait.field(&StreamWait::recorded, Slope::rising);
  });
  a.list(t.steps, [&](auto& step) {
    a.value(step.number);
    a.value(step.start);
    a.value(step.duration_ns);
  });
  a.rows(calls, [](auto& call) {
    call.field(&CollectiveCall::start, Slope::flat);
    call.field(&CollectiveCall::duration_ns, Slope::flat);
    call.field(&CollectiveCall::gpu_row, Slope::rising);
    call.field(&CollectiveCall::stream, Slope::flat);
    call.field(&CollectiveCall::kind, Slope::flat);
    call.field(&CollectiveCall::dtype, Slope::flat);
    call.field(&CollectiveCall::source, Slope::flat);
    call.field(&CollectiveCall::custom, Slope::flat);
    call.field(&CollectiveCall::waits, Slope::flat);
    call.field(&CollectiveCall::together, Slope::rising);
    call.field(&CollectiveCall::in_elements, Slope::flat);
    call.field(&CollectiveCall::out_elements, Slope::flat);
    call.field(&CollectiveCall::peer, Slope::flat);
    call.field(&CollectiveCall::seq, Slope::rising);
    call.field(&CollectiveCall::comms_id, Slope::flat);
    call.field(&CollectiveCall::step, Slope::rising);
    call.field(&CollectiveCall::launch_start, Slope::flat);
    call.field(&CollectiveCall::launch_duration_ns, Slope::flat);
    call.field(&CollectiveCall::launched, Slope::flat);
    call.field(&CollectiveCall::phase, Slope::flat);
    call.field(&CollectiveCall::module, Slope::flat);
    call.field(&CollectiveCall::measured_wait_ns, Slope::flat);
    call.field(&CollectiveCall::algorithm, Slope::flat);
    call.field(&CollectiveCall::protocol, Slope::flat);
  });
  a.rows(t.messages, [](auto& message) {
    message.field(&BatchMessage::call, Slope::rising);
    message.field(&BatchMessage::sends, Slope::flat);
    message.field(&BatchMessage::peer, Slope::flat);
    message.field(&BatchMessage::dtype, Slope::flat);
    message.field(&BatchMessage::elements, Slope::flat);
  });
  a.rows(t.splits, [](auto& part) {
    part.field(&SplitPart::call, Slope::rising);
    part.field(&SplitPart::sends, Slope::flat);
    part.field(&SplitPart::receives, Slope::flat);
  });
}

template <class Archive, class Grids>
void visit_grids(Archive& a, Grids& grids) {
  a.rows(grids, [](auto& grid) {
    grid.field(&KernelGrid::kernel, Slope::flat);
    grid.field(&KernelGrid::grid, Slope::flat);
    grid.field(&KernelGrid::rows, Slope::flat);
    grid.field(&KernelGrid::ns, Slope::flat);
  });
}

template <class Archive, class Linked, class Calls>
void visit_linked(Archive& a, Linked& l, Calls& calls) {
  visit_trace(a, l.trace, calls);
  a.names(l.trace.gpu.name, l.strings);
  visit_grids(a, l.trace.grids);
  a.list(l.groups, [&](auto& group) {
    a.value(group.name);
    a.value(group.description);
    a.value(group.size);
    a.value(group.ranks);
    a.value(group.rank_start);
    a.value(group.rank_stride);
    a.value(group.use.kinds);
    a.value(group.use.calls);
    a.value(group.use.mean_bytes);
  });
  a.rows(l.open_calls, [](auto& call) {
    call.field(&OpenCall::group, Slope::flat);
    call.field(&OpenCall::root_in_group, Slope::flat);
    call.field(&OpenCall::peer_in_group, Slope::flat);
  });
  a.column(l.open_peers, Slope::flat);
  a.list(l.modules, [&](auto& name) { a.value(name); });
  a.list(l.device_names, [&](auto& name) { a.value(name); });
  a.value(l.first_host_row);
  a.value(l.last_host_row);
  a.list(l.findings, [&](auto& finding) {
    a.value(finding.severity);
    a.value(finding.code);
    a.value(finding.file);
    a.value(finding.rank);
    a.value(finding.byte_offset);
    a.value(finding.count);
    a.value(finding.message);
  });
}

template <class Archive, class File, class Calls>
void visit_file(Archive& a, File& f, Calls& calls) {
  a.value(f.kind);
  a.value(f.format);
  a.value(f.compression);
  a.value(f.job_name);
  a.value(f.bytes);
  a.value(f.events);
  visit_evidence(a, f.evidence);
  visit_linked(a, f.linked, calls);
}

}  // namespace skewscope::digest
