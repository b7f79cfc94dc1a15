// How fast could any reader of these files be? The raw limit beside which scripts/bench states `skewscope report`:
// ISA-L inflating the gzip files, and simdjson On-Demand walking over every event of the text, looking at ph, cat,
// name, ts and dur and keeping nothing. Both from memory, on N threads: one file per thread for inflate (a gzip stream
// has no second entrance), chunks of about 1 MiB, cut between events, for the walk. Beside them, what reading the files
// from the page cache costs, which a report cannot avoid and the limit leaves out.
//   bench_limit THREADS FILE...      prints one JSON object
#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <simdjson.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr size_t kChunkBytes = 1 << 20;
constexpr size_t kWindowBytes = 1 << 18;
constexpr size_t kPageBytes = 4096;

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "bench_limit: %s\n", message.c_str());
  std::exit(1);
}

std::string read_file(const char* path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) fail(std::string("cannot read ") + path);
  std::string bytes(static_cast<size_t>(file.tellg()), '\0');
  file.seekg(0);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

// Reads one chunk of a file through a window, as a stream would. The window begins where pages do: 1 to 31 bytes behind
// that, the kernel's copy takes five times as long on AMD's Zen 3.
void read_chunk(int descriptor, size_t from) {
  alignas(kPageBytes) static thread_local std::array<char, kWindowBytes> window;
  for (size_t at = from; at < from + kChunkBytes;) {
    const ssize_t got = pread(descriptor, window.data(), window.size(), static_cast<off_t>(at));
    if (got <= 0) return;
    at += static_cast<size_t>(got);
  }
}

bool is_gzip(std::string_view bytes) { return bytes.substr(0, 2) == "\x1f\x8b"; }

// Inflates all members of a gzip file through one window and hands each full window on.
void inflate(std::string_view bytes, const std::function<void(std::string_view)>& take) {
  std::vector<uint8_t> window(kWindowBytes);
  inflate_state state;
  isal_inflate_init(&state);
  state.crc_flag = ISAL_GZIP;
  state.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(bytes.data()));
  state.avail_in = static_cast<uint32_t>(bytes.size());
  while (state.avail_in > 0 || state.block_state != ISAL_BLOCK_FINISH) {
    if (state.block_state == ISAL_BLOCK_FINISH) {
      isal_inflate_reset(&state);
      state.crc_flag = ISAL_GZIP;
    }
    state.next_out = window.data();
    state.avail_out = static_cast<uint32_t>(window.size());
    if (isal_inflate(&state) != ISAL_DECOMP_OK) fail("not a whole gzip file");
    take({reinterpret_cast<const char*>(window.data()), window.size() - state.avail_out});
  }
}

// Cuts the event array of a Kineto trace into JSON arrays, in place: between two events "},\n  {" becomes "}][  {".
std::vector<std::string_view> cut_events(std::string& text) {
  const size_t key = text.find("\"traceEvents\"");
  const size_t begin = key == std::string::npos ? key : text.find('[', key);
  const size_t end = text.rfind("\n  ]");
  if (begin == std::string::npos || end == std::string::npos) fail("no traceEvents array");
  std::vector<std::string_view> chunks;
  size_t from = begin;
  while (from < end) {
    size_t cut = from + kChunkBytes < end ? text.find("},\n  {", from + kChunkBytes) : std::string::npos;
    if (cut == std::string::npos) {
      chunks.emplace_back(text.data() + from, end + 4 - from);
      break;
    }
    text[cut + 1] = ']';
    text[cut + 2] = '[';
    chunks.emplace_back(text.data() + from, cut + 2 - from);
    from = cut + 2;
  }
  return chunks;
}

struct Walk {
  int64_t events = 0;
  size_t touched = 0;  // bytes of the fields looked at: keeps the compiler from dropping the work
};

