// Problem: a profile may be gigabytes, its names come behind the rows that use them, and one file holds all devices of
// a host. Idea: two walks over the file, in bounded memory: the first takes what lies around the rows (space.h), the
// second the rows, plane by plane (row_walk.h); then each device becomes a trace of its own. Memory: names and
// programs, rows as they wait for the host's plane, which follows, and the columns that are kept. Cost: linear; a plain
// file is read once and a bit, as the first walk steps over rows.
#include "xplane_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "profile_rows.h"
#include "protobuf.h"
#include "row_walk.h"
#include "space.h"
#include "src/ingest/content/no_trace.h"
#include "wire_stream.h"

namespace skewscope::ingest {
namespace {

constexpr const char* kXplaneFormat = "jax xplane";
constexpr const char* kSuffix = ".xplane.pb";

// Nanoseconds since 1970 when the profile began; 0: it does not say.
int64_t start_of(const Space& space) {
  int64_t start_ns = 0;
  for (const Plane& plane : space.planes) {
    if (plane.name != "Task Environment") continue;
    try {
      plane.each_stat([&](std::string_view name, const XStat& stat) {
        if (name == "profile_start_time") start_ns = stat.integer;
      });
    } catch (const protozero::exception&) {  // what could be read was
    }
  }
  return std::max<int64_t>(start_ns, 0);
}

// The profile's own word, else the name of the file: "<host>.xplane.pb".
std::string host_of(const Space& space, const std::string& file) {
  if (!space.hosts.empty() && !space.hosts.front().empty()) return space.hosts.front();
  const std::string name = std::filesystem::path(file).filename().string();
  return name.substr(0, name.find(kSuffix));
}

void add_findings(const Space& space, FileContent& content) {
  DefectCounts defects;
  const auto bytes = static_cast<int64_t>(space.bytes);
  count_source_end(space.end, bytes, defects);
  if (space.cut && defects.count(Defect::truncated_file) == 0) defects.add(Defect::truncated_file, bytes);
  if (space.damaged > 0) defects.add(Defect::dropped_event, space.first_damaged, space.damaged);
  if (space.bytes == 0 && space.end != SourceEnd::unreadable) defects.add(Defect::empty_file, -1);
  for (Finding& finding : defects.to_findings(content.file)) content.findings.push_back(std::move(finding));
  report(content, Severity::warning, "skipped-bytes", space.large_programs,
         "programs are larger than 256 MiB and were not read; the groups of their collectives are not known");
}

class XplaneReader : public TraceReader {
 public:
  explicit XplaneReader(const ReaderSettings& settings) : settings_(settings) {}

  std::vector<const char*> suffixes() const override { return {kSuffix}; }
  Recognition recognise(const std::string& file, std::string_view head) const override;
  Result<std::vector<FileContent>> read(const std::string& file, MemoryBudget& budget) const override {
    return read_kept(file, Kept::rows, budget);
  }
  Result<std::vector<FileContent>> read_heads(const std::string& file) const override;
  std::optional<std::string> problem(const std::string& file, std::string_view tail) const override;

 private:
  Result<std::vector<FileContent>> read_kept(const std::string& file, Kept kept, MemoryBudget& budget) const;

  ReaderSettings settings_;
};

// Field 1, a plane, whose own name is one that profiles have.
Recognition XplaneReader::recognise(const std::string& file, std::string_view head) const {
  const std::string name = std::filesystem::path(file).filename().string();
  const bool named = name.find(kSuffix) != std::string::npos;
  if (!head.starts_with('\n')) return Recognition::no;
  for (const std::string_view plane : {"/device:", "/host:", "Task Environment"}) {
    const size_t at = head.substr(0, 32).find(plane);
    if (at != std::string_view::npos) return Recognition::yes;
  }
  return named ? Recognition::perhaps : Recognition::no;
}

Result<std::vector<FileContent>> XplaneReader::read_kept(const std::string& file, Kept kept,
                                                         MemoryBudget& budget) const {
  Result<std::unique_ptr<ByteSource>> first = open_byte_source(file), second = open_byte_source(file);
  if (!first.ok() || !second.ok()) return only(unreadable_content(file, (first.ok() ? second : first).error().message));
  Result<Space> read = read_space(file, *first.value(), budget);
  if (!read.ok()) return read.error();
  Space& space = read.value();
  const ProfileFacts facts{kXplaneFormat, file, host_of(space, file), start_of(space), 0, -1};
  Result<std::vector<FileContent>> made = [&]() -> Result<std::vector<FileContent>> {
    const auto read_on = [&] {
      if (settings_.progress != nullptr) settings_.progress->read_to(file, second.value()->share_read());
    };
    ProfileRows rows(space, facts, settings_, budget, read_on, kept);
    walk_rows(*second.value(), rows, space);
    return rows.take();
  }();
  budget.give_back(space.charged);
  if (!made.ok()) return made.error();
  std::vector<FileContent> contents = std::move(made).value();
  FileContent& content = contents.front();
  content.bytes = static_cast<int64_t>(space.bytes);
  for (FileContent& part : contents) part.compression = first.value()->compression();
  add_findings(space, content);
  return contents;
}

// Which device each plane is, rows may tell (cliques, programs): all are looked at, and none is kept. A profile whose
// names and programs alone do not fit is of nobody known.
Result<std::vector<FileContent>> XplaneReader::read_heads(const std::string& file) const {
  const Result<std::unique_ptr<ByteSource>> source = open_byte_source(file);
  if (!source.ok()) return source.error();
  MemoryBudget budget(kMostBytesOfHeads);
  Result<std::vector<FileContent>> contents = read_kept(file, Kept::heads, budget);
  return contents.ok() ? std::move(contents) : std::vector<FileContent>();
}

// The planes follow one another to the end of the file, or it is cut.
std::optional<std::string> XplaneReader::problem(const std::string& file, std::string_view) const {
  const Result<std::unique_ptr<ByteSource>> source = open_byte_source(file);
  if (!source.ok()) return source.error().message;
  WireStream stream(*source.value());
  while (!stream.at_end()) {
    const std::optional<WireField> field = stream.next();
    if (!field) return stream.broken() ? "damaged: its bytes are no profile" : "cut: its last plane is not whole";
    if (field->has_length && !stream.skip(field->value)) return "cut: its last plane is not whole";
  }
  return stream.offset() == 0 ? "empty" : "";
}

}  // namespace

std::unique_ptr<TraceReader> make_xplane_reader(const ReaderSettings& settings) {
  return std::make_unique<XplaneReader>(settings);
}

}  // namespace skewscope::ingest
