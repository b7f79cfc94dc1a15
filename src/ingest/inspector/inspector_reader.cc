// Problem: logs grow for hours; they must be read at the speed of the parser. Idea: text is cut at line breaks into
// blocks, blocks are parsed in parallel, records appended in the order of the text: which dump a line belongs to is
// told by the lines before it. Cost: one pass; memory for the blocks in flight and the calls.
#include "inspector_reader.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "log_builder.h"
#include "src/ingest/content/no_trace.h"

namespace skewscope::ingest {
namespace {

constexpr size_t kBytesPerBlock = 1 << 20;
constexpr size_t kLongestLine = 16 << 20;  // a line of all channels is some KiB

struct Line {
  LogRecord record;
  int64_t offset = 0;
  bool cut = false;
};

// Whole lines and simdjson's padding behind them.
struct Block {
  std::string text;
  int64_t offset = 0;
  bool last = false;
  std::vector<Line> lines;
};

class BlockCutter {
 public:
  explicit BlockCutter(ByteSource& source) : source_(source) {}

  // False at the end.
  bool next(Block& block) {
    if (done_) return false;
    block.text = std::exchange(rest_, {});
    block.offset = offset_;
    size_t end = std::string::npos;
    while (end == std::string::npos) {
      const size_t before = block.text.size();
      block.text.resize(before + kBytesPerBlock);
      const size_t got = source_.read(block.text.data() + before, kBytesPerBlock);
      block.text.resize(before + got);
      done_ = got < kBytesPerBlock;
      end = done_ ? block.text.size() : block.text.find_last_of('\n');
      if (end == std::string::npos && block.text.size() > kLongestLine) end = block.text.size();
    }
    if (!done_) {
      const size_t whole = std::min(end + 1, block.text.size());
      rest_ = block.text.substr(whole);
      block.text.resize(whole);
    }
    block.last = done_;
    offset_ += static_cast<int64_t>(block.text.size());
    return true;
  }
  int64_t bytes() const { return offset_; }

 private:
  ByteSource& source_;
  std::string rest_;
  int64_t offset_ = 0;
  bool done_ = false;
};

void parse_lines(Block& block, LogRecordParser& parser) {
  const size_t size = block.text.size();
  block.text.resize(size + simdjson::SIMDJSON_PADDING, '\0');
  const std::string_view text = std::string_view(block.text).substr(0, size);
  block.lines.clear();
  for (size_t at = 0; at < size;) {
    const size_t found = text.find('\n', at);
    const size_t end = found == text.npos ? size : found;
    const std::string_view line = text.substr(at, end - at);
    if (line.find_first_not_of(" \t\r") != line.npos) {
      const bool cut = block.last && found == text.npos;
      block.lines.push_back(
          {parser.parse({block.text.data() + at, line.size()}), block.offset + static_cast<int64_t>(at), cut});
    }
    at = end + 1;
  }
}

class InspectorReader : public TraceReader {
 public:
  explicit InspectorReader(const ReaderSettings& settings) : settings_(settings) {}

  std::vector<const char*> suffixes() const override { return {".log"}; }
  // "<host>-pid<pid>.log": other logs lie next to traces, too.
  bool takes_name(std::string_view name) const override {
    const size_t pid = name.rfind("-pid");
    if (pid == name.npos) return false;
    const size_t end = name.find_first_not_of("0123456789", pid + 4);
    return end != name.npos && end > pid + 4 && name[end] == '.';
  }
  Recognition recognise(const std::string&, std::string_view head) const override {
    if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
    const size_t first = head.find_first_not_of(" \t\r\n");
    if (first == head.npos || head[first] != '{') return Recognition::no;
    const bool has_key = head.find("\"inspector_output_format_version\"") != head.npos ||
                         head.find("\"coll_perf\"") != head.npos || head.find("\"p2p_perf\"") != head.npos;
    return has_key ? Recognition::yes : Recognition::no;
  }
  Result<std::vector<FileContent>> read(const std::string& file, MemoryBudget& budget) const override;
  Result<std::vector<FileContent>> read_heads(const std::string& file) const override;
  std::optional<std::string> problem(const std::string&, std::string_view tail) const override {
    return tail.empty() || tail.back() == '\n' ? "" : "cut: it ends inside a line";
  }

 private:
  ReaderSettings settings_;
  mutable tbb::enumerable_thread_specific<LogRecordParser> parsers_;
};

Result<std::vector<FileContent>> InspectorReader::read(const std::string& file, MemoryBudget& budget) const {
  Result<std::unique_ptr<ByteSource>> opened = open_byte_source(file);
  if (!opened.ok()) return only(unreadable_content(file, opened.error().message));
  ByteSource& source = *opened.value();
  BlockCutter cutter(source);
  LogBuilder builder(file, settings_, budget);
  const auto cut = [&](tbb::flow_control& control) {
    Block block;
    if (settings_.progress != nullptr) settings_.progress->read_to(file, source.share_read());
    if (builder.over_budget() || !cutter.next(block)) control.stop();
    return block;
  };
  const auto parse = [&](Block block) {
    parse_lines(block, parsers_.local());
    return block;
  };
  const auto append = [&](const Block& block) {
    for (const Line& line : block.lines) builder.add(line.record, line.offset, line.cut);
  };
  const size_t in_flight = 2 * static_cast<size_t>(tbb::this_task_arena::max_concurrency());
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_pipeline(in_flight, tbb::make_filter<void, Block>(tbb::filter_mode::serial_in_order, cut) &
                                          tbb::make_filter<Block, Block>(tbb::filter_mode::parallel, parse) &
                                          tbb::make_filter<Block, void>(tbb::filter_mode::serial_in_order, append));
  });
  if (builder.over_budget()) return budget.exceeded_by(file);
  count_source_end(source.end(), cutter.bytes(), builder.defects());
  return builder.take(cutter.bytes(), source.compression());
}

// All of it is looked at: the communicator that holds all processes may come last.
Result<std::vector<FileContent>> InspectorReader::read_heads(const std::string& file) const {
  Result<std::unique_ptr<ByteSource>> source = open_byte_source(file);
  if (!source.ok()) return source.error();
  BlockCutter cutter(*source.value());
  MemoryBudget unlimited(0);
  LogBuilder builder(file, settings_, unlimited);
  builder.keep_members_only();
  for (Block block; cutter.next(block);) {
    parse_lines(block, parsers_.local());
    for (const Line& line : block.lines) builder.add(line.record, line.offset, line.cut);
  }
  if (source.value()->end() == SourceEnd::unreadable) return cannot_read(file, EIO);
  return builder.take(0, source.value()->compression());
}

}  // namespace

std::unique_ptr<TraceReader> make_inspector_reader(const ReaderSettings& settings) {
  return std::make_unique<InspectorReader>(settings);
}

}  // namespace skewscope::ingest
