// Which reports are made again, by a forker that ends them as the test says. The store's clock stands in the past:
// every pause is over.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <map>
#include <mutex>

#include "src/gather/reports/reports.h"
#include "tests/gather/store/spool.h"

namespace skewscope::gather {
namespace {

using test::kTrace;
using test::Spool;
using test::upload_of;

std::unique_ptr<History> history_in_memory() { return History::open(":memory:"); }

class ForkerOfCodes : public ReportForker {
 public:
  explicit ForkerOfCodes(std::vector<int> codes) : codes_(std::move(codes)) {}

  void run(const ReportTask& task, std::function<void(int)> done) override {
    int code = 0;
    {
      const std::lock_guard lock(mutex_);
      threads_.push_back(task.threads);
      with_more_.push_back(task.with_more);
      jobs_.push_back(task.job);
      code = codes_.empty() ? 0 : codes_.front();
      if (!codes_.empty()) codes_.erase(codes_.begin());
    }
    if (code == 0) {
      std::filesystem::create_directories(task.output);
      std::ofstream(task.output + "/COMPLETE") << "skewscope.report/1\n";
    }
    done(code);
  }
  void stop() override {}
  bool alive() const override { return true; }
  std::vector<std::string> jobs() const {
    const std::lock_guard lock(mutex_);
    return jobs_;
  }
  std::vector<bool> with_more() const {
    const std::lock_guard lock(mutex_);
    return with_more_;
  }
  size_t runs() const {
    const std::lock_guard lock(mutex_);
    return threads_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<int> codes_, threads_;
  std::vector<bool> with_more_;
  std::vector<std::string> jobs_;
};

// The state in which the report of a job of one rank stays, and how often it was made, when it ends by these codes.
struct MadeAgain {
  ReportState report = ReportState::none;
  size_t runs = 0;
};
MadeAgain made_by(Spool& spool, const std::vector<int>& codes) {
  ForkerOfCodes forker(codes);
  const auto history = history_in_memory();
  const auto scheduler = ReportScheduler::start(*spool.store, forker, *history, {});
  const auto over = [&] {
    const ReportState report = spool.store->job("train")->report;
    return report != ReportState::waiting && report != ReportState::running;
  };
  CHECK(test::eventually(over));
  usleep(200'000);  // that it is not made again
  return {spool.store->job("train")->report, forker.runs()};
}

void send_only_rank(Spool& spool) {
  spool.clock = time(nullptr) - 3600;
  JobSettings settings;
  settings.world_size = 1;
  spool.ask().put_job("train", settings);
  spool.ask().put("train", 0, kTrace);
}

TEST_CASE("a report is tried again until a process can be forked for it, ten times at most") {
  Spool spool("cannot_fork");
  send_only_rank(spool);
  SECTION("some times") {
    const MadeAgain made = made_by(spool, {kCannotFork, kCannotFork, kCannotFork});
    CHECK(made.report == ReportState::complete);
    CHECK(made.runs == 4);
  }
  SECTION("every time") {
    const MadeAgain made = made_by(spool, std::vector<int>(100, kCannotFork));
    CHECK(made.report == ReportState::failed);
    CHECK(made.runs == 10);
  }
}

TEST_CASE("the second try of a report that crashed or wanted too much memory is of the report alone") {
  Spool spool("alone");
  send_only_rank(spool);
  ForkerOfCodes forker({GENERATE(139, kReportOutOfMemory)});
  const auto history = history_in_memory();
  const auto scheduler = ReportScheduler::start(*spool.store, forker, *history, {});
  CHECK(test::eventually([&] { return spool.store->job("train")->report == ReportState::complete; }));
  CHECK(forker.with_more() == std::vector<bool>{true, false});
}

// Whose reports do not end until the test says so.
class WaitingForker : public ReportForker {
 public:
  void run(const ReportTask& task, std::function<void(int)> done) override {
    const std::lock_guard lock(mutex_);
    running_[task.job] = std::move(done);
  }
  void stop() override {
    while (!jobs().empty()) end(jobs().front());
  }
  bool alive() const override { return true; }
  void end(const std::string& job) {
    std::function<void(int)> done;
    {
      const std::lock_guard lock(mutex_);
      done = std::move(running_.at(job));
      running_.erase(job);
    }
    done(70);
  }
  std::vector<std::string> jobs() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> out;
    for (const auto& [job, done] : running_) out.push_back(job);
    return out;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::function<void(int)>> running_;
};

TEST_CASE("the reports of one owner never take all processes, where there are several") {
  Spool spool("one_kept");
  spool.clock = time(nullptr) - 3600;
  JobSettings settings;
  settings.world_size = 1;
  const auto send = [&](const std::string& job, uint32_t uid) {
    settings.sender_uid = uid;
    spool.ask().put_job(job, settings);
    spool.ask().put(upload_of(job, 0, kTrace.size()), kTrace);
  };
  for (const char* job : {"large1", "large2", "large3"}) send(job, 1000);
  WaitingForker forker;
  const auto history = history_in_memory();
  const auto scheduler = ReportScheduler::start(*spool.store, forker, *history, {});
  CHECK(test::eventually([&] { return forker.jobs() == std::vector<std::string>{"large1"}; }));
  usleep(100'000);
  CHECK(forker.jobs() == std::vector<std::string>{"large1"});
  send("other", 2000);
  CHECK(test::eventually([&] { return forker.jobs() == std::vector<std::string>{"large1", "other"}; }));
  forker.end("large1");
  CHECK(test::eventually([&] { return forker.jobs() == std::vector<std::string>{"large2", "other"}; }));
}

TEST_CASE("owners take turns, and of an owner's jobs the one comes first whose report is due longest") {
  Spool spool("turns");
  JobSettings settings;
  settings.world_size = 1;
  const auto send = [&](const std::string& job, uint32_t uid, int64_t seconds_ago) {
    spool.clock = time(nullptr) - seconds_ago;
    settings.sender_uid = uid;
    spool.ask().put_job(job, settings);
    NewUpload upload = upload_of(job, 0, kTrace.size());
    upload.uid = uid;
    spool.ask().put(upload, kTrace);
  };
  send("b", 1000, 4000);
  send("a", 1000, 3000);
  send("c", 1000, 2000);
  send("zz", 2000, 1000);
  ForkerOfCodes forker({});
  GatherOptions options;
  options.report_processes = 1;
  const auto history = history_in_memory();
  const auto scheduler = ReportScheduler::start(*spool.store, forker, *history, options);
  CHECK(test::eventually([&] { return forker.runs() == 4; }));
  CHECK(forker.jobs() == std::vector<std::string>{"b", "zz", "a", "c"});
}

TEST_CASE("a clock that was ahead when a rank arrived holds back no report, not after a start either") {
  Spool spool("clock_ahead");
  JobSettings settings;
  settings.world_size = 2;
  spool.ask().put_job("train", settings);
  const int64_t right = time(nullptr) - 10;
  spool.clock = right + 3600;
  spool.ask().put("train", 0, kTrace);
  spool.clock = right;
  spool.ask().put("train", 1, kTrace);
  SECTION("with all ranks there") {}
  SECTION("and a start since") { spool.open(); }
  SECTION("and its end told while it was ahead") {
    spool.clock = right + 3600;
    spool.ask().end_job("train");
    settings.world_size = 4;
    spool.clock = right - 900;
    CHECK(spool.ask().put_job("train", settings).value.ended);
  }
  ForkerOfCodes forker({});
  const auto history = history_in_memory();
  const auto scheduler = ReportScheduler::start(*spool.store, forker, *history, {});
  CHECK(test::eventually([&] { return forker.runs() == 1; }));
}

TEST_CASE(
    "a report that wants more memory is tried with half the threads, again after a pause, and once after a start") {
  Spool spool("want_of_memory");
  send_only_rank(spool);
  const MadeAgain made = made_by(spool, std::vector<int>(100, kReportOutOfMemory));
  CHECK(made.report == ReportState::failed);
  CHECK(made.runs == 4);
  spool.open();
  CHECK(spool.store->job("train")->report == ReportState::waiting);
  CHECK(made_by(spool, {}).report == ReportState::complete);
}

TEST_CASE("a report during which the forker died is made again after a start, but not a third time") {
  Spool spool("forker_died");
  send_only_rank(spool);
  for (int generation = 1; generation <= 2; ++generation) {
    REQUIRE(spool.ask().begin_report("train").value.generation == generation);
    spool.ask().end_report("train", generation, kForkerGone);
    spool.open();
    CHECK((spool.store->job("train")->report == ReportState::waiting) == (generation == 1));
  }
  CHECK(spool.store->job("train")->report == ReportState::failed);
  spool.ask().put("train", 1, "{}");
  CHECK(made_by(spool, {}).report == ReportState::complete);
}

TEST_CASE("a report that found the disk full is tried again after pauses, ten times at most") {
  Spool spool("disk_full");
  send_only_rank(spool);
  SECTION("until there is room") {
    const MadeAgain made = made_by(spool, {kReportCannotWrite, kReportCannotWrite});
    CHECK(made.report == ReportState::complete);
    CHECK(made.runs == 3);
  }
  SECTION("or there is none") {
    const MadeAgain made = made_by(spool, std::vector<int>(100, 5));  // its exit code for output
    CHECK(made.report == ReportState::failed);
    CHECK(made.runs == 10);
  }
}

TEST_CASE("what retention deletes is counted and audited") {
  Spool spool("audited");
  spool.clock = time(nullptr) - 31 * 24 * 3600;
  JobSettings settings;
  settings.world_size = 1;
  spool.ask().put_job("train", settings);
  spool.ask().put("train", 0, kTrace);
  CHECK(made_by(spool, {}).report == ReportState::complete);
  spool.clock = time(nullptr);
  ForkerOfCodes forker({});
  const auto history = history_in_memory();
  const auto scheduler = ReportScheduler::start(*spool.store, forker, *history, {});
  CHECK(test::eventually([&] { return spool.store->figures().jobs_deleted == 1; }));
  CHECK_FALSE(spool.store->job("train"));
}

TEST_CASE("a job that was over is not deleted when somebody sends again in that moment") {
  Spool spool("sends_again");
  send_only_rank(spool);
  CHECK(made_by(spool, {}).report == ReportState::complete);
  const JobState seen = *spool.store->job("train");
  REQUIRE(is_over(seen));
  const auto delete_if_over = [&] {
    return test::answer_of<Done>([&](auto done) { spool.store->delete_job_if("train", is_over, done); }).refusal;
  };
  const std::string id = spool.ask().create(test::upload_of("train", 1, 2)).value.id;
  CHECK(delete_if_over() == Refusal::unknown);
  CHECK(spool.ask().patch(id, 0, "{}").value.complete);
  CHECK(delete_if_over() == Refusal::unknown);
  CHECK(spool.ask().content("train", 1) == "{}");
  CHECK(made_by(spool, {}).report == ReportState::complete);
  CHECK(delete_if_over() == Refusal::none);
  CHECK_FALSE(spool.store->job("train"));
}

TEST_CASE("a report that is wrong in itself is not tried again, not after a start either") {
  Spool spool("wrong_in_itself");
  send_only_rank(spool);
  CHECK(made_by(spool, {70}).report == ReportState::failed);
  spool.open();
  const MadeAgain made = made_by(spool, {});
  CHECK(made.report == ReportState::failed);
  CHECK(made.runs == 0);
}

}  // namespace
}  // namespace skewscope::gather
