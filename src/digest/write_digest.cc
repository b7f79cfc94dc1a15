// TraceFile -> bytes. Numbers and texts go to the plan, the first block; columns leave their shape in the plan and
// their planes in the blocks behind it. A block ends when it is large enough to be worth a thread of its own.
#include <algorithm>
#include <span>

#include "block_file.h"
#include "numbers.h"
#include "relative_calls.h"
#include "skewscope/digest.h"
#include "trace_fields.h"

namespace skewscope::digest {
namespace {

constexpr size_t kBlockBytes = 1 << 18;

class Writer {
 public:
  void value(const std::string& text) {
    varint(text.size());
    plan() += text;
  }
  void value(FindingCode code) { value(std::string(code.text())); }
  template <class T>
  void value(const T& number) {
    const auto n = static_cast<int64_t>(to_number(number));
    varint(static_cast<uint64_t>(n) << 1 ^ static_cast<uint64_t>(n >> 63));  // small negatives stay small
  }

  template <class Row, class Visit>
  void list(const std::vector<Row>& rows, const Visit& visit) {
    varint(rows.size());
    decoded_ += rows.size() * kListRowBytes;
    for (const Row& row : rows) visit(row);
  }

  template <class T, class Allocator>
  void column(const std::vector<T, Allocator>& values, Slope slope) {
    std::vector<uint64_t> numbers;
    numbers.reserve(values.size());
    for (const T& v : values) numbers.push_back(to_number(v));
    add(numbers, slope, sizeof(T));
  }

  void ranks(const RankRuns& runs) { column(runs.ranks(), Slope::rising); }

  // Only names that are used are kept, numbered in the order of first use.
  void names(const Column<StringId>& ids, const StringTable& strings) {
    std::vector<StringId> used, number(strings.size());
    std::vector<StringId> renumbered;
    renumbered.reserve(ids.size());
    for (const StringId id : ids) {
      if (id.known() && !number[id.index()].known()) {
        number[id.index()] = StringId(static_cast<int64_t>(used.size()));
        used.push_back(id);
      }
      renumbered.push_back(id.known() ? number[id.index()] : id);
    }
    list(used, [&](StringId id) { value(std::string(strings.view(id))); });
    column(renumbered, Slope::flat);
  }

  template <class Row, class Allocator, class Visit>
  void rows(const std::vector<Row, Allocator>& all, const Visit& visit) {
    varint(all.size());
    decoded_ += all.size() * sizeof(Row);
    Fields<Row> fields{*this, all};
    visit(fields);
  }

  std::string finish() const { return pack_blocks(blocks_, decoded_); }

 private:
  template <class Row>
  struct Fields {
    Writer& writer;
    std::span<const Row> rows;

    template <class T>
    void field(T Row::*member, Slope slope) {
      std::vector<uint64_t> numbers;
      numbers.reserve(rows.size());
      for (const Row& row : rows) numbers.push_back(to_number(row.*member));
      writer.add(numbers, slope, 0);  // the row was counted
    }
  };

  std::string& plan() { return blocks_.front(); }

  void varint(uint64_t n) {
    for (; n >= 0x80; n >>= 7) plan().push_back(static_cast<char>(n | 0x80));
    plan().push_back(static_cast<char>(n));
  }

  void add(const std::vector<uint64_t>& numbers, Slope slope, size_t bytes_per_row) {
    if (blocks_.size() == 1 || blocks_.back().size() >= kBlockBytes) blocks_.emplace_back();
    const NumberColumn column = encode_numbers(numbers, slope, blocks_.back());
    decoded_ += numbers.size() * bytes_per_row;
    varint(column.rows);
    varint(column.planes);
    varint(blocks_.size() - 1);
    value(static_cast<int64_t>(column.smallest));
    varint(column.unit);
    if (slope == Slope::rising) value(static_cast<int64_t>(column.first));
  }

  std::vector<std::string> blocks_{1};
  uint64_t decoded_ = 0;
};

}  // namespace
}  // namespace skewscope::digest

namespace skewscope {

std::string to_digest(const TraceFile& file) {
  digest::Writer writer;
  const Column<CollectiveCall> calls = digest::relative_calls(file.linked.trace);
  digest::visit_file(writer, file, calls);
  return writer.finish();
}

}  // namespace skewscope
