#include <catch2/catch.hpp>
#include <fstream>

#include "../temporary_folder.h"
#include "python_csv.h"

using namespace skewscope::test;
using nlohmann::json;

TEST_CASE("Python literals become JSON: tuples arrays, None null, NumPy numbers plain ones") {
  CHECK(python_literal("((8, 16), (4,), ())") == json::parse("[[8, 16], [4], []]"));
  CHECK(python_literal("('c10::BFloat16', \"it's\", '')") == json::parse(R"(["c10::BFloat16", "it's", ""])"));
  CHECK(python_literal("[{'name': 'gemm', 'n': np.float64(39.75), 'm': np.int64(3), 'x': nan, 'ok': True}]") ==
        json::parse(R"([{"name": "gemm", "n": 39.75, "m": 3, "x": null, "ok": true}])"));
  CHECK(python_literal("None").is_null());
  CHECK(python_literal("(1, 2").is_discarded());
  CHECK(python_literal("aten::mm").is_discarded());
}

TEST_CASE("CSV fields may hold commas, doubled quotes and line ends") {
  const Folder folder("python_csv");
  std::filesystem::create_directories(folder.path);
  const std::string path = (folder.path / "table.csv").string();
  std::ofstream(path) << "name,text,number\r\n\"a,b\",\"say \"\"x\"\"\n, y\",3\r\nc,,4\r\n";
  const std::vector<CsvRow> rows = read_csv(path);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].at("name") == "a,b");
  CHECK(rows[0].at("text") == "say \"x\"\n, y");
  CHECK(rows[0].at("number") == "3");
  CHECK(rows[1].at("text").empty());
  CHECK(rows[1].at("number") == "4");
}
