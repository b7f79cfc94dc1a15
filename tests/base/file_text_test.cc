#include "skewscope/base/file_text.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/temporary_folder.h"

using namespace skewscope;

namespace {

void write(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

}  // namespace

TEST_CASE("a file's text is its bytes, none, few or many") {
  const test::Folder folder("file_text");
  std::filesystem::create_directory(folder.path);
  for (const size_t size : {0U, 1U, 4'095U, 4'096U, 100'000U}) {
    std::string bytes;
    for (size_t i = 0; i < size; ++i) bytes += static_cast<char>(i % 251);
    write(folder.path / "file", bytes);
    CHECK(file_text(folder.path / "file") == bytes);
  }
}

TEST_CASE("a pipe is read to its end") {
  const test::Folder folder("file_text_pipe");
  std::filesystem::create_directory(folder.path);
  REQUIRE(mkfifo((folder.path / "pipe").c_str(), 0600) == 0);
  const std::string bytes(300'000, 'x');
  std::thread writer([&] { write(folder.path / "pipe", bytes); });
  CHECK(file_text(folder.path / "pipe") == bytes);
  writer.join();
}

TEST_CASE("what cannot be read has no text, and says why") {
  const test::Folder folder("file_text_none");
  std::filesystem::create_directory(folder.path);
  CHECK_FALSE(file_text(folder.path / "nowhere"));
  CHECK(errno == ENOENT);
  CHECK_FALSE(file_text(folder.path));
  CHECK(errno == EISDIR);
}
