#include <catch2/catch.hpp>

#include <fstream>
#include <set>

#include "skewscope/gather.h"
#include "spool.h"
#include "src/gather/reports/reports.h"

namespace skewscope::gather {
namespace {

using test::answer_of;
using test::Asking;
using test::kTrace;
using test::Spool;
using test::upload_of;

JobSettings ranks(int world_size) {
  JobSettings settings;
  settings.world_size = world_size;
  return settings;
}

void write_report(const Store::ReportFolders& folders) {
  std::filesystem::create_directories(folders.output);
  std::ofstream(folders.output + "/report.json") << "{\"generation\": " << folders.generation << "}";
  std::ofstream(folders.output + "/COMPLETE") << "skewscope.report/1\n";
}

std::string text_of(const Outcome<StoredFile>& file) {
  if (file.refusal != Refusal::none) return "";
  std::string bytes(file.value.size, '\0');
  const ssize_t got = ::pread(file.value.fd, bytes.data(), bytes.size(), 0);
  ::close(file.value.fd);
  return got == static_cast<ssize_t>(bytes.size()) ? bytes : "cannot be read";
}

TEST_CASE("a job counts the ranks that came and names those that are missing") {
  Spool spool("arrivals");
  Asking ask = spool.ask();
  CHECK(ask.put_job("train", ranks(4)).value.expected == 4);
  ask.put("train", 0, kTrace);
  ask.put("train", 2, "{}");
  const JobState job = *spool.store->job("train");
  CHECK(job.arrived == 2);
  CHECK(job.arrivals == 2);
  CHECK(job.missing_ranks == std::vector<int>{1, 3});
  CHECK(job.bytes == kTrace.size() + 2);
  CHECK_FALSE(job.conflict);
}

NewUpload of_capture(int capture, int rank, std::optional<uint64_t> length) {
  NewUpload upload = upload_of("train", rank, length);
  upload.metadata.capture = capture;
  return upload;
}

TEST_CASE("a rank is missing in whichever capture it is missing, and the report is partial for it") {
  Spool spool("missing_by_capture");
  Asking ask = spool.ask();
  ask.put_job("train", ranks(4));
  ask.put(of_capture(0, 0, {}), kTrace);
  for (int rank = 0; rank < 4; ++rank) ask.put(of_capture(1, rank, {}), kTrace);
  const auto check = [&] {
    const JobState job = *spool.store->job("train");
    CHECK(job.arrived == 5);
    CHECK(files_expected(job) == 8);
    CHECK(job.missing_ranks == std::vector<int>{1, 2, 3});
    REQUIRE(job.missing.size() == 1);
    CHECK(job.missing[0].capture == 0);
    CHECK(job.missing[0].ranks == std::vector<int>{1, 2, 3});
  };
  check();
  spool.open();
  check();
  write_report(spool.ask().begin_report("train").value);
  CHECK(spool.ask().end_report("train", 1, 0).value.report == ReportState::partial);
}

TEST_CASE("who makes a report learns which ranks are of which host, as the names tell that files came with") {
  Spool spool("hosts");
  Asking ask = spool.ask();
  const char* const names[] = {"rank0@node1.json", "rank1@node1_step3.json.gz", "rank2.json", "rank3@node2.json",
                               "rank4@no/host.json"};
  for (int rank = 0; rank < 5; ++rank) {
    NewUpload upload = of_capture(0, rank, {});
    upload.metadata.filename = names[rank];
    ask.put(upload, kTrace);
  }
  CHECK(spool.ask().begin_report("train").value.hosts == "0 0 1 node1\n0 3 3 node2\n");
}

TEST_CASE("a file of several ranks counts for all of them, also after a start and when it is replaced") {
  Spool spool("several_ranks");
  spool.ask().put_job("train", ranks(8));
  NewUpload upload = of_capture(0, 2, {});
  upload.metadata.ranks = 4;
  upload.metadata.filename = "node0@n17.sqlite";
  const std::string bytes = "SQLite format 3";
  NewUpload open = upload;
  open.length = bytes.size();
  const std::string id = spool.ask().create(open).value.id;
  spool.ask().patch(id, 0, bytes.substr(0, 4));
  spool.open();  // in the middle of the upload
  REQUIRE(spool.ask().patch(id, 4, bytes.substr(4)).refusal == Refusal::none);
  spool.ask().put("train", 7, kTrace);
  const auto check = [&] {
    const JobState job = *spool.store->job("train");
    CHECK(job.arrived == 5);
    CHECK(job.missing_ranks == std::vector<int>{0, 1, 6});
    CHECK(std::filesystem::exists(spool.folder.path / "jobs/train/ranks/c0000/r00002+4.sqlite"));
  };
  check();
  spool.open();
  check();
  upload.metadata.ranks = 5;
  upload.metadata.replace = true;
  spool.ask().put(upload, bytes + " again");
  CHECK(spool.store->job("train")->missing_ranks == std::vector<int>{0, 1});
  CHECK_FALSE(std::filesystem::exists(spool.folder.path / "jobs/train/ranks/c0000/r00002+4.sqlite"));
  upload = of_capture(0, 0, {});
  upload.metadata.ranks = 3;  // 2 is in the other file, too
  spool.ask().put(upload, kTrace);
  CHECK(spool.store->job("train")->arrived == 8);
  CHECK(spool.ask().begin_report("train").value.hosts == "0 2 6 n17\n");
}

TEST_CASE("a report is partial while fewer captures have begun than were told") {
  Spool spool("captures_told");
  JobSettings settings = ranks(1);
  settings.captures = 2;
  spool.ask().put_job("train", settings);
  spool.ask().put("train", 0, kTrace);
  write_report(spool.ask().begin_report("train").value);
  CHECK(spool.ask().end_report("train", 1, 0).value.report == ReportState::partial);
}

TEST_CASE("a capture counts while it has a file or an open upload") {
  Spool spool("captures_begun");
  Asking ask = spool.ask();
  ask.put_job("train", ranks(2));
  const std::string aborted = ask.create(of_capture(5, 0, 100)).value.id;
  CHECK(spool.store->job("train")->captures == 1);
  for (int rank = 0; rank < 2; ++rank) ask.put("train", rank, kTrace);
  CHECK(spool.store->job("train")->captures == 2);
  CHECK_FALSE(is_whole(*spool.store->job("train")));
  spool.open();
  CHECK(spool.store->job("train")->captures == 2);
  spool.ask().remove(aborted);
  CHECK(spool.store->job("train")->captures == 1);
  CHECK(is_whole(*spool.store->job("train")));
}

TEST_CASE("of a job of the most ranks and captures, one file is not the whole set") {
  Spool spool("largest_job");
  JobSettings settings = ranks(1 << 20);
  settings.captures = 4096;
  spool.ask().put_job("train", settings);
  spool.ask().put("train", 0, kTrace);
  const JobState job = *spool.store->job("train");
  CHECK(files_expected(job) == int64_t{1} << 32);
  CHECK_FALSE(is_whole(job));
  CHECK(report_due(job, {}) > job.last_arrival);
}

TEST_CASE("the first upload makes its job, whose owner and world size it tells") {
  Spool spool("implicit");
  NewUpload upload = upload_of("train", 0, 2);
  upload.metadata.world_size = 8;
  spool.ask().create(upload);
  CHECK(spool.store->job("train")->owner_uid == 1000);
  CHECK(spool.store->job("train")->expected == 8);
  CHECK(spool.store->job("train")->open_uploads == 1);
}

TEST_CASE("sources that disagree about the world size are in conflict, and the largest counts") {
  Spool spool("conflict");
  Asking ask = spool.ask();
  ask.put_job("train", ranks(4));
  NewUpload upload = upload_of("train", 0, 2);
  upload.metadata.world_size = 8;
  ask.create(upload);
  CHECK(spool.store->job("train")->expected == 8);
  CHECK(spool.store->job("train")->conflict);
  spool.open();
  CHECK(spool.store->job("train")->conflict);
}

TEST_CASE("no moment of a job or an upload lies ahead once the clock was set back") {
  Spool spool("set_back");
  const int64_t right = spool.clock;
  spool.clock = right + 3600;
  spool.ask().put("train", 0, kTrace);
  spool.ask().end_job("train");
  const std::string id = spool.ask().create(upload_of("train", 1, 100)).value.id;
  spool.clock = right;
  const auto lies_ahead = [&] {
    const JobState job = *spool.store->job("train");
    return std::max({job.created, job.last_byte, job.last_arrival, job.ended_at}) > Time(std::chrono::seconds(right)) ||
           spool.ask().state(id).value.expires > Time(std::chrono::seconds(right + 3600));
  };
  SECTION("while it serves") {
    CHECK(test::eventually([&] { return !lies_ahead(); }));
  }
  SECTION("over a start") {
    spool.open();
    CHECK_FALSE(lies_ahead());
  }
}

TEST_CASE("a job that is registered, or of which an upload was only announced, has no last byte") {
  Spool spool("no_byte");
  spool.ask().put_job("train", ranks(2));
  spool.ask().create(upload_of("announced", 0, 100));
  const auto check = [&] {
    for (const char* job : {"train", "announced"}) {
      CHECK(spool.store->job(job)->last_byte == Time());
      CHECK(spool.store->job(job)->created == Time(std::chrono::seconds(spool.clock)));
    }
  };
  check();
  spool.open();
  check();
}

TEST_CASE("a job's last byte is now while a body is under way, and then the moment of its end") {
  Spool spool("last_byte");
  NewUpload upload = upload_of("train", 0, 3);
  SECTION("of an upload that can be resumed") {}
  SECTION("of one request") { upload.one_request = true; }
  const std::string id = spool.ask().create(upload).value.id;
  const auto writer = spool.ask().append(id, 0).value;
  for (int quiet = 0; quiet < 2; ++quiet) {
    spool.clock += 100;
    CHECK(spool.store->job("train")->last_byte == Time(std::chrono::seconds(spool.clock)));
  }
  const Time end = Time(std::chrono::seconds(spool.clock));
  answer_of<UploadState>([&](auto done) { writer->finish(done, nullptr); });
  spool.clock += 100;
  CHECK(spool.store->job("train")->last_byte == end);
}

TEST_CASE("settings, end and epoch of a job stand after a stop and a start") {
  Spool spool("settings");
  Asking ask = spool.ask();
  JobSettings settings = ranks(4);
  settings.deadline = std::chrono::seconds(60);
  settings.nodes = {"node1", "node2"};
  settings.owner_uid = 7;
  ask.put_job("train", settings);
  ask.end_job("train");
  ask.raise_epoch("train");
  ask.put_job("train", {});
  spool.open();
  const JobState job = *spool.store->job("train");
  CHECK(job.expected == 4);
  CHECK(job.settings.deadline == std::chrono::seconds(60));
  CHECK(job.settings.nodes == std::vector<std::string>{"node1", "node2"});
  CHECK(job.owner_uid == 7);
  CHECK(job.ended);
  CHECK(job.epoch == 1);
}

TEST_CASE("a job's epoch rises when another owner is named than it had, and by nothing else that is said of it") {
  Spool spool("another_owner");
  Asking ask = spool.ask();
  const auto epoch_after = [&](std::optional<uint32_t> owner) {
    JobSettings settings;
    settings.owner_uid = owner;
    settings.sender_uid = 1000;
    return ask.put_job("train", settings).value.epoch;
  };
  CHECK(epoch_after({}) == 0);  // the sender's
  CHECK(epoch_after(1000) == 0);
  CHECK(epoch_after(2000) == 1);
  CHECK(epoch_after(2000) == 1);
  CHECK(epoch_after({}) == 1);
  CHECK(epoch_after(0) == 2);
  CHECK(epoch_after(3000) == 2);  // it was nobody's
  spool.open();
  CHECK(spool.store->job("train")->epoch == 2);
}

TEST_CASE("jobs are listed by name, from one on") {
  Spool spool("list");
  for (const char* name : {"c", "a", "b", "d"}) spool.ask().put_job(name, {});
  const std::vector<JobState> some = spool.store->jobs("a", 2);
  REQUIRE(some.size() == 2);
  CHECK(some[0].name == "b");
  CHECK(some[1].name == "c");
}

TEST_CASE("a report becomes current when it is whole, and the last two are kept") {
  Spool spool("report");
  Asking ask = spool.ask();
  ask.put_job("train", ranks(2));
  ask.put("train", 0, kTrace);
  for (int generation = 1; generation <= 3; ++generation) {
    const auto folders = ask.begin_report("train");
    REQUIRE(folders.refusal == Refusal::none);
    CHECK(folders.value.generation == generation);
    CHECK(folders.value.traces == spool.path("jobs/train/ranks"));
    CHECK(folders.value.world_size == 2);
    CHECK(folders.value.missing_ranks == std::vector<int>{1});
    CHECK(spool.store->job("train")->report == ReportState::running);
    CHECK(spool.store->job("train")->reported_arrivals == 1);
    write_report(folders.value);
    CHECK(ask.end_report("train", generation, 1).value.report == ReportState::partial);
    CHECK(text_of(spool.store->read_report("train", 0, "report.json")) ==
          "{\"generation\": " + std::to_string(generation) + "}");
  }
  CHECK(std::filesystem::read_symlink(spool.path("jobs/train/report/current")) == "g0003");
  spool.open();
  CHECK(spool.store->job("train")->report_generation == 3);
  CHECK(spool.store->read_report("train", 1, "report.json").refusal == Refusal::unknown);
  CHECK(!text_of(spool.store->read_report("train", 2, "report.json")).empty());
  CHECK(spool.store->read_report("train", 3, "../../ranks/c0000/r00000.json").refusal == Refusal::unknown);
}

TEST_CASE("a report of a job whose number of ranks nobody told is partial, and made again once it is told") {
  Spool spool("told_late");
  Asking ask = spool.ask();
  const auto report = [&] {
    const auto folders = spool.ask().begin_report("train").value;
    write_report(folders);
    return spool.ask().end_report("train", folders.generation, 0).value.report;
  };
  const auto is_due = [&] { return report_due(*spool.store->job("train"), {}).has_value(); };
  ask.put("train", 0, kTrace);
  CHECK(report() == ReportState::partial);
  CHECK_FALSE(is_due());
  SECTION("by the operator, more than came") {
    CHECK(ask.put_job("train", ranks(8)).value.report == ReportState::partial);
    CHECK(is_due());
    spool.open();
    CHECK(is_due());
    CHECK(report() == ReportState::partial);
  }
  SECTION("by the operator, as many as came") {
    ask.put_job("train", ranks(1));
    CHECK(is_due());
    CHECK(report() == ReportState::complete);
    spool.ask().put_job("train", ranks(1));
    CHECK_FALSE(is_due());
    CHECK(spool.ask().put_job("train", ranks(2)).value.report == ReportState::partial);
    CHECK(is_due());
    CHECK(report() == ReportState::partial);
  }
  SECTION("by a sender who sends the same once more") {
    NewUpload again = upload_of("train", 0, kTrace.size());
    again.metadata.world_size = 1;
    again.one_request = true;
    CHECK(ask.put(again, kTrace).refusal == Refusal::none);
    CHECK(is_due());
    spool.open();
    CHECK(is_due());
    CHECK(report() == ReportState::complete);
  }
  CHECK_FALSE(is_due());
  spool.open();
  CHECK(spool.store->job("train")->arrivals == spool.store->job("train")->reported_arrivals);
}

TEST_CASE("a report that failed or is not whole leaves the one before it current") {
  Spool spool("failed_report");
  Asking ask = spool.ask();
  ask.put_job("train", ranks(1));
  ask.put("train", 0, kTrace);
  write_report(ask.begin_report("train").value);
  CHECK(ask.end_report("train", 1, 0).value.report == ReportState::complete);
  write_report(ask.begin_report("train").value);
  CHECK(ask.end_report("train", 2, 139).value.report == ReportState::failed);
  ask.begin_report("train");
  const JobState job = ask.end_report("train", 3, 0).value;  // without COMPLETE
  CHECK(job.report == ReportState::failed);
  CHECK(job.report_generation == 1);
  CHECK(std::filesystem::read_symlink(spool.path("jobs/train/report/current")) == "g0001");
}

TEST_CASE("a report's log goes with its generation, and stays over a start until then") {
  Spool spool("report_logs");
  Asking ask = spool.ask();
  ask.put("train", 0, kTrace);
  const auto logs = [&] {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(spool.path("jobs/train/report"))) {
      if (entry.path().extension() == ".log") names.insert(entry.path().filename());
    }
    return names;
  };
  const auto make = [&](int exit_code) {
    const auto folders = ask.begin_report("train").value;
    if (exit_code == 0) write_report(folders);
    std::ofstream(folders.output + ".log") << "what it said";
    ask.end_report("train", folders.generation, exit_code);
  };
  for (const int exit_code : {0, 139, 0, 0}) make(exit_code);
  const auto settled = [&](const std::set<std::string>& wanted) {
    return test::eventually([&] { return logs() == wanted; });
  };
  CHECK(settled({"g0003.log", "g0004.log"}));
  CHECK(text_of(spool.store->read_report("train", 0, "log")) == "what it said");
  CHECK(spool.store->read_report("train", 2, "log").refusal == Refusal::unknown);
  for (int i = 0; i < 4; ++i) make(139);
  CHECK(settled({"g0003.log", "g0004.log", "g0007.log", "g0008.log"}));
  std::ofstream(spool.path("jobs/train/report/g0099.log")) << "of nobody";
  spool.open();
  CHECK(logs() == std::set<std::string>{"g0003.log", "g0004.log", "g0007.log", "g0008.log"});
  CHECK(spool.store->job("train")->report_generation == 4);
}

TEST_CASE("a report that was being made when the daemon stopped is made again") {
  Spool spool("cut_report");
  spool.ask().put("train", 0, kTrace);
  write_report(spool.ask().begin_report("train").value);
  CHECK(spool.ask().begin_report("train").refusal == Refusal::too_many);
  spool.open();
  const JobState job = *spool.store->job("train");
  CHECK(job.report == ReportState::waiting);
  CHECK(job.reported_arrivals == 0);
  CHECK(spool.ask().begin_report("train").value.generation == 1);
}

}  // namespace
}  // namespace skewscope::gather
