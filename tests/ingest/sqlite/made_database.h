// SQLite files that tests make: a list of statements, in a file of its own that is removed at the end.
#pragma once

#include <sqlite3.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

namespace skewscope::ingest {

class MadeDatabase {
 public:
  explicit MadeDatabase(const std::string& statements) {
    static int made = 0;
    path_ = (std::filesystem::temp_directory_path() /
             ("skewscope_" + std::to_string(getpid()) + "_" + std::to_string(made++) + ".sqlite"))
                .string();
    std::filesystem::remove(path_);
    sqlite3* database = nullptr;
    REQUIRE(sqlite3_open(path_.c_str(), &database) == SQLITE_OK);
    char* error = nullptr;
    sqlite3_exec(database, statements.c_str(), nullptr, nullptr, &error);
    INFO(statements << ": " << (error == nullptr ? "" : error));
    REQUIRE(error == nullptr);
    sqlite3_close(database);
  }
  ~MadeDatabase() { std::filesystem::remove(path_); }
  MadeDatabase(const MadeDatabase&) = delete;
  MadeDatabase& operator=(const MadeDatabase&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace skewscope::ingest
