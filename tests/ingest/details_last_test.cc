// IngestOptions::while_details_last, through the stage's entrance.
#include <tbb/global_control.h>

#include <chrono>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

#include "detail_support.h"
#include "skewscope/ingest/make_digests.h"
#include "tests/temporary_folder.h"

using namespace skewscope;
using namespace skewscope::ingest;

namespace {

std::string rank_trace(int rank) {
  const std::string n = std::to_string(rank + 1);
  std::string events;
  for (int i = 0; i < 50; ++i) {
    const std::string id = std::to_string(i + 1);
    events += (i == 0 ? "" : ",\n") + std::string(R"({"ph": "X", "cat": "cpu_op", "name": "op of rank )") + n +
              R"(", "pid": 5, "tid": 7, "ts": )" + id + R"(00, "dur": 50, "args": {"Input Dims": [[)" + id + "]]}},\n" +
              R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 5, "tid": 7, "ts": )" + id +
              R"(10, "dur": 2, "args": {"correlation": )" + id + "}},\n" +
              kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", id + "30", n, "\"correlation\": " + id);
  }
  return trace_of(events, R"("distributedInfo": {"rank": )" + std::to_string(rank) + R"(, "world_size": 3}, )");
}

// Three ranks; the folder goes with the object.
struct Job {
  test::Folder folder{"visit"};
  std::vector<std::string> files;

  Job() {
    std::filesystem::create_directories(folder.path);
    for (int rank = 0; rank < 3; ++rank) {
      files.push_back((folder.path / ("rank" + std::to_string(rank) + ".json")).string());
      std::ofstream(files.back()) << rank_trace(rank);
    }
  }
};

struct Visits {
  std::mutex mutex;
  std::map<std::string, std::string> details;  // by file; "none" where there are none

  std::function<void(const TraceFile&)> visitor() {
    return [this](const TraceFile& file) {
      const LinkedTrace& linked = file.linked;
      const std::string text = linked.detail ? details_as_text(linked) : "none";
      const bool whole = !linked.detail || check_invariants(*linked.detail, linked.trace).empty();
      const std::scoped_lock lock(mutex);
      CHECK(whole);
      CHECK(details.emplace(file.path, text).second);
    };
  }
};

IngestedJob read_job(const std::vector<std::string>& files, const IngestOptions& options = {}) {
  StageTimer timer;
  Result<IngestedJob> job = ingest_job(files, options, timer);
  REQUIRE(job.ok());
  return std::move(job).value();
}

// Rows, names by id, and what is said about the files.
std::string as_text(const IngestedJob& job) {
  std::string out;
  for (const RankTrace& trace : job.job.traces) {
    out += fmt::format("{} {} {}\n", trace.rank.value, trace.file, trace.calls.size());
    for (size_t i = 0; i < trace.gpu.size(); ++i) {
      out += fmt::format("{} {} {} {}\n", trace.gpu.start[i].ns, trace.gpu.duration_ns[i], trace.gpu.name[i].value,
                         trace.gpu.launch[i]);
    }
  }
  for (size_t i = 0; i < job.job.strings.size(); ++i) {
    out += fmt::format("{}\n", job.job.strings.view(StringId(static_cast<int64_t>(i))));
  }
  for (const Finding& finding : job.job.findings)
    out += std::string(finding.code.text()) + " " + finding.message + "\n";
  return out;
}

}  // namespace

TEST_CASE("each trace is visited once with its details, and the job is the one that nobody visited") {
  const Job job;
  const std::string alone = as_text(read_job(job.files));
  std::map<std::string, std::string> first;
  for (const size_t threads : {1, 2, 7}) {
    const tbb::global_control control(tbb::global_control::max_allowed_parallelism, threads);
    Visits visits;
    IngestOptions options;
    options.while_details_last = visits.visitor();
    CHECK(as_text(read_job(job.files, options)) == alone);
    REQUIRE(visits.details.size() == 3);
    for (const std::string& file : job.files) CHECK(visits.details[file].find("'[[50]]'") != std::string::npos);
    CHECK(visits.details[job.files[2]].find("'op of rank 3'") != std::string::npos);
    if (first.empty()) first = visits.details;
    CHECK(visits.details == first);
  }
}

