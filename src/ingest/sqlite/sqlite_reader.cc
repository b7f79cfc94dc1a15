#include "sqlite_reader.h"

#include <utility>

#include "src/ingest/content/no_trace.h"

namespace skewscope::ingest {
namespace {

using namespace std::string_view_literals;

class SqliteReader : public TraceReader {
 public:
  SqliteReader(std::vector<std::unique_ptr<SqliteFormat>> formats, const ReaderSettings& settings)
      : formats_(std::move(formats)), settings_(settings) {}

  std::vector<const char*> suffixes() const override { return {".sqlite", ".sqlite3", ".db", ".rpd"}; }
  Recognition recognise(const std::string&, std::string_view head) const override {
    return head.starts_with("SQLite format 3\0"sv) ? Recognition::yes : Recognition::no;
  }
  Result<std::vector<FileContent>> read(const std::string& file, MemoryBudget& budget) const override;
  Result<std::vector<FileContent>> read_heads(const std::string& file) const override;
  std::optional<std::string> problem(const std::string& file, std::string_view) const override {
    return problem_of_database(file);
  }

 private:
  const SqliteFormat* format_of(const Database& database) const {
    for (const auto& format : formats_) {
      if (format->is_of(database)) return format.get();
    }
    return nullptr;
  }

  std::vector<std::unique_ptr<SqliteFormat>> formats_;
  ReaderSettings settings_;
};

Result<std::vector<FileContent>> SqliteReader::read(const std::string& file, MemoryBudget& budget) const {
  const Result<Database> database = Database::open(file, budget);
  if (!database.ok() && database.error().kind == ErrorKind::resource_limit) return database.error();
  if (!database.ok()) return only(unreadable_content(file, database.error().message));
  const SqliteFormat* format = format_of(database.value());
  if (format == nullptr) {
    FileContent content;
    content.file = file;
    content.bytes = database.value().bytes();
    return only(std::move(content));  // what it is, its first bytes tell (other_format.h)
  }
  Result<std::vector<FileContent>> contents = format->read(database.value(), settings_, budget);
  if (!contents.ok()) return contents;
  for (FileContent& content : contents.value()) {
    content.format = format->format();
    content.compression = database.value().compression();
  }
  contents.value().front().bytes = database.value().bytes();
  return contents;
}

// A compressed file would have to be inflated for it.
Result<std::vector<FileContent>> SqliteReader::read_heads(const std::string& file) const {
  Result<std::unique_ptr<ByteSource>> source = open_byte_source(file);
  if (!source.ok()) return source.error();
  std::vector<FileContent> heads;
  if (*source.value()->compression() != '\0') return heads;
  MemoryBudget unlimited(0);
  const Result<Database> database = Database::open(file, unlimited);
  const SqliteFormat* format = database.ok() ? format_of(database.value()) : nullptr;
  if (format != nullptr) heads = format->read_heads(database.value());
  return heads;
}

}  // namespace

std::vector<FileContent> SqliteFormat::read_heads(const Database& database) const {
  MemoryBudget unlimited(0);
  Result<std::vector<FileContent>> contents = read(database, ReaderSettings(), unlimited);
  return contents.ok() ? std::move(contents.value()) : std::vector<FileContent>(1);
}

std::unique_ptr<TraceReader> make_sqlite_reader(std::vector<std::unique_ptr<SqliteFormat>> formats,
                                                const ReaderSettings& settings) {
  return std::make_unique<SqliteReader>(std::move(formats), settings);
}

}  // namespace skewscope::ingest
