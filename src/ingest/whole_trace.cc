// Problem: an agent must know that a file is whole, and which rank it is, without reading it as a trace: it may be
// gigabytes and the agent has 64 MiB. Idea: compressed files say themselves where they end; JSON is whole when the
// brace that it began with is closed, which the last bytes may show to a format's reader.
// The rank comes before the events or in the name; what only other files of the job could tell is left open. Cost: one
// inflation; of plain JSON in Kineto's form, and of large gzip files that nobody writes to any more, the last bytes.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <set>
#include <vector>

#include "skewscope/digest.h"
#include "skewscope/ingest/whole_trace.h"
#include "src/ingest/ascend/profile_files.h"
#include "src/ingest/content/memory_budget.h"
#include "src/ingest/digests/digest_file.h"
#include "src/ingest/ranks/file_name_host.h"
#include "src/ingest/ranks/file_name_rank.h"
#include "src/ingest/ranks/rank_evidence.h"
#include "src/ingest/ranks/rank_resolution.h"
#include "src/ingest/text/byte_source.h"
#include "src/ingest/text/gzip_end.h"
#include "trace_readers.h"

namespace skewscope {
namespace {

using ingest::SourceEnd;

constexpr size_t kBlock = 256 << 10;
constexpr size_t kTail = 4 << 10;
constexpr size_t kGzipTail = 1 << 20;  // some 25 blocks as zlib makes them; smaller files are inflated as quickly

// Follows strings and brackets; everything else of JSON is of no matter here.
class BracketDepth {
 public:
  void read(std::string_view text) {
    for (const char c : text) {
      if (in_string_) {
        in_string_ = escaped_ || c != '"';
        escaped_ = !escaped_ && c == '\\';
      } else if (c == '"') {
        in_string_ = true;
      } else if (c == '{' || c == '[') {
        ++depth_;
        opened_ = true;
      } else if (c == '}' || c == ']') {
        --depth_;
      }
    }
  }
  bool closed() const { return opened_ && depth_ <= 0 && !in_string_; }

