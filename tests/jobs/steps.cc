// One definition of a step in every command: what was launched in it, as it ran on the GPU.
#include <fmt/format.h>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>

#include "job_truth.h"
#include "skewscope/ingest.h"
#include "skewscope/summarize.h"
#include "tests/temporary_folder.h"

using namespace skewscope;
using namespace skewscope::test;

namespace {

const std::filesystem::path kRecordedSets = std::filesystem::path(SKEWSCOPE_SOURCE_DIR) / "tests" / "data" / "real";

// A trace of one rank, in microseconds.
class HandTrace {
 public:
  explicit HandTrace(int rank) : rank_(rank) {}

  void step(int number, int start, int end) {
    add(fmt::format(R"("cat":"user_annotation","name":"ProfilerStep#{}","pid":1,"tid":1,"ts":{},"dur":{},"args":{{}})",
                    number, start, end - start));
  }
  // Launched at `launch`; -1: before recording began.
  void row(const char* category, const char* name, int launch, int start, int end, const std::string& more = "") {
    ++correlation_;
    if (launch >= 0) {
      add(fmt::format(R"("cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{},"dur":1,)"
                      R"("args":{{"correlation":{}}})",
                      launch, correlation_));
    }
    const int stream = more.empty() ? 7 : 24;
    add(fmt::format(R"("cat":"{}","name":"{}","pid":0,"tid":{},"ts":{},"dur":{},)"
                    R"("args":{{"device":0,"stream":{},"correlation":{}{}}})",
                    category, name, stream, start, end - start, stream, correlation_, more));
  }
  void kernel(int launch, int start, int end) { row("kernel", "gemm", launch, start, end); }
  void all_reduce(int launch, int start, int end) {
    row("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", launch, start, end,
        R"(,"Collective name":"allreduce","In msg nelems":1024,"Out msg nelems":1024,"Group size":2,)"
        R"("dtype":"Float","Process Group Name":"0","Process Group Description":"default_pg",)"
        R"("Process Group Ranks":"[0, 1]")");
  }
  std::string write(const std::filesystem::path& folder) const {
    const std::filesystem::path path = folder / fmt::format("rank{}.json", rank_);
    std::ofstream(path) << fmt::format(
        R"({{"schemaVersion":1,"distributedInfo":{{"backend":"nccl","rank":{},"world_size":2}},)"
        R"("baseTimeNanoseconds":1751410836000000000,"traceEvents":[{}]}})",
        rank_, events_);
    return path.string();
  }

 private:
  void add(const std::string& event) { events_ += (events_.empty() ? "" : ",") + ("{\"ph\":\"X\"," + event + "}"); }

  int rank_, correlation_ = 0;
  std::string events_;
};