void walk_event(simdjson::ondemand::object event, Walk& walk) {
  ++walk.events;
  for (auto field : event) {
    const simdjson::ondemand::raw_json_string key = field.key();
    if (key == "ts" || key == "dur") {
      walk.touched += std::string_view(field.value().raw_json_token()).size();
    } else if (key == "ph" || key == "cat" || key == "name") {
      walk.touched += std::string_view(field.value().get_string()).size();
    }
  }
}

Walk walk_chunk(simdjson::ondemand::parser& parser, std::string_view chunk) {
  Walk walk;
  simdjson::ondemand::document document =
      parser.iterate(chunk.data(), chunk.size(), chunk.size() + simdjson::SIMDJSON_PADDING);
  for (auto event : document.get_array()) walk_event(event.get_object(), walk);
  return walk;
}

// Runs work(i) for all i < count on `threads` threads; returns wall seconds.
double run_parallel(size_t threads, size_t count, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next{0};
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> pool;
  for (size_t t = 0; t < std::min(threads, count); ++t) {
    pool.emplace_back([&] {
      for (size_t i = next++; i < count; i = next++) work(i);
    });
  }
  for (std::thread& thread : pool) thread.join();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) try {
  const size_t threads = argc > 2 ? std::strtoul(argv[1], nullptr, 10) : 0;
  if (threads == 0) fail("usage: bench_limit THREADS FILE...");
  std::vector<std::string> files;
  std::transform(argv + 2, argv + argc, std::back_inserter(files), read_file);

  std::vector<std::pair<int, size_t>> file_chunks;
  for (size_t i = 0; i < files.size(); ++i) {
    const int descriptor = open(argv[2 + i], O_RDONLY);
    if (descriptor < 0) fail(std::string("cannot read ") + argv[2 + i]);
    for (size_t from = 0; from < files[i].size(); from += kChunkBytes) file_chunks.emplace_back(descriptor, from);
  }
  const double read_s = run_parallel(threads, file_chunks.size(),
                                     [&](size_t i) { read_chunk(file_chunks[i].first, file_chunks[i].second); });

  const bool gzip = is_gzip(files[0]);
  double inflate_s = 0;
  std::atomic<size_t> inflated{0};
  if (gzip) {
    inflate_s = run_parallel(threads, files.size(), [&](size_t i) {
      inflate(files[i], [&](std::string_view window) { inflated += window.size(); });
    });
  }

  size_t json_bytes = 0;
  std::vector<std::string> texts;
  std::vector<std::string_view> chunks;
  texts.reserve(files.size());
  for (std::string& file : files) {
    texts.emplace_back();
    std::string& text = texts.back();
    if (gzip) {
      inflate(file, [&](std::string_view window) { text += window; });
    } else {
      text = std::move(file);
    }
    json_bytes += text.size();
    text.append(simdjson::SIMDJSON_PADDING, ' ');
    const auto cut = cut_events(text);
    chunks.insert(chunks.end(), cut.begin(), cut.end());
  }
  if (gzip && inflated != json_bytes) fail("the two inflate passes differ");

  std::atomic<int64_t> events{0};
  std::atomic<size_t> touched{0};
  const double walk_s = run_parallel(threads, chunks.size(), [&](size_t i) {
    static thread_local simdjson::ondemand::parser parser;
    const Walk walk = walk_chunk(parser, chunks[i]);
    events += walk.events;
    touched += walk.touched;
  });

  // A gzip file is inflated by one thread; while fewer files than threads inflate, the others can walk.
  const double parallel_files = static_cast<double>(std::min(threads, files.size()));
  const double both_s = std::max(inflate_s, inflate_s * parallel_files / static_cast<double>(threads) + walk_s);
  std::printf(
      "{\"threads\": %zu, \"files\": %zu, \"json_bytes\": %zu, \"events\": %lld, \"touched\": %zu, "
      "\"read_s\": %.6f, \"inflate_s\": %.6f, \"walk_s\": %.6f, \"limit_s\": %.6f}\n",
      threads, files.size(), json_bytes, static_cast<long long>(events.load()), touched.load(), read_s, inflate_s,
      walk_s, both_s);
  return 0;
} catch (const std::exception& error) {
  fail(error.what());
}
