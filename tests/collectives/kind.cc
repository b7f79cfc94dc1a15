#include "collectives/kind.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <string>

using namespace skewscope;

TEST_CASE("each kind up to send_recv has a name that means it, and no number behind it is a kind") {
  for (int number = 0; number <= 255; ++number) {
    const auto kind = static_cast<CollectiveKind>(number);
    INFO(number);
    REQUIRE(is_valid(kind) == (kind <= CollectiveKind::send_recv));
    if (is_valid(kind)) REQUIRE(kind_called(to_string(kind)) == kind);
  }
  REQUIRE_FALSE(kind_called("allreduce"));
}

TEST_CASE("the schema of reports knows the name of every kind") {
  std::ifstream file(SKEWSCOPE_SOURCE_DIR "/configs/report.schema.json");
  const std::string schema{std::istreambuf_iterator<char>(file), {}};
  for (uint8_t number = 0; is_valid(static_cast<CollectiveKind>(number)); ++number) {
    const std::string name = to_string(static_cast<CollectiveKind>(number));
    INFO(name);
    REQUIRE(schema.find('"' + name + '"') != std::string::npos);
  }
}

TEST_CASE("every spelling of an operation means its kind") {
  const std::pair<const char*, CollectiveKind> table[] = {
      {"allreduce", CollectiveKind::all_reduce},
      {"all_reduce", CollectiveKind::all_reduce},
      {"allreduce_coalesced", CollectiveKind::all_reduce},
      {"_allgather_base", CollectiveKind::all_gather},
      {"_all_gather_base", CollectiveKind::all_gather},
      {"all_gather_into_tensor_coalesced", CollectiveKind::all_gather},
      {"_reduce_scatter_base", CollectiveKind::reduce_scatter},
      {"reduce_scatter_tensor_coalesced", CollectiveKind::reduce_scatter},
      {"all_to_all", CollectiveKind::all_to_all},
      {"alltoall_base", CollectiveKind::all_to_all},
      {"all_to_allv", CollectiveKind::all_to_all},
      {"broadcast", CollectiveKind::broadcast},
      {"_broadcast_oop", CollectiveKind::broadcast},
      {"_reduce_oop", CollectiveKind::reduce},
      {"gather", CollectiveKind::gather},
      {"scatter", CollectiveKind::scatter},
      {"barrier", CollectiveKind::barrier},
      {"send 0->1", CollectiveKind::send},
      {"recv 1<-0", CollectiveKind::recv},
      {"recvAnySource", CollectiveKind::recv},
      {"sparse_all_reduce", CollectiveKind::all_reduce},
      {"coalesced", CollectiveKind::coalesced},
      {"all_gather_v", CollectiveKind::all_gather},  // torchcomms, from here on
      {"all_gather_single", CollectiveKind::all_gather},
      {"reduce_scatter_v", CollectiveKind::reduce_scatter},
      {"reduce_scatter_single", CollectiveKind::reduce_scatter},
      {"all_to_all_v_single", CollectiveKind::all_to_all},
  };
  for (const auto& [name, kind] : table) {
    INFO(name);
    REQUIRE(kind_from_operation_name(name) == kind);
  }
}

TEST_CASE("wait and init are no operations") {
  REQUIRE_FALSE(kind_from_operation_name("wait"));
  REQUIRE_FALSE(kind_from_operation_name("init"));
  REQUIRE_FALSE(kind_from_operation_name("reconfigure"));
  REQUIRE_FALSE(kind_from_operation_name(""));
  REQUIRE_FALSE(kind_from_annotation("ProfilerStep#3"));
  REQUIRE_FALSE(kind_from_annotation("all_reduce"));
}

TEST_CASE("an operation whose name nobody taught us is one of unknown kind, a range of such a name none") {
  REQUIRE(kind_from_operation_name("alltoallv_dedup_exec") == CollectiveKind::unknown);
  REQUIRE_FALSE(kind_from_annotation("nccl:alltoallv_dedup_exec"));
}

TEST_CASE("an annotation tells the operation behind its backend's prefix") {
  REQUIRE(kind_from_annotation("nccl:_all_gather_base") == CollectiveKind::all_gather);
  REQUIRE(kind_from_annotation("gloo:all_reduce") == CollectiveKind::all_reduce);
  REQUIRE(kind_from_annotation("nccl:send 0->1") == CollectiveKind::send);
  for (const char* range : {"xccl:all_reduce", "hccl:all_reduce", "mccl:all_reduce", "cncl:all_reduce"}) {
    REQUIRE(kind_from_annotation(range) == CollectiveKind::all_reduce);
  }
}

TEST_CASE("element types are known by c10 and C++ names, and an unknown type has no size") {
  const std::tuple<const char*, DType, int64_t> table[] = {
      {"Float", DType::float32, 4},          {"float", DType::float32, 4},      {"c10::BFloat16", DType::bfloat16, 2},
      {"c10::Half", DType::float16, 2},      {"long int", DType::int64, 8},     {"Long", DType::int64, 8},
      {"unsigned char", DType::uint8, 1},    {"Byte", DType::uint8, 1},         {"Float8_e4m3fn", DType::float8, 1},
      {"ComplexFloat", DType::complex64, 8}, {"NoSuchType", DType::unknown, 0},
  };
  for (const auto& [name, type, bytes] : table) {
    INFO(name);
    REQUIRE(dtype_from_name(name) == type);
    REQUIRE(element_bytes(type) == bytes);
  }
}
