// Which traces are compared, over all sessions, and which of them a job is told by.
#include "skewscope/model/clock_components.h"

#include <catch2/catch.hpp>

using namespace skewscope;

namespace {

// Traces of ranks on clocks, by session; each from 0 to its length.
struct JobOnClocks {
  JobTrace job;
  ClockModel clocks;

  void add(int32_t rank, int32_t session, int32_t component, int64_t length_ns) {
    RankTrace trace;
    trace.rank = Rank(rank);
    trace.session = SessionId(session);
    trace.first_event = LocalNs{0};
    trace.last_event = LocalNs{length_ns};
    job.traces.push_back(std::move(trace));
    clocks.clocks.emplace_back().component = component;
  }
  std::vector<std::vector<int32_t>> islands() const {
    std::vector<std::vector<int32_t>> ranks;
    for (const ClockIsland& island : islands_of(job, clocks)) {
      ranks.emplace_back();
      for (const TraceIndex trace : island.traces) ranks.back().push_back(job[trace].rank.value);
    }
    return ranks;
  }
};

using Ranks = std::vector<std::vector<int32_t>>;

}  // namespace

TEST_CASE("in one session islands are components, the longest first") {
  JobOnClocks job;
  job.add(0, 0, 0, 100);
  job.add(1, 0, 0, 90);
  job.add(2, 0, 2, 300);
  job.add(3, 0, 2, 200);
  CHECK(job.islands() == Ranks{{2, 3}, {0, 1}});
  CHECK(islands_of(job.job, job.clocks)[0].window_ns == 300);
  CHECK(most_components(job.job, job.clocks) == 2);
}

TEST_CASE("a trace that nothing ties stands behind those that are compared, however long it is") {
  JobOnClocks job;
  job.add(0, 0, -1, 1000);
  job.add(1, 0, 1, 100);
  job.add(2, 0, 1, 100);
  CHECK(job.islands() == Ranks{{1, 2}, {0}});
  CHECK(in_longest_component(job.job, job.clocks) == std::vector<bool>{false, true, true});
}

TEST_CASE("ranks that one session compares are one island in all sessions, whose lengths add up") {
  JobOnClocks job;
  job.add(0, 0, 0, 100);
  job.add(1, 0, 0, 100);
  job.add(2, 0, -1, 70);
  job.add(1, 1, 3, 50);
  job.add(2, 1, 3, 40);
  CHECK(job.islands() == Ranks{{0, 1, 2, 1, 2}});
  CHECK(islands_of(job.job, job.clocks)[0].window_ns == 150);
}

TEST_CASE("halves that no session compares stay apart, whatever the numbers of their components") {
  JobOnClocks job;
  for (int32_t session = 0; session < 2; ++session) {
    for (int32_t rank = 0; rank < 4; ++rank) job.add(rank, session, 8 * session + rank / 2, rank < 2 ? 100 : 60);
  }
  CHECK(job.islands() == Ranks{{0, 1, 0, 1}, {2, 3, 2, 3}});
  CHECK(islands_of(job.job, job.clocks)[1].window_ns == 120);
}
