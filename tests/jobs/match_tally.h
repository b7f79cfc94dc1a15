// A simulated job matched as a report matches it, and counted against its truth.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <string_view>

#include "skewscope/align.h"
#include "skewscope/ingest.h"
#include "skewscope/matching.h"
#include "skewscope/simulate.h"
#include "tests/jobs/call_truth.h"

namespace skewscope::test {

// Whether the many seeds of a night are asked for.
inline bool nightly() {
  const char* const dose = std::getenv("SKEWSCOPE_DOSE");
  return dose != nullptr && std::string_view(dose) == "nightly";
}

struct Tally {
  int64_t pairs = 0;             // of each true collective: its recorded calls less one
  int64_t found = 0, wrong = 0;  // pairs put together that are one collective, and that are not
  Tally& operator+=(const Tally& other) {
    pairs += other.pairs;
    found += other.found;
    wrong += other.wrong;
    return *this;
  }
  double share() const { return static_cast<double>(found) / static_cast<double>(std::max<int64_t>(1, pairs)); }
};

inline Tally match(const SimulateOptions& options) {
  REQUIRE(simulate_job(options).ok());
  StageTimer timer;
  const Result<IngestedJob> ingested = ingest_job(discover_files({options.directory}).value(), {}, timer);
  REQUIRE(ingested.ok());
  const JobTrace& job = ingested.value().job;
  MatchedAlone kept;
  InstanceTable table = match_collectives(job, alone(), &kept);
  const ClockModel clocks = align_clocks(job, table, AlignMode::automatic);
  if (clocks_tell_more(table, clocks)) table = match_again(job, clocks, kept);
  REQUIRE(check_invariants(table, job) == "");
  const CallTruth truth(options.directory);
  Tally tally;
  for (const size_t recorded : truth.recorded) tally.pairs += recorded > 0 ? static_cast<int64_t>(recorded) - 1 : 0;
  for (const CollectiveInstance& i : table.instances) {
    std::map<size_t, int64_t> members;  // by true collective
    for (size_t row = i.first_member; row < i.first_member + i.member_count; ++row) {
      const RankTrace& trace = job[table.members[row].trace];
      const CollectiveCall& call = trace.calls[static_cast<size_t>(table.members[row].call)];
      const CallTruth::Member* member = truth.find(trace.rank.value, call, trace.resolution_ns);
      REQUIRE(member != nullptr);
      ++members[member->instance];
    }
    for (const auto& [instance, count] : members) tally.found += count - 1;
    tally.wrong += std::ssize(members) - 1;
  }
  return tally;
}

}  // namespace skewscope::test
