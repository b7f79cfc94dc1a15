// What tables take is measured here by counting every allocation of this program.
#include <malloc.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <new>

#include "../real_trace_folder.h"
#include "detail_builder.h"
#include "skewscope/summarize.h"
#include "visit_trace.h"

namespace {

std::atomic<int64_t> held{0}, most_held{0};

void* counted_or_null(size_t bytes) {
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) return nullptr;
  const int64_t now = held += static_cast<int64_t>(malloc_usable_size(memory));
  int64_t most = most_held;
  while (now > most && !most_held.compare_exchange_weak(most, now)) {
  }
  return memory;
}

void* counted(size_t bytes) {
  void* const memory = counted_or_null(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void uncounted(void* memory) {
  if (memory != nullptr) held -= static_cast<int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

void* operator new(size_t bytes) { return counted(bytes); }
void* operator new[](size_t bytes) { return counted(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return counted_or_null(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return counted_or_null(bytes); }
void operator delete(void* memory) noexcept { uncounted(memory); }
void operator delete[](void* memory) noexcept { uncounted(memory); }
void operator delete(void* memory, size_t) noexcept { uncounted(memory); }
void operator delete[](void* memory, size_t) noexcept { uncounted(memory); }

using namespace skewscope;  // NOLINT

namespace {

int64_t bytes_taken(const RankTrace& trace, const RankDetail& detail, const StringTable& strings) {
  const int64_t before = held;
  most_held = before;
  const RankTables tables = tabulate_trace(trace, strings, &detail);
  const OperatorTables operators = tabulate_operators(trace, detail, strings);
  return most_held - before;
}

}  // namespace

TEST_CASE("tables of real traces take no more memory than is said before") {
  if (test::traces("").empty()) return;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::traces(""))) {
    if (entry.path().extension() != ".gz") continue;
    test::visit_trace(entry.path().string(), [](const TraceFile& file) {
      const LinkedTrace& linked = file.linked;
      const int64_t taken = bytes_taken(linked.trace, *linked.detail, linked.strings);
      const int64_t said = bytes_to_tabulate(linked.trace, *linked.detail, linked.strings);
      INFO(linked.detail->host.size() << " host rows, " << linked.trace.gpu.size() << " GPU rows");
      CHECK(taken <= said);
      CHECK(said < 4 * taken + (8 << 20));  // and is no fantasy
    });
  }
}

TEST_CASE("tables of a trace in which every name and every argument is another one take no more than is said") {
  test::DetailBuilder b;
  for (int i = 0; i < 20000; ++i) {
    const int32_t op = b.op("op " + std::to_string(i), 10 * i, 10 * i + 9);
    b.arguments(op, "[[" + std::to_string(i) + ", 16], [16, 4]]", R"(["float", "float"])");
    b.gpu(b.call("cudaLaunchKernel", 10 * i + 1, 10 * i + 2), "kernel " + std::to_string(i), 10 * i + 5, 10 * i + 6);
  }
  b.finish();
  const int64_t taken = bytes_taken(b.trace, b.detail, b.strings);
  const int64_t said = bytes_to_tabulate(b.trace, b.detail, b.strings);
  CHECK(taken <= said);
}

TEST_CASE("what only tables need that are not asked for is not built") {
  test::DetailBuilder b;
  for (int i = 0; i < 20000; ++i) {
    b.python("nn.Module: " + std::to_string(i % 9), 10 * i, 10 * i + 9);
    b.op("aten::mm", 10 * i + 1, 10 * i + 8);
    b.gpu(b.call("cudaLaunchKernel", 10 * i + 2, 10 * i + 3), "gemm", 10 * i + 5, 10 * i + 6);
  }
  b.finish();
  const auto taken = [&](const OperatorOptions& options) {
    const int64_t before = held;
    most_held = before;
    const OperatorTables tables = tabulate_operators(b.trace, b.detail, b.strings, options);
    return most_held - before;
  };
  const OperatorOptions none{false, false, false, false, false, false, false, false};
  OperatorOptions modules = none, annotations = none;
  modules.modules = true;
  annotations.annotations = true;
  const auto host_rows = static_cast<int64_t>(b.detail.host.size());
  CHECK(taken(none) < 4096);                   // no call tree
  CHECK(taken(annotations) < 16 * host_rows);  // it and launchers; no ranges, there are none
  CHECK(taken(modules) < taken(OperatorOptions()));
  CHECK(taken(modules) > 4 * host_rows);
}

TEST_CASE("tables of a trace of host rows only take no more than is said") {
  test::DetailBuilder b;
  for (int i = 0; i < 100000; ++i) b.python("nn.Module: " + std::to_string(i % 9), 10 * i, 10 * i + 9);
  b.finish();
  const int64_t taken = bytes_taken(b.trace, b.detail, b.strings);
  const int64_t said = bytes_to_tabulate(b.trace, b.detail, b.strings);
  CHECK(taken <= said);
}
