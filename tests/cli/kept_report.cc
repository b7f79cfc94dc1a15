// The same question about the same files is answered by a copy of the report that was made first. What tells a copy
// from a report that was made is a mark that the test leaves in the kept one.
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "workplace.h"

using namespace skewscope::test;

namespace {

// What changed just now is not kept.
void let_files_settle() { std::this_thread::sleep_for(std::chrono::milliseconds(100)); }

// Traces of its own, and a cache that holds nothing yet.
class Kept {
 public:
  explicit Kept(const std::string& name) : name_(name), cache_(name + "/cache") {
    fs::remove_all(place() / name);
    fs::create_directories(place() / name);
    fs::copy(place() / "traces", place() / (name + "/traces"));
    let_files_settle();
  }
  Outcome report(const std::string& flags) const { return report_with(cache_, flags); }
  Outcome report_with(const std::string& cache, const std::string& flags, const std::string& launcher = "") const {
    return place().run("report " + name_ + "/traces --cache " + cache + " " + flags, launcher);
  }
  // `launcher`: what stands before the program in the shell.
  Outcome report_after(const std::string& launcher, const std::string& flags) const {
    return report_with(cache_, flags, launcher);
  }
  // Folder of the one report that is kept, relative to where tests run.
  std::string folder() const {
    std::string found;
    for (const auto& entry : fs::directory_iterator(place() / cache_)) {
      if (entry.is_directory()) found = cache_ + "/" + entry.path().filename().string();
    }
    return found;
  }
  // As many bytes as before.
  void mark() const {
    const std::string file = place() / (folder() + "/report/tables/clocks.csv");
    REQUIRE(fs::exists(file));
    std::fstream(file, std::ios::in | std::ios::out) << "MARK";
  }
  bool is_copy(const std::string& output) const {
    return place().read(name_ + "/" + output + "/tables/clocks.csv").starts_with("MARK");
  }
  std::string folder_of(const std::string& output) const { return name_ + "/" + output; }
  std::string flags_for(const std::string& output) const { return "-o " + folder_of(output); }

 private:
  std::string name_, cache_;
};

}  // namespace

TEST_CASE("the report asked for again is copied: all but stamp and directory is equal") {
  const Kept kept("kept_again");
  const Outcome first = kept.report(kept.flags_for("a"));
  const Outcome second = kept.report(kept.flags_for("b") + " -j 1 --progress never");
  REQUIRE(first.code == 0);
  REQUIRE(second.code == 0);
  CHECK(second.err == "");
  CHECK(second.out == place().read("kept_again/b/summary.txt"));
  for (const char* file : {"report.sqlite", "diagnostics.json", "COMPLETE", "tables/collective_ranks.csv"}) {
    INFO(file);
    CHECK(place().read("kept_again/a/" + std::string(file)) == place().read("kept_again/b/" + std::string(file)));
  }
  const auto document = nlohmann::json::parse(place().read("kept_again/b/report.json"));
  CHECK(says(document["command"], "-o kept_again/b -j 1"));
  CHECK(says(place().read("kept_again/b/index.html"), "-o kept_again/b -j 1"));

  kept.mark();
  CHECK(says(kept.report(kept.flags_for("c") + " --progress always").err, "taken from the cache"));
  CHECK(kept.is_copy("c"));
  CHECK(kept.report(kept.flags_for("c") + " -q").out == "");
  CHECK(kept.is_copy("c"));
}

TEST_CASE("a copy takes over the files that the report it replaces has already, and writes the others") {
  const Kept kept("kept_over");
  const auto path_of = [](const std::string& file) { return fs::path(place() / ("kept_over/a/" + file)); };
  const auto text_of = [](const std::string& file) { return place().read("kept_over/a/" + file); };
  const auto inode_of = [&](const std::string& file) {
    struct stat status {};
    REQUIRE(stat(path_of(file).c_str(), &status) == 0);
    return status.st_ino;
  };
  const std::string same = "report.sqlite", edited = "tables/ranks.csv", closed = "tables/steps.csv";
  const std::string shared = "diagnostics.json";  // with a snapshot of the user's
  REQUIRE(kept.report(kept.flags_for("a")).code == 0);
  const auto of_same = inode_of(same), of_document = inode_of("report.json"), of_closed = inode_of(closed);
  fs::create_hard_link(path_of(shared), place() / "kept_over/snapshot");
  const auto an_hour_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(path_of(same), an_hour_ago);
  const std::string made = text_of(edited);
  std::fstream(path_of(edited), std::ios::in | std::ios::out) << "MINE";
  fs::permissions(path_of(closed), fs::perms::owner_read);

  CHECK(says(kept.report(kept.flags_for("a") + " --force --progress always").err, "taken from the cache"));
  CHECK(inode_of(same) == of_same);
  CHECK(fs::last_write_time(path_of(same)) > an_hour_ago);
  CHECK(inode_of("report.json") != of_document);
  CHECK(says(nlohmann::json::parse(text_of("report.json"))["command"], "--force"));
  CHECK(text_of(edited) == made);
  CHECK(inode_of(closed) != of_closed);
  CHECK_FALSE(fs::equivalent(path_of(shared), place() / "kept_over/snapshot"));
  CHECK(text_of(shared) == place().read("kept_over/snapshot"));
  CHECK(fs::status(path_of(closed)).permissions() == fs::status(path_of(edited)).permissions());
}

