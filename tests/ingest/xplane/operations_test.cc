// What the details of a profile say of the operations that its rows are of.
#include <catch2/catch.hpp>
#include <map>

#include "made_profile.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT
using test::MadeEvent;
using test::MadeInstruction;
using test::MadePlane;
using test::Ref;

namespace {

MadeInstruction made(const std::string& name, const std::string& opcode, int64_t id, const std::vector<int64_t>& size,
                     const std::vector<int64_t>& operands) {
  MadeInstruction instruction;
  instruction.name = name;
  instruction.opcode = opcode;
  instruction.id = id;
  instruction.dimensions = size;
  instruction.operands = operands;
  return instruction;
}

MadeEvent kernel(const std::string& op, int64_t start_ns) {
  return {"kernel of " + op,
          start_ns * 1000,
          50'000,
          {{"hlo_op", Ref{op}}, {"hlo_module", Ref{"jit_step"}}, {"program_id", int64_t{7}}},
          {}};
}

}  // namespace

TEST_CASE("an operation of a GPU has its category and the bytes of its operands from the program") {
  MadeInstruction fusion = made("fusion.3", "fusion", 3, {8, 4}, {1, 2});
  fusion.fusion_kind = "kLoop";
  MadePlane metadata("/host:metadata"), gpu("/device:GPU:0");
  metadata.program(7, "jit_step",
                   test::hlo_of("jit_step",
                                {{made("x", "parameter", 1, {8, 4}, {}), made("y", "parameter", 2, {4}, {}), fusion,
                                  made("dot.4", "dot", 4, {8, 8}, {3, 99})}},
                                {0}));
  gpu.line(1, "Stream #1(Compute)", 0, {kernel("fusion.3", 10), kernel("dot.4", 100), kernel("gone.1", 200)});
  gpu.line(2, "Stream #2(MemcpyD2H)", 0, {{"MemcpyD2H", 300'000, 5'000, {}, {}}});
  const FileContent content = std::move(test::read_profile(test::profile_of({metadata, gpu}), true).front());
  std::map<std::string, DeviceOperation> operations;
  int without = 0;
  for (const GpuDetailRow& row : content.details->gpu) {
    if (row.operation < 0) {
      ++without;
      continue;
    }
    const DeviceOperation& of = content.details->operations.at(static_cast<size_t>(row.operation));
    operations[std::string(content.strings.view(of.name))] = of;
  }
  CHECK(without == 1);  // the copy
  REQUIRE(operations.size() == 3);
  const DeviceOperation& loop = operations["fusion.3"];
  CHECK(content.strings.view(loop.category) == "loop fusion");
  CHECK(content.strings.view(loop.module) == "jit_step");
  CHECK(content.strings.view(loop.program) == "7");
  CHECK(loop.input_bytes == 4 * (8 * 4 + 4));  // f32
  CHECK(loop.flops == -1);
  CHECK(content.strings.view(operations["dot.4"].category) == "dot");
  CHECK(operations["dot.4"].input_bytes == -1);  // nothing has the id 99
  CHECK_FALSE(operations["gone.1"].category.known());
}

TEST_CASE("an operation of a TPU has the work that XLA wrote with its name") {
  MadePlane tpu("/device:TPU:0");
  tpu.line(3, "XLA Ops", 0,
           {{"%fusion.3 = f32[4]{0} fusion(f32[4]{0} %x), kind=kLoop",
             10'000,
             5'000,
             {},
             {{"hlo_category", std::string("loop fusion")},
              {"program_id", int64_t{-2}},
              {"flops", int64_t{12}},
              {"bytes_accessed", int64_t{-34}}}}});
  const FileContent content = std::move(test::read_profile(test::profile_of({tpu}), true).front());
  REQUIRE(content.details->operations.size() == 1);
  const DeviceOperation& of = content.details->operations.front();
  CHECK(content.details->gpu.front().operation == 0);
  CHECK(content.strings.view(of.category) == "loop fusion");
  CHECK(content.strings.view(of.program) == "18446744073709551614");  // without a sign
  CHECK(of.flops == 12);
  CHECK(of.bytes == -1);  // no size
}
