// The cuts, the number of threads and the size of the chunks must not show in what was read.
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <catch2/catch.hpp>
#include <random>

#include "src/ingest/kineto/file_builder.h"
#include "tests/ingest/reader_support.h"

using namespace skewscope;
using namespace skewscope::ingest;

namespace {

ReadSettings chunks_of(size_t bytes) {
  ReadSettings settings;
  settings.chunk_bytes = bytes;
  return settings;
}

// Rows of every kind, in changing layouts, with texts that look like structure.
std::string mixed_trace(unsigned seed, int events) {
  std::mt19937 random(seed);
  const auto pick = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  const std::string names[] = {"gemm",
                               "void f<int>(T*)",
                               R"(}, {\"ph\": \"X\")",
                               R"(quo\"te)",
                               "ncclDevKernel_AllReduce_Sum",
                               "nccl:all_reduce",
                               "record_param_comms",
                               "ProfilerStep#3",
                               "aten::mm",
                               "\xc3\xa9"};
  const std::string categories[] = {
      "kernel", "cuda_runtime", "cpu_op", "user_annotation", "gpu_user_annotation", "python_function", "gpu_memcpy"};
  std::string text;
  for (int i = 0; i < events; i++) {
    const std::string name = names[pick(10)], category = categories[pick(7)];
    const std::string space = pick(2) ? " " : "\n    ";
    const std::string args = fmt::format(
        R"({{"External id": {},{}"correlation": {}, "nested": [{{"name": "a"}}, {{"name": "b"}}, [[1, 2], []]], "stream": {}{}}})",
        pick(99), space, pick(40), pick(4),
        pick(3) ? "" : R"(, "Collective name": "allreduce", "In msg nelems": 5, "Process Group Ranks": "[0, 1]")");
    text += i ? (pick(2) ? "," : " ,\n  ") : "";
    if (pick(3)) {
      text += fmt::format(
          R"({{{}"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": 3,{}"ts": {}.{:03}, "dur": {}, "args": {}}})",
          space, category, name, 5 + pick(2), space, 1000 + i, pick(1000), pick(50), args);
    } else if (pick(2)) {
      text += fmt::format(
          R"({{"args": {}, "cat": "{}", "dur": {}, "name": "{}", "ph": "X", "pid": 5, "tid": 3, "ts": {}.{:03}}})",
          args, category, pick(50), name, 1000 + i, pick(1000));
    } else {
      text += fmt::format(
          R"({{"name": "process_name", "ph": "M", "ts": 1, "pid": {}, "tid": 0, "args": {{"name": "python"}}}})",
          pick(9));
    }
  }
  return trace_of(text, R"("deviceProperties": [{"id": 0, "name": "A"}, {"id": 1, "name": "B"}], )",
                  R"(, "pids": [{"name": 1}, {"name": 2}], "baseTimeNanoseconds": 1700000000000000000)");
}

}  // namespace

TEST_CASE("chunks of any size give the same content") {
  for (unsigned seed = 1; seed <= 20; seed++) {
    const TempFile file(mixed_trace(seed, 60));
    const std::string expected = as_text(read_file(file.path(), chunks_of(1 << 20)));
    REQUIRE(expected.find("events 60 ") != std::string::npos);
    for (const size_t bytes : {1, 7, 64, 300, 333, 1000, 4096}) {
      CAPTURE(seed, bytes);
      REQUIRE(as_text(read_file(file.path(), chunks_of(bytes))) == expected);
    }
  }
}

TEST_CASE("one thread and two give the same content, also inside a loop over files") {
  const TempFile file(mixed_trace(77, 3000));
  const auto read_with = [&](int threads) {
    const tbb::global_control control(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(threads));
    tbb::task_arena arena(threads);
    return arena.execute([&] { return as_text(read_file(file.path(), chunks_of(2000))); });
  };
  const std::string expected = read_with(1);
  CHECK(read_with(2) == expected);
  std::vector<std::string> texts(6);
  tbb::parallel_for(size_t{0}, texts.size(),
                    [&](size_t i) { texts[i] = as_text(read_file(file.path(), chunks_of(1500))); });
  for (const std::string& text : texts) CHECK(text == expected);
}

