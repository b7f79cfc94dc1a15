// The problem: traces of gigabytes, whose events must be read at the speed of the parser, in bounded memory, by as many
// threads as there are, with one result. The idea: one thread at a time cuts text at event boundaries, for which it
// inflates what is compressed, and of plain files looks at the ends of chunks; these are read and parsed in parallel;
// rows are appended in the order of the text. Right because a chunk's rows depend on its text alone and the cuts depend
// on the file alone. Cost: one pass over the text; memory for the chunks in flight and the rows. Where the events end
// is only known when the chunk that ends them was parsed; what follows was parsed in vain and is collected as text.
// What is learned of how events are laid out, and the chunks, serve file after file: of a thousand small files each
// would else pay for them.
#include "kineto_reader.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <cerrno>
#include <mutex>

#include "event_reader.h"
#include "file_builder.h"
#include "src/ingest/content/no_trace.h"
#include "top_level.h"

namespace skewscope::ingest {
struct KinetoReader::Chunk {
  ChunkText text;
  ChunkRows rows;
  size_t events_end = std::string_view::npos;
};

// Chunks are used again: their buffers are the only memory the stream needs.
class KinetoReader::ChunkPool {
 public:
  Chunk* take() {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) return chunks_.emplace_back(std::make_unique<Chunk>()).get();
    Chunk* chunk = free_.back();
    free_.pop_back();
    return chunk;
  }
  void give_back(Chunk* chunk) {
    chunk->rows.clear();
    const std::scoped_lock lock(mutex_);
    free_.push_back(chunk);
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<Chunk*> free_;
};

struct KinetoReader::Tools {
  explicit Tools(const ReadSettings& settings) : readers([settings] { return EventReader(settings); }) {}

  ChunkPool pool;
  tbb::enumerable_thread_specific<EventReader> readers;
  std::atomic<int64_t> files = 0;  // begun
  std::once_flag unpadded_made;
  std::unique_ptr<KinetoReader> unpadded;  // for those whose fractions are found to be
};

KinetoReader::KinetoReader(const ReadSettings& settings)
    : settings_(settings), tools_(std::make_unique<Tools>(settings)) {}

KinetoReader::~KinetoReader() = default;

void KinetoReader::stream_events(ByteSource& source, ChunkCutter& cutter, FileBuilder& builder) const {
  const int64_t number = ++tools_->files;
  const size_t threads = static_cast<size_t>(tbb::this_task_arena::max_concurrency());
  const size_t in_flight = settings_.chunks_in_flight > 0 ? settings_.chunks_in_flight : 2 * threads;
  const auto cut = [&](tbb::flow_control& control) -> Chunk* {
    Chunk* chunk = tools_->pool.take();
    if (settings_.progress != nullptr) settings_.progress->read_to(builder.file(), source.share_read());
    if (!builder.stopped() && cutter.next(chunk->text)) return chunk;
    tools_->pool.give_back(chunk);
    control.stop();
    return nullptr;
  };
  const auto parse = [&](Chunk* chunk) {
    chunk->text.load(source);
    chunk->events_end = tools_->readers.local().read(number, chunk->text, chunk->rows);
    return chunk;
  };
  const auto append = [&](Chunk* chunk) {
    builder.append(chunk->text, chunk->rows, chunk->events_end);
    tools_->pool.give_back(chunk);
  };
  // Isolated: a thread that waits here must not start another file and hold two at once.
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_pipeline(in_flight, tbb::make_filter<void, Chunk*>(tbb::filter_mode::serial_in_order, cut) &
                                          tbb::make_filter<Chunk*, Chunk*>(tbb::filter_mode::parallel, parse) &
                                          tbb::make_filter<Chunk*, void>(tbb::filter_mode::serial_in_order, append));
  });
}

// Any JSON is read as a trace where no other format knows it, to say what it lacks.
Recognition KinetoReader::recognise(const std::string&, std::string_view head) const {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (head[first] != '{' && head[first] != '[')) return Recognition::no;
  const bool has_key = head.find("\"traceEvents\"") != head.npos || head.find("\"schemaVersion\"") != head.npos;
  return has_key ? Recognition::yes : Recognition::perhaps;
}

Result<std::vector<FileContent>> KinetoReader::read_heads(const std::string& file) const {
  auto source = open_byte_source(file);
  if (!source.ok()) return source.error();
  ChunkCutter cutter(*source.value(), settings_);
  cutter.find_events();
  if (source.value()->end() == SourceEnd::unreadable) return cannot_read(file, EIO);
  FileContent content;
  TopLevel top;
  DefectCounts defects;
  read_top_level(cutter.head(), false, 0, content, top, defects);
  return only(std::move(content));
}

// Kineto closes with a key of its own.
std::optional<std::string> KinetoReader::problem(const std::string&, std::string_view tail) const {
  const size_t last = tail.find_last_not_of(" \t\r\n");
  const bool closed = last != tail.npos && tail[last] == '}' && tail.find("\"traceName\"") != tail.npos;
  return closed ? std::optional<std::string>("") : std::nullopt;
}

Result<std::vector<FileContent>> KinetoReader::read(const std::string& file, MemoryBudget& budget) const {
  {
    Result<std::unique_ptr<ByteSource>> source = open_byte_source(file);
    if (!source.ok()) return only(unreadable_content(file, source.error().message));
    FileBuilder builder(file, budget, settings_);
    ChunkCutter cutter(*source.value(), settings_);
    const bool has_events = cutter.find_events();
    builder.start(cutter);
    if (has_events) stream_events(*source.value(), cutter, builder);
    builder.finish(cutter, *source.value());
    if (builder.over_budget()) return builder.budget_error();
    if (!builder.fractions_are_unpadded()) return only(builder.take_content());
  }
  std::call_once(tools_->unpadded_made, [&] {
    ReadSettings settings = settings_;
    settings.unpadded_fractions = true;
    tools_->unpadded = std::make_unique<KinetoReader>(settings);
  });
  return tools_->unpadded->read(file, budget);
}

std::unique_ptr<TraceReader> make_kineto_reader(const ReaderSettings& settings) {
  ReadSettings own;
  own.details = settings.details;
  own.kernels = settings.kernels;
  own.progress = settings.progress;
  return std::make_unique<KinetoReader>(own);
}

}  // namespace skewscope::ingest
