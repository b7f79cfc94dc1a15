#include "check_file.h"

#include <algorithm>

namespace skewscope::digest {
namespace {

constexpr size_t kLongestPath = 4096;

bool sane(int64_t ns) { return ns >= -kFurthestNs && ns <= kFurthestNs; }
bool sane(LocalNs t) { return sane(t.ns); }
// The end of something that begins and lasts within bounds.
bool sane_end(LocalNs t) { return t.ns >= -kFurthestNs && t.ns <= 2 * kFurthestNs; }

template <class Times>
bool all_sane(const Times& times) {
  return std::all_of(times.begin(), times.end(), [](const auto& t) { return sane(t); });
}

template <class Enum>
bool up_to(Enum value, Enum last) {
  return value <= last;
}

std::string wrong_times(const LinkedTrace& linked) {
  const RankTrace& trace = linked.trace;
  bool fine = all_sane(trace.gpu.start) && all_sane(trace.gpu.duration_ns) && all_sane(trace.launches.start) &&
              all_sane(trace.launches.duration_ns) && sane(trace.first_event) && sane_end(trace.last_event) &&
              sane(linked.first_host_row) && sane_end(linked.last_host_row);
  for (const StepRange& step : trace.steps)
    fine = fine && sane(step.start) && step.duration_ns >= 0 && sane(step.duration_ns);
  for (const SynchronizingCall& call : trace.synchronizing) {
    fine = fine && sane(call.start) && call.duration_ns >= 0 && sane(call.duration_ns);
  }
  for (const StreamWait& wait : trace.stream_waits) fine = fine && sane(wait.start) && sane(wait.recorded);
  for (const CollectiveCall& call : trace.calls) {
    fine = fine && sane(call.start) && sane(call.duration_ns) && sane(call.launch_start) &&
           call.launch_duration_ns >= 0 && sane(call.launch_duration_ns);
  }
  return fine && trace.resolution_ns >= 1 ? "" : "a time that no trace can have";
}

std::string wrong_names(const LinkedTrace& linked) {
  const auto names = static_cast<int64_t>(linked.strings.size());
  for (const StringId name : linked.trace.gpu.name) {
    if (name.value < 0 || name.value >= names) return "a name that is not there";
  }
  const bool works = std::all_of(linked.trace.gpu.work.begin(), linked.trace.gpu.work.end(),
                                 [](GpuWork work) { return up_to(work, GpuWork::memset); });
  if (!up_to(linked.trace.vendor, GpuVendor::other)) return "a vendor that has no name";
  return works ? "" : "work that has no name";
}

std::string wrong_calls(const LinkedTrace& linked) {
  const auto groups = static_cast<int64_t>(linked.groups.size()), modules = std::ssize(linked.modules);
  if (linked.open_calls.size() != linked.trace.calls.size()) return "calls and their groups differ in number";
  for (const OpenCall& call : linked.open_calls) {
    if (call.group < -1 || call.group >= groups) return "a group that is not there";
  }
  if (linked.open_peers.size() != linked.trace.messages.size()) return "messages and their peers differ in number";
  for (const BatchMessage& message : linked.trace.messages) {
    if (!is_valid(message.dtype)) return "a message of no known type";
  }
  for (const CollectiveCall& call : linked.trace.calls) {
    if (!is_valid(call.kind) || !is_valid(call.dtype) || !up_to(call.source, MetadataSource::kernel_name) ||
        !up_to(call.phase, CallPhase::optimizer) || !up_to(call.algorithm, Algorithm::pat) ||
        !up_to(call.protocol, Protocol::simple)) {
      return "a call of no known kind";
    }
    if (call.module < -1 || call.module >= modules) return "a module that is not there";
  }
  return "";
}

}  // namespace

std::string what_is_wrong(const TraceFile& file) {
  if (!up_to(file.kind, ContentKind::empty) || file.bytes < 0 || file.events < 0) return "a file of no known kind";
  if (file.evidence.file.size() > kLongestPath) return "a path that no system has";
  const RankEvidence& evidence = file.evidence;
  if (evidence.place < 0 || evidence.place >= evidence.parts || !evidence.file.ends_with(part_name("", evidence.part)))
    return "a part of no file";
  if (!sane(file.evidence.first_event) || !sane_end(file.evidence.last_event)) return "a time that no trace can have";
  for (const Finding& finding : file.linked.findings) {
    if (!up_to(finding.severity, Severity::error)) return "a finding of no known severity";
  }
  for (const auto check : {wrong_times, wrong_names, wrong_calls}) {
    if (std::string wrong = check(file.linked); !wrong.empty()) return wrong;
  }
  return check_invariants(file.linked.trace);
}

}  // namespace skewscope::digest