TEST_CASE("a cut is found before the key of an event, not inside an argument or a string") {
  const std::string text = R"({"ph": 1, "args": {"l": [{"name": "a"}, {"name": "b"}], "s": "}, {\"ph\""}}, {"ph": 2})";
  CHECK(last_event_boundary(text, 0) == text.size() - 9);
  CHECK(next_event_boundary(text, 0) == text.size() - 9);
  CHECK(last_event_boundary(text.substr(0, text.size() - 10), 0) == std::string::npos);
  CHECK(last_event_boundary(R"({"name": "a"} ,  { "name": "x", "ph": "X"})", 0) == 17);
}

TEST_CASE("chunks of a damaged trace repair the same events whatever their size") {
  std::string events = kernel("a", "1", "1");
  for (int i = 0; i < 40; i++)
    events += ",\n" + kernel(i % 5 == 3 ? "say \"x\" \xff" : "b" + std::to_string(i), "2", "1");
  const TempFile file(trace_of(events));
  const std::string expected = as_text(read_file(file.path()));
  CHECK(expected.find("repaired-quotes 16") != std::string::npos);
  for (const size_t bytes : {1, 100, 700, 2000}) CHECK(as_text(read_file(file.path(), chunks_of(bytes))) == expected);
}

namespace {

// Can be read anywhere, and becomes shorter at some time.
class ShrinkingFile : public ByteSource {
 public:
  explicit ShrinkingFile(std::string text) : text_(std::move(text)), readable_(text_.size()) {}
  size_t read(char* out, size_t size) override {
    const size_t got = read_at(at_, out, size);
    at_ += got;
    return got;
  }
  const char* compression() const override { return ""; }
  double share_read() const override { return 1; }
  SourceEnd end() const override { return fails_ ? SourceEnd::unreadable : SourceEnd::whole; }
  size_t readable_anywhere() const override { return readable_; }
  size_t read_at(size_t offset, char* out, size_t size) override {
    if (fails_) return 0;
    return text_.copy(out, offset < text_.size() ? size : 0, std::min(offset, text_.size()));
  }
  void seek(size_t offset) override { at_ = offset; }
  void shrink_to(size_t size) { text_.resize(size); }
  void fail() { fails_ = true; }

 private:
  std::string text_;
  bool fails_ = false;
  size_t readable_, at_ = 0;
};

}  // namespace

TEST_CASE("of a file that cannot be read nobody says that it is empty") {
  for (const bool from_the_start : {true, false}) {
    ShrinkingFile file(trace_of(kernel("a", "1", "1")));
    MemoryBudget budget(0);
    const ReadSettings settings;
    FileBuilder builder("trace.json", budget, settings);
    ChunkCutter cutter(file, settings);
    if (from_the_start) file.fail();
    CHECK(cutter.find_events() == !from_the_start);
    file.fail();
    builder.start(cutter);
    builder.finish(cutter, file);
    const FileContent content = builder.take_content();
    CHECK(count_of(content, "unreadable-file") == 1);
    CHECK(count_of(content, "empty-file") == 0);
  }
}

TEST_CASE("what a file lost since a chunk of it was cut is missing at the end of that chunk") {
  std::string events = kernel("a", "1", "1");
  for (int i = 0; i < 1000; i++) events += ",\n" + kernel("b" + std::to_string(i), "2", "1");
  const std::string text = trace_of(events);
  ShrinkingFile file(text);
  ChunkCutter cutter(file, chunks_of(20'000));
  REQUIRE(cutter.find_events());
  ChunkText whole, cut, behind;
  REQUIRE(cutter.next(whole));
  REQUIRE(cutter.next(cut));
  const auto begin = static_cast<size_t>(cut.offset);
  file.shrink_to(begin + 100);
  whole.load(file);
  cut.load(file);
  CHECK(whole.view() == text.substr(static_cast<size_t>(whole.offset), begin - static_cast<size_t>(whole.offset)));
  CHECK(cut.view() == text.substr(begin, 100));
  CHECK_FALSE(cutter.next(behind));
}
