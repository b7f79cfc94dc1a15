// How fast a trace is read, beside what the libraries underneath allow on the same bytes in the same run.
//   bench_ingest FILE... [--runs N]
// Medians in MB of uncompressed JSON per second. inflate: ISA-L alone (gzip files). walk: simdjson On-Demand over the
// text in memory, touching ph, cat, name, ts, dur of each event, one thread. read: TraceReaders::read from the page
// cache. limit: the inflate and the walk, one after the other on one thread; on two threads they overlap. One thread is
// measured in processor time, two in wall time.
#include <fmt/core.h>
#include <isa-l/igzip_lib.h>
#include <simdjson.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "src/ingest/trace_readers.h"

namespace {

using Seconds = std::vector<double>;

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class Work>
void time_once(Seconds& seconds, double (*clock)(), Work work) {
  const double begin = clock();
  work();
  seconds.push_back(clock() - begin);
}

double median(Seconds seconds) {
  if (seconds.empty()) return 0;
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

std::string file_bytes(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// Block by block into one buffer, as a stream would; `text` collects it where wanted.
size_t inflate_all(const std::string& compressed, std::string* text) {
  static const auto state = std::make_unique<inflate_state>();
  static std::vector<uint8_t> block(512 << 10);
  std::string input = text ? compressed : std::string();
  const std::string& bytes = text ? input : compressed;
  isal_inflate_init(state.get());
  state->crc_flag = ISAL_GZIP;
  state->next_in = const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(bytes.data()));
  state->avail_in = static_cast<uint32_t>(bytes.size());
  size_t total = 0;
  while (state->block_state != ISAL_BLOCK_FINISH) {
    state->next_out = block.data();
    state->avail_out = static_cast<uint32_t>(block.size());
    if (isal_inflate(state.get()) != ISAL_DECOMP_OK) break;
    const size_t got = block.size() - state->avail_out;
    if (got == 0) break;
    if (text) text->append(reinterpret_cast<const char*>(block.data()), got);
    total += got;
  }
  return total;
}

size_t walk(simdjson::ondemand::parser& parser, const simdjson::padded_string& text) {
  namespace ondemand = simdjson::ondemand;
  size_t touched = 0;
  ondemand::document document;
  ondemand::array events;
  if (parser.iterate(text).get(document) || document["traceEvents"].get_array().get(events)) return 0;
  for (auto element : events) {
    ondemand::object event;
    if (element.get_object().get(event)) return touched;
    for (auto result : event) {
      ondemand::field field;
      if (std::move(result).get(field)) return touched;
      const ondemand::raw_json_string key = field.key();
      std::string_view string;
      double number = 0;
      if (key == "ph" || key == "cat" || key == "name") {
        if (!field.value().get_string().get(string)) touched += string.size();
      } else if (key == "ts" || key == "dur") {
        if (!field.value().get_double().get(number)) touched++;
      }
    }
  }
  return touched;
}

void read(const std::string& file, int threads) {
  const tbb::global_control control(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(threads));
  tbb::task_arena arena(threads);
  arena.execute([&] {
    skewscope::ingest::MemoryBudget budget(0);
    if (!skewscope::ingest::TraceReaders().read(file, budget).ok()) fmt::print("{}: cannot be read\n", file);
  });
}

void measure(const std::string& file, int runs) {
  const std::string bytes = file_bytes(file);
  const bool gzip = bytes.size() > 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
  std::string text = gzip ? std::string() : bytes;
  if (gzip) inflate_all(bytes, &text);
  const double mb = static_cast<double>(text.size()) / 1e6;
  const simdjson::padded_string padded(text);
  simdjson::ondemand::parser parser;
  Seconds inflate_s, walk_s, read_1, read_2;
  for (int run = 0; run < runs; run++) {
    if (gzip) time_once(inflate_s, processor_seconds, [&] { inflate_all(bytes, nullptr); });
    time_once(walk_s, processor_seconds, [&] { walk(parser, padded); });
    time_once(read_1, processor_seconds, [&] { read(file, 1); });
    time_once(read_2, wall_seconds, [&] { read(file, 2); });
  }
  const double limit_1 = median(inflate_s) + median(walk_s);
  const double limit_2 = std::max(median(inflate_s), limit_1 / 2);
  fmt::print("{:42.42} {:7.1f} {:>8} {:8.0f} {:8.0f} {:5.0f}% {:8.0f} {:5.0f}%\n", file.substr(file.rfind('/') + 1), mb,
             gzip ? fmt::format("{:.0f}", mb / median(inflate_s)) : "-", mb / median(walk_s), mb / median(read_1),
             100 * limit_1 / median(read_1), mb / median(read_2), 100 * limit_2 / median(read_2));
}

}  // namespace

int main(int argc, char** argv) {
  int runs = 9;
  std::vector<std::string> files;
  for (int i = 1; i < argc; i++) {
    if (std::strcmp(argv[i], "--runs") == 0 && i + 1 < argc) {
      runs = std::max(1, std::atoi(argv[++i]));
    } else {
      files.emplace_back(argv[i]);
    }
  }
  if (files.empty()) {
    fmt::print(stderr, "usage: bench_ingest FILE... [--runs N]\n");
    return 2;
  }
  fmt::print("{:42} {:>7} {:>8} {:>8} {:>8} {:>6} {:>8} {:>6}\n", "file", "MB", "inflate", "walk", "read, 1", "limit",
             "read, 2", "limit");
  for (const std::string& file : files) measure(file, runs);
  return 0;
}
