// Operations of compiled programs: a small case worked out by hand, and real profiles of JAX against what TraceLens
// says of them.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <map>

#include "../real_trace_folder.h"
#include "detail_builder.h"
#include "python_csv.h"
#include "skewscope/ingest.h"
#include "skewscope/summarize.h"

using namespace skewscope;
using skewscope::test::formats;

namespace {

RankTables tables_of_part(const std::string& part) {
  RankTables tables;
  IngestOptions options;
  options.while_details_last = [&](const TraceFile& read) {
    tables = tabulate_trace(read.linked.trace, read.linked.strings, &*read.linked.detail);
  };
  StageTimer timer;
  REQUIRE(ingest_job({part}, options, timer).ok());
  REQUIRE(check_invariants(tables).empty());
  return tables;
}

template <class Row, class Text>
const Row& row_called(const std::vector<Row>& rows, Text Row::*member, const std::string& name) {
  for (const Row& row : rows) {
    if (row.*member == name) return row;
  }
  FAIL("no row " << name);
  return rows.front();
}

const HloOperationRow& operation(const RankTables& tables, const std::string& name) {
  return row_called(tables.hlo_operations, &HloOperationRow::name, name);
}
const HloCategoryRow& category(const RankTables& tables, const std::string& name) {
  return row_called(tables.hlo_categories, &HloCategoryRow::category, name);
}

// Two executions of a convolution of two kernels, three of a fusion, and a copy of no operation. In microseconds.
RankTables hand_made() {
  test::DetailBuilder made;
  const auto operation = [&](const char* name, const char* of, int64_t flops, int64_t bytes) {
    DeviceOperation row;
    row.name = made.strings.intern(name);
    row.module = made.strings.intern("jit_step");
    row.program = made.strings.intern("7");
    row.category = made.strings.intern(of);
    row.flops = flops;
    row.bytes = bytes;
    made.detail.operations.push_back(row);
  };
  operation("conv.1", "convolution", -1, 4000);
  operation("fusion.3", "loop fusion", 600, 30000);
  made.gpu(-1, "rearrange", 0, 1);
  made.gpu(-1, "gemm", 1, 5);
  made.gpu(-1, "fusion_3", 10, 12);
  made.gpu(-1, "rearrange", 20, 21);
  made.gpu(-1, "gemm", 21, 26);
  made.gpu(-1, "fusion_3", 30, 31);
  made.gpu(-1, "fusion_3", 40, 43);
  made.gpu(-1, "Memcpy DtoH", 50, 53, GpuWork::memcpy);
  made.finish();
  made.detail.gpu.operation = {0, 0, 1, 0, 0, 1, 1, -1};
  return tabulate_trace(made.trace, made.strings, &made.detail);
}

}  // namespace

