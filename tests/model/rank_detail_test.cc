#include <catch2/catch.hpp>

#include "skewscope/model/rank_detail.h"

using namespace skewscope;  // NOLINT

namespace {

// Two kernels, the first with its launch, the second a collective.
RankTrace small_trace() {
  RankTrace trace;
  trace.gpu.start = {{10}, {30}};
  trace.gpu.duration_ns = {5, 20};
  trace.gpu.launch = {0, -1};
  trace.calls.resize(1);
  return trace;
}

// One operator with the call that launched the first of two kernels.
RankDetail small_detail() {
  RankDetail detail;
  detail.threads = {{5, 7, "python", "", "main"}};
  detail.host.start = {{0}, {1}};
  detail.host.duration_ns = {9, 2};
  detail.host.name = {StringId(0), StringId(0)};
  detail.host.kind = {HostKind::op, HostKind::call};
  detail.host.thread = {0, 0};
  detail.host.place = {4, 3};
  detail.host.arguments = {0, -1};
  detail.host.sequence = {-1, -1};
  detail.host.forward_thread = {0, 0};
  detail.arguments.resize(1);
  detail.shapes.resize(1);
  detail.gpu.caller = {1, -1};
  detail.gpu.place = {8, 9};
  detail.gpu.shape = {0, -1};
  detail.operations.resize(1);
  detail.gpu.operation = {0, -1};
  detail.gpu.bytes = {-1, -1};
  detail.gpu.gb_per_s = {-1, -1};
  detail.calls.name = detail.calls.dtype = detail.calls.group_name = detail.calls.group_ranks = {StringId()};
  detail.calls.in_split = detail.calls.out_split = {StringId()};
  detail.calls.group_size = {-1};
  detail.gpu_annotations = {{{2}, {3}}, {4, 1}, {StringId(0), StringId(0)}, {0, 0}, {7, 7}};
  return detail;
}

}  // namespace

TEST_CASE("each broken rule of a trace's details is named") {
  const RankTrace trace = small_trace();
  REQUIRE(check_invariants(small_detail(), trace) == "");
  const auto broken = [&](const auto& change) {
    RankDetail detail = small_detail();
    change(detail);
    return check_invariants(detail, trace);
  };
  CHECK(broken([](RankDetail& d) { d.host.kind.pop_back(); }) == "host columns differ in length");
  CHECK(broken([](RankDetail& d) { d.host.duration_ns[1] = -1; }) == "negative host duration at row 1");
  CHECK(broken([](RankDetail& d) { d.host.thread[1] = 1; }) == "thread out of range at row 1");
  CHECK(broken([](RankDetail& d) { d.host.thread[0] = -1; }) == "thread out of range at row 0");
  CHECK(broken([](RankDetail& d) { d.host.arguments[0] = 1; }) == "arguments out of range at row 0");
  CHECK(broken([](RankDetail& d) { d.host.start[0] = {5}; }) ==
        "host rows not sorted by (thread, start, longest first, place) at row 1");
  CHECK(broken([](RankDetail& d) { d.gpu.bytes.pop_back(); }) == "GPU details differ in length from the GPU rows");
  CHECK(broken([](RankDetail& d) { d.gpu.caller[0] = 2; }) == "caller out of range at row 0");
  CHECK(broken([](RankDetail& d) { d.gpu.caller[0] = 0; }) == "caller that is no runtime call at row 0");
  CHECK(broken([](RankDetail& d) { d.gpu.caller[0] = -1; }).empty());  // its tracer made no row of the call
  CHECK(broken([](RankDetail& d) { d.gpu.caller[1] = 1; }) == "caller without launch at row 1");
  CHECK(broken([](RankDetail& d) { d.gpu.shape[1] = 1; }) == "kernel shape out of range at row 1");
  CHECK(broken([](RankDetail& d) { d.calls.in_split.clear(); }) == "details of calls differ in length from the calls");
  CHECK(broken([](RankDetail& d) { d.gpu_annotations.name.pop_back(); }) ==
        "columns of GPU annotations differ in length");
  CHECK(broken([](RankDetail& d) { d.gpu_annotations.start[1] = {1}; }) ==
        "GPU annotations not sorted by start at row 1");
}
