// Sources of the signs: what each writer puts into its own files (TensorBoard's and XProf's trace viewer, nsys2json,
// torch_npu's trace_view.json, unitrace, rocprof and rocprofv3, NCCL's profiler plugins and flight recorder, Horovod,
// VizTracer, speedscope, Triton's Proton); magic numbers of file formats.
#include "other_format.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string>

#include "src/ingest/text/characters.h"

namespace skewscope::ingest {
namespace {

using namespace std::string_view_literals;

constexpr const char* kTorchProfiler = "record the same steps with torch.profiler, one file per rank";
constexpr const char* kBesideTraces = "it has no GPU times: use the traces of torch.profiler instead";
constexpr const char* kOfHang = "skewscope hang DIR says which rank did not come, where the job hangs";

constexpr OtherFormat kXla = {"a profile of JAX or TensorFlow (XLA), as its viewer shows it",
                              "read the .xplane.pb of the same profile, which holds more"};
constexpr OtherFormat kNsight = {"a report of Nsight Systems",
                                 "export it and read that: nsys export --type sqlite --include-blobs true FILE"};
constexpr OtherFormat kNsightCompute = {"a report of Nsight Compute, of single kernels",
                                        "record the job's steps with nsys profile or torch.profiler"};
constexpr OtherFormat kAscend = {
    "a profile of Ascend NPUs (torch_npu)",
    "name the rank's folder (*_ascend_pt) or trace_view.json in its ASCEND_PROFILER_OUTPUT"};
constexpr OtherFormat kUnitrace = {"a trace of Intel's unitrace", kTorchProfiler};
constexpr OtherFormat kRocprof = {"a trace of ROCm's rocprof", kTorchProfiler};
constexpr OtherFormat kVizTracer = {"a trace of VizTracer", kTorchProfiler};
constexpr OtherFormat kSpeedscope = {"a profile for speedscope", kTorchProfiler};
constexpr OtherFormat kBrowser = {"a trace of a web browser", kTorchProfiler};
constexpr OtherFormat kHorovod = {"a timeline of Horovod", kTorchProfiler};
constexpr OtherFormat kProton = {"a profile of Triton's Proton", kTorchProfiler};
constexpr OtherFormat kFlightRecorder = {"a dump of the flight recorder of collectives", kOfHang};
constexpr OtherFormat kNcclPlugin = {"what a profiler plugin of NCCL wrote", kBesideTraces};
constexpr OtherFormat kMemory = {"a memory timeline of torch.profiler", kBesideTraces};
constexpr OtherFormat kPickle = {"a Python pickle, such as a flight recorder's dump or a memory snapshot", kOfHang};
constexpr OtherFormat kExecution = {"an execution trace (Chakra)", kBesideTraces};
constexpr OtherFormat kPerfetto = {"a Perfetto trace (protobuf) without work of a GPU", kTorchProfiler};
constexpr OtherFormat kDatabase = {"an SQLite database of no tracer that is known here", kTorchProfiler};
constexpr OtherFormat kArchive = {"an archive", "unpack it and name the directory"};
constexpr OtherFormat kCompressed = {"compressed in a way that is not read",
                                     "decompress it, or compress it with gzip or zstd"};
constexpr OtherFormat kTwice = {"compressed twice", "decompress it once (gunzip)"};
constexpr OtherFormat kWide = {"JSON in UTF-16 or UTF-32", "convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW.json"};
constexpr OtherFormat kLines = {"JSON objects one per line",
                                "make one document of them: jq -s '{traceEvents: .}' FILE > NEW.json"};
constexpr OtherFormat kPage = {"a page of HTML or XML", "the download went wrong: fetch the file again"};
constexpr OtherFormat kPointer = {"a pointer of Git LFS", "fetch the file itself: git lfs pull"};
constexpr OtherFormat kUnfinished = {"left by a writer that has not finished",
                                     "wait for the rename, or name the file itself: what is in it is read"};

struct Sign {
  std::string_view text;
  const OtherFormat* format;
};

constexpr std::array kMagic = {
    Sign{"PK\x03\x04"sv, &kArchive},
    Sign{"7z\xbc\xaf"sv, &kArchive},
    Sign{"\xfd"
         "7zXZ"sv,
         &kCompressed},
    Sign{"BZh"sv, &kCompressed},
    Sign{"\x04\x22\x4d\x18"sv, &kCompressed},
    Sign{"\x1f\x8b"sv, &kTwice},
    Sign{"\x28\xb5\x2f\xfd"sv, &kTwice},
    Sign{"SQLite format 3"sv, &kDatabase},
    Sign{"\xff\xfe"sv, &kWide},
    Sign{"\xfe\xff"sv, &kWide},
    Sign{"{\0"sv, &kWide},
    Sign{"[\0"sv, &kWide},
    Sign{"\0{"sv, &kWide},
    Sign{"\0["sv, &kWide},
    Sign{"version https://git-lfs"sv, &kPointer},
};

// In the text without blanks. More telling ones first: a dump of the flight recorder names "nccl:", too.
constexpr std::array kSigns = {
    Sign{"\"pg_status\""sv, &kFlightRecorder},
    Sign{"\"collective_seq_id\""sv, &kFlightRecorder},
    Sign{"\"type\":\"ProfilerLifecycle\""sv, &kNcclPlugin},
    Sign{"\"cat\":\"GROUP\""sv, &kNcclPlugin},
    Sign{"\"cat\":\"GROUP_API\""sv, &kNcclPlugin},
    Sign{"\"cat\":\"COLL\""sv, &kNcclPlugin},
    Sign{"\"cat\":\"PROXY\""sv, &kNcclPlugin},
    Sign{"\"BeginNs\""sv, &kRocprof},
    Sign{"CPUHIPAPI\""sv, &kRocprof},
    Sign{"\"AscendHardware\""sv, &kAscend},
    Sign{"\"async_npu\""sv, &kAscend},
    Sign{"\"CANN\""sv, &kAscend},
    Sign{"\"cat\":\"gpu_op\""sv, &kUnitrace},
    Sign{"\"highres-ticks\""sv, &kXla},
    Sign{"\"/host:CPU\""sv, &kXla},
    Sign{"\"/device:TPU:"sv, &kXla},
    Sign{"\"/job:localhost"sv, &kXla},
    Sign{"\"viztracer_metadata\""sv, &kVizTracer},
    Sign{"\"cat\":\"FEE\""sv, &kVizTracer},
    Sign{"NEGOTIATE_ALLREDUCE"sv, &kHorovod},
    Sign{"speedscope.app"sv, &kSpeedscope},
    Sign{"\"chrome-bitness\""sv, &kBrowser},
    Sign{"\"devtools.timeline"sv, &kBrowser},
    Sign{"\"CudaEvent\""sv, &kNsight},
    Sign{"\"cat\":\"cuda\""sv, &kNsight},
    Sign{"\"cat\":\"nvtx\""sv, &kNsight},
    Sign{"\"ctrl_deps\""sv, &kExecution},
};

constexpr std::array kSuffixes = {
    Sign{".nsys-rep"sv, &kNsight},
    Sign{".qdrep"sv, &kNsight},
    Sign{".ncu-rep"sv, &kNsightCompute},
    Sign{".pftrace"sv, &kPerfetto},
    Sign{".perfetto-trace"sv, &kPerfetto},
    Sign{".tar"sv, &kArchive},
    Sign{".tar.gz"sv, &kArchive},
    Sign{".tgz"sv, &kArchive},
    Sign{".tar.zst"sv, &kArchive},
    Sign{".zip"sv, &kArchive},
    Sign{".7z"sv, &kArchive},
    Sign{".xz"sv, &kCompressed},
    Sign{".bz2"sv, &kCompressed},
    Sign{".lz4"sv, &kCompressed},
    Sign{".json.tmp"sv, &kUnfinished},
    Sign{".json.gz.tmp"sv, &kUnfinished},
    Sign{".sqlite"sv, &kDatabase},
    Sign{".db"sv, &kDatabase},
    Sign{".pickle"sv, &kPickle},
    Sign{".pkl"sv, &kPickle},
    Sign{".hatchet"sv, &kProton},
    Sign{".et"sv, &kExecution},
    Sign{".jsonl"sv, &kLines},
};

bool is_text(char c) { return static_cast<unsigned char>(c) >= ' ' || is_space(c); }

const OtherFormat* binary_format(std::string_view head) {
  constexpr size_t kTarMark = 257;
  for (const Sign& magic : kMagic) {
    if (head.starts_with(magic.text)) return magic.format;
  }
  if (head.size() > kTarMark && head.substr(kTarMark).starts_with("ustar"sv)) return &kArchive;
  if (head.size() > 1 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5) return &kPickle;
  const bool binary = std::find_if_not(head.begin(), head.end(), is_text) != head.end();
  if (!binary || head.front() != '\n') return nullptr;  // field 1 of a message: its packets, or the planes of JAX
  const bool planes = head.find("/device:") != std::string_view::npos || head.find("/host:") != std::string_view::npos;
  return planes ? nullptr : &kPerfetto;
}

// `text` has no blanks. Two objects, the first of which is whole, with nothing between them.
bool is_object_per_line(std::string_view text) { return text.starts_with('{') && text.find("}{\"") < text.find("[{"); }

const OtherFormat* text_format(std::string_view head) {
  std::string text(head);
  std::erase_if(text, is_space);
  if (text.starts_with('<')) return &kPage;
  for (const Sign& sign : kSigns) {
    const std::boyer_moore_horspool_searcher search(sign.text.begin(), sign.text.end());
    if (std::search(text.begin(), text.end(), search) != text.end()) return sign.format;
  }
  if (text.starts_with("[{\"frame\":")) return &kProton;
  if (text.starts_with("[[") && text.find('{') == std::string::npos) return &kMemory;
  return is_object_per_line(text) ? &kLines : nullptr;
}

}  // namespace

const OtherFormat* other_format(std::string_view head) {
  if (head.empty()) return nullptr;
  if (const OtherFormat* format = binary_format(head)) return format;
  return text_format(head);
}

const OtherFormat* other_format_of_name(std::string_view file_name) {
  for (const Sign& suffix : kSuffixes) {
    if (file_name.size() > suffix.text.size() && file_name.ends_with(suffix.text)) return suffix.format;
  }
  return nullptr;
}

}  // namespace skewscope::ingest
