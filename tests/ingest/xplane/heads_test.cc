// What an agent that passes profiles on learns of them in bounded memory.
#include <catch2/catch.hpp>

#include "made_profile.h"
#include "src/ingest/xplane/xplane_reader.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT
using test::MadeEvent;
using test::MadePlane;
using test::Ref;

namespace {

std::vector<FileContent> heads_of(const std::string& bytes) {
  const TempFile file(bytes);
  return make_xplane_reader(ReaderSettings())->read_heads(file.path()).value();
}

constexpr int64_t kMore = 600'000;  // rows than 32 MiB hold

}  // namespace

TEST_CASE("the head of a profile says its ranks, however many rows it has") {
  MadePlane gpu("/device:GPU:1"), host("/host:CPU");
  gpu.line_of_many(1, "Stream #1(Compute)", {"gemm", 100'000, 5'000, {}, {}}, kMore);
  const MadeEvent clique{"AcquireGpuClique",
                         0,
                         1,
                         {{"device", int64_t{1}}, {"rank", int64_t{2}}, {"clique_key", Ref{"devices=4:[0,1,5,7]; x"}}},
                         {}};
  host.line(1, "python3", 0, {clique});
  host.line_of_many(2, "python3", {"launch", 100'000, 5'000, {{"correlation_id", int64_t{1}}}, {}}, kMore);
  const std::vector<FileContent> heads = heads_of(test::profile_of({gpu, host}, "node7"));
  REQUIRE(heads.size() == 1);
  CHECK(heads.front().distributed.rank == 5);
  CHECK(heads.front().distributed.world_size == 4);
  CHECK(heads.front().host_name == "node7");
}

TEST_CASE("so does that of a TPU, by the number in its plane") {
  MadePlane tpu("/device:TPU:0");
  tpu.stat("core_details", test::Bytes{std::string("\x30\x06", 2)});  // global_core_id 6
  tpu.line_of_many(3, "XLA Ops", {"%fusion.3 = f32[4]{0} fusion(f32[4]{0} %x)", 100'000, 5'000, {}, {}}, kMore);
  const std::vector<FileContent> heads = heads_of(test::profile_of({tpu}));
  REQUIRE(heads.size() == 1);
  CHECK(heads.front().distributed.rank == 6);
}