TEST_CASE("a copied summary has colours where they are asked for; one with colours is no copy for a file") {
  const Kept kept("kept_color");
  REQUIRE(kept.report(kept.flags_for("a") + " --color always").code == 0);
  const Outcome made = kept.report_with("off", kept.flags_for("b") + " --color always");
  kept.mark();
  const Outcome copied = kept.report(kept.flags_for("b") + " --color always --force");
  CHECK(kept.is_copy("b"));
  CHECK(says(copied.out, "\x1b["));
  CHECK(copied.out == made.out);
  CHECK_FALSE(says(kept.report(kept.flags_for("c")).out, "\x1b["));
  CHECK_FALSE(kept.is_copy("c"));
}

TEST_CASE("another question is not answered by the kept report") {
  const Kept kept("kept_question");
  std::ofstream(place() / "kept_question/peaks.txt") << "# nothing\n 1024 256 float sum -1 10 0.1 0.2 0 10 0.1 0.2 0\n";
  std::ofstream(place() / "kept_question/config.toml") << "steps = '100:102'\n";
  let_files_settle();
  REQUIRE(kept.report(kept.flags_for("a")).code == 0);
  kept.mark();
  for (const std::string flags :
       {"--steps 100:102", "--ranks 0-2", "--align wallclock", "--world-size 6", "--job mine", "-f csv",
        "--rank-tables gpu", "--network-peak 50", "--baseline kept_question/peaks.txt",
        "--config kept_question/config.toml", "--strict", "--fail-on 'unmatched>0'", "--timings", "-v"}) {
    INFO(flags);
    const Outcome other = kept.report(kept.flags_for("b") + " --force " + flags);
    CHECK(other.code == 0);
    CHECK_FALSE(kept.is_copy("b"));
  }
  for (const std::string cache : {"off", "kept_question/other"}) {
    CHECK(kept.report_with(cache, kept.flags_for("b") + " --force").code == 0);
    CHECK_FALSE(kept.is_copy("b"));
  }
  CHECK(kept.report(kept.flags_for("b") + " --force").code == 0);
  CHECK(kept.is_copy("b"));
}

TEST_CASE("a report is made anew when a trace, or a file that a flag names, has changed") {
  const Kept kept("kept_change");
  const std::string map = place() / "kept_change/map.csv", flags = " --rank-map kept_change/map.csv --force";
  std::ofstream(map) << "path,rank\nrank0_trace.json,0\n";
  let_files_settle();
  const auto copied = [&] {
    const Outcome r = kept.report(kept.flags_for("b") + flags);
    CHECK(r.code == 0);
    return kept.is_copy("b");
  };
  const auto keep_anew = [&] {
    fs::remove_all(place() / "kept_change/cache");
    let_files_settle();
    REQUIRE(kept.report(kept.flags_for("a") + flags).code == 0);
    kept.mark();
    REQUIRE(copied());
  };
  keep_anew();
  fs::last_write_time(place() / "kept_change/traces/rank1_trace.json", fs::file_time_type::clock::now());
  CHECK_FALSE(copied());

  keep_anew();
  fs::copy(place() / "kept_change/traces/rank1_trace.json", place() / "kept_change/traces/rank9_trace.json");
  CHECK_FALSE(copied());

  keep_anew();
  fs::remove(place() / "kept_change/traces/rank9_trace.json");
  CHECK_FALSE(copied());

  keep_anew();
  std::ofstream(map, std::ios::app) << "rank1_trace.json,1\n";
  CHECK_FALSE(copied());
}

TEST_CASE("what is read from a pipe is asked for each time") {
  const Kept kept("kept_pipe");
  const std::string pipe = place() / "kept_pipe/pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  let_files_settle();
  for (const std::string bandwidth : {"10.25", "20.5"}) {
    std::thread writer(
        [&] { std::ofstream(pipe) << "1024 256 float sum -1 42.1 24.9 " << bandwidth << " 0 41.8 25.0 43.8 0\n"; });
    const Outcome r = kept.report(kept.flags_for(bandwidth) + " --baseline kept_pipe/pipe");
    writer.join();
    INFO(r.err);
    REQUIRE(r.code == 0);
    CHECK(says(place().read(kept.folder_of(bandwidth) + "/tables/baseline.csv"), bandwidth));
  }
}

