// A file is walked once, packet by packet; a packet that is larger than WireStream::kLargestPiece is left out. Memory:
// names, and a row for each slice that is kept, until the columns are made of them.
#include "pftrace_reader.h"

#include <optional>
#include <utility>

#include "packet_fields.h"
#include "packet_walk.h"
#include "src/ingest/content/no_trace.h"
#include "src/ingest/xplane/wire_stream.h"
#include "trace_rows.h"

namespace skewscope::ingest {
namespace {

constexpr int64_t kMostBytesOfRanks = 32 << 20;  // half of what an agent on a node may take

// Parts of a packet that tell one from another message of protobuf, whatever comes first in it.
bool is_part_of_packet(const WireField& field) {
  switch (field.number) {
    case pftrace_field::kClockSnapshot:
    case pftrace_field::kTrackEvent:
    case pftrace_field::kInternedData:
    case pftrace_field::kTrackDescriptor:
    case pftrace_field::kDefaults:
    case pftrace_field::kRenderStage:
    case 33:  // the configuration of the trace
    case 36:  // what services put between packets
    case 89:  // the id of the trace
      return field.has_length;
    case pftrace_field::kTimestamp:
    case pftrace_field::kSequenceId:
    case pftrace_field::kSequenceFlags:
    case pftrace_field::kPreviousDropped:
    case pftrace_field::kTimestampClock:
    case 3:   // user
    case 79:  // process
    case 87:  // whether it is the first of its writer
    case 98:  // machine
      return !field.has_length;
    default:
      return false;
  }
}

// What is in memory, as a source of bytes.
class HeadSource : public ByteSource {
 public:
  explicit HeadSource(std::string_view text) : text_(text) {}
  size_t read(char* out, size_t size) override {
    const size_t got = text_.copy(out, size);
    text_.remove_prefix(got);
    return got;
  }
  const char* compression() const override { return ""; }
  double share_read() const override { return 0; }
  SourceEnd end() const override { return SourceEnd::whole; }

 private:
  std::string_view text_;
};

// All parts of the first packet, as far as they lie in the head, are of a packet.
bool begins_with_packet(std::string_view head) {
  HeadSource source(head);
  WireStream stream(source);
  const std::optional<WireField> packet = stream.next();
  if (!packet || packet->number != pftrace_field::kPacket || !packet->has_length || packet->value < 2) return false;
  const uint64_t end = stream.offset() + packet->value;
  bool any = false;
  while (stream.offset() < end && !stream.at_end()) {
    const std::optional<WireField> field = stream.next();
    if (!field) return any && !stream.broken();
    if (!is_part_of_packet(*field)) return false;
    any = true;
    if (field->has_length && stream.offset() + field->value > end) return false;
    if (field->has_length && !stream.skip(field->value)) return true;
  }
  return any && stream.offset() <= end;
}

class PftraceReader : public TraceReader {
 public:
  explicit PftraceReader(const ReaderSettings& settings) : settings_(settings) {}

  std::vector<const char*> suffixes() const override { return {".pftrace", ".perfetto-trace"}; }
  Recognition recognise(const std::string&, std::string_view head) const override {
    return head.starts_with('\n') && begins_with_packet(head) ? Recognition::yes : Recognition::no;
  }
  Result<std::vector<FileContent>> read(const std::string& file, MemoryBudget& budget) const override;
  Result<std::vector<FileContent>> read_heads(const std::string& file) const override;
  std::optional<std::string> problem(const std::string& file, std::string_view tail) const override;

 private:
  ReaderSettings settings_;
};

// What was taken while reading, given back at the end.
class Charge {
 public:
  explicit Charge(MemoryBudget& budget) : budget_(budget) {}
  ~Charge() { budget_.give_back(taken_); }
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;
  // False: more than there is.
  bool hold(int64_t bytes) {
    const bool fits = budget_.take(bytes - taken_);
    taken_ = bytes;
    return fits;
  }

