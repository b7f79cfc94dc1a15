#include "share_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "skewscope/digest.h"
#include "src/ingest/digests/digest_file.h"

namespace skewscope::ingest {
namespace {

// A file as a process sees it.
struct Sighting {
  std::string path;
  int64_t bytes = 0;
  uint64_t inode = 0;
  int64_t changed_ns = 0;

  friend auto operator<=>(const Sighting&, const Sighting&) = default;
};

Sighting look_at(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {path, 0, 0, 0};
  return {path, status.st_size, status.st_ino, status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec};
}

// The processes that see each file.
std::map<Sighting, std::vector<size_t>> seen_by(const std::vector<std::string>& found, Exchange& exchange) {
  ByteWriter writer;
  for (const std::string& path : found) {
    const Sighting sighting = look_at(path);
    writer.put(sighting.path);
    writer.put(sighting.bytes);
    writer.put(sighting.inode);
    writer.put(sighting.changed_ns);
  }
  const std::vector<Bytes> told = exchange.all_gather(writer.take());
  std::map<Sighting, std::vector<size_t>> processes;
  for (size_t p = 0; p < told.size(); ++p) {
    for (ByteReader reader(told[p]); !reader.done();) {
      Sighting sighting;
      reader.get(sighting.path);
      reader.get(sighting.bytes);
      reader.get(sighting.inode);
      reader.get(sighting.changed_ns);
      processes[sighting].push_back(p);
    }
  }
  return processes;
}

// The file without its calls and GPU rows, but for the first row of each name: the job's string table is made of these.
TraceFile outline_of(const TraceFile& file) {
  TraceFile outline;
  outline.kind = file.kind;
  outline.format = file.format;
  outline.compression = file.compression;
  outline.job_name = file.job_name;
  outline.bytes = file.bytes;
  outline.events = file.events;
  outline.evidence = file.evidence;
  const LinkedTrace& linked = file.linked;
  RankTrace& trace = outline.linked.trace;
  trace.host = linked.trace.host;
  trace.software = linked.trace.software;
  trace.device = linked.trace.device;
  trace.device_name = linked.trace.device_name;
  trace.vendor = linked.trace.vendor;
  trace.calls_only = linked.trace.calls_only;
  trace.durations_only = linked.trace.durations_only;
  trace.one_of = linked.trace.one_of;
  trace.has_cpu_ops = linked.trace.has_cpu_ops;
  trace.resolution_ns = linked.trace.resolution_ns;
  trace.first_event = linked.trace.first_event;
  trace.last_event = linked.trace.last_event;
  trace.steps = linked.trace.steps;
  trace.grids = linked.trace.grids;
  const GpuEvents& gpu = linked.trace.gpu;
  for (size_t row = 0; row < gpu.size(); ++row) {
    const size_t known = outline.linked.strings.size();
    const StringId name = outline.linked.strings.intern(linked.strings.view(gpu.name[row]));
    if (outline.linked.strings.size() == known) continue;
    trace.gpu.start.push_back(gpu.start[row]);
    trace.gpu.duration_ns.push_back(gpu.duration_ns[row]);
    trace.gpu.work.push_back(gpu.work[row]);
    trace.gpu.name.push_back(name);
    trace.gpu.device.push_back(gpu.device[row]);
    trace.gpu.stream.push_back(gpu.stream[row]);
    trace.gpu.launch.push_back(-1);
  }
  outline.linked.groups = linked.groups;
  outline.linked.modules = linked.modules;
  outline.linked.device_names = linked.device_names;
  outline.linked.first_host_row = linked.first_host_row;
  outline.linked.last_host_row = linked.last_host_row;
  outline.linked.findings = linked.findings;
  return outline;
}

void put(ByteWriter& writer, const TraceFile& file) {
  writer.put(file.path);
  writer.put(to_digest(outline_of(file)));
  writer.put(file.linked.trace.calls.size());
  writer.put(file.steps_before_filter.has_value());
  if (file.steps_before_filter) writer.put(*file.steps_before_filter);
}

Result<TraceFile> get_file(ByteReader& reader) {
  std::string path = reader.get<std::string>();
  Result<TraceFile> read = from_digest(reader.get<Bytes>());
  if (!read.ok()) return Error{ErrorKind::internal, "another process sent about a file: " + read.error().message};
  TraceFile file = std::move(read).value();
  file.path = std::move(path);
  file.evidence.name = name_facts(file);
  file.calls_elsewhere = reader.get<int64_t>();
  if (reader.get<bool>()) reader.get(file.steps_before_filter.emplace());
  return file;
}

}  // namespace

std::vector<std::string> own_share(const std::vector<std::string>& found, Exchange& exchange) {
  if (exchange.processes() == 1) return found;
  const std::map<Sighting, std::vector<size_t>> processes = seen_by(found, exchange);
  std::vector<const Sighting*> largest_first;
  for (const auto& [sighting, by] : processes) largest_first.push_back(&sighting);
  std::stable_sort(largest_first.begin(), largest_first.end(),
                   [](const Sighting* a, const Sighting* b) { return a->bytes > b->bytes; });
  std::vector<int64_t> load(static_cast<size_t>(exchange.processes()), 0);
  std::vector<std::string> own;
  for (const Sighting* sighting : largest_first) {
    const std::vector<size_t>& by = processes.at(*sighting);
    const size_t reader =
        *std::min_element(by.begin(), by.end(), [&](size_t a, size_t b) { return load[a] < load[b]; });
    load[reader] += sighting->bytes + 1;
    if (reader == static_cast<size_t>(exchange.process())) own.push_back(sighting->path);
  }
  std::sort(own.begin(), own.end());
  return own;
}

Result<std::vector<TraceFile>> gather_files(std::vector<TraceFile> own, Exchange& exchange) {
  if (exchange.processes() == 1) return own;
  ByteWriter writer;
  for (const TraceFile& file : own) put(writer, file);
  const std::vector<Bytes> told = exchange.all_gather(writer.take());
  std::vector<TraceFile> all;
  size_t next = 0;
  for (size_t p = 0; p < told.size(); ++p) {
    for (ByteReader reader(told[p]); !reader.done();) {
      Result<TraceFile> file = get_file(reader);
      if (!file.ok()) return file.error();
      const bool is_own = p == static_cast<size_t>(exchange.process());
      all.push_back(is_own ? std::move(own[next++]) : std::move(file).value());
      all.back().linked.trace.process = static_cast<int32_t>(p);
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const TraceFile& a, const TraceFile& b) { return a.path < b.path; });
  return all;
}

}  // namespace skewscope::ingest