TEST_CASE("a copy has the files that were asked for, and the modes of its own day") {
  const Kept kept("kept_modes");
  REQUIRE(kept.report_after("umask 077;", kept.flags_for("a") + " -f json").code == 0);
  REQUIRE(kept.report_after("umask 022;", kept.flags_for("b") + " -f json").code == 0);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(place() / kept.folder_of("b"))) {
    names.push_back(entry.path().filename());
    INFO(names.back());
    CHECK((entry.status().permissions() & fs::perms::mask) == fs::perms(0644));
  }
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"COMPLETE", "diagnostics.json", "report.json", "summary.txt"});
}

TEST_CASE("two reports at once with one output keep what each was asked") {
  const Kept kept("kept_at_once");
  const std::string early = " --force -q -f csv --steps 100:101", late = " --force -q -f csv --steps 101:103";
  REQUIRE(kept.report_with("off", kept.flags_for("early") + early).code == 0);
  REQUIRE(kept.report_with("off", kept.flags_for("late") + late).code == 0);
  for (int round = 0; round < 8; ++round) {
    std::thread other([&] { kept.report(kept.flags_for("both") + late); });
    kept.report(kept.flags_for("both") + early);
    other.join();
    for (const auto& [flags, expected] : {std::pair(early, "early"), {late, "late"}}) {
      REQUIRE(kept.report(kept.flags_for("asked") + flags).code == 0);
      CHECK(place().read(kept.folder_of("asked") + "/tables/steps.csv") ==
            place().read(kept.folder_of(expected) + "/tables/steps.csv"));
    }
    fs::remove_all(place() / "kept_at_once/cache");
  }
}

TEST_CASE("a kept report that is cut or incomplete is not given") {
  const Kept kept("kept_damaged");
  REQUIRE(kept.report(kept.flags_for("a")).code == 0);
  kept.mark();
  fs::resize_file(place() / (kept.folder() + "/report/report.sqlite"), 100);
  CHECK(kept.report(kept.flags_for("b")).code == 0);
  CHECK_FALSE(kept.is_copy("b"));
  kept.mark();  // of the one that was made just now
  CHECK(kept.report(kept.flags_for("c")).code == 0);
  CHECK(kept.is_copy("c"));
  fs::resize_file(place() / (kept.folder() + "/summary.shown"), 0);
  CHECK(kept.report(kept.flags_for("c") + " --force").code == 0);
  CHECK_FALSE(kept.is_copy("c"));
  kept.mark();
  fs::remove(place() / (kept.folder() + "/question"));
  CHECK(kept.report(kept.flags_for("c") + " --force").code == 0);
  CHECK_FALSE(kept.is_copy("c"));
}

TEST_CASE("kept reports count towards the limit of the cache, and only their owner can read them") {
  const Kept kept("kept_limit");
  REQUIRE(place().run("digest kept_limit/traces -o kept_limit/digests").code == 0);
  let_files_settle();
  REQUIRE(place().run("report kept_limit/digests -o kept_limit/a --cache kept_limit/cache").code == 0);
  REQUIRE(kept.folder() != "");
  for (const std::string& folder : {std::string("kept_limit/cache"), kept.folder()}) {
    CHECK((fs::status(place() / folder).permissions() & fs::perms::mask) == fs::perms::owner_all);
  }
  for (const char* mine : {"mine.cached", "the-report-of-monday.cached"}) {
    fs::create_directories(fs::path(place() / "kept_limit/cache") / mine / "deep");
  }
  REQUIRE(kept.report(kept.flags_for("b") + " --steps 100:101 --cache-limit 1K").code == 0);
  const fs::path cache = place() / "kept_limit/cache";
  CHECK(std::distance(fs::directory_iterator(cache), fs::directory_iterator()) == 2);
  CHECK(fs::exists(cache / "mine.cached/deep"));
  CHECK(fs::exists(cache / "the-report-of-monday.cached/deep"));
}

TEST_CASE("a report of more than half the cache is not kept, so that the digests stay") {
  const Kept kept("kept_large");
  for (const char* output : {"a", "b"}) {
    REQUIRE(kept.report(kept.flags_for(output) + " --cache-limit 1M").code == 0);
    CHECK(kept.folder() == "");
    CHECK(std::distance(fs::directory_iterator(place() / "kept_large/cache"), fs::directory_iterator()) == 4);
  }
}