 private:
  int64_t depth_ = 0;
  bool opened_ = false, in_string_ = false, escaped_ = false;
};

// The last `size` bytes, or all there are; "" when it cannot be read.
std::string tail_of(const std::string& file, size_t size) {
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (descriptor < 0) return "";
  std::string bytes(size, '\0');
  ssize_t got = 0;
  if (fstat(descriptor, &status) == 0) {
    const off_t from = std::max<off_t>(0, status.st_size - static_cast<off_t>(size));
    got = pread(descriptor, bytes.data(), bytes.size(), from);
  }
  close(descriptor);
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return bytes;
}

bool ends_as_gzip_does(const std::string& file) {
  const std::string tail = tail_of(file, kGzipTail);
  return tail.size() == kGzipTail && ingest::ends_with_its_stream(tail);
}

const char* problem_of(SourceEnd end) {
  switch (end) {
    case SourceEnd::whole:
      return "";
    case SourceEnd::cut:
      return "cut inside its compressed stream";
    case SourceEnd::no_trailer:
      return "cut before its checksum";
    case SourceEnd::damaged:
      return "damaged: its compressed stream or checksum is wrong";
    case SourceEnd::trailing:
      return "has bytes after its compressed stream";
    case SourceEnd::unreadable:
      return "cannot be read to its end";
  }
  return "";
}

Result<bool> begins_as_digest(const std::string& file) {
  const int descriptor = open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return cannot_read(file, errno);
  std::array<char, kDigestHeadBytes> head{};
  const ssize_t got = pread(descriptor, head.data(), head.size(), 0);
  const int error = got < 0 ? errno : 0;
  close(descriptor);
  if (error != 0) return cannot_read(file, error);
  return is_digest({head.data(), static_cast<size_t>(got)});
}

// `reader`: of its format; nullptr: none is known. False: stopped. Errors: unreadable.
Result<bool> check_text(const std::string& file, const ingest::TraceReader* reader, ingest::ByteSource& source,
                        const FileCheckOptions& options, FileCheck& check) {
  const bool plain = *source.compression() == '\0';
  const std::optional<std::string> problem =
      plain && reader != nullptr ? reader->problem(file, tail_of(file, kTail)) : std::nullopt;
  const bool ends_as_gzip = !plain && options.closed && check.compression == "gzip" && ends_as_gzip_does(file);
  if (problem || ends_as_gzip) {
    check.problem = problem.value_or("");
    check.whole = check.problem.empty();
    check.may_grow = !check.whole;
    return true;
  }
  std::vector<char> block(kBlock);
  BracketDepth brackets;
  uint64_t bytes = 0;
  for (size_t got = block.size(); got == block.size();) {
    if (options.go_on && !options.go_on()) return false;
    got = source.read(block.data(), block.size());
    bytes += got;
    if (plain) brackets.read({block.data(), got});
  }
  if (source.end() == SourceEnd::unreadable) return cannot_read(file, EIO);
  check.problem = problem_of(source.end());
  if (check.problem.empty() && bytes == 0) check.problem = "empty";
  if (check.problem.empty() && plain && !brackets.closed()) check.problem = "cut: its JSON is not closed";
  check.whole = check.problem.empty();
  // A stream that is damaged may be one of which the middle is not there yet.
  check.may_grow = !check.whole;
  return true;
}

// Errors: resource_limit, unreadable.
Result<Done> check_digest(const std::string& file, const FileCheckOptions& options, FileCheck& check,
                          std::vector<RankEvidence>& evidence) {
  ingest::MemoryBudget budget(options.digest_memory_bytes);
  Result<TraceFile> read = ingest::read_digest_file(file, budget);
  if (!read.ok()) return read.error();
  check.whole = read.value().kind == ContentKind::rank_trace || read.value().kind == ContentKind::front_end;
  check.may_grow = !check.whole;
  if (!check.whole) check.problem = "not a complete digest of a rank's trace, or of another version";
  if (check.whole) evidence = {std::move(read.value().evidence)};
  return Done{};
}

// Ranks that leave a gap are as good as not known: one file can be kept for ranks that follow one another.
void resolve(const std::vector<RankEvidence>& evidence, const ingest::RankOverrides& overrides, FileCheck& check) {
  const ingest::ResolvedRanks resolved = ingest::resolve_ranks(evidence, overrides);
  std::set<int32_t> ranks;
  for (const ingest::ResolvedRank& own : resolved.files) {
    if (!own.synthetic && !own.refutable && own.rank.known()) ranks.insert(own.rank.value);
  }
  check.ranks = static_cast<int32_t>(evidence.size());
  const bool all = ranks.size() == evidence.size() && *ranks.rbegin() - *ranks.begin() + 1 == check.ranks;
  if (all) {
    check.rank = Rank(*ranks.begin());
    check.rank_source = resolved.files.front().source;
  }
  const bool known = resolved.world_size_source != WorldSizeSource::file_count &&
                     resolved.world_size_source != WorldSizeSource::largest_group;
  if (known) check.world_size = resolved.world_size;
}

}  // namespace

Result<Done> check_rank_regex(const std::string& rank_regex) {
  const Result<ingest::RankOverrides> overrides = ingest::RankOverrides::make("", rank_regex);
  if (!overrides.ok()) return overrides.error();
  return Done{};
}

Result<FileCheck> check_file(const std::string& file, const std::string& named, const FileCheckOptions& options) {
  const Result<ingest::RankOverrides> overrides = ingest::RankOverrides::make("", options.rank_regex);
  if (!overrides.ok()) return overrides.error();
  FileCheck check;
  if (ingest::profile_file(named) == ingest::ProfileFile::results) {
    check.problem = "what an analysis made of Ascend profiles, no trace of a rank";
    return check;
  }
  std::vector<RankEvidence> evidence;
  const Result<bool> digest = begins_as_digest(file);
  if (!digest.ok()) return digest.error();
  if (digest.value()) {
    if (const Result<Done> read = check_digest(file, options, check, evidence); !read.ok()) return read.error();
  } else {
    auto source = ingest::open_byte_source(file);
    if (!source.ok()) return source.error();
    check.compression = source.value()->compression();
    const ingest::TraceReaders readers;
    const Result<const ingest::TraceReader*> reader = readers.reader_of(file);
    if (!reader.ok()) return reader.error();
    const Result<bool> read = check_text(file, reader.value(), *source.value(), options, check);
    if (!read.ok()) return read.error();
    if (!read.value()) return Error{ErrorKind::no_input, "stopped"};
    if (check.whole && reader.value() != nullptr) {
      const auto heads = reader.value()->read_heads(file);
      if (!heads.ok()) return heads.error();
      for (const ingest::FileContent& head : heads.value()) evidence.push_back(ingest::evidence_of(head));
    }
  }
  if (!check.whole) return check;
  if (evidence.empty()) evidence.emplace_back();
  const FileNameFacts name = ingest::read_file_name(named);
  for (size_t i = 0; i < evidence.size(); ++i) {
    RankEvidence& one = evidence[i];
    one.file = named;
    one.part.clear();
    one.place = static_cast<int32_t>(i);
    one.parts = static_cast<int32_t>(evidence.size());
    // A digest knows its trace's name, too. The name of a file of several ranks says the rank of none.
    if (one.parts == 1 && (!name.rule.empty() || one.name.rule.empty())) one.name = name;
  }
  resolve(evidence, overrides.value(), check);
  check.host = evidence.front().host.empty() ? ingest::host_in_name(evidence.front()) : evidence.front().host;
  return check;
}

}  // namespace skewscope