// Hosts launch a step in 10 us, of which the GPU needs 100: in the first step's range nothing has run yet.
void write_two_ranks(const std::filesystem::path& folder) {
  HandTrace first(0), second(1);
  for (int n = 1; n <= 3; ++n) {
    first.step(n, 10 * n - 10, 10 * n);
    second.step(n, 10 * n - 5, 10 * n + 5);
  }
  first.kernel(-1, 50, 80);        // launched before recording began
  first.kernel(2, 100, 160);       // step 1
  first.all_reduce(4, 160, 200);   // rank 1 comes at 190
  first.kernel(12, 180, 260);      // step 2, beside the collective of step 1
  first.all_reduce(14, 260, 300);  // rank 1 comes at 280
  first.kernel(22, 300, 350);      // step 3
  first.row("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 23, 350, 360);
  first.all_reduce(24, 370, 400);  // rank 1 comes at 390
  first.kernel(40, 420, 430);      // launched behind the last step
  second.kernel(7, 100, 190);
  second.all_reduce(9, 190, 200);
  second.kernel(17, 200, 280);
  second.all_reduce(19, 280, 300);
  second.kernel(27, 300, 390);
  second.all_reduce(29, 390, 400);
  second.kernel(30, 400, 410);
  first.write(folder);
  second.write(folder);
}

NamedReport report_on_folder(const std::filesystem::path& folder, AlignMode align = AlignMode::automatic) {
  StageTimer timer;
  CorrelateOptions options;
  options.align = align;
  auto report = correlate({folder.string()}, options, timer);
  REQUIRE(report.ok());
  return {folder.string(), std::move(report).value()};
}

// Parts of a step or of what is in none, in nanoseconds.
struct Parts {
  int64_t compute, transfer, wait, unsplit, copies, idle;
  int64_t exposed_ns() const { return transfer + wait + unsplit; }
  int64_t sum() const { return compute + exposed_ns() + copies + idle; }
  friend bool operator==(const Parts&, const Parts&) = default;
};

template <class Row>
Parts parts_of(const Row& row) {
  return {row.compute_ns,        row.exposed_transfer_ns,
          row.exposed_wait_ns,   row.exposed_unattributed_ns,
          row.exposed_memcpy_ns, row.idle_ns};
}

Parts us(int64_t compute, int64_t transfer, int64_t wait, int64_t copies, int64_t idle) {
  return {1000 * compute, 1000 * transfer, 1000 * wait, 0, 1000 * copies, 1000 * idle};
}

const JobReport::RankStep& rank_step(const JobReport& report, int32_t rank, int64_t step) {
  for (const JobReport::RankStep& row : report.rank_steps) {
    if (row.rank == rank && row.step == step) return row;
  }
  throw std::logic_error("no such step");
}

// `rank`'s timeline of each trace of a folder, by rank.
std::map<int32_t, std::vector<TimelineRow>> timelines_of(const std::filesystem::path& folder) {
  StageTimer timer;
  Result<IngestedJob> ingested = ingest_job(discover_files({folder.string()}).value(), {}, timer);
  REQUIRE(ingested.ok());
  const JobTrace& job = ingested.value().job;
  std::map<int32_t, std::vector<TimelineRow>> timelines;
  for (const RankTrace& trace : job.traces) {
    timelines[trace.rank.value] = tabulate_trace(trace, job.strings).timeline;
  }
  return timelines;
}

// Per rank, and where something is in no step: by place.
using Outside = std::map<std::pair<int32_t, std::string>, const JobReport::OutsideSteps*>;

Outside outside_of(const JobReport& report) {
  Outside outside;
  for (const JobReport::OutsideSteps& row : report.outside_steps) outside[{row.rank, row.place}] = &row;
  return outside;
}

// `rank` says the same of each step, and of what is in none, as the report.
void check_rank_says_the_same(const JobReport& report, const std::filesystem::path& folder) {
  const Outside outside = outside_of(report);
  size_t seen = 0;
  for (const auto& [rank, rows] : timelines_of(folder)) {
    int64_t window_ns = 0;
    std::map<std::string, Parts> rests;  // of several places between steps
    std::map<std::string, int64_t> rest_rows;
    for (const TimelineRow& row : rows) {
      const RankSummary& t = row.timeline;
      const Parts own{t.compute_ns, 0, 0, t.exposed_communication_ns, t.exposed_memcpy_ns, t.idle_ns};
      if (row.step < 0 && row.place == StepPlace::step) continue;
      window_ns += t.total_ns;
      INFO("rank " << rank << ", step " << row.step);
      if (row.step < 0) {
        Parts& rest = rests.try_emplace(to_string(row.place), Parts{}).first->second;
        rest = {rest.compute + own.compute, 0, 0, rest.unsplit + own.unsplit, rest.copies + own.copies,
                rest.idle + own.idle};
        rest_rows[to_string(row.place)] += row.gpu_rows;
        continue;
      }
      if (row.gpu_rows == 0) continue;  // nothing was launched in it
      ++seen;
      const JobReport::RankStep& same = rank_step(report, rank, row.step);
      const Parts parts = parts_of(same);
      CHECK(t.total_ns == parts.sum());
      CHECK(own == Parts{parts.compute, 0, 0, parts.exposed_ns(), parts.copies, parts.idle});
      CHECK(row.gpu_rows == same.gpu_rows);
      CHECK(row.host_ns == Approx(same.host_duration_ns).margin(2));
    }
    for (const auto& [place, rest] : rests) {
      INFO("rank " << rank << ", " << place);
      const auto same = outside.find({rank, place});
      REQUIRE(same != outside.end());
      const Parts parts = parts_of(*same->second);
      CHECK(rest == Parts{parts.compute, 0, 0, parts.exposed_ns(), parts.copies, parts.idle});
      CHECK(rest_rows[place] == same->second->gpu_rows);
    }
    if (window_ns > 0) CHECK(window_ns == rows.front().timeline.total_ns);
  }
  CHECK(seen == report.rank_steps.size());
}

// Steps and what is in none sum to each rank's row of the table of ranks, part by part.
void check_sums(const JobReport& report) {
  std::map<int32_t, Parts> sums;
  const auto add = [&](int32_t rank, const Parts& p) {
    Parts& sum = sums.try_emplace(rank, Parts{}).first->second;
    sum = {sum.compute + p.compute, sum.transfer + p.transfer, sum.wait + p.wait,
           sum.unsplit + p.unsplit, sum.copies + p.copies,     sum.idle + p.idle};
  };
  for (const JobReport::RankStep& row : report.rank_steps) add(row.rank, parts_of(row));
  for (const JobReport::OutsideSteps& row : report.outside_steps) add(row.rank, parts_of(row));
  for (const JobReport::RankRow& rank : report.ranks) {
    const auto own = sums.find(rank.rank);
    if (own == sums.end()) continue;
    INFO("rank " << rank.rank);
    CHECK(own->second.sum() == rank.total_ns);
    CHECK(own->second.compute == rank.compute_ns);
    CHECK(own->second.exposed_ns() == rank.exposed_communication_ns);
    CHECK(own->second.wait == rank.exposed_wait_ns);
    CHECK(own->second.transfer == rank.exposed_transfer_ns);
    CHECK(own->second.copies == rank.exposed_memcpy_ns);
    CHECK(own->second.idle == rank.idle_ns);
  }
}

// Steps of the job that follow one another leave nothing out, and count what their ranks launched.
void check_job_steps(const JobReport& report) {
  for (size_t i = 0; i < report.steps.size(); ++i) {
    const JobReport::StepRow& step = report.steps[i];
    int64_t rows = 0, collectives = 0, ranks = 0;
    for (const JobReport::RankStep& own : report.rank_steps) {
      if (own.step != step.step || own.session != step.session) continue;
      rows += own.gpu_rows;
      collectives += own.collectives;
      ++ranks;
    }
    CHECK(ranks == step.ranks);
    CHECK(rows == step.gpu_rows);
    CHECK(collectives == step.collectives);
    if (i == 0 || report.steps[i - 1].session != step.session || report.steps[i - 1].step + 1 != step.step) continue;
    CHECK(report.steps[i - 1].start_ns + report.steps[i - 1].duration_ns == step.start_ns);
  }
}

double part_ns(const CompareReport& report, TimePart part) {
  for (const CompareReport::Part& row : report.parts) {
    if (row.part == part) return row.change.base_ns;
  }
  throw std::logic_error("no such part");
}

}  // namespace

