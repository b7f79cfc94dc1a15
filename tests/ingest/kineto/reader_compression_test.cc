#include <catch2/catch.hpp>

#include "src/ingest/text/byte_source.h"
#include "tests/ingest/reader_support.h"

using namespace skewscope;
using namespace skewscope::ingest;

namespace {

// Large enough for several blocks; varied enough not to compress into nothing.
std::string some_trace(int kernels) {
  std::string events;
  for (int i = 0; i < kernels; i++) {
    const std::string name = fmt::format("kernel_{}", (i * 7919) % 1000);
    events += (i ? ",\n" : "") + kernel(name, fmt::format("{}.{:03}", 1000 + i * 3, (i * 31) % 1000), "1.5",
                                        fmt::format("\"correlation\": {}", int64_t{i} * 104729 % 65536));
  }
  return trace_of(events);
}

std::string without_findings(const std::string& bytes) {
  FileContent content = read_any(bytes);
  content.findings.clear();
  return as_text(content);
}

}  // namespace

TEST_CASE("how much of a file was read is known while it is read, compressed or not") {
  const std::string text = some_trace(30'000);
  for (const std::string& bytes : {text, gzipped(text), zstd_compressed(text)}) {
    const TempFile file(bytes);
    const auto source = open_byte_source(file.path());
    REQUIRE(source.ok());
    CAPTURE(source.value()->compression());
    std::string block(text.size() / 4, '\0');
    REQUIRE(source.value()->read(block.data(), block.size()) == block.size());
    CHECK(source.value()->share_read() > 0.2);
    if (bytes.size() > 1'000'000) CHECK(source.value()->share_read() < 0.9);  // read in blocks of 256 KiB
    block.resize(text.size());
    source.value()->read(block.data(), block.size());
    CHECK(source.value()->share_read() == 1);
  }
}

TEST_CASE("gzip and zstd are told by their first bytes and say the same as plain text") {
  const std::string text = some_trace(3000);
  const FileContent plain = read_any(text), gzip = read_any(gzipped(text)), zstd = read_any(zstd_compressed(text));
  CHECK(plain.gpu.size() == 3000);
  CHECK(plain.compression.empty());
  CHECK(gzip.compression == "gzip");
  CHECK(zstd.compression == "zstd");
  CHECK(as_text(gzip) == as_text(plain));
  CHECK(as_text(zstd) == as_text(plain));
  CHECK(plain.findings.empty());
}

TEST_CASE("a gzip file of several streams is one text") {
  const std::string text = some_trace(3000);
  const size_t a = text.size() / 3, b = text.size() / 2;
  const std::string parts = gzipped(text.substr(0, a)) + gzipped(text.substr(a, b - a)) + gzipped(text.substr(b));
  CHECK(as_text(read_any(parts)) == as_text(read_any(text)));
  CHECK(as_text(read_any(parts + std::string(512, '\0'))) == as_text(read_any(text)));
}

TEST_CASE("a cut gzip file keeps its complete events") {
  const std::string text = some_trace(3000), compressed = gzipped(text);
  const FileContent content = read_any(compressed.substr(0, compressed.size() / 2));
  CHECK(content.gpu.size() > 1000);
  CHECK(content.gpu.size() < 2000);
  CHECK(count_of(content, "truncated-file") == 1);
}

TEST_CASE("a gzip file without its trailer loses nothing") {
  const std::string text = some_trace(3000), compressed = gzipped(text);
  const std::string cut = compressed.substr(0, compressed.size() - 8);
  const FileContent content = read_any(cut);
  CHECK(without_findings(cut) == as_text(read_any(text)));
  CHECK(count_of(content, "gzip-without-trailer") == 1);
  CHECK(content.findings.size() == 1);
}

TEST_CASE("a cut zstd file keeps its complete events") {
  const std::string text = some_trace(30000), compressed = zstd_compressed(text);
  const FileContent content = read_any(compressed.substr(0, compressed.size() - 100));
  CHECK(content.gpu.size() > 10000);
  CHECK(count_of(content, "truncated-file") == 1);
}

TEST_CASE("a damaged gzip file keeps what stands before the damage") {
  std::string compressed = gzipped(some_trace(3000));
  for (size_t i = compressed.size() / 2; i < compressed.size() / 2 + 64; i++) compressed[i] = '\xff';
  const FileContent content = read_any(compressed);
  CHECK(content.gpu.size() > 100);
  CHECK(count_of(content, "damaged-compression") + count_of(content, "truncated-file") > 0);
}

TEST_CASE("bytes behind the last gzip stream are ignored and counted") {
  const std::string text = some_trace(10);
  const FileContent content = read_any(gzipped(text) + "trailing");
  CHECK(content.gpu.size() == 10);
  CHECK(count_of(content, "trailing-bytes") == 1);
}

TEST_CASE("an empty gzip file and an empty file are empty, with a finding") {
  for (const std::string& bytes : {gzipped(""), std::string(), std::string("\x1f\x8b")}) {
    const FileContent content = read_any(bytes);
    CHECK(content.kind == ContentKind::empty);
    CHECK(count_of(content, "empty-file") == 1);
  }
}

TEST_CASE("a file that cannot be opened is no trace, with the reason") {
  MemoryBudget budget(0);
  const FileContent missing = std::move(TraceReaders().read("/nonexistent/trace.json", budget).value().front());
  CHECK(missing.kind == ContentKind::not_a_trace);
  CHECK(count_of(missing, "unreadable-file") == 1);
  const FileContent folder = std::move(TraceReaders().read("/", budget).value().front());
  CHECK(count_of(folder, "unreadable-file") == 1);
}
