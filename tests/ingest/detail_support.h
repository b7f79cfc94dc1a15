// Details of a text or a file, and linked traces as text.
#pragma once

#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "reader_support.h"
#include "src/ingest/link/link_calls.h"
#include "src/ingest/read_files.h"

namespace skewscope::ingest {

inline ReadSettings with_details(size_t chunk_bytes = 1 << 20) {
  ReadSettings settings;
  settings.details = true;
  settings.chunk_bytes = chunk_bytes;
  return settings;
}

inline LinkedTrace link_with_details(const std::string& text, const ReadSettings& settings = with_details()) {
  LinkedTrace linked = link_calls(read_text(text, settings));
  REQUIRE(linked.detail);
  CHECK(check_invariants(*linked.detail, linked.trace) == "");
  return linked;
}

// All that is there without details; names resolved.
inline std::string as_text(const LinkedTrace& linked) {
  const RankTrace& trace = linked.trace;
  std::string out =
      fmt::format("{} {} {} vendor {} ops {} resolution {} window {} {} host {} {}\n", trace.file, trace.device,
                  trace.device_name, static_cast<int>(trace.vendor), trace.has_cpu_ops, trace.resolution_ns,
                  trace.first_event.ns, trace.last_event.ns, linked.first_host_row.ns, linked.last_host_row.ns);
  for (size_t i = 0; i < trace.gpu.size(); ++i) {
    out += fmt::format("gpu {} {} {} {} {} {} {}\n", trace.gpu.start[i].ns, trace.gpu.duration_ns[i],
                       static_cast<int>(trace.gpu.work[i]), linked.strings.view(trace.gpu.name[i]), trace.gpu.device[i],
                       trace.gpu.stream[i], trace.gpu.launch[i]);
  }
  for (size_t i = 0; i < trace.launches.size(); ++i) {
    out += fmt::format("launch {} {} {}\n", trace.launches.start[i].ns, trace.launches.duration_ns[i],
                       trace.launches.thread[i]);
  }
  for (const StepRange& step : trace.steps) {
    out += fmt::format("step {} {} {}\n", step.number, step.start.ns, step.duration_ns);
  }
  for (size_t i = 0; i < trace.calls.size(); ++i) {
    const CollectiveCall& c = trace.calls[i];
    const OpenCall& open = linked.open_calls.at(i);
    out += fmt::format("call {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}\n", c.start.ns, c.duration_ns,
                       c.gpu_row, c.stream, static_cast<int>(c.kind), static_cast<int>(c.dtype),
                       static_cast<int>(c.source), c.custom, c.in_elements, c.out_elements, c.peer.value, c.seq,
                       c.comms_id, c.step, c.launch_start.ns, open.group, open.root_in_group, open.peer_in_group);
  }
  for (const GroupMention& group : linked.groups) {
    out += fmt::format("group {} {} {} {} {} {}\n", group.name, group.description, group.size, group.ranks,
                       group.rank_start, group.rank_stride);
  }
  return out;
}

// Everything of the details, names and arguments resolved.
inline std::string details_as_text(const LinkedTrace& linked) {
  const RankDetail& d = *linked.detail;
  const auto text = [&](StringId id) {
    return id.known() ? fmt::format("'{}'", linked.strings.view(id)) : std::string("-");
  };
  std::string out = fmt::format("python {} arguments {}\n", d.has_python, d.has_arguments);
  for (const HostThread& t : d.threads) {
    out += fmt::format("thread {} {} {} {} {}\n", t.process, t.thread, t.process_name, t.process_label, t.name);
  }
  for (size_t i = 0; i < d.host.size(); ++i) {
    out += fmt::format("host {} {} {} {} {} {} {} {} {}\n", d.host.start[i].ns, d.host.duration_ns[i],
                       text(d.host.name[i]), static_cast<int>(d.host.kind[i]), d.host.thread[i], d.host.place[i],
                       d.host.arguments[i], d.host.sequence[i], d.host.forward_thread[i]);
  }
  for (const ArgumentSet& a : d.arguments) {
    out += fmt::format("arguments {} {} {} {} {} {} {}\n", text(a.dims), text(a.types), text(a.strides), text(a.values),
                       text(a.kernel_file), text(a.kernel_backend), text(a.call_stack));
  }
  for (const KernelShape& s : d.shapes) {
    out +=
        fmt::format("shape {} {} {} {} {} {} {} {} {} {} {}\n", s.grid[0], s.grid[1], s.grid[2], s.block[0], s.block[1],
                    s.block[2], s.registers, s.shared_memory, s.blocks_per_sm, s.warps_per_sm, s.occupancy_percent);
  }
  for (size_t i = 0; i < d.gpu.size(); ++i) {
    out += fmt::format("gpu {} {} {} {}\n", d.gpu.caller[i], d.gpu.place[i], d.gpu.shape[i], d.gpu.bytes[i]);
  }
  for (size_t i = 0; i < d.gpu_annotations.size(); ++i) {
    out += fmt::format("range {} {} {} {} {}\n", d.gpu_annotations.start[i].ns, d.gpu_annotations.duration_ns[i],
                       text(d.gpu_annotations.name[i]), d.gpu_annotations.device[i], d.gpu_annotations.stream[i]);
  }
  for (size_t i = 0; i < d.calls.size(); ++i) {
    out += fmt::format("call {} {} {} {} {} {} {}\n", text(d.calls.name[i]), text(d.calls.dtype[i]),
                       text(d.calls.group_name[i]), text(d.calls.group_ranks[i]), d.calls.group_size[i],
                       text(d.calls.in_split[i]), text(d.calls.out_split[i]));
  }
  for (const DeviceProperties& p : d.devices) {
    out += fmt::format("device {} {} {} {} {} {} {}\n", p.name, p.memory_bytes, p.sms, p.threads_per_sm, p.warp_size,
                       p.compute_major, p.compute_minor);
  }
  return out;
}

}  // namespace skewscope::ingest