TEST_CASE("where hosts run ahead by more than a step, each step is what was launched in it, as it ran on the GPU") {
  const Folder folder("steps");
  std::filesystem::create_directories(folder.path);
  write_two_ranks(folder.path);
  const NamedReport named = report_on_folder(folder.path, AlignMode::wallclock);
  const JobReport& report = named.report;
  CHECK(report.job.step_basis == StepBasis::gpu);

  // Step 1 lasts until 200, with the kernel of step 2 that runs from 180; it hides as much of the wait from 160 to 190.
  CHECK(parts_of(rank_step(report, 0, 1)) == us(80, 0, 20, 0, 0));
  CHECK(parts_of(rank_step(report, 0, 2)) == us(60, 20, 20, 0, 0));
  CHECK(parts_of(rank_step(report, 0, 3)) == us(50, 10, 20, 10, 10));
  CHECK(parts_of(rank_step(report, 1, 1)) == us(90, 10, 0, 0, 0));
  CHECK(parts_of(rank_step(report, 1, 2)) == us(80, 20, 0, 0, 0));
  CHECK(parts_of(rank_step(report, 1, 3)) == us(100, 10, 0, 0, 0));
  CHECK(rank_step(report, 0, 1).gpu_rows == 2);
  CHECK(rank_step(report, 0, 3).gpu_rows == 3);
  CHECK(rank_step(report, 0, 2).host_duration_ns == 10'000);
  REQUIRE(report.outside_steps.size() == 2);
  CHECK(report.outside_steps[0].place == "before");
  CHECK(report.outside_steps[0].gpu_rows == 1);
  CHECK(parts_of(report.outside_steps[0]) == us(30, 0, 0, 0, 20));
  CHECK(report.outside_steps[1].place == "after");
  CHECK(report.outside_steps[1].gpu_rows == 1);
  CHECK(parts_of(report.outside_steps[1]) == us(10, 0, 0, 0, 20));

  // The job's steps end at 200, 300 and, with rank 1's last kernel, 410.
  REQUIRE(report.steps.size() == 3);
  const int64_t durations[] = {100'000, 100'000, 110'000}, rows[] = {4, 4, 6};
  for (size_t s = 0; s < 3; ++s) {
    CHECK(report.steps[s].start_ns == static_cast<int64_t>(100'000 + 100'000 * s));
    CHECK(report.steps[s].duration_ns == durations[s]);
    CHECK(report.steps[s].gpu_rows == rows[s]);
    CHECK(report.steps[s].collectives == 2);
    CHECK(report.steps[s].host_start_ns == static_cast<int64_t>(10'000 * s));
    CHECK(report.steps[s].host_duration_ns == 15'000);
  }
  check_sums(report);
  check_job_steps(report);
}

TEST_CASE("rank, rank_steps, steps, compare and scale say the same of one trace's steps") {
  const Folder folder("steps");
  std::filesystem::create_directories(folder.path);
  write_two_ranks(folder.path);
  const NamedReport named = report_on_folder(folder.path, AlignMode::wallclock);
  check_rank_says_the_same(named.report, folder.path);

  const auto compared = compare_runs(named, named);
  REQUIRE(compared.ok());
  const CompareReport& same = compared.value();
  CHECK(same.comparable);
  CHECK(same.diagnostics.empty());
  CHECK(same.base.steps == 3);
  CHECK(same.base.step_ns == Approx(310'000 / 3.0));                                               // of `steps`
  CHECK(part_ns(same, TimePart::compute) == Approx((80 + 60 + 50 + 90 + 80 + 100) * 1000 / 6.0));  // of `rank_steps`
  CHECK(part_ns(same, TimePart::exposed_wait) == Approx(60 * 1000 / 6.0));
  CHECK(part_ns(same, TimePart::exposed_transfer) == Approx(70 * 1000 / 6.0));
  CHECK(part_ns(same, TimePart::exposed_memcpy) == Approx(10 * 1000 / 6.0));
  CHECK(part_ns(same, TimePart::idle) == Approx(10 * 1000 / 6.0));
  for (const CompareReport::RankPart& part : same.ranks) CHECK_FALSE(part.change.significant);
  CHECK_FALSE(same.step.significant);

  NamedReport larger = named;
  larger.report.job.world_size = 4;
  const auto scaled = scale_runs({named, larger});
  REQUIRE(scaled.ok());
  CHECK(scaled.value().runs[0].step_ns == same.base.step_ns);
  CHECK(scaled.value().runs[0].compute_ns == Approx(part_ns(same, TimePart::compute)));
}

TEST_CASE("in all recorded jobs, steps and what is in none sum to each rank's window, and rank says the same of them") {
  size_t on_gpu = 0;
  for (const auto& set : std::filesystem::directory_iterator(kRecordedSets)) {
    if (!set.is_directory()) continue;
    INFO(set.path());
    const NamedReport named = report_on_folder(set.path());
    check_job_steps(named.report);
    if (named.report.job.step_basis != StepBasis::gpu) continue;
    ++on_gpu;
    check_sums(named.report);
    check_rank_says_the_same(named.report, set.path());
  }
  CHECK(on_gpu > 15);
}

TEST_CASE("in a simulated pipeline, steps and what is in none sum to each rank's window, and rank says the same") {
  const Folder folder("steps");
  SimulateOptions o;
  o.directory = folder.path.string();
  o.nodes = 2;
  o.gpus_per_node = 4;
  o.tp = o.pp = 2;
  o.layers = 2;
  o.steps = 4;
  o.clock_offset_ms = 5;
  o.clock_drift_ppm = 5;
  REQUIRE(simulate_job(o).ok());
  const NamedReport named = report_on_folder(folder.path);
  REQUIRE(named.report.rank_steps.size() == 8 * 4);
  check_sums(named.report);
  check_job_steps(named.report);
  check_rank_says_the_same(named.report, folder.path);
}
