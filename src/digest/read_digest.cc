// Bytes -> TraceFile. The plan is walked first, with every length checked against what is there; columns are decoded
// afterwards, in parallel, straight into the vectors of the TraceFile. A reader that finds something impossible
// remembers it and goes on with zeros: one check at the end.
#include <tbb/parallel_for.h>

#include <functional>
#include <span>

#include "block_file.h"
#include "check_file.h"
#include "numbers.h"
#include "relative_calls.h"
#include "skewscope/digest.h"
#include "trace_fields.h"

namespace skewscope::digest {
namespace {

class Reader {
 public:
  Reader(const std::vector<std::string>& blocks, uint64_t decoded_bytes)
      : blocks_(blocks), used_(blocks.size(), 0), budget_(decoded_bytes) {}

  void value(std::string& text) {
    const uint64_t size = varint();
    if (size > plan().size() - at_) return fail();
    text = plan().substr(at_, size);
    at_ += size;
  }
  void value(FindingCode& code) {
    std::string text;
    value(text);
    const std::optional<FindingCode> known = FindingCode::from_text(text);
    if (!known) return fail();
    code = *known;
  }
  template <class T>
  void value(T& number) {
    const uint64_t n = varint();
    from_number(n >> 1 ^ (~(n & 1) + 1), number);
  }

  template <class Row, class Visit>
  void list(std::vector<Row>& rows, const Visit& visit) {
    const uint64_t size = varint();
    take(size, kListRowBytes);
    if (failed_) return;
    rows.resize(size);  // rows stay where they are: columns inside them are decoded later
    for (size_t i = 0; i < size && !failed_; ++i) visit(rows[i]);
  }

  template <class T>
  void column(Column<T>& values, Slope slope) {
    const NumberColumn shape = next_column(slope);
    take(shape.rows, sizeof(T));
    if (failed_) return;
    later(
        shape, [&values, rows = shape.rows] { values.resize(rows); },
        [&values](size_t i, uint64_t n) { from_number(n, values[i]); });
  }

  void ranks(RankRuns& runs) {
    const NumberColumn shape = next_column(Slope::rising);
    take(shape.rows, sizeof(int64_t));
    if (failed_) return;
    decodings_.push_back([shape, planes = planes_of(shape), &runs] {
      std::vector<int64_t> listed(shape.rows);
      decode(shape, planes, [&](size_t i, uint64_t n) { from_number(n, listed[i]); });
      runs = RankRuns(listed);
    });
  }

  void names(Column<StringId>& ids, StringTable& strings) {
    std::vector<std::string> texts;
    list(texts, [&](std::string& text) { value(text); });
    for (const std::string& text : texts) strings.intern(text);
    if (strings.size() != texts.size()) fail();  // a name twice
    column(ids, Slope::flat);
  }

  template <class Row, class Allocator, class Visit>
  void rows(std::vector<Row, Allocator>& all, const Visit& visit) {
    const uint64_t size = varint();
    take(size, sizeof(Row));
    if (failed_) return;
    all.resize(size);
    Fields<Row> fields{*this, all};
    visit(fields);
  }

  // Whether all was there and nothing is left.
  bool finish() {
    for (size_t b = 1; b < blocks_.size(); ++b) failed_ = failed_ || used_[b] != blocks_[b].size();
    if (failed_ || at_ != plan().size()) return false;
    tbb::parallel_for(size_t{0}, decodings_.size(), [&](size_t i) { decodings_[i](); });
    return true;
  }

 private:
  template <class Row>
  struct Fields {
    Reader& reader;
    std::span<Row> rows;

    template <class T>
    void field(T Row::*member, Slope slope) {
      const NumberColumn shape = reader.next_column(slope);
      if (shape.rows != rows.size()) reader.fail();
      if (reader.failed_) return;
      reader.later(
          shape, [] {}, [all = rows, member](size_t i, uint64_t n) { from_number(n, all[i].*member); });
    }
  };

  const std::string& plan() const { return blocks_.front(); }
  void fail() { failed_ = true; }

  uint64_t varint() {
    uint64_t n = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (failed_ || at_ >= plan().size()) break;
      const auto byte = static_cast<unsigned char>(plan()[at_++]);
      n |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return n;
    }
    fail();
    return 0;
  }

  // Memory is taken only where the head claimed it.
  void take(uint64_t rows, uint64_t bytes_per_row) {
    if (rows > budget_ / bytes_per_row) return fail();
    budget_ -= rows * bytes_per_row;
  }

  NumberColumn next_column(Slope slope) {
    NumberColumn column;
    column.slope = slope;
    column.rows = varint();
    const uint64_t planes = varint();
    block_ = varint();
    value(column.smallest);
    column.unit = varint();
    if (slope == Slope::rising) value(column.first);
    if (planes > 8 || block_ == 0 || block_ >= blocks_.size()) fail();
    if (failed_) return {};
    column.planes = static_cast<uint8_t>(planes);
    const size_t left = blocks_[block_].size() - used_[block_];
    if (planes > 0 && column.rows > left / planes) fail();
    return failed_ ? NumberColumn() : column;
  }

  // The planes of the column that next_column() named are decoded when all lengths are known to be right.
  template <class Prepare, class Store>
  void later(const NumberColumn& column, Prepare prepare, Store store) {
    decodings_.push_back([=, planes = planes_of(column)] {
      prepare();
      decode(column, planes, store);
    });
  }
  const char* planes_of(const NumberColumn& column) {
    const char* planes = blocks_[block_].data() + used_[block_];
    used_[block_] += column.bytes();
    return planes;
  }
  template <class Store>
  static void decode(const NumberColumn& column, const char* planes, const Store& store) {
    decode_numbers(column, planes, [&](size_t begin, const uint64_t* numbers, size_t count) {
      for (size_t i = 0; i < count; ++i) store(begin + i, numbers[i]);
    });
  }

  const std::vector<std::string>& blocks_;
  std::vector<size_t> used_;
  size_t at_ = 0, block_ = 0;
  uint64_t budget_;
  bool failed_ = false;
  std::vector<std::function<void()>> decodings_;
};

}  // namespace
}  // namespace skewscope::digest

namespace skewscope {

Result<TraceFile> from_digest(std::string_view bytes) {
  const auto blocks = digest::unpack_blocks(bytes);
  if (!blocks.ok()) return blocks.error();
  TraceFile file;
  digest::Reader reader(blocks.value(), digest_sizes(bytes)->decoded);
  digest::visit_file(reader, file, file.linked.trace.calls);
  if (!reader.finish() || !digest::make_calls_absolute(file.linked.trace))
    return digest::damaged("its columns do not fit its plan");
  file.linked.trace.file = file.evidence.file;
  if (const std::string wrong = digest::what_is_wrong(file); !wrong.empty()) return digest::damaged(wrong);
  return file;
}

}  // namespace skewscope
