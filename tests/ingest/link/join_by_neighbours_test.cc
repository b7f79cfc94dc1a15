// GPU rows without a correlation, between rows that have one.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "src/ingest/link/link_calls.h"
#include "tests/ingest/content_builder.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

constexpr int64_t kLoneSteps = 4;
constexpr const char* kReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)";

// In each step: a GEMM, an all-reduce on its own stream, an optimizer's kernel. `ids`: of the rows, -1 for absent.
ContentBuilder step_rows(const std::function<int64_t(int64_t)>& id_of) {
  ContentBuilder b;
  for (int64_t k = 0; k < kLoneSteps; ++k) {
    const int64_t at = 1000 * k, first = 3 * k + 1;
    b.step(5 + k, at, 900);
    b.launch(at + 5, first);
    b.kernel("gemm", at + 10, 400, id_of(first));
    b.op("record_param_comms", at + 12, 10).args =
        b.add(b.args("allreduce", "Float", 100 + k, 100 + k, "0", "[0, 1]", 2));
    b.launch(at + 15, first + 1);
    b.kernel(kReduce, at + 410, 200, id_of(first + 1), 20);
    b.launch(at + 25, first + 2);
    b.kernel("adam", at + 620, 100, id_of(first + 2));
  }
  return b;
}

int64_t joined(const LinkedTrace& linked, FindingCode code = "joined-by-neighbours") {
  int64_t n = 0;
  for (const Finding& finding : linked.findings) n += finding.code == code ? finding.count : 0;
  return n;
}

LocalNs launch_of(const LinkedTrace& linked, size_t row) {
  const int32_t launch = linked.trace.gpu.launch[row];
  return launch < 0 ? LocalNs{} : linked.trace.launches.start[static_cast<size_t>(launch)];
}

void check_all_joined(const LinkedTrace& linked) {
  for (size_t i = 0; i < 3 * kLoneSteps; ++i) {
    INFO(i);
    CHECK(launch_of(linked, i) == at_us(1000 * static_cast<int64_t>(i / 3) + (i % 3 == 0 ? 5 : i % 3 == 1 ? 15 : 25)));
  }
  REQUIRE(linked.trace.calls.size() == kLoneSteps);
  for (size_t k = 0; k < kLoneSteps; ++k) {
    CHECK(linked.trace.calls[k].step == 5 + static_cast<int64_t>(k));
    CHECK(linked.trace.calls[k].in_elements == 100 + static_cast<int64_t>(k));
  }
}

}  // namespace

TEST_CASE("a row without correlation is of the launch between those of the rows around it on its stream") {
  for (int64_t lost = 1; lost <= 3 * kLoneSteps; ++lost) {
    INFO(lost);
    const LinkedTrace linked =
        link_calls(std::move(step_rows([&](int64_t id) { return id == lost ? -1 : id; }).content()));
    check_all_joined(linked);
    CHECK(joined(linked) + joined(linked, "joined-by-order") == 1);
  }
}

TEST_CASE("several rows without correlation, one after the other and on two streams, are all joined") {
  // A GEMM with its all-reduce; an optimizer's kernel with the next GEMM; an all-reduce.
  for (const std::vector<int64_t>& lost : {std::vector<int64_t>{4, 5}, {6, 7}, {6, 7, 8}, {5, 11}}) {
    const LinkedTrace linked = link_calls(std::move(
        step_rows([&](int64_t id) { return std::count(lost.begin(), lost.end(), id) > 0 ? -1 : id; }).content()));
    check_all_joined(linked);
  }
}

TEST_CASE("where launches and rows differ in number a row without correlation stays without a launch") {
  ContentBuilder more_launches = step_rows([](int64_t id) { return id == 6 ? -1 : id; });
  more_launches.launch(1030, 100);
  const LinkedTrace linked = link_calls(std::move(more_launches.content()));
  CHECK(linked.trace.gpu.launch[5] == -1);
  CHECK(joined(linked) == 0);

  ContentBuilder more_rows = step_rows([](int64_t id) { return id == 6 ? -1 : id; });
  more_rows.kernel("zero", 1730, 10, -1);
  CHECK(joined(link_calls(std::move(more_rows.content()))) == 0);
}

TEST_CASE("rows with an id whose launch was not recorded are joined to nothing") {
  const LinkedTrace linked = link_calls(std::move(step_rows([](int64_t id) { return id == 6 ? 999 : id; }).content()));
  CHECK(linked.trace.gpu.launch[5] == -1);
  CHECK(joined(linked) == 0);
}
