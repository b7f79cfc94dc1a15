#include "src/ingest/ascend/hccl_name.h"

#include <catch2/catch.hpp>

#include "collectives/kind.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

TEST_CASE("the name of a call tells its operation, its place in its group, and the group") {
  const HcclName name = read_hccl_name("hcom_allReduce__612_4_1@5862276093215481612");
  CHECK(name.operation == "hcom_allReduce_");
  CHECK(name.call == "hcom_allReduce__612_4_1");
  CHECK(name.group == "5862276093215481612");
  CHECK(name.group_digits == "612");
  CHECK(name.sequence == 4);
}

TEST_CASE("a name without numbers is an operation of no place and no group") {
  for (const char* text : {"hcom_allReduce_", "hcom_allReduce__612", "", "@", "hcom_allReduce__612_x_1"}) {
    INFO(text);
    CHECK(read_hccl_name(text).sequence == -1);
  }
  CHECK(read_hccl_name("hcom_allReduce__612_99999999999999999999_1").sequence == -1);
}

TEST_CASE("each operation of HCCL is one that PyTorch has") {
  const auto kind = [](const char* name) { return kind_from_operation_name(collective_name_of(name)); };
  CHECK(kind("hcom_allReduce_") == CollectiveKind::all_reduce);
  CHECK(kind("hcom_allGather_") == CollectiveKind::all_gather);
  CHECK(kind("hcom_reduceScatter_") == CollectiveKind::reduce_scatter);
  CHECK(kind("hcom_broadcast_") == CollectiveKind::broadcast);
  CHECK(kind("hcom_alltoallv_") == CollectiveKind::all_to_all);
  CHECK(kind("hcom_alltoall_") == CollectiveKind::all_to_all);
  CHECK(kind("hcom_batchSendRecv_") == CollectiveKind::coalesced);
  CHECK(kind("hcom_send_") == CollectiveKind::send);
  CHECK(kind("hcom_receive_") == CollectiveKind::recv);
  CHECK(collective_name_of("hcom_somethingNew_").empty());
}

TEST_CASE("types of HCCL are types of PyTorch") {
  CHECK(dtype_from_name(dtype_of_hccl("FP32")) == DType::float32);
  CHECK(dtype_from_name(dtype_of_hccl("BFP16")) == DType::bfloat16);
  CHECK(dtype_from_name(dtype_of_hccl("INT64")) == DType::int64);
  CHECK(dtype_of_hccl("N/A").empty());
}

// Pairs of name and number as msprof-analyze lists them for a job of four ranks, and as one profile tells both ways.
TEST_CASE("the number of a group is made of its name") {
  CHECK(hash_of_group("group_name_0") == "5862276093215481612");
  CHECK(hash_of_group("group_name_5") == "5862276114690318097");
  CHECK(hash_of_group("group_name_13") == "3985310379703952346");
  CHECK(hash_of_group("90.91.105.46%enp189s0f0_60000_0_1736410538306028") == "17148521525495523210");
}