TEST_CASE("threads that nobody asks for are left out, and nothing else of the job changes") {
  const Job job;
  IngestOptions options;
  options.keep_launch_threads = false;
  const IngestedJob without = read_job(job.files, options), with = read_job(job.files);
  CHECK(as_text(without) == as_text(with));
  for (size_t t = 0; t < 3; ++t) {
    const LaunchEvents &left = without.job.traces[t].launches, &all = with.job.traces[t].launches;
    CHECK(left.thread.capacity() == 0);
    CHECK(all.thread == Column<int64_t>(50, 7));
    CHECK((left.start == all.start && left.duration_ns == all.duration_ns));
  }
  CHECK(check_invariants(without.job) == "");
}

TEST_CASE("a digest is visited without details, and so is what is no trace") {
  const Job job;
  const std::string digests = (job.folder.path / "digests").string(), other = (job.folder.path / "other.json").string();
  REQUIRE(make_digests({job.files[0]}, digests, false, {}).ok());
  std::ofstream(other) << "no trace at all";
  const std::string digest = digests + "/rank0.json.digest";
  Visits visits;
  IngestOptions options;
  options.while_details_last = visits.visitor();
  read_job({digest, job.files[1], other}, options);
  CHECK(visits.details[digest] == "none");
  CHECK(visits.details[other] == "none");
  CHECK(visits.details[job.files[1]] != "none");
}

TEST_CASE("a visit reads the trace, not its digest in the cache, and adds none") {
  const Job job;
  const std::filesystem::path cache = job.folder.path / "cache";
  const auto cached = [&] {
    const auto files = std::filesystem::directory_iterator(cache);
    return std::distance(begin(files), end(files));
  };
  std::this_thread::sleep_for(std::chrono::milliseconds(60));  // what changed just now is not kept
  IngestOptions options;
  options.cache = {cache.string(), 1 << 30, "test"};
  read_job({job.files[0], job.files[1]}, options);
  REQUIRE(cached() == 2);
  Visits visits;
  options.while_details_last = visits.visitor();
  read_job(job.files, options);
  for (const std::string& file : job.files) CHECK(visits.details[file] != "none");
  CHECK(cached() == 2);
}

TEST_CASE("what a visit takes counts while it runs: where it does not fit there is none") {
  const Job job;
  StageTimer timer;
  int visits = 0;
  const auto read = [&](int64_t limit, int64_t bytes) {
    IngestOptions options;
    options.memory_limit_bytes = limit;
    options.while_details_last = [&](const TraceFile&) { ++visits; };
    options.bytes_while_details_last = [=](const LinkedTrace& linked) {
      CHECK(linked.detail.has_value());
      return bytes;
    };
    const tbb::global_control control(tbb::global_control::max_allowed_parallelism, 1);
    return ingest_job(job.files, options, timer);
  };
  CHECK(read(4'000'000, 3'000'000).ok());  // one after the other: what the first took is free again
  CHECK(visits == 3);
  const auto small = read(4'000'000, 4'000'000);
  REQUIRE_FALSE(small.ok());
  CHECK(small.error().kind == ErrorKind::resource_limit);
  CHECK(visits == 3);
  CHECK(read(0, int64_t{1} << 60).ok());  // no limit
  CHECK(visits == 6);
}

TEST_CASE("the memory limit counts details while they are held") {
  const Job job;
  const tbb::global_control control(tbb::global_control::max_allowed_parallelism, 1);
  StageTimer timer;
  const auto fits = [&](int64_t limit, bool details, size_t files) {
    IngestOptions options;
    options.memory_limit_bytes = limit;
    if (details) options.while_details_last = [](const TraceFile&) {};
    const std::vector<std::string> some(job.files.begin(), job.files.begin() + static_cast<ptrdiff_t>(files));
    const Result<IngestedJob> read = ingest_job(some, options, timer);
    if (!read.ok()) CHECK(read.error().kind == ErrorKind::resource_limit);
    return read.ok();
  };
  const auto least = [&](bool details, size_t files) {
    int64_t limit = 1000;
    while (!fits(limit, details, files)) limit += 500;
    return limit;
  };
  // 100 host rows of 41 bytes, 50 arguments of 24 bytes and their texts at the least.
  CHECK(least(true, 1) > least(false, 1) + 100 * 41 + 50 * 24);
  // A file's details are gone when the next one is read.
  CHECK(least(true, 3) - least(true, 1) <= least(false, 3) - least(false, 1) + 500);
}
