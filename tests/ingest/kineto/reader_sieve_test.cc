// Leaving events out before JSON is parsed must not show in what was read.
#include <catch2/catch.hpp>
#include <random>

#include "src/ingest/kineto/event_sieve.h"
#include "src/ingest/text/laid_out_events.h"
#include "tests/ingest/reader_support.h"

using namespace skewscope;
using namespace skewscope::ingest;

namespace {

ReadSettings with_sieve(bool sieve, size_t chunk_bytes = 1 << 20) {
  ReadSettings settings;
  settings.sieve = sieve;
  settings.chunk_bytes = chunk_bytes;
  return settings;
}

// A complete event as Kineto's writer lays it out.
std::string written(const std::string& category, const std::string& name, int64_t stamp, const std::string& args) {
  return fmt::format(
      "  {{\n    \"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": 5, \"tid\": 6,\n"
      "    \"ts\": {}.250, \"dur\": 3.500,\n    \"args\": {{\n      {}\n    }}\n  }}",
      category, name, stamp, args);
}

std::string deeper(const std::string& text, size_t blanks) {
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '\n') out += std::string(blanks, ' ');
  }
  return out;
}

std::string label(const std::string& name) {
  return fmt::format(
      "  {{\n    \"name\": \"process_labels\", \"ph\": \"M\", \"ts\": 1, \"pid\": 5, \"tid\": 0,\n"
      "    \"args\": {{\n      \"labels\": \"{}\"\n    }}\n  }}",
      name);
}

std::string flow(int64_t stamp, const std::string& category = "ac2g", const std::string& end = "") {
  return fmt::format(
      "  {{\n    \"ph\": \"{0}\", \"id\": 1, \"pid\": 500, \"tid\": 6, \"ts\": {1}.000,\n"
      "    \"cat\": \"{2}\", \"name\": \"{2}\"{3}\n  }}",
      end.empty() ? 's' : 'f', stamp, category, end);
}

std::string events_of(unsigned seed, int count) {
  std::mt19937 random(seed);
  const auto pick = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  const std::string names[] = {"aten::mm",
                               "cudaEventQuery",
                               "cudaLaunchKernel",
                               "nccl:all_reduce",
                               "ProfilerStep#3",
                               "record_param_comms",
                               "say \\\"x\\\" {",
                               "torch/nn.py(3): f",
                               "ncclDevKernel_X",
                               "back\\\\",
                               "process_group }, {",
                               "",
                               "autograd::engine::evaluate_function: MulBackward0"};
  const std::string categories[] = {"kernel",          "cuda_runtime",    "cpu_op",     "cpu_op",
                                    "user_annotation", "python_function", "gpu_memcpy", "overhead"};
  std::string text;
  for (int i = 0; i < count; ++i) {
    if (i > 0) text += ",\n";
    const unsigned kind = pick(10);
    const std::string args =
        fmt::format("\"correlation\": {0}, \"External id\": {0},\n      \"l\": [{{\"ph\": 1}}]", pick(9));
    text += kind == 0 ? label("rank 3")
            : kind == 1
                ? flow(1'000'000'000'000 + i, pick(2) == 0 ? "fwdbwd" : "ac2g", pick(2) == 0 ? ", \"bp\": \"e\"" : "")
            : kind == 2 ? kernel(names[pick(12)], std::to_string(1000 + i), "2")
                        : written(categories[pick(8)], names[pick(13)], 1'000'000'000 + i, args);
  }
  return text;
}

std::string file_of(const std::string& events, const std::string& behind = ",\n  \"traceName\": \"./t.json\"\n}") {
  return "{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [\n" + events + "\n  ]" + behind;
}

void check_same(const std::string& text) {
  const TempFile file(text);
  for (const size_t bytes : {size_t{1}, size_t{300}, size_t{1000}, size_t{5000}, size_t{1} << 20}) {
    CAPTURE(bytes);
    REQUIRE(as_text(read_file(file.path(), with_sieve(true, bytes))) ==
            as_text(read_file(file.path(), with_sieve(false, bytes))));
  }
}

}  // namespace

TEST_CASE("kernels and labels pass the sieve; ops, python functions and flows do not") {
  ChunkRows rows;
  const auto passes = [&](const std::string& event) { return passes_sieve(event.substr(2), false, rows); };
  CHECK(passes(written("kernel", "gemm", 3, "\"stream\": 7")));
  CHECK(passes(label("rank 3")));
  CHECK_FALSE(passes(written("cpu_op", "aten::mm", 1, "\"a\": 1")));
  CHECK_FALSE(passes(written("python_function", "f", 2, "")));
  CHECK_FALSE(passes(flow(4)));
  CHECK_FALSE(passes(flow(4, "ac2g", ", \"bp\": \"e\"")));
  CHECK(rows.pass_texts.empty());
  CHECK_FALSE(passes(flow(4'000'000'000'000, "fwdbwd")));
  CHECK_FALSE(passes(flow(5'000'000'000'000, "fwdbwd", ", \"bp\": \"e\"")));
  CHECK(rows.pass_texts.size() == 2);
  CHECK(rows.cpu_rows == 1);
}

