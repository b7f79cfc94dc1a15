#include "kernel_details.h"

#include <algorithm>
#include <vector>

#include "src/ingest/text/byte_source.h"
#include "src/ingest/text/number_text.h"

namespace skewscope::ingest {
namespace {

constexpr size_t kLineBlock = 1 << 18;
constexpr size_t kLongestRow = 1 << 20;

// CsvLines of a file, one after another. A line that is too long is none, and what follows it is read.
class CsvLines {
 public:
  explicit CsvLines(ByteSource& source) : source_(source) {}

  // False: the file has ended. `whole`: the line ends in a line break.
  bool next(std::string_view& line, bool& whole) {
    for (;;) {
      const size_t end = text_.find('\n', at_);
      if (end != std::string::npos) {
        line = std::string_view(text_).substr(at_, end - at_);
        if (line.ends_with('\r')) line.remove_suffix(1);
        at_ = end + 1;
        whole = true;
        return true;
      }
      if (ended_ || text_.size() - at_ > kLongestRow) {
        line = std::string_view(text_).substr(at_);
        at_ = text_.size();
        whole = false;
        return !line.empty();
      }
      text_.erase(0, at_);
      at_ = 0;
      const size_t size = text_.size();
      text_.resize(size + kLineBlock);
      const size_t got = source_.read(text_.data() + size, kLineBlock);
      text_.resize(size + got);
      ended_ = got < kLineBlock;
    }
  }

 private:
  ByteSource& source_;
  std::string text_;
  size_t at_ = 0;
  bool ended_ = false;
};

// The fields of a line between commas, as RFC 4180 quotes them; without the quotes around a field.
void split_fields(std::string_view line, std::vector<std::string_view>& fields) {
  fields.clear();
  for (size_t at = 0; at <= line.size();) {
    size_t end = at;
    for (bool quoted = false; end < line.size() && (quoted || line[end] != ','); ++end) {
      if (line[end] == '"') quoted = !quoted;
    }
    std::string_view field = trimmed(line.substr(at, end - at));
    if (field.size() >= 2 && field.front() == '"' && field.back() == '"') field = field.substr(1, field.size() - 2);
    fields.push_back(field);
    at = end + 1;
  }
}

struct KernelColumns {
  size_t name = 0, core = 0, start = 0, duration = 0, stream = 0, count = 0;
};

// False: one that is needed is absent.
bool find_columns(const std::vector<std::string_view>& header, KernelColumns& columns) {
  const auto find = [&](std::string_view title, size_t& place) {
    place = static_cast<size_t>(std::find(header.begin(), header.end(), title) - header.begin());
    return place < header.size();
  };
  columns.count = header.size();
  find("Stream ID", columns.stream);
  return find("Name", columns.name) && find("Accelerator Core", columns.core) &&
         find("Start Time(us)", columns.start) && find("Duration(us)", columns.duration);
}

bool read_kernel_line(const std::vector<std::string_view>& fields, const KernelColumns& columns, KernelLine& line) {
  if (fields.size() != columns.count) return false;
  line.name = fields[columns.name];
  line.core = fields[columns.core];
  line.stream = -1;
  int64_t stream = -1;
  const bool told = columns.stream < columns.count && read_integer(fields[columns.stream], stream);
  if (told && stream >= 0 && stream <= INT32_MAX) line.stream = static_cast<int32_t>(stream);
  FractionForm form;
  return read_microseconds(fields[columns.start], false, line.start.ns, form) &&
         read_microseconds(fields[columns.duration], false, line.duration_ns, form) && line.duration_ns >= 0;
}

}  // namespace

bool read_kernel_details(const std::string& file, const std::function<bool(const KernelLine&)>& take,
                         DefectCounts& defects) {
  Result<std::unique_ptr<ByteSource>> source = open_byte_source(file);
  if (!source.ok()) return false;
  CsvLines lines(*source.value());
  std::vector<std::string_view> fields;
  std::string_view text;
  bool whole = false;
  if (!lines.next(text, whole)) return false;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  split_fields(text, fields);
  KernelColumns columns;
  if (!find_columns(fields, columns)) return false;
  KernelLine line;
  while (lines.next(text, whole)) {
    if (text.empty()) continue;
    split_fields(text, fields);
    if (!read_kernel_line(fields, columns, line)) {
      defects.add(whole ? Defect::dropped_event : Defect::truncated_file, -1);
    } else if (!take(line)) {
      return true;
    }
  }
  count_source_end(source.value()->end(), -1, defects);
  return true;
}

}  // namespace skewscope::ingest
