#include "src/ingest/sqlite/database.h"

#include <fstream>
#include <sstream>

#include "../reader_support.h"
#include "made_database.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

std::string bytes_of_file(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

constexpr const char* kKernels =
    "CREATE TABLE kernel (start INTEGER, name TEXT);"
    "INSERT INTO kernel VALUES (17, 'gemm'), (NULL, 'relu'), ('late', NULL);"
    "CREATE VIEW shown AS SELECT * FROM kernel;";

Database opened(const std::string& path) {
  MemoryBudget budget(0);
  return Database::open(path, budget).value();
}

std::string error_of(const std::string& bytes) {
  const TempFile file(bytes);
  MemoryBudget budget(0);
  const Result<Database> database = Database::open(file.path(), budget);
  return database.ok() ? "" : database.error().message;
}

}  // namespace

TEST_CASE("rows come in the order of the file, and a value of another type is said to be one") {
  const MadeDatabase file(kKernels);
  const Database database = opened(file.path());
  Statement rows = database.select("SELECT start, name FROM kernel");
  REQUIRE(rows.next());
  CHECK(rows.is_integer(0));
  CHECK(rows.integer(0) == 17);
  CHECK(rows.text(1) == "gemm");
  REQUIRE(rows.next());
  CHECK(rows.is_null(0));
  REQUIRE(rows.next());
  CHECK_FALSE(rows.is_integer(0));
  CHECK(rows.integer(0) == 0);
  CHECK(rows.text(1).empty());
  CHECK(rows.text(1).data() != nullptr);
  CHECK_FALSE(rows.next());
  CHECK_FALSE(rows.damaged());
}

TEST_CASE("tables and columns can be asked for; a view is no table") {
  const MadeDatabase file(kKernels);
  const Database database = opened(file.path());
  CHECK(database.tables() == std::vector<std::string>{"kernel"});
  CHECK(database.has_table("kernel"));
  CHECK_FALSE(database.has_table("shown"));
  CHECK(database.has_column("kernel", "name"));
  CHECK_FALSE(database.has_column("kernel", "end"));
  CHECK_FALSE(database.has_column("none", "name"));
}

TEST_CASE("a query that does not fit the tables, uses a view or writes gives nothing and is damaged") {
  const MadeDatabase file(kKernels);
  const Database database = opened(file.path());
  for (const char* sql : {"SELECT end FROM kernel", "SELECT start FROM shown", "DELETE FROM kernel"}) {
    Statement rows = database.select(sql);
    CHECK_FALSE(rows.next());
    CHECK(rows.damaged());
  }
  CHECK(database.select("SELECT start FROM kernel").next());
}

TEST_CASE("a compressed database is read like a plain one, within the budget") {
  const MadeDatabase plain(kKernels);
  const TempFile packed(gzipped(bytes_of_file(plain.path())));
  MemoryBudget budget(4 << 20);
  {
    const Result<Database> database = Database::open(packed.path(), budget);
    REQUIRE(database.ok());
    CHECK(std::string(database.value().compression()) == "gzip");
    CHECK(database.value().select("SELECT start FROM kernel").next());
  }
  CHECK(budget.take(4 << 20));  // all was given back
  MemoryBudget small(1000);
  CHECK(Database::open(packed.path(), small).error().kind == ErrorKind::resource_limit);
}

TEST_CASE("what is no whole database is said to be none, whatever its bytes") {
  const MadeDatabase file(kKernels + std::string("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT "
                                                 "5000) INSERT INTO kernel SELECT i, 'kernel ' || i FROM n;"));
  const std::string whole = bytes_of_file(file.path());
  CHECK(problem_of_database(file.path()).empty());
  CHECK(error_of("SQLite format 3").find("file is not a database") != std::string::npos);
  CHECK_FALSE(error_of(whole.substr(0, 2000)).empty());
  const TempFile cut(whole.substr(0, whole.size() / 2));
  CHECK(problem_of_database(cut.path()) == "cut: it has fewer bytes than its pages");
  // Every page points anywhere: statements end all the same.
  for (size_t seed = 1; seed <= 20; ++seed) {
    std::string bad = whole;
    for (size_t i = 100, n = seed; i < bad.size(); i += 1 + n % 97, n = n * 6364136223846793005ULL + 1)
      bad[i] = static_cast<char>(n >> 40);
    const TempFile damaged(bad);
    MemoryBudget budget(0);
    const Result<Database> database = Database::open(damaged.path(), budget);
    if (!database.ok()) continue;
    Statement rows = database.value().select("SELECT start, name FROM kernel");
    int64_t count = 0;
    while (rows.next()) ++count;
    CHECK(count <= static_cast<int64_t>(bad.size()));
  }
}

TEST_CASE("an SQLite file of nobody known is named as one, and left out") {
  const MadeDatabase file(kKernels);
  const FileContent content = read_any(bytes_of_file(file.path()));
  CHECK(content.kind == ContentKind::not_a_trace);
  REQUIRE(content.findings.size() == 1);
  CHECK(content.findings.front().message.find("an SQLite database") == 0);
}
