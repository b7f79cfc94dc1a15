// Incidents with known truth: whoever is at fault is named, and nobody else for certain.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <set>

#include "../cpu_time.h"
#include "../temporary_folder.h"
#include "dumps.h"
#include "skewscope/simulate/hang.h"

using namespace skewscope;        // NOLINT
using namespace skewscope::test;  // NOLINT

namespace {

// Of a night, 200 incidents of each kind at 8 to 1,024 ranks.
bool at_night() {
  const char* dose = std::getenv("SKEWSCOPE_DOSE");
  return dose != nullptr && std::string(dose) == "nightly";
}

SimulateHangOptions incident(HangKind kind, int number) {
  const int32_t sizes[] = {8, 16, 24, 32, 64, 128, 256, 512, 1024}, tps[] = {2, 1, 4, 8}, pps[] = {1, 2, 4};
  SimulateHangOptions options;
  options.kind = kind;
  options.seed = static_cast<uint64_t>(number);
  options.ranks = sizes[number % (at_night() ? 9 : 6)];
  do {
    options.tp = tps[number / 9 % 4];
    options.pp = pps[number / 5 % 3];
    ++number;
  } while (options.ranks % (options.tp * options.pp) != 0 || (options.tp == 1 && options.ranks == options.pp));
  return options;
}

HangReport report_of(const SimulatedHang& hang) {
  std::vector<FlightDump> dumps;
  for (const auto& [name, bytes] : hang.dumps) {
    auto dump = read_flight_dump(bytes, name);
    REQUIRE(dump.ok());
    dump.value().rank = std::stoi(name.substr(name.rfind('_') + 1));
    dumps.push_back(std::move(dump.value()));
  }
  return find_hang(dumps);
}

void check_kind(HangKind kind) {
  const int incidents = at_night() ? 200 : 40;
  int found = 0, innocent = 0;
  for (int number = 0; number < incidents; ++number) {
    const auto hang = simulated_hang(incident(kind, number));
    REQUIRE(hang.ok());
    const HangReport report = report_of(hang.value());
    const Culprit* culprit = named(report, hang.value().culprit);
    found += culprit != nullptr ? 1 : 0;
    if (culprit == nullptr) UNSCOPED_INFO("not named: incident " << number);
    for (const Culprit& one : report.culprits) {
      if (one.certainty == Certainty::certain && one.rank != hang.value().culprit) ++innocent;
    }
  }
  CHECK(found >= incidents * 98 / 100);
  CHECK(innocent == 0);
}

}  // namespace

TEST_CASE(
    "where one to three others left no dump the culprit is named in two of three incidents, nobody else for certain") {
  for (const HangKind kind : {HangKind::missing_rank, HangKind::order, HangKind::size, HangKind::stuck_host}) {
    int incidents = 0, found = 0, innocent = 0;
    for (int number = 0; number < 40; ++number) {
      const auto hang = simulated_hang(incident(kind, number));
      REQUIRE(hang.ok());
      const int32_t culprit = hang.value().culprit;
      SimulatedHang left = hang.value();
      const auto ranks = static_cast<int32_t>(left.dumps.size());
      std::set<int32_t> gone;
      for (int k = 0; k < 1 + number % 3; ++k) gone.insert((culprit + 1 + number * 7 + k * 5) % ranks);
      gone.erase(culprit);
      std::erase_if(left.dumps, [&](const auto& dump) {
        return gone.count(std::stoi(dump.first.substr(dump.first.rfind('_') + 1))) > 0;
      });
      const HangReport report = report_of(left);
      ++incidents;
      found += named(report, culprit) != nullptr ? 1 : 0;
      for (const Culprit& one : report.culprits)
        innocent += one.certainty == Certainty::certain && one.rank != culprit ? 1 : 0;
    }
    CAPTURE(static_cast<int>(kind), found);
    CHECK(3 * found >= 2 * incidents);
    CHECK(innocent == 0);
  }
}

TEST_CASE("who leaves a call out is named") { check_kind(HangKind::missing_rank); }
TEST_CASE("who enters two calls the other way round is named") { check_kind(HangKind::order); }
TEST_CASE("whose tensor is shorter is named") { check_kind(HangKind::size); }
TEST_CASE("whose GPU stops is named, with and without a dump of it") { check_kind(HangKind::dead_gpu); }
TEST_CASE("whose host stops is named") { check_kind(HangKind::stuck_host); }
TEST_CASE("whose host is always late is named") { check_kind(HangKind::slow_host); }

TEST_CASE("always late, then gone: the kind and the words say it") {
  SimulateHangOptions options;
  options.kind = HangKind::slow_host;
  options.seed = 3;
  const auto hang = simulated_hang(options);
  const HangReport report = report_of(hang.value());
  REQUIRE_FALSE(report.culprits.empty());
  CHECK(report.culprits.front().rank == hang.value().culprit);
  CHECK(report.culprits.front().kind == CulpritKind::late);
  CHECK(report.culprits.front().reason.find("before that it was last in") != std::string::npos);
}

TEST_CASE("1,024 dumps take less than two seconds of two cores") {
  const Folder folder("thousand_dumps");
  SimulateHangOptions options;
  options.ranks = 1024;
  options.tp = 8;
  options.pp = 4;
  REQUIRE(write_simulated_hang(options, folder.path.string(), false).ok());
  const double begin_s = cpu_seconds();
  const HangReport report = find_hang(dumps_in(folder.path.string()));
  const double took_s = cpu_seconds() - begin_s;
  CHECK(report.dumps == 1024);
  CHECK(report.culprits.size() == 1);
  CHECK(took_s < (SKEWSCOPE_SANITIZE ? 120 : 4));
}