TEST_CASE("an operation's executions are the rows of that of its kernels that ran most, its time is that of all") {
  const RankTables tables = hand_made();
  REQUIRE(tables.hlo_operations.size() == 2);
  const HloOperationRow& conv = tables.hlo_operations[0];
  CHECK(conv.name == "conv.1");
  CHECK(conv.module == "jit_step");
  CHECK(conv.program == "7");
  CHECK(conv.executions == 2);
  CHECK(conv.gpu_rows == 4);
  CHECK(conv.total_ns == 11'000);
  CHECK(conv.shortest_ns == 1'000);
  CHECK(conv.longest_ns == 5'000);
  CHECK(conv.share == Approx(11.0 / 20));
  CHECK(conv.flops == -1);
  CHECK(tables.hlo_operations[1].executions == 3);
  CHECK(tables.hlo_operations[1].total_ns == 6'000);
  CHECK(tables.hlo_operations[1].cumulative_share == Approx(17.0 / 20));
}

TEST_CASE("a category sums its operations' executions, and what it does not know of one it does not know of all") {
  const RankTables tables = hand_made();
  REQUIRE(tables.hlo_categories.size() == 3);
  CHECK(category(tables, "convolution").flops == -1);
  CHECK(category(tables, "convolution").bytes == 2 * 4000);
  CHECK(category(tables, "loop fusion").flops == 3 * 600);
  CHECK(category(tables, "loop fusion").bytes == 3 * 30000);
  const HloCategoryRow& rest = category(tables, "");  // the copy
  CHECK(rest.operations == 0);
  CHECK(rest.gpu_rows == 1);
  CHECK(rest.total_ns == 3'000);
  CHECK(rest.flops == -1);
}

TEST_CASE("sums of work that no number holds are not known, and overflow nothing") {
  test::DetailBuilder made;
  DeviceOperation row;
  row.name = row.category = made.strings.intern("fusion");
  row.flops = INT64_MAX / 2;
  row.bytes = INT64_MAX;
  made.detail.operations = {row};
  for (int i = 0; i < 3; ++i) made.gpu(-1, "fusion", 10 * i, 10 * i + 1);
  made.finish();
  made.detail.gpu.operation = {0, 0, 0};
  const RankTables tables = tabulate_trace(made.trace, made.strings, &made.detail);
  CHECK(tables.hlo_categories.front().flops == -1);
  CHECK(tables.hlo_categories.front().bytes == -1);
}

TEST_CASE("a trace whose rows are of no operation has no tables of operations") {
  test::DetailBuilder made;
  made.gpu(-1, "gemm", 0, 1);
  made.finish();
  const RankTables tables = tabulate_trace(made.trace, made.strings, &made.detail);
  CHECK(tables.hlo_operations.empty());
  CHECK(tables.hlo_categories.empty());
}

// What of its tables is otherwise, and why it is theirs:
// - xla_summary.csv calls an operation by its kernel without the digits at its end: "input_transpose_fusion_" is
//   input_transpose_fusion.1 of the program.
// - Its categories are its own: "Uncategorized Events/XLA" are the fusions, "Conv" is the call of cuDNN.
// - op_conv.csv counts the work of the convolution by a model of its own, once for each of its two kernels: 2 x the
//   output's 286,013,440 elements x the filter's 1 x 2 x 2, without the 16 input channels, so a sixteenth of what it
//   is; and the rearrangement alone would move 35.7 TB/s, seven times what the device can. The profile itself tells no
//   work, so these are null here.
TEST_CASE("operations of a GPU take what TraceLens says of the same profile, and their operands have its sizes") {
  const std::string file = formats("jax_xplane/mi300_8gpu_conv_legacy.xplane.pb");
  const std::string reference = formats("jax_xplane/tracelens_reference");
  if (file.empty() || reference.empty()) return;
  const RankTables tables = tables_of_part(file + "#gpu7");
  const std::map<std::string, std::string> called = {{"loop_transpose_fusion", "loop_transpose_fusion"},
                                                     {"input_transpose_fusion", "input_transpose_fusion"},
                                                     {"input_transpose_fusion_", "input_transpose_fusion.1"},
                                                     {"input_transpose_fusion_1", "input_transpose_fusion.1"}};
  const auto ns = [](const std::string& text, double unit) { return std::llround(std::stod(text) * unit); };
  const std::vector<test::CsvRow> summary = test::read_csv(reference + "/xla_summary.csv");
  REQUIRE(summary.size() == 3);
  for (const test::CsvRow& row : summary) {
    const HloOperationRow& own = operation(tables, called.at(row.at("name")));
    CHECK(std::llabs(own.total_ns - ns(row.at("total_direct_kernel_time_sum"), 1e3)) <= 5);  // 1 ns a row
    CHECK(own.executions == std::stoll(row.at("Count")));
  }
  const std::vector<test::CsvRow> single = test::read_csv(reference + "/df_xla_perf.csv");
  REQUIRE(single.size() == 15);
  for (const test::CsvRow& row : single) {
    CHECK(operation(tables, called.at(row.at("name"))).input_bytes == std::stoll(row.at("total_input_bytes")));
  }
  const HloOperationRow& conv = operation(tables, "cudnn-conv.1.0");
  CHECK(conv.category == "custom-call __cudnn$convForward");
  CHECK(conv.executions == 5);
  CHECK(conv.gpu_rows == 10);  // Im3d2Col and Cijk_...
  CHECK(conv.module == "jit_forward_3d_conv");
  CHECK(conv.input_bytes == 2 * (16 * 32 * 60 * 104 + 5120 * 16 * 1 * 2 * 2));  // bf16
  CHECK(conv.flops == -1);
  int64_t fusions_ns = 0, fusion_rows = 0, conv_ns = 0, conv_rows = 0;
  for (const HloCategoryRow& row : tables.hlo_categories) {
    (row.category.ends_with(" fusion") ? fusions_ns : conv_ns) += row.total_ns;
    (row.category.ends_with(" fusion") ? fusion_rows : conv_rows) += row.gpu_rows;
  }
  const std::vector<test::CsvRow> by_category = test::read_csv(reference + "/kernel_launchers_summary_by_category.csv");
  REQUIRE(by_category.size() == 2);
  for (const test::CsvRow& row : by_category) {
    const bool of_xla = row.at("op category") == "Uncategorized Events/XLA";
    CHECK(std::llabs((of_xla ? fusions_ns : conv_ns) - ns(row.at("total_direct_kernel_time_ms"), 1e6)) <= 15);
    CHECK((of_xla ? fusion_rows : conv_rows) == std::stoll(row.at("Count")));
  }
}

// Of the file itself, read with protoc: 300 executions of three fusions, each of 1,342,177,280 FLOPs and 10,737,418,240
// bytes, three all-reduces of the same, a broadcast, and 600 transfers that move 5,368,709,120 bytes.
TEST_CASE("operations of a TPU have the work that XLA says, and start and done are one execution") {
  const std::string file = formats("jax_xplane/tpu_v6e_4chips.xplane.pb");
  if (file.empty()) return;
  const RankTables tables = tables_of_part(file + "#tpu0");
  const HloCategoryRow& fusions = category(tables, "loop fusion");
  CHECK(fusions.executions == 300);
  CHECK(fusions.flops == 300 * int64_t{1'342'177'280});
  CHECK(fusions.bytes == 300 * int64_t{10'737'418'240});
  const HloOperationRow& sum = operation(tables, "all-reduce");
  CHECK(sum.category == "all-reduce");
  CHECK(sum.executions == 3);
  CHECK(sum.bytes == 10'737'418'240);
  CHECK(std::llabs(sum.total_ns - 365'076'256) <= 3);  // expected.json
  CHECK(sum.program == "9646411105960254074");
  const HloCategoryRow& copies = category(tables, "copy-start");
  CHECK(copies.executions == 600);
  CHECK(copies.flops == 0);
  CHECK(copies.bytes == 600 * int64_t{5'368'709'120});
  CHECK(category(tables, "broadcast").executions == 1);
}
