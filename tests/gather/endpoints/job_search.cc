// Jobs "train-0" ... of a store, made an hour after one another, and what the cluster's page finds of them.
#include "src/gather/endpoints/job_search.h"

#include <catch2/catch.hpp>
#include <thread>

#include "src/gather/http/route.h"
#include "tests/gather/store/spool.h"

namespace skewscope::gather {
namespace {

constexpr int kHour = 3600, kBegin = 1'700'000'000;  // 2023-11-14 22:13:20

struct Cluster {
  test::Spool spool{"job_search"};
  std::unique_ptr<History> history;
  UserNames users{[](const std::string& key) {
    return key == "alice" ? NssAnswer{false, NssUser{1000, "alice"}} : NssAnswer{};
  }};
  Call call;

  Cluster() {
    history = History::open(spool.path("history.sqlite").string());
    call.caller.insecure_local = true;
  }
  void learn(const std::string& name) const {
    while (users.of_name(name).known == UserNames::Known::not_yet) std::this_thread::yield();
  }
  void add(int number, uint32_t owner, const std::string& node) {
    spool.clock = kBegin + int64_t{number} * kHour;
    JobSettings settings;
    settings.owner_uid = owner;
    settings.nodes = {node};
    REQUIRE(spool.ask().put_job("train-" + std::to_string(number), settings).refusal == Refusal::none);
  }
  void report(int number, const std::string& verdict, const std::string& node, const std::string& loss) const {
    Run run;
    run.job = "train-" + std::to_string(number);
    run.created = run.reported = Time(std::chrono::seconds(kBegin + int64_t{number} * kHour));
    run.verdict = verdict;
    run.outcome.hosts = {node};
    run.outcome.loss = loss;
    history->add(run);
  }
  std::vector<std::string> found(const JobSearch& search, size_t page = 1) const {
    std::vector<std::string> names;
    for (const JobState& job : find_jobs(*spool.store, *history, users, call, search, page).jobs)
      names.push_back(job.name);
    return names;
  }
};

using Names = std::vector<std::string>;

TEST_CASE("jobs are found by name, owner, node, verdict, loss, state and day, the newest first") {
  Cluster cluster;
  cluster.add(0, 1000, "node1");
  cluster.add(1, 1000, "node2");
  cluster.add(2, 2000, "node1");
  cluster.report(1, "Rank 13 causes 36 % of all waiting.", "gpu-host7", "straggler");
  CHECK(cluster.found({}) == Names{"train-2", "train-1", "train-0"});
  CHECK(cluster.found({{"q", "AIN-1"}}) == Names{"train-1"});
  CHECK(cluster.found({{"q", "2000"}}) == Names{"train-2"});
  CHECK(cluster.found({{"q", "rank 13 CAUSES"}}) == Names{"train-1"});
  CHECK(cluster.found({{"q", "host7"}}) == Names{"train-1"});
  CHECK(cluster.found({{"q", "ode1"}}) == Names{"train-2", "train-0"});
  CHECK(cluster.found({{"q", "100 %"}}).empty());
  CHECK(cluster.found({{"owner", "1000"}}) == Names{"train-1", "train-0"});
  CHECK(cluster.found({{"node", "node1"}}) == Names{"train-2", "train-0"});
  CHECK(cluster.found({{"node", "gpu-host7"}}) == Names{"train-1"});
  CHECK(cluster.found({{"node", "node"}}).empty());
  CHECK(cluster.found({{"loss", "straggler"}}) == Names{"train-1"});
  CHECK(cluster.found({{"since", "2023-11-15"}}) == Names{"train-2"});
  CHECK(cluster.found({{"until", "2023-11-14"}}) == Names{"train-1", "train-0"});
  CHECK(cluster.found({{"state", "receiving"}, {"owner", "2000"}}) == Names{"train-2"});
  CHECK(cluster.found({{"state", "ended"}}).empty());
}

TEST_CASE("what was said of a deleted job is not found in another of its name") {
  Cluster cluster;
  cluster.report(0, "Rank 13.", "node9", "");
  cluster.spool.clock = kBegin + 5 * kHour;
  REQUIRE(cluster.spool.ask().put_job("train-0", {}).refusal == Refusal::none);
  CHECK(cluster.found({{"q", "rank 13"}}).empty());
  CHECK(cluster.found({{"node", "node9"}}).empty());
}

TEST_CASE("a page has a hundred jobs, and one behind the last is the last") {
  Cluster cluster;
  for (int number = 0; number < 201; ++number) cluster.add(number, 1000, "node1");
  const FoundJobs last = find_jobs(*cluster.spool.store, *cluster.history, cluster.users, cluster.call, {}, 9);
  CHECK(last.found == 201);
  CHECK(last.all == 201);
  CHECK(last.page == 3);
  CHECK(last.pages == 3);
  CHECK(cluster.found({}, 3) == Names{"train-0"});
  CHECK(cluster.found({}, 2).front() == "train-100");
  CHECK(cluster.found({}, 2).size() == 100);
}

TEST_CASE("a search finds of the jobs those alone that its caller may read") {
  Cluster cluster;
  cluster.add(0, 1000, "node1");
  cluster.add(1, 1000, "node1");
  cluster.call.caller.insecure_local = false;
  cluster.call.caller.token = TokenPayload{"train-0", kRead, 1000, {}, 0};
  CHECK(cluster.found({{"q", "train"}}) == Names{"train-0"});
  CHECK(find_jobs(*cluster.spool.store, *cluster.history, cluster.users, cluster.call, {}, 1).all == 1);
}

TEST_CASE("jobs are found by the name of their owner, whole and as NSS writes it") {
  Cluster cluster;
  cluster.add(0, 1000, "node1");
  cluster.add(1, 2000, "node1");
  cluster.add(2, 0, "node1");
  for (const char* name : {"alice", "bob", "ali"}) cluster.learn(name);
  CHECK(cluster.found({{"owner", "alice"}}) == Names{"train-0"});
  CHECK(cluster.found({{"q", "alice"}}) == Names{"train-0"});
  for (const char* other : {"bob", "ali", "Alice"}) {
    CHECK(cluster.found({{"owner", other}}).empty());
    CHECK(cluster.found({{"q", other}}).empty());
  }
}

TEST_CASE("a user's search finds his own jobs alone, whoever's it asks for") {
  Cluster cluster;
  cluster.add(0, 1000, "node1");
  cluster.add(1, 2000, "node1");
  cluster.call.caller.insecure_local = false;
  cluster.call.caller.token = TokenPayload{"@2000", kRead, 2000, {}, 0};
  cluster.learn("alice");
  CHECK(cluster.found({}) == Names{"train-1"});
  CHECK(cluster.found({{"owner", "alice"}}).empty());
  CHECK(find_jobs(*cluster.spool.store, *cluster.history, cluster.users, cluster.call, {}, 1).all == 1);
}

TEST_CASE("a day is one of the calendar") {
  CHECK(day_of("2024-02-29") == std::chrono::sys_days(std::chrono::year(2024) / 2 / 29));
  for (const char* bad : {"", "2023-02-29", "2023-13-01", "2023-1-01", "2023-01-1x", "2023/01/01", "2023-01-011"}) {
    CHECK_FALSE(day_of(bad));
  }
}

}  // namespace
}  // namespace skewscope::gather
