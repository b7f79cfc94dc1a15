#include "src/ship/http/payload.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <random>

#include "src/ship/http/pace.h"
#include "tests/temporary_folder.h"

using namespace skewscope;
using namespace skewscope::ship;
using namespace std::chrono_literals;

namespace {

struct OpenFile : test::Folder {
  int descriptor = -1;
  uint64_t size = 0;
  OpenFile(const std::string& name, const std::string& bytes) : Folder("payload_" + name), size(bytes.size()) {
    std::filesystem::create_directories(path);
    std::ofstream(path / "file", std::ios::binary) << bytes;
    descriptor = open((path / "file").c_str(), O_RDONLY | O_CLOEXEC);
  }
  ~OpenFile() { close(descriptor); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
};

std::string letters(size_t size, uint32_t alphabet = 16) {
  std::mt19937 random(7);
  std::string text(size, ' ');
  for (char& c : text) c = static_cast<char>('a' + random() % alphabet);
  return text;
}

Payload payload_of(const OpenFile& file, bool compress, uint64_t piece_bytes, bool hash_pieces = true) {
  return Payload::make({file.descriptor, file.size, compress, hash_pieces}, piece_bytes, [] { return true; }).value();
}

// Read in small steps, as the network takes them.
std::string bytes_of(const Payload& payload, const Piece& piece) {
  std::string bytes(piece.size, '\0');
  for (size_t at = 0; at < bytes.size();) {
    at += payload.read(piece, at, bytes.data() + at, std::min<size_t>(10'000, bytes.size() - at));
  }
  return bytes;
}

std::string all_of(const Payload& payload, uint64_t from = 0) {
  std::string bytes;
  while (from + bytes.size() < payload.size()) {
    const Piece piece = payload.piece(from + bytes.size()).value();
    const std::string more = bytes_of(payload, piece);
    CHECK(piece.sha256 == sha256(more));
    bytes += more;
  }
  return bytes;
}

}  // namespace

TEST_CASE("a file goes as it is, in pieces with their own digests") {
  const std::string text = letters(1'000'000);
  const OpenFile file("plain", text);
  const Payload payload = payload_of(file, false, 300'000);
  CHECK(payload.size() == text.size());
  CHECK(payload.sha256() == sha256(text));
  CHECK(payload.piece(0).value().size == 300'000);
  CHECK(payload.piece(900'000).value().size == 100'000);
  CHECK(all_of(payload) == text);
}

TEST_CASE("a piece from within ends where the next one begins, whose digest is known") {
  const std::string text = letters(1'000'000);
  const OpenFile file("within", text);
  const Payload payload = payload_of(file, false, 300'000);
  CHECK(payload.piece(299'999).value().size == 1);
  CHECK(payload.piece(350'000).value().size == 250'000);
  CHECK(all_of(payload, 350'000) == text.substr(350'000));
}

TEST_CASE("where pieces are not hashed the whole is") {
  const std::string text = letters(1'000'000);
  const OpenFile file("whole", text);
  for (const bool compress : {false, true}) {
    const Payload payload = payload_of(file, compress, 300'000, false);
    CHECK(payload.sha256() == payload_of(file, compress, 300'000).sha256());
    CHECK_FALSE(payload.piece(0).value().sha256);
    CHECK_FALSE(payload.piece(1).value().sha256);
    CHECK(sha256(bytes_of(payload, payload.piece(0).value())) != payload.sha256());
  }
}

TEST_CASE("gzip members come out the same, from any offset") {
  const OpenFile file("members", letters(2 * kMemberInput + 12'345, 4));
  const Payload payload = payload_of(file, true, uint64_t{64} << 20);
  const std::string whole = all_of(payload);
  CHECK(payload.sha256() == sha256(whole));
  CHECK(whole.size() < file.size);
  const uint64_t first_member = payload.piece(0).value().size;
  REQUIRE(first_member < payload.size());
  CHECK(whole.substr(first_member, 2) == "\x1f\x8b");
  for (const uint64_t from : {uint64_t{1}, first_member - 1, first_member, first_member + 1, payload.size() - 1}) {
    CHECK(all_of(payload, from) == whole.substr(from));
  }
  CHECK(payload_of(file, true, 1'000'000).sha256() == payload.sha256());
}

TEST_CASE("of a member that hardly shrinks at most 8 MiB are in memory") {
  const OpenFile file("noise", letters(kMemberInput + 1));
  const Payload payload = payload_of(file, true, uint64_t{64} << 20);
  CHECK(payload.size() > uint64_t{8} << 20);
  CHECK(payload.piece(0).value().bytes.size() == uint64_t{8} << 20);
  CHECK(sha256(all_of(payload)) == payload.sha256());
}

TEST_CASE("a file that became shorter is an error, not zeros") {
  const OpenFile file("shorter", letters(100'000));
  const Payload payload = payload_of(file, false, 50'000);
  std::filesystem::resize_file(file.path / "file", 60'000);
  CHECK_FALSE(payload.piece(0).ok());
  CHECK_FALSE(payload.piece(50'000).ok());
  CHECK_FALSE(Payload::make({file.descriptor, file.size, true, true}, 50'000, [] { return true; }).ok());
}

TEST_CASE("uploads share one rate, and silence is not saved up") {
  Pace pace(1000);
  const Pace::Moment start = Pace::Moment() + 1000s;
  CHECK(pace.book(250, start) == 0ns);
  CHECK(pace.book(250, start) == 150ms);  // a tenth of a second was free
  CHECK(pace.book(250, start + 150ms) == 250ms);
  CHECK(pace.book(100, start + 1000s) == 0ns);
  CHECK(pace.book(100, start + 1000s) == 0ns);
  CHECK(pace.book(100, start + 1000s) == 100ms);
  CHECK(pace.portion() == 250);
  CHECK(Pace(0).book(1'000'000'000, start) == 0ns);
}
