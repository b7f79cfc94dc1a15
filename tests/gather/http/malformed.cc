// No malformed request is let through, and nothing that follows one is taken for a request.
#include <catch2/catch.hpp>

#include "beast_gate.h"
#include "head_lines.h"
#include "malformed_requests.h"

namespace skewscope::gather {
namespace {

const std::string kSmuggled = "GET /v1/jobs/smuggled HTTP/1.1\r\nHost: h\r\n\r\n";

std::string bytes_of(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') {
      out += "\r\n";
    } else {
      out += c;
    }
  }
  return out + "\r\n\r\n";
}

std::string bytes_of(const Malformed& request) { return bytes_of(std::string(request.begin) + request.rest); }

// The gate behind a parser that lets everything pass. Status 0: admitted.
int status_of_gate_alone(const std::string& bytes) {
  if (const std::optional<Refused> refused = refuse_bytes(bytes)) return refused->status;
  std::vector<std::string_view> lines;
  for (std::string_view rest = bytes; rest.size() > 2; rest.remove_prefix(lines.back().size() + 2)) {
    lines.push_back(rest.substr(0, rest.find("\r\n")));
  }
  const std::variant<Request, Refused> out = admit_lines(lines);
  return std::holds_alternative<Refused>(out) ? std::get<Refused>(out).status : 0;
}

TEST_CASE("the gate refuses every malformed request by itself, with the status that says why") {
  CHECK(kMalformed.size() >= 300);
  for (const Malformed& request : kMalformed) {
    INFO(request.begin << request.rest);
    CHECK(status_of_gate_alone(bytes_of(request)) == request.status);
  }
}

TEST_CASE("what the malformed requests are made from is let through") {
  for (const Malformed& request : kWellFormed) {
    INFO(request.begin << request.rest);
    CHECK(status_of_gate_alone(bytes_of(request)) == 0);
    const Read read = read_with_beast(bytes_of(request));
    CHECK(read.outcome == Read::Outcome::admitted);
    CHECK(read.agrees);
  }
}

TEST_CASE("behind Beast's parser no malformed request is let through, except folded fields, which it joins") {
  int joined = 0;
  for (const Malformed& request : kMalformed) {
    INFO(request.begin << request.rest);
    const std::string bytes = bytes_of(request);
    const bool admitted = read_with_beast(bytes).outcome == Read::Outcome::admitted;
    const bool folded = bytes.find("\r\n ") != std::string::npos || bytes.find("\r\n\t") != std::string::npos;
    if (admitted) CHECK(folded);
    joined += admitted;
  }
  CHECK(joined > 0);  // why refuse_bytes() comes first
}

TEST_CASE("after a malformed request nothing on its connection is read") {
  for (const Malformed& request : kMalformed) {
    INFO(request.begin << request.rest);
    CHECK(requests_in(bytes_of(request) + kSmuggled).empty());
    CHECK(requests_in(bytes_of(request) + "0\r\n\r\n" + kSmuggled).empty());
  }
}

TEST_CASE("a request inside a body is not read, one after a body is") {
  const std::string length = std::to_string(kSmuggled.size());
  const std::string put = bytes_of("PUT /v1/jobs/j/ranks/0 HTTP/1.1|Host: h|Content-Length: " + length);
  CHECK(requests_in(put + kSmuggled).size() == 1);
  CHECK(requests_in(put + kSmuggled + kSmuggled).size() == 2);
  CHECK(requests_in(bytes_of("GET / HTTP/1.1|Host: h") + kSmuggled).size() == 2);
  CHECK(requests_in(bytes_of("GET / HTTP/1.1|Host: h|Content-Length: 0") + kSmuggled).size() == 2);
  CHECK(requests_in(bytes_of("GET / HTTP/1.1|Host: h|Connection: close") + kSmuggled).size() == 1);
  CHECK(requests_in(bytes_of("GET / HTTP/1.0") + kSmuggled).size() == 1);
}

TEST_CASE("a control character is refused wherever in the head it stands") {
  for (int c = 0; c < 0x20; ++c) {
    const char bad = static_cast<char>(c);
    for (const std::string before : {"G", "GET /v1/", "GET / HT", "GET / HTTP/1.1|Ho",
                                     "GET / HTTP/1.1|Host: h|Cookie: a", "GET / HTTP/1.1|Host: h|X-Unknown: a"}) {
      const std::string whole = "GET / HTTP/1.1|Host: h|Cookie: ab|X-Unknown: ab";
      const std::string bytes =
          bytes_of(before + std::string(1, bad) + whole.substr(std::min(before.size(), whole.size())));
      INFO(c << " after " << before);
      CHECK(status_of_gate_alone(bytes) == 400);
      CHECK(requests_in(bytes + kSmuggled).empty());
    }
  }
}

TEST_CASE("a head, a target and a number of fields are taken up to their bounds and not beyond") {
  const auto target = [](size_t size) {
    const std::string begin = "/v1/jobs?after=";
    return "GET " + begin + std::string(size - begin.size(), '0') + " HTTP/1.1|Host: h";
  };
  CHECK(status_of_gate_alone(bytes_of(target(kLongestTarget))) == 400);  // no name is that long
  CHECK(status_of_gate_alone(bytes_of(target(kLongestTarget + 1))) == 414);

  const auto fields = [](size_t count) {
    std::string out = "GET / HTTP/1.1|Host: h";
    for (size_t i = 1; i < count; ++i) out += "|X: y";
    return out;
  };
  CHECK(status_of_gate_alone(bytes_of(fields(kMostFields))) == 0);
  CHECK(status_of_gate_alone(bytes_of(fields(kMostFields + 1))) == 431);

  const auto head = [](size_t size) {
    std::string out = "GET / HTTP/1.1|Host: h|X: ";
    return out + std::string(size - bytes_of(out).size(), 'y');
  };
  REQUIRE(bytes_of(head(kLongestHead)).size() == kLongestHead);
  CHECK(status_of_gate_alone(bytes_of(head(kLongestHead))) == 0);
  CHECK(read_with_beast(bytes_of(head(kLongestHead))).outcome == Read::Outcome::admitted);
  CHECK(status_of_gate_alone(bytes_of(head(kLongestHead + 1))) == 431);
  CHECK(read_with_beast(bytes_of(head(kLongestHead + 1))).outcome != Read::Outcome::admitted);
}

TEST_CASE("what a refusal says is ours, not the client's") {
  for (const Malformed& request : kMalformed) {
    const Read read = read_with_beast(bytes_of(request));
    if (read.outcome != Read::Outcome::refused) continue;
    CHECK(std::string(read.refused.reason).size() > 5);
    for (const auto& [name, value] : read.refused.fields) {
      const bool of_tus = name == std::string("Tus-Version") || name == std::string("Tus-Resumable");
      CHECK((name == std::string("Allow") || (of_tus && value == "1.0.0")));
    }
  }
}

}  // namespace
}  // namespace skewscope::gather
