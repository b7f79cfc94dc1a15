// Rows of a sound gather.sqlite that no daemon would have written: whatever they say, a start touches nothing but its
// spool and leaves it in order.
#include <fuzzer/FuzzedDataProvider.h>

#include <array>

#include "spool.h"
#include "src/gather/disk/spool_paths.h"

namespace skewscope::gather::test {
namespace {

// Refuses to believe in paths that lead out of the spool.
class GuardedDisk {
 public:
  static void check(const std::string& path) {
    require(path.empty() || path.front() != '/');
    require(path.find("..") == std::string::npos && path.find('\0') == std::string::npos);
  }
};

const char* const kTables[] = {"job", "upload", "file", "report", "removed_job"};
// i: integer, t: text, b: blob, as in the manifest's tables.
const char* const kColumns[] = {"tiiiiiitiiiiiiiii", "tsiitbiiiitiiibbii", "siiiibtittii", "siiiiii", "tii"};
const char* const kTexts[] = {
    "train", "other",    "",        "..",    "../../etc",      "a/b",   ".hidden", "0123456789abcdef0123456789abcdef",
    ".json", ".json.gz", ".digest", "/../x", "node1\nnode2\n", "train2"};
const int64_t kNumbers[] = {0,    1,     2,       3,         4,         5,         8,         -1,
                            9999, 10000, 1 << 20, 1LL << 31, 1LL << 32, INT64_MAX, INT64_MIN, 1'700'000'000};

void bind_cell(sqlite3_stmt* statement, int place, char type, FuzzedDataProvider& input) {
  const uint8_t choice = input.ConsumeIntegral<uint8_t>();
  if (choice % 16 == 15) {
    sqlite3_bind_null(statement, place);
  } else if (type == 'i') {
    const size_t index = choice % std::size(kNumbers);
    sqlite3_bind_int64(statement, place, choice < 128 ? kNumbers[index] : input.ConsumeIntegral<int64_t>());
  } else if (type == 'b') {
    const std::string bytes =
        choice < 128 ? std::string(32, static_cast<char>(choice)) : input.ConsumeBytesAsString(choice % 40);
    sqlite3_bind_blob(statement, place, bytes.data(), static_cast<int>(bytes.size()), SQLITE_TRANSIENT);
  } else {
    const std::string text = type == 's' && choice < 160 ? kTexts[choice % 2]
                             : choice < 224              ? kTexts[choice % std::size(kTexts)]
                                                         : input.ConsumeRandomLengthString(70);
    sqlite3_bind_text(statement, place, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
}

void insert(sqlite3* database, size_t table, FuzzedDataProvider& input) {
  const std::string columns = kColumns[table];
  std::string sql = std::string("INSERT OR REPLACE INTO ") + kTables[table] + " VALUES (?";
  for (size_t i = 1; i < columns.size(); ++i) sql += ",?";
  sqlite3_stmt* statement = nullptr;
  require(sqlite3_prepare_v2(database, (sql + ")").c_str(), -1, &statement, nullptr) == SQLITE_OK);
  for (size_t i = 0; i < columns.size(); ++i) bind_cell(statement, static_cast<int>(i) + 1, columns[i], input);
  sqlite3_step(statement);  // what the table does not take is not there
  sqlite3_finalize(statement);
}

// Most of the updated rows still make sense: more than one that is made up.
void update(sqlite3* database, size_t table, FuzzedDataProvider& input) {
  const std::string columns = kColumns[table];
  const size_t column = input.ConsumeIntegralInRange<size_t>(0, columns.size() - 1);
  sqlite3_stmt* statement = nullptr;
  const std::string names = std::string("SELECT * FROM ") + kTables[table];
  require(sqlite3_prepare_v2(database, names.c_str(), -1, &statement, nullptr) == SQLITE_OK);
  const std::string name = sqlite3_column_name(statement, static_cast<int>(column)),
                    key = sqlite3_column_name(statement, 0);
  sqlite3_finalize(statement);
  const std::string sql = std::string("UPDATE OR IGNORE ") + kTables[table] + " SET " + name + " = ?1 WHERE " + key +
                          " = (SELECT " + key + " FROM " + kTables[table] + " LIMIT 1 OFFSET ?2)";
  require(sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK);
  bind_cell(statement, 1, columns[column], input);
  sqlite3_bind_int(statement, 2, input.ConsumeIntegralInRange<int>(0, 7));
  sqlite3_step(statement);
  sqlite3_finalize(statement);
}

}  // namespace
}  // namespace skewscope::gather::test

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skewscope::gather;
  using namespace skewscope::gather::test;
  FuzzedDataProvider input(data, size);
  const std::unique_ptr<MemoryDisk> disk = used_spool().after_power_loss(Survives::everything, 0);
  disk->guard(GuardedDisk::check);
  sqlite3* database = nullptr;
  const std::string path = std::string(MemoryDisk::kSpool) + "/" + kManifestName;
  require(sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE, disk->vfs()) == SQLITE_OK);
  sqlite3_exec(database, "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; BEGIN", nullptr, nullptr, nullptr);
  for (int rows = 0; rows < 16 && input.remaining_bytes() > 0; ++rows) {
    const size_t table = input.ConsumeIntegralInRange<size_t>(0, std::size(kTables) - 1);
    input.ConsumeBool() ? insert(database, table, input) : update(database, table, input);
  }
  sqlite3_exec(database, "COMMIT", nullptr, nullptr, nullptr);
  sqlite3_close(database);
  check_start(*disk);
  return 0;
}
