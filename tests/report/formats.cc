// The forms of a report for spreadsheets and for Prometheus, read back by others than their writers.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <sstream>

#include "hand_built.h"
#include "src/report/json/prometheus_text.h"

using namespace skewscope;
using namespace skewscope::test;

namespace {

HandBuilt two_ranks() {
  HandBuilt built = job_of(2);
  add_all_reduce(built, {1000, 3000}, 5000, 4000);
  return built;
}

bool has_line(const std::string& text, const std::string& line) { return text.find(line + "\n") != std::string::npos; }

}  // namespace

TEST_CASE("a spreadsheet holds the rows of the CSV files, as another reader sees them") {
  if (std::system("python3 -c 'pass' 2>/dev/null") != 0) {
    WARN("skipped: no python3");
    return;
  }
  const ScratchDirectory scratch;
  HandBuilt built = two_ranks();
  built.job.traces[1].host = "=HYPERLINK(\"http://x\")";  // text, never a formula
  REQUIRE(write_report(built.report(), kStamp, {scratch / "out", false, {"csv", "xlsx"}}).ok());
  for (const char* table : {"ranks", "communicators", "collective_ranks", "diagnostics"}) {
    INFO(table);
    const std::string command = "python3 " SKEWSCOPE_SOURCE_DIR "/tests/report/read_xlsx.py " +
                                (scratch / "out/report.xlsx") + " " + table + " > " + (scratch / "sheet.csv");
    REQUIRE(std::system(command.c_str()) == 0);
    // Booleans are 1 and 0 in a sheet; empty cells at the end of a row are no cells.
    std::istringstream expected(read_file(scratch / "out/tables/" + table + ".csv"));
    std::istringstream found(read_file(scratch / "sheet.csv"));
    for (std::string line, cells; std::getline(expected, line);) {
      REQUIRE(std::getline(found, cells));
      for (const auto& [word, digit] : {std::pair{"true", "1"}, std::pair{"false", "0"}}) {
        for (size_t at = line.find(word); at != std::string::npos; at = line.find(word)) {
          line.replace(at, std::string(word).size(), digit);
        }
      }
      while (!line.empty() && line.back() == ',') line.pop_back();
      if (const size_t at = line.find("'="); at != std::string::npos) line.erase(at, 1);  // a sheet's text is none
      CHECK(cells == line);
    }
  }
}

TEST_CASE("a spreadsheet begins with the verdict and times that people read, and its tables can be filtered") {
  if (std::system("python3 -c 'pass' 2>/dev/null") != 0) {
    WARN("skipped: no python3");
    return;
  }
  const ScratchDirectory scratch;
  REQUIRE(write_report(two_ranks().report(), kStamp, {scratch / "out", false, {"xlsx"}}).ok());
  const std::string python = "python3 " SKEWSCOPE_SOURCE_DIR "/tests/report/read_xlsx.py ";
  REQUIRE(std::system((python + (scratch / "out/report.xlsx") + " summary > " + (scratch / "sheet.csv")).c_str()) == 0);
  const std::string sheet = read_file(scratch / "sheet.csv");
  CHECK(sheet.rfind("Verdict,", 0) == 0);
  CHECK(has_line(sheet, "Ranks,2 of 2"));
  CHECK(has_line(sheet, "computing,1.20 ms,60 %"));  // hand_built.h: 600 us of 1 ms on each
  CHECK(has_line(sheet, "communicators,1,a group of ranks that communicate"));
  // The first sheet and that of a table, as the book holds them.
  const std::string parts =
      "python3 -c \"import zipfile, re; b = zipfile.ZipFile('" + (scratch / "out/report.xlsx") +
      "'); x = b.read('xl/workbook.xml').decode(); n = re.findall('sheet name=.(.*?)[^a-z_]', x); "
      "s = b.read('xl/worksheets/sheet%d.xml' % (n.index('ranks') + 1)).decode(); "
      "print(n[0], 'autoFilter' in s, 'state=\\\"frozen\\\"' in s)\" > " +
      (scratch / "parts.txt");
  REQUIRE(std::system(parts.c_str()) == 0);
  CHECK(read_file(scratch / "parts.txt") == "summary True True\n");
}

TEST_CASE("spreadsheets and Prometheus texts are written only when asked for") {
  const ScratchDirectory scratch;
  REQUIRE(write_report(two_ranks().report(), kStamp, {scratch / "plain", false, {}}).ok());
  CHECK(read_file(scratch / "plain/report.prom").empty());
  CHECK(read_file(scratch / "plain/report.xlsx").empty());
  REQUIRE(write_report(two_ranks().report(), kStamp, {scratch / "prom", false, {"prometheus"}}).ok());
  CHECK_FALSE(read_file(scratch / "prom/report.prom").empty());
}

TEST_CASE("figures for Prometheus are in base units, with labels of rank and kind") {
  const std::string text = report::prometheus_text(two_ranks().report());
  // hand_built.h: each GPU computes 600 us of its window of 1 ms.
  CHECK(has_line(text,
                 "skewscope_gpu_seconds{job_name=\"train\",rank=\"0\",host=\"node-a\",state=\"computing\"} 0.0006"));
  CHECK(has_line(text, "skewscope_ranks{job_name=\"train\",state=\"present\"} 2"));
  CHECK(has_line(text, "# TYPE skewscope_gpu_seconds gauge"));
  // A job's figures fall from one job to the next: no rate can be had of them.
  CHECK(text.find(" counter\n") == std::string::npos);
  CHECK(text.find("_total") == std::string::npos);
  // 4000 bytes in 2 us, two ranks: 2 GB/s times 2 (n - 1) / n = 1.
  CHECK(text.find("collective=\"all_reduce\"") != std::string::npos);
  CHECK(text.find("message_size=\"4000\"} 2\n") != std::string::npos);
}

TEST_CASE("names in Prometheus labels cannot break out of them") {
  HandBuilt built = two_ranks();
  built.job.name = "a\"} 1\nevil{x=\"\\";
  const std::string text = report::prometheus_text(built.report());
  CHECK(text.find("\nevil") == std::string::npos);
  CHECK(has_line(text, R"(skewscope_ranks{job_name="a\"} 1\nevil{x=\"\\",state="world"} 2)"));
}
