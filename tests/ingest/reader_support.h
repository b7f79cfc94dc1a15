// Inputs and views for the reader's tests: text to a file, a file to FileContent, FileContent to text.
#pragma once

#include <fmt/format.h>
#include <isa-l/igzip_lib.h>
#include <unistd.h>
#include <zstd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "src/ingest/kineto/kineto_reader.h"
#include "src/ingest/trace_readers.h"

namespace skewscope::ingest {

class TempFile {
 public:
  explicit TempFile(const std::string& bytes) {
    std::string pattern = (std::filesystem::temp_directory_path() / "skewscope-reader-XXXXXX").string();
    const int descriptor = mkstemp(pattern.data());
    if (descriptor >= 0) close(descriptor);
    path_ = pattern;
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~TempFile() { std::filesystem::remove(path_); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline FileContent read_file(const std::string& file, const ReadSettings& settings = {}) {
  MemoryBudget budget(0);
  return std::move(KinetoReader(settings).read(file, budget).value().front());
}

// Through the public entrance, as any file.
inline FileContent read_any(const std::string& bytes) {
  const TempFile file(bytes);
  MemoryBudget budget(0);
  return std::move(TraceReaders().read(file.path(), budget).value().front());
}

inline FileContent read_text(const std::string& bytes, const ReadSettings& settings = {}) {
  const TempFile file(bytes);
  return read_file(file.path(), settings);
}

// A kernel as current PyTorch writes it; `more` goes into args.
inline std::string kernel(const std::string& name, const std::string& stamp, const std::string& duration,
                          const std::string& more = "\"correlation\": 7") {
  return R"({"ph": "X", "cat": "kernel", "name": ")" + name + R"(", "pid": 0, "tid": 20, "ts": )" + stamp +
         ", \"dur\": " + duration + R"(, "args": {"device": 0, "stream": 20, )" + more + "}}";
}

inline std::string trace_of(const std::string& events, const std::string& before = "", const std::string& after = "") {
  return "{" + before + "\"schemaVersion\": 1, \"traceEvents\": [" + events + "]" + after + ", \"traceName\": \"t\"}";
}

inline int64_t count_of(const FileContent& content, FindingCode code) {
  for (const Finding& finding : content.findings) {
    if (finding.code == code) return finding.count;
  }
  return 0;
}

inline int64_t place_of(const FileContent& content, FindingCode code) {
  for (const Finding& finding : content.findings) {
    if (finding.code == code) return finding.byte_offset;
  }
  return -2;
}

inline std::string name_of(const FileContent& content, size_t gpu_row) {
  return std::string(content.strings.view(content.gpu[gpu_row].name));
}

// Everything of a content but its file name, strings resolved: equal texts, equal contents.
inline std::string as_text(const FileContent& c) {
  const auto text = [&](StringId id) {
    return id.known() ? fmt::format("'{}'", c.strings.view(id)) : std::string("-");
  };
  std::string out =
      fmt::format("kind {} events {} bytes {} cpu {} base {} res {} hip {} intel {}\n", static_cast<int>(c.kind),
                  c.events, c.bytes, c.has_cpu_ops, c.has_base_time, c.resolution_ns, c.hip_launches, c.intel_launches);
  for (size_t i = 0; i < c.gpu.size(); ++i) {
    const GpuRow r = c.gpu[i];
    out += fmt::format("gpu {} {} {} {} {} {} {} {} {}\n", r.start.ns, r.duration_ns, r.correlation, r.external_id,
                       text(r.name), r.device, r.stream, r.args, static_cast<int>(r.work));
  }
  for (size_t i = 0; i < c.launches.size(); ++i) {
    const LaunchRow r = c.launches[i];
    out += fmt::format("launch {} {} {} {}\n", r.start.ns, r.duration_ns, r.correlation, r.thread);
  }
  for (const CommOpRow& r : c.comm_ops) {
    out += fmt::format("op {} {} {} {} {} {} {} {}\n", r.start.ns, r.duration_ns, r.external_id, r.thread, text(r.name),
                       r.args, r.input_elements, text(r.input_type));
  }
  for (const GpuAnnotationRow& r : c.gpu_annotations) {
    out += fmt::format("range {} {} {} {} {}\n", r.start.ns, r.duration_ns, text(r.name), r.device, r.stream);
  }
  for (const StepRow& r : c.steps) {
    out += fmt::format("step {} {} {} {}\n", r.start.ns, r.duration_ns, r.number, r.thread);
  }
  for (const SyncRow& r : c.syncs) out += fmt::format("sync {} {} {}\n", r.start.ns, r.duration_ns, r.ends_recording);
  for (const OptimizerRow& r : c.optimizer_steps) {
    out += fmt::format("optimizer {} {} {}\n", r.start.ns, r.duration_ns, r.thread);
  }
  for (const BackwardRow& r : c.backward_ops) {
    out += fmt::format("backward {} {} {}\n", r.start.ns, r.duration_ns, r.thread);
  }
  for (const PassFlowRow& r : c.pass_flows) {
    out += fmt::format("flow {} {} {} {}\n", r.start.ns, r.thread, r.id, r.backward);
  }
  for (const int64_t thread : c.backward_threads) out += fmt::format("backward {}\n", thread);
  for (const SplitLists& l : c.splits) out += fmt::format("splits {} {} {}\n", l.args, text(l.in), text(l.out));
  for (size_t i = 0; i < c.comm_args.size(); ++i) {
    const CommArgs a = c.comm_args[i];
    out += fmt::format("args {} {} {} {} {} {} {} {} {} {} {} {} {} {}\n", text(a.collective_name), text(a.dtype),
                       text(a.group_name), text(a.group_description), text(a.group_ranks), a.in_elements,
                       a.out_elements, a.group_size, a.rank, a.rank_start, a.rank_stride, a.peer, a.seq, a.comms_id);
  }
  for (size_t i = 0; i < c.strings.size(); i++) out += text(StringId(static_cast<int64_t>(i))) + "\n";
  for (const Finding& f : c.findings) out += fmt::format("{} {} {}\n", f.code.text(), f.count, f.byte_offset);
  return out;
}

// One gzip stream: of level 0 one block, of level 1 some, each with codes of its own.
inline std::string gzipped(const std::string& text, uint32_t level = 0) {
  std::vector<uint8_t> buffer(ISAL_DEF_LVL1_DEFAULT);
  isal_zstream stream;
  isal_deflate_init(&stream);
  stream.level = level;
  stream.level_buf = buffer.data();
  stream.level_buf_size = static_cast<uint32_t>(buffer.size());
  stream.gzip_flag = IGZIP_GZIP;
  stream.end_of_stream = 1;
  std::string input = text, out(2 * text.size() + 4096, '\0');
  stream.next_in = reinterpret_cast<uint8_t*>(input.data());
  stream.avail_in = static_cast<uint32_t>(input.size());
  stream.next_out = reinterpret_cast<uint8_t*>(out.data());
  stream.avail_out = static_cast<uint32_t>(out.size());
  isal_deflate(&stream);
  out.resize(stream.total_out);
  return out;
}

inline std::string zstd_compressed(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 1));
  return out;
}

// Folder of the real traces; empty where there is none.
inline std::string traces_folder() {
  const char* given = std::getenv("SKEWSCOPE_TRACES");
  const std::string folder = given ? given : std::string(SKEWSCOPE_SOURCE_DIR) + "/../shared/traces";
  return std::filesystem::is_directory(folder) ? folder : std::string();
}

}  // namespace skewscope::ingest
