// Which run of its name a file is of, on runs that are written down by hand. Deadlines: a quarter of an hour after the
// last byte, two minutes after the end; moments are seconds of one day.
#include "src/gather/endpoints/run_of_upload.h"

#include <catch2/catch.hpp>

namespace skewscope::gather {
namespace {

using std::chrono::seconds;

const GatherDeadlines kWaits{seconds(900), seconds(120), seconds(30)};
constexpr int kRunOne = 10'000, kAnHour = 3600;

Time at_second(int second) { return Time(seconds(second)); }

// A run whose files of capture 0 were written, and came, at `written`; the rank that is asked about is not there.
RunFacts run_at(const std::string& job, int written) {
  RunFacts run;
  run.job = job;
  run.empty = false;
  run.has_capture = true;
  run.written = {at_second(written), at_second(written + 5)};
  run.last_byte = at_second(written + 20);
  return run;
}

RunFacts with_rank(RunFacts run, const std::string& content) {
  run.file = sha256(content);
  run.file_came = run.last_byte - seconds(5);
  return run;
}

RunFacts whole(RunFacts run) {
  run.whole = true;
  return run;
}

RunFacts ended_at(RunFacts run, int second) {
  run.ended = true;
  run.ended_at = at_second(second);
  return run;
}

RunFacts lacking_capture(RunFacts run) {
  run.has_capture = false;
  run.written = {};
  return run;
}

NewUpload file_of(const std::string& content, std::optional<int> written) {
  NewUpload file;
  file.metadata.job = "train";
  file.metadata.sha256 = sha256(content);
  if (written) file.written = at_second(*written);
  return file;
}

// The run's name, "conflict" or "too many".
std::string run_for(const NewUpload& file, const std::vector<RunFacts>& runs, int now) {
  const ChosenRun chosen = run_of_upload(file, runs, kWaits, at_second(now));
  if (chosen.kind == ChosenRun::Kind::conflict) return "conflict";
  return chosen.kind == ChosenRun::Kind::too_many ? "too many" : chosen.job;
}

TEST_CASE("the first file of a name makes the name's first run") {
  CHECK(run_for(file_of("a", kRunOne), {}, kRunOne) == "train");
  CHECK(run_for(file_of("a", std::nullopt), {}, kRunOne) == "train");
}

TEST_CASE("a file that is there already in any run is of that run however old and whatever has come since") {
  const std::vector<RunFacts> runs = {whole(with_rank(run_at("train", kRunOne), "a")),
                                      with_rank(run_at("train~2", kRunOne + kAnHour), "b")};
  for (const std::optional<int> written :
       {std::optional<int>(), std::optional(0), std::optional(kRunOne + 2 * kAnHour)}) {
    CHECK(run_for(file_of("a", written), runs, kRunOne + 2 * kAnHour) == "train");
    CHECK(run_for(file_of("b", written), runs, kRunOne + 2 * kAnHour) == "train~2");
  }
}

TEST_CASE("other content for a rank is of the next run once the newest is whole or ended or silent") {
  const RunFacts first = with_rank(run_at("train", kRunOne), "a");
  for (const std::optional<int> written : {std::optional<int>(), std::optional(kRunOne + 1)}) {
    const NewUpload file = file_of("b", written);
    CHECK(run_for(file, {whole(first)}, kRunOne + 30) == "train~2");
    CHECK(run_for(file, {ended_at(first, kRunOne + 25)}, kRunOne + 30) == "train~2");
    CHECK(run_for(file, {first}, kRunOne + 20 + 899) == "conflict");
    CHECK(run_for(file, {first}, kRunOne + 20 + 900) == "train~2");
  }
}

TEST_CASE("a conflict tells when the run is over if nothing more comes") {
  const std::vector<RunFacts> runs = {with_rank(run_at("train", kRunOne), "a")};
  const ChosenRun chosen = run_of_upload(file_of("b", std::nullopt), runs, kWaits, at_second(kRunOne + 320));
  CHECK(chosen.kind == ChosenRun::Kind::conflict);
  CHECK(chosen.wait == seconds(600));
}

TEST_CASE("a run's own deadline wins over that of all") {
  RunFacts first = with_rank(run_at("train", kRunOne), "a");
  first.deadline = seconds(60);
  CHECK(run_for(file_of("b", std::nullopt), {first}, kRunOne + 79) == "conflict");
  CHECK(run_for(file_of("b", std::nullopt), {first}, kRunOne + 80) == "train~2");
  CHECK(run_for(file_of("c", kRunOne + 66), {run_at("train", kRunOne)}, kRunOne + 70) == "train");
  RunFacts hasty = run_at("train", kRunOne);
  hasty.deadline = seconds(60);
  CHECK(run_for(file_of("c", kRunOne + 66), {hasty}, kRunOne + 70) == "train~2");
}

TEST_CASE("a rank that writes other content after its file had come has run again whatever its run still lacks") {
  const std::vector<RunFacts> runs = {with_rank(run_at("train", kRunOne), "a")};
  CHECK(run_for(file_of("b", kRunOne + 14), runs, kRunOne + 60) == "conflict");
  CHECK(run_for(file_of("b", kRunOne + 16), runs, kRunOne + 60) == "train~2");
}

TEST_CASE("a rank that an incomplete run lacks is of it when written within its deadline and never later") {
  const std::vector<RunFacts> runs = {run_at("train", kRunOne)};
  const int much_later = kRunOne + 5 * kAnHour;  // when its agent comes
  CHECK(run_for(file_of("a", kRunOne), runs, much_later) == "train");
  CHECK(run_for(file_of("a", kRunOne - 900), runs, much_later) == "train");
  CHECK(run_for(file_of("a", kRunOne + 5 + 900), runs, much_later) == "train");
  CHECK(run_for(file_of("a", kRunOne + 5 + 901), runs, much_later) == "train~2");
  CHECK(run_for(file_of("a", kRunOne - 901), runs, much_later) == "train~2");
}

TEST_CASE("of two runs that lack a rank the one that was written nearer has it") {
  const std::vector<RunFacts> runs = {run_at("train", kRunOne), run_at("train~2", kRunOne + 605)};
  CHECK(run_for(file_of("a", kRunOne + 3), runs, kRunOne + kAnHour) == "train");
  CHECK(run_for(file_of("a", kRunOne + 304), runs, kRunOne + kAnHour) == "train");
  CHECK(run_for(file_of("a", kRunOne + 305), runs, kRunOne + kAnHour) == "train~2");
  CHECK(run_for(file_of("a", kRunOne + 606), runs, kRunOne + kAnHour) == "train~2");
}

TEST_CASE("a late rank of an older run comes to it though the newest has that rank from another file") {
  const std::vector<RunFacts> runs = {run_at("train", kRunOne),
                                      whole(with_rank(run_at("train~2", kRunOne + kAnHour), "b"))};
  CHECK(run_for(file_of("late", kRunOne + 1), runs, kRunOne + 2 * kAnHour) == "train");
  CHECK(run_for(file_of("third", kRunOne + 2 * kAnHour), runs, kRunOne + 2 * kAnHour) == "train~3");
}

TEST_CASE("where nobody says when a file was written the newest run gets what it lacks") {
  const std::vector<RunFacts> runs = {run_at("train", kRunOne), run_at("train~2", kRunOne + kAnHour)};
  CHECK(run_for(file_of("a", std::nullopt), runs, kRunOne + 9 * kAnHour) == "train~2");
}

TEST_CASE("another capture hours later is of the same run unless that had ended before") {
  const RunFacts first = lacking_capture(whole(run_at("train", kRunOne)));
  NewUpload file = file_of("a", kRunOne + 3 * kAnHour);
  file.metadata.capture = 1;
  CHECK(run_for(file, {first}, kRunOne + 3 * kAnHour) == "train");
  CHECK(run_for(file, {ended_at(first, kRunOne + 3 * kAnHour - 120)}, kRunOne + 4 * kAnHour) == "train");
  CHECK(run_for(file, {ended_at(first, kRunOne + 3 * kAnHour - 121)}, kRunOne + 4 * kAnHour) == "train~2");
}

TEST_CASE("a second run's next capture is of it though the first run has such a capture") {
  const std::vector<RunFacts> runs = {whole(with_rank(run_at("train", kRunOne), "a")),
                                      lacking_capture(run_at("train~2", kRunOne + kAnHour))};
  CHECK(run_for(file_of("b", kRunOne + 2 * kAnHour), runs, kRunOne + 2 * kAnHour) == "train~2");
}

TEST_CASE("a rank that was written after its run had ended is of the next one") {
  const std::vector<RunFacts> runs = {ended_at(run_at("train", kRunOne), kRunOne + 10)};
  CHECK(run_for(file_of("a", kRunOne + 130), runs, kRunOne + 300) == "train");
  CHECK(run_for(file_of("a", kRunOne + 131), runs, kRunOne + 300) == "train~2");
}

TEST_CASE("a job that is registered and has nothing yet takes what comes though it has ended") {
  RunFacts registered;
  registered.job = "train";
  registered.ended = true;
  registered.ended_at = at_second(kRunOne);
  CHECK(run_for(file_of("a", kRunOne + kAnHour), {registered}, kRunOne + kAnHour) == "train");
}

TEST_CASE("what is to replace a file and what a flight recorder leaves is of the newest run") {
  const std::vector<RunFacts> runs = {whole(with_rank(run_at("train", kRunOne), "a")),
                                      whole(with_rank(run_at("train~2", kRunOne + kAnHour), "b"))};
  NewUpload file = file_of("c", kRunOne);
  file.metadata.replace = true;
  CHECK(run_for(file, runs, kRunOne + 2 * kAnHour) == "train~2");
  file.metadata.replace = false;
  file.metadata.capture = kMostCaptures + 1;
  CHECK(run_for(file, runs, kRunOne + 2 * kAnHour) == "train~2");
}

TEST_CASE("a log is of the run in which it was begun for as long as that goes on") {
  RunFacts first = run_at("train", kRunOne);
  first.has_log = true;
  first.last_byte = at_second(kRunOne + 10 * kAnHour);
  NewUpload log = file_of("", kRunOne + 5 * kAnHour);  // a process that was started again
  log.metadata.sha256.reset();
  log.metadata.grows = true;
  const int much_later = kRunOne + 20 * kAnHour;
  CHECK(run_for(log, {first}, much_later) == "train");
  log.written = at_second(kRunOne + 10 * kAnHour + 900);
  CHECK(run_for(log, {first}, much_later) == "train");
  log.written = at_second(kRunOne + 10 * kAnHour + 901);
  CHECK(run_for(log, {first}, much_later) == "train~2");
  log.written = at_second(kRunOne + 8 * kAnHour);
  CHECK(run_for(log, {ended_at(first, kRunOne + 8 * kAnHour - 200)}, much_later) == "train~2");
}

TEST_CASE("a file is left to the store where the rank has a log or nobody says what the file holds") {
  RunFacts first = whole(run_at("train", kRunOne));
  first.has_log = true;
  CHECK(run_for(file_of("a", kRunOne), {first}, kRunOne + 30) == "train");
  NewUpload unknown = file_of("", std::nullopt);
  unknown.metadata.sha256.reset();
  CHECK(run_for(unknown, {whole(with_rank(run_at("train", kRunOne), "a"))}, kRunOne + 30) == "train");
}

TEST_CASE("a name has at most a thousand runs at a time") {
  std::vector<RunFacts> runs;
  for (int i = 1; i <= static_cast<int>(kMostRuns); ++i) {
    runs.push_back(whole(with_rank(run_at(run_of("train", i), kRunOne + i * kAnHour), std::to_string(i))));
  }
  const NewUpload file = file_of("one more", kRunOne + 2000 * kAnHour);
  CHECK(run_for(file, runs, kRunOne + 2000 * kAnHour) == "too many");
  runs.erase(runs.begin());
  CHECK(run_for(file, runs, kRunOne + 2000 * kAnHour) == "train~1001");
}

}  // namespace
}  // namespace skewscope::gather
