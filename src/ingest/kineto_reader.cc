// The problem: traces of gigabytes, whose events must be read at the speed of the parser, in bounded memory, by as many
// threads as there are, with one result. The idea: one thread at a time cuts text at event boundaries, for which it
// inflates what is compressed, and of plain files looks at the ends of chunks; these are read and parsed in parallel;
// rows are appended in the order of the text. Right because a chunk's rows depend on its text alone and the cuts depend
// on the file alone. Cost: one pass over the text; memory for the chunks in flight and the rows. Where the events end
// is only known when the chunk that ends them was parsed; what follows was parsed in vain and is collected as text.
#include "kineto_reader.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <mutex>

#include "event_parser.h"
#include "reading.h"

namespace skewscope::ingest {
namespace {

struct Chunk {
  ChunkText text;
  ChunkRows rows;
  size_t events_end = std::string_view::npos;
};

// Chunks are used again: their buffers are the only memory the stream needs.
class ChunkPool {
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

void stream_events(ByteSource& source, ChunkCutter& cutter, const ReadSettings& settings, Reading& reading) {
  ChunkPool pool;
  tbb::enumerable_thread_specific<EventParser> parsers([&] { return EventParser(settings); });
  const size_t threads = static_cast<size_t>(tbb::this_task_arena::max_concurrency());
  const size_t in_flight = settings.chunks_in_flight > 0 ? settings.chunks_in_flight : 2 * threads;
  const auto cut = [&](tbb::flow_control& control) -> Chunk* {
    Chunk* chunk = pool.take();
    if (!reading.stopped() && cutter.next(chunk->text)) return chunk;
    pool.give_back(chunk);
    control.stop();
    return nullptr;
  };
  const auto parse = [&](Chunk* chunk) {
    chunk->text.load(source);
    chunk->events_end = parsers.local().parse(chunk->text, chunk->rows);
    return chunk;
  };
  const auto append = [&](Chunk* chunk) {
    reading.append(chunk->text, chunk->rows, chunk->events_end);
    pool.give_back(chunk);
  };
  // Isolated: a thread that waits here must not start another file and hold two at once.
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_pipeline(in_flight, tbb::make_filter<void, Chunk*>(tbb::filter_mode::serial_in_order, cut) &
                                          tbb::make_filter<Chunk*, Chunk*>(tbb::filter_mode::parallel, parse) &
                                          tbb::make_filter<Chunk*, void>(tbb::filter_mode::serial_in_order, append));
  });
}

}  // namespace

bool KinetoReader::recognises(std::string_view head) const {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  const size_t first = head.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (head[first] == '{' || head[first] == '[');
}

Result<FileContent> KinetoReader::read(const std::string& file, MemoryBudget& budget) const {
  ReadSettings settings = settings_;
  while (true) {
    Result<std::unique_ptr<ByteSource>> source = open_byte_source(file);
    if (!source.ok()) return unreadable_content(file, source.error().message);
    Reading reading(file, budget, settings);
    ChunkCutter cutter(*source.value(), settings);
    const bool has_events = cutter.find_events();
    reading.start(cutter);
    if (has_events) stream_events(*source.value(), cutter, settings, reading);
    reading.finish(cutter, *source.value());
    if (reading.over_budget()) return reading.budget_error();
    if (reading.fractions_are_unpadded()) {
      settings.unpadded_fractions = true;
      continue;
    }
    return reading.take_content();
  }
}

}  // namespace skewscope::ingest
