// The viewer's file lies beside the profile that it was made of, which says more: it is read where that is not there.
#include "viewer_reader.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "profile_rows.h"
#include "src/ingest/content/no_trace.h"
#include "src/ingest/text/byte_source.h"
#include "viewer_events.h"

namespace skewscope::ingest {
namespace {

constexpr const char* kViewerFormat = "jax trace viewer json";
constexpr std::string_view kViewerSuffix = ".trace.json";

// "vm" of "plugins/profile/2026_11_27/vm.trace.json.gz"; "": it is called otherwise.
std::string host_in_name(const std::string& file) {
  const std::string name = std::filesystem::path(file).filename().string();
  const size_t at = name.rfind(kViewerSuffix);
  return at == std::string::npos ? std::string() : name.substr(0, at);
}

// The profile beside it; "": there is none.
std::string profile_beside(const std::string& file) {
  const std::string host = host_in_name(file);
  if (host.empty()) return "";
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  for (const char* suffix : {".xplane.pb", ".xplane.pb.gz", ".xplane.pb.zst"}) {
    std::error_code error;
    if (std::filesystem::is_regular_file(folder / (host + suffix), error)) return host + suffix;
  }
  return "";
}

FileContent copied_content(const std::string& file, const std::string& profile) {
  FileContent content;
  content.file = file;
  content.format = kViewerFormat;
  content.kind = ContentKind::not_a_trace;
  report(content, Severity::info, "copied-trace", 1,
         fmt::format("what the viewer shows of {} next to it, which is read and says more; left out", profile));
  return content;
}

class XlaViewerReader : public TraceReader {
 public:
  explicit XlaViewerReader(const ReaderSettings& settings) : settings_(settings) {}

  std::vector<const char*> suffixes() const override { return {".json"}; }
  Recognition recognise(const std::string&, std::string_view head) const override {
    const bool ours = head.starts_with('{') && head.find("\"highres-ticks\"") != head.npos;
    const bool planes = head.find("\"/device:") != head.npos || head.find("\"/host:") != head.npos;
    return ours && planes ? Recognition::yes : Recognition::no;
  }
  Result<std::vector<FileContent>> read(const std::string& file, MemoryBudget& budget) const override;
  Result<std::vector<FileContent>> read_heads(const std::string& file) const override;
  std::optional<std::string> problem(const std::string&, std::string_view) const override { return std::nullopt; }

 private:
  ReaderSettings settings_;
};

Result<std::vector<FileContent>> XlaViewerReader::read(const std::string& file, MemoryBudget& budget) const {
  if (const std::string profile = profile_beside(file); !profile.empty()) return only(copied_content(file, profile));
  Result<std::unique_ptr<ByteSource>> source = open_byte_source(file);
  if (!source.ok()) return only(unreadable_content(file, source.error().message));
  DefectCounts defects;
  const Result<ViewerTrace> read = read_viewer_trace(file, *source.value(), budget, defects);
  if (!read.ok()) return read.error();
  const ViewerTrace& trace = read.value();
  const ProfileFacts facts{kViewerFormat, file, host_in_name(file), 0, 0, -1};
  Result<std::vector<FileContent>> made = [&]() -> Result<std::vector<FileContent>> {
    ProfileRows rows(trace.space, facts, settings_, budget, [&] {
      if (settings_.progress != nullptr) settings_.progress->read_to(file, source.value()->share_read());
    });
    walk_viewer_rows(trace, rows);
    return rows.take();
  }();
  budget.give_back(trace.space.charged);
  if (!made.ok()) return made.error();
  std::vector<FileContent> contents = std::move(made).value();
  FileContent& content = contents.front();
  content.bytes = static_cast<int64_t>(trace.space.bytes);
  if (content.gpu.empty()) content.kind = ContentKind::front_end;  // whatever else the viewer shows
  for (FileContent& part : contents) part.compression = source.value()->compression();
  for (Finding& finding : defects.to_findings(file)) content.findings.push_back(std::move(finding));
  if (trace.events >= kMostViewerEvents) {
    report(content, Severity::warning, "truncated-file", 1,
           "the viewer's file holds a million events at most and was filled: read the .xplane.pb of the same profile");
  }
  return contents;
}

Result<std::vector<FileContent>> XlaViewerReader::read_heads(const std::string& file) const {
  const Result<std::unique_ptr<ByteSource>> source = open_byte_source(file);
  if (!source.ok()) return source.error();
  MemoryBudget budget(kMostBytesOfHeads);
  Result<std::vector<FileContent>> contents = read(file, budget);
  return contents.ok() ? std::move(contents) : std::vector<FileContent>();
}

}  // namespace

std::unique_ptr<TraceReader> make_xla_viewer_reader(const ReaderSettings& settings) {
  return std::make_unique<XlaViewerReader>(settings);
}

}  // namespace skewscope::ingest
