// The closed reader: what it takes of a pickle, and what it refuses, with the place.
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "skewscope/hang.h"
#include "src/hang/dumps/json.h"
#include "src/hang/dumps/pickle.h"

using namespace skewscope;        // NOLINT
using namespace skewscope::hang;  // NOLINT

namespace {

// With the zero bytes in it.
template <size_t N>
std::string bytes(const char (&text)[N]) {
  return std::string(text, N - 1);
}

std::string error_of(const std::string& pickle) {
  const auto read = read_pickle(pickle);
  return read.ok() ? "" : read.error().message;
}

std::string recorded() {
  std::ifstream file(SKEWSCOPE_SOURCE_DIR "/tests/fuzz/corpus/flight_dump/protocol_4", std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("a pickle of plain values is read: {'a': [1, -2, 3.5, True, None, (b'x',)]}") {
  // Protocol 2, as pickle.dumps writes it, the list's tuple last.
  const std::string pickle = bytes(
      "\x80\x02}q\0X\x01\0\0\0aq\1]q\2(K\1J\xfe\xff\xff\xffG@\x0c\0\0\0\0\0\0\x88N"
      "C\x01x\x85q\3es.");
  const auto read = read_pickle(pickle);
  REQUIRE(read.ok());
  const Document& document = read.value();
  const std::vector<ValueId>& pair = document.list(document.root);
  REQUIRE(pair.size() == 2);
  CHECK(document.at(pair[0]).text == "a");
  const std::vector<ValueId>& list = document.list(pair[1]);
  REQUIRE(list.size() == 6);
  CHECK(document.at(list[0]).integer == 1);
  CHECK(document.at(list[1]).integer == -2);
  CHECK(document.at(list[2]).real == 3.5);
  CHECK(document.at(list[3]).kind == ValueKind::boolean);
  CHECK(document.at(list[4]).kind == ValueKind::none);
  CHECK(document.at(document.list(list[5]).front()).text == "x");
}

TEST_CASE("protocols 0, 2, 4 and 5 of one dump, JSON and gzip give the same calls") {
  const std::string folder = SKEWSCOPE_SOURCE_DIR "/tests/fuzz/corpus/flight_dump/";
  for (const std::string name : {"protocol_0", "protocol_4", "protocol_5", "json", "gzip"}) {
    CAPTURE(name);
    std::ifstream file(folder + name, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    const auto dump = read_flight_dump(text.str(), name);
    REQUIRE(dump.ok());
    REQUIRE(dump.value().calls.size() == 4);
    const DumpedCall& last = dump.value().calls.back();
    CHECK(last.collective_seq == 7);
    CHECK(last.op == DumpedOp::all_reduce);
    CHECK(last.state == CallState::scheduled);
    CHECK(last.input_elements == 1024 * 1024);
    CHECK(dump.value().text(last.frames.back()).find("in <module>") != std::string::npos);
    CHECK(dump.value().groups.size() == 3);
  }
}

TEST_CASE("what imports, calls or builds is refused, with opcode and place") {
  CHECK(error_of("cos\nsystem\n(S'true'\ntR.") ==
        "opcode GLOBAL (0x63) makes more than plain values, and is refused (at byte 0)");
  CHECK(error_of(bytes("\x80\x04\x8c\x02os\x8c\x06system\x93.")).find("STACK_GLOBAL (0x93)") != std::string::npos);
  CHECK(error_of(bytes("\x80\x02K\1K\2R.")) ==
        "opcode REDUCE (0x52) makes more than plain values, and is refused (at byte 6)");
  CHECK(error_of("(ios\nsystem\n.").find("INST") != std::string::npos);
  CHECK(error_of(bytes("\x80\x02K\1\x82\1.")).find("EXT1") != std::string::npos);
  CHECK(error_of("Pid\n.").find("PERSID") != std::string::npos);
  CHECK(error_of("}}b.").find("BUILD") != std::string::npos);
}

TEST_CASE("a length beyond the file, an empty stack and a memo that was never filled are refused") {
  CHECK(error_of(bytes("X\xff\xff\xff\x7f.")) == "a value ends behind the end of the file (at byte 0)");
  CHECK(error_of(bytes("\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xff.")).find("frame") != std::string::npos);
  CHECK(error_of("a.").find("the stack holds too little") != std::string::npos);
  CHECK(error_of("h\7.").find("was not remembered") != std::string::npos);
  CHECK(error_of("(K\1K\2d") != "");
  CHECK(error_of("(K\1d.") == "a dict has a key without a value (at byte 3)");
  CHECK(error_of(bytes("\x8a\x09\1\1\1\1\1\1\1\1\1.")).find("64 bits") != std::string::npos);
  CHECK(error_of("") == "the pickle ends before its STOP (at byte 0)");
}

TEST_CASE("a list within itself, and a million lists in each other, end nobody's stack") {
  const auto own = read_pickle(bytes("]q\0h\0a."));
  REQUIRE(own.ok());
  CHECK(own.value().list(own.value().root).front() == own.value().root);
  CHECK_FALSE(read_flight_dump(std::string(1'000'000, ']') + std::string(999'999, 'a') + ".", "nested").ok());
  CHECK_FALSE(read_flight_dump("{\"entries\": " + std::string(1'000'000, '[') + "}", "nested").ok());
}

TEST_CASE("a dump cut anywhere is refused, and one with any byte changed is read or refused") {
  const std::string whole = recorded();
  REQUIRE(read_flight_dump(whole, "whole").ok());
  for (size_t size = 0; size < whole.size(); ++size) CHECK_FALSE(read_flight_dump(whole.substr(0, size), "cut").ok());
  int read = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x15);
    auto dump = read_flight_dump(changed, "changed");
    if (!dump.ok()) continue;
    ++read;
    dump.value().rank = 0;
    find_hang({dump.value()});
  }
  CHECK(read > 100);
}

TEST_CASE("a trace and a text are no dumps, and the refusal names the file") {
  const auto trace = read_flight_dump("{\"traceEvents\": []}", "a.json");
  REQUIRE_FALSE(trace.ok());
  CHECK(trace.error().message == "a.json: no flight recorder dump: it has no \"entries\"");
  CHECK_FALSE(read_flight_dump("hello", "hello").ok());
  CHECK_FALSE(read_json("[1, 2").ok());
}