 private:
  MemoryBudget& budget_;
  int64_t taken_ = 0;
};

Result<std::vector<FileContent>> PftraceReader::read(const std::string& file, MemoryBudget& budget) const {
  constexpr int64_t kBatch = 1 << 14;
  Result<std::unique_ptr<ByteSource>> source = open_byte_source(file);
  if (!source.ok()) return only(unreadable_content(file, source.error().message));
  WireStream stream(*source.value());
  Charge charge(budget);
  DefectCounts defects;
  FactTables tables;
  tables.details = settings_.details;
  TraceRows rows(tables, defects);
  PacketWalk walk(tables, rows, defects);
  bool cut = false;
  int64_t large = 0;
  while (!stream.at_end() && !cut) {
    const std::optional<WireField> field = stream.next();
    const bool fits = field && field->has_length && field->value <= WireStream::kLargestPiece;
    if (fits && field->number == pftrace_field::kPacket) {
      const auto packet = stream.bytes(field->value);
      cut = !packet;
      if (packet) walk.read(*packet, static_cast<int64_t>(stream.offset() - packet->size()));
    } else {
      large += field && field->has_length && !fits ? 1 : 0;
      cut = !field || (field->has_length && !stream.skip(field->value));
    }
    if (walk.packets() % kBatch == 0 || stream.largest_piece() > static_cast<uint64_t>(kBatch) << 8) {
      if (settings_.progress != nullptr) settings_.progress->read_to(file, source.value()->share_read());
      if (!charge.hold(walk.bytes() + rows.bytes() + static_cast<int64_t>(stream.largest_piece())))
        return budget.exceeded_by(file);
    }
  }
  rows.finish();
  if (!charge.hold(walk.bytes() + rows.bytes())) return budget.exceeded_by(file);
  Result<std::vector<FileContent>> contents = rows.contents(file, settings_, budget, walk.is_wall_time());
  if (!contents.ok()) return contents;
  FileContent& first = contents.value().front();
  first.bytes = static_cast<int64_t>(stream.offset());
  for (FileContent& content : contents.value()) content.compression = source.value()->compression();
  count_source_end(source.value()->end(), first.bytes, defects);
  if (cut && defects.count(Defect::truncated_file) == 0) defects.add(Defect::truncated_file, first.bytes);
  if (large > 0) defects.add(Defect::oversized_event, -1, large);
  for (Finding& finding : defects.to_findings(file)) first.findings.push_back(std::move(finding));
  ingest::report(first, Severity::warning, "skipped-bytes", walk.compressed(),
                 "packets are compressed in the trace and were not read; record without compression of packets, and "
                 "compress the file");
  return contents;
}

// Which GPUs a process used, only its rows tell: a trace that does not fit is of nobody known.
Result<std::vector<FileContent>> PftraceReader::read_heads(const std::string& file) const {
  const Result<std::unique_ptr<ByteSource>> source = open_byte_source(file);
  if (!source.ok()) return source.error();
  MemoryBudget budget(kMostBytesOfRanks);
  Result<std::vector<FileContent>> contents = read(file, budget);
  return contents.ok() ? std::move(contents) : std::vector<FileContent>();
}

// Packets follow one another to the end of the file, or it is cut.
std::optional<std::string> PftraceReader::problem(const std::string& file, std::string_view) const {
  const Result<std::unique_ptr<ByteSource>> source = open_byte_source(file);
  if (!source.ok()) return source.error().message;
  WireStream stream(*source.value());
  while (!stream.at_end()) {
    const std::optional<WireField> field = stream.next();
    if (!field) return stream.broken() ? "damaged: its bytes are no trace" : "cut: its last packet is not whole";
    if (field->has_length && !stream.skip(field->value)) return "cut: its last packet is not whole";
  }
  return stream.offset() == 0 ? "empty" : "";
}

}  // namespace

std::unique_ptr<TraceReader> make_pftrace_reader(const ReaderSettings& settings) {
  return std::make_unique<PftraceReader>(settings);
}

}  // namespace skewscope::ingest
