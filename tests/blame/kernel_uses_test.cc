// Which kernels two ranks ran within their spans: what one ran more often costs as many times its mean duration.
#include <catch2/catch.hpp>

#include "src/blame/origin/kernel_uses.h"
#include "tests/job_builder.h"

using namespace skewscope;
using blame::KernelUses;

namespace {

// Rows behind one another, 10 us each and 1 us apart: k = a kernel of that name, C = a collective, M = a copy.
struct TwoRanks : JobBuilder {
  TwoRanks(const std::string& rank0, const std::string& rank1) : JobBuilder(2) {
    run(0, rank0);
    run(1, rank1);
  }
  void run(int32_t rank, const std::string& rows) {
    for (size_t i = 0; i < rows.size(); ++i) {
      const GpuWork work = rows[i] == 'C'   ? GpuWork::communication
                           : rows[i] == 'M' ? GpuWork::memcpy
                                            : GpuWork::compute;
      const double start = 11.0 * static_cast<double>(i);
      gpu_row(rank, work, start, start + 10);
      trace(rank).gpu.name.back() = job.strings.intern(std::string(1, rows[i]));
    }
  }
  // From the start of the first row to just before the start of the last.
  std::array<KernelUses, 2> uses() {
    std::array<blame::KernelSpan, 2> pair;
    for (const int32_t rank : {0, 1}) {
      pair[static_cast<size_t>(rank)] = {TraceIndex(rank), trace(rank).gpu.start.front(), trace(rank).gpu.start.back()};
    }
    return blame::kernel_uses(job, {pair}, alone()).front();
  }
  int64_t surplus_us() {
    const auto [late, peer] = uses();
    return blame::surplus_ns(late, peer) / 1000;
  }
};

}  // namespace

TEST_CASE("a rank that ran a kernel twice more than its peer ran it for two mean durations more") {
  CHECK(TwoRanks("abaaz", "abz").surplus_us() == 20);
  CHECK(TwoRanks("abz", "abaaz").surplus_us() == -20);
  CHECK(TwoRanks("abcz", "abdz").surplus_us() == 0);
  CHECK(TwoRanks("aaaz", "bz").surplus_us() == 20);
}

TEST_CASE("ranks that ran the same differ in nothing, whatever they copied or waited for between") {
  for (const auto& [late, peer] : {std::pair("abcz", "abcz"), {"aCbMcz", "MabcCCz"}, {"abcz", "cabz"}, {"z", "CMz"}}) {
    INFO(late << " " << peer);
    CHECK(TwoRanks(late, peer).surplus_us() == 0);
  }
}

TEST_CASE("kernels are counted only where two ranks did not run the same in the same order") {
  const auto same = TwoRanks("aCbz", "abMz").uses();
  CHECK(same[0].empty());
  CHECK(same[1].empty());
  const auto other = TwoRanks("abaz", "baz").uses();
  REQUIRE(other[0].size() == 2);
  REQUIRE(other[1].size() == 2);
  CHECK(other[0][0].rows == 2);
  CHECK(other[0][0].ns == 20'000);
  CHECK(other[1][0].rows == 1);
}

TEST_CASE("a row at the end of a span is not in it, and a span without rows is empty") {
  CHECK(TwoRanks("abz", "abz").surplus_us() == 0);
  CHECK(TwoRanks("aaz", "aaa").surplus_us() == 0);
  CHECK(TwoRanks("az", "z").surplus_us() == 10);
}
