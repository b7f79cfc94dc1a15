// The same question about the same files is answered by a copy of the report that was made first. What tells a copy
// from a report that was made is a mark that the test leaves in the kept one.
#include <catch2/catch.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

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
  Outcome report_with(const std::string& cache, const std::string& flags) const {
    return place().run("report " + name_ + "/traces --cache " + cache + " " + flags);
  }
  // Of the one report that is kept: folder, relative to the place of tests.
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
  std::string flags_for(const std::string& output) const { return "-o " + name_ + "/" + output; }

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
  CHECK(says(kept.report(kept.flags_for("c") + " --progress always").err, "copied"));
  CHECK(kept.is_copy("c"));
  CHECK(kept.report(kept.flags_for("c")).code == 5);  // it exists
  CHECK(kept.report(kept.flags_for("c") + " --force -q").out == "");
  CHECK(kept.is_copy("c"));
}

TEST_CASE("a copied summary has colours where they are asked for") {
  const Kept kept("kept_color");
  REQUIRE(kept.report(kept.flags_for("a")).code == 0);
  const Outcome made = kept.report_with("off", kept.flags_for("b") + " --color always");
  kept.mark();
  const Outcome copied = kept.report(kept.flags_for("b") + " --color always --force");
  CHECK(kept.is_copy("b"));
  CHECK(says(copied.out, "\x1b["));
  CHECK(copied.out == made.out);
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
  fs::remove(place() / (kept.folder() + "/question"));
  CHECK(kept.report(kept.flags_for("c") + " --force").code == 0);
  CHECK_FALSE(kept.is_copy("c"));
}

TEST_CASE("kept reports count towards the limit of the cache, and only their owner can read them") {
  const Kept kept("kept_limit");
  REQUIRE(kept.report(kept.flags_for("a")).code == 0);
  REQUIRE(kept.folder() != "");
  CHECK((fs::status(place() / kept.folder()).permissions() & fs::perms::mask) == fs::perms::owner_all);
  REQUIRE(kept.report(kept.flags_for("b") + " --steps 100:101 --cache-limit 1K").code == 0);
  CHECK(kept.folder() == "");
}