TEST_CASE("events are found one by one where their braces begin lines") {
  const std::string op = written("cpu_op", "aten::mm", 1, "\"a\": 1"), gemm = written("kernel", "gemm", 3, "\"b\": 1");
  const std::string text = op + ",\n" + gemm + ",\n" + op;
  LaidOutEvents events(text);
  REQUIRE(events.laid_out());
  REQUIRE(events.next());
  CHECK(text.substr(events.begin(), events.end() - events.begin()) == op.substr(2));
  REQUIRE(events.next());
  CHECK(text.substr(events.begin(), events.end() - events.begin()) == gemm.substr(2));
  CHECK(events.following() == text.rfind(op) + 2);
  CHECK_FALSE(events.next());
}

TEST_CASE("other layouts are left alone") {
  const auto laid_out = [](const std::string& text) { return LaidOutEvents(text).laid_out(); };
  CHECK_FALSE(laid_out(kernel("a", "1", "1") + ", " + kernel("b", "1", "1")));
  CHECK_FALSE(laid_out("{\r\n    \"ph\": \"X\"\r\n  }"));
  CHECK_FALSE(laid_out("{\n\"ph\": \"X\"\n},\n{\n\"ph\": \"X\"\n},\n{"));
  CHECK_FALSE(laid_out(label("one event") + "\n  ]"));
  CHECK_FALSE(laid_out("], \"pids\": [{\n    \"ph\": \"X\"\n  }"));
  CHECK_FALSE(laid_out(",\n" + label("a comma too many") + ",\n" + label("a") + ",\n" + label("a")));
}

TEST_CASE("with and without the sieve a file reads the same") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    check_same(file_of(events_of(seed, 60)));
  }
}

TEST_CASE("the sieve knows every indentation") {
  const std::string op = written("cpu_op", "aten::mm", 1, "\"a\": 1"), gemm = written("kernel", "gemm", 3, "\"b\": 1");
  for (const size_t blanks : {size_t{0}, size_t{1}, size_t{6}}) {
    CAPTURE(blanks);
    const std::string text = deeper("\n" + op + ",\n" + gemm + ",\n" + op, blanks);
    REQUIRE(LaidOutEvents(text).laid_out());
    check_same(deeper(file_of(events_of(9, 40)), blanks));
  }
}

TEST_CASE("an op that was cut off takes the kernel behind it along only where that is counted") {
  const std::string op = written("cpu_op", "aten::mm", 1, "\"a\": 1"), gemm = written("kernel", "gemm", 3, "\"b\": 1");
  for (size_t size = 5; size < op.size(); size += 9) {
    CAPTURE(size);
    const std::string text = file_of(op + ",\n" + op.substr(0, size) + "\n" + gemm + ",\n" + op + ",\n" + op);
    check_same(text);
    const FileContent content = read_text(text);
    CHECK((content.gpu.size() == 1 || !content.findings.empty()));
  }
}

TEST_CASE("with and without the sieve a cut file reads the same") {
  const std::string text = file_of(events_of(3, 20));
  for (size_t size = 40; size < text.size(); size += 37) {
    CAPTURE(size);
    check_same(text.substr(0, size));
  }
}

TEST_CASE("with and without the sieve text behind the events reads the same") {
  const std::string events = events_of(5, 30), more = events_of(6, 30);
  check_same(file_of(events, ",\n  \"baseTimeNanoseconds\": 1700000000000000000\n}"));
  check_same(file_of(events, ",\n  \"other\": [\n" + more + "\n  ]\n}"));
  check_same(file_of(events, ",\n" + more + "\n  ]\n}"));
  check_same(file_of(events + "\n  ],\n  \"traceEvents\": [\n" + more));
  check_same("[\n" + events + "\n]\n");
}

TEST_CASE("with and without the sieve damage between events reads the same") {
  const std::string a = events_of(7, 20), b = events_of(8, 20);
  for (const char* between :
       {",,\n", "\n", ",\n  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\",\n", "\n  ,\n", ",\n  }\n"}) {
    CAPTURE(between);
    check_same(file_of(a + between + b));
  }
}

TEST_CASE("a finding behind events that were left out tells its place in the file") {
  const std::string op = written("cpu_op", "aten::mm", 1, "\"a\": 1");
  const std::string twice = written("kernel", "gemm", 3, "\"stream\": 7, \"stream\": 8");
  const std::string text = file_of(op + ",\n" + op + ",\n" + twice + ",\n" + op + ",\n" + op);
  for (const bool sieve : {true, false}) {
    const FileContent content = read_text(text, with_sieve(sieve));
    CHECK(count_of(content, "duplicate-key") == 1);
    CHECK(place_of(content, "duplicate-key") == static_cast<int64_t>(text.find("8\n")));
  }
}

TEST_CASE("with and without the sieve a real trace reads the same") {
  const std::string folder = traces_folder();
  if (folder.empty()) {
    WARN("skipped: no traces (SKEWSCOPE_TRACES)");
    return;
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".gz") continue;
    CAPTURE(entry.path());
    for (const size_t bytes : {size_t{5000}, size_t{1} << 20}) {
      CHECK(as_text(read_file(entry.path(), with_sieve(true, bytes))) ==
            as_text(read_file(entry.path(), with_sieve(false, bytes))));
    }
  }
}
