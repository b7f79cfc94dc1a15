#include <catch2/catch.hpp>

#include "src/ingest/text/number_text.h"
#include "tests/ingest/reader_support.h"

using namespace skewscope;
using namespace skewscope::ingest;

namespace {

int64_t ns_of(const std::string& token, bool unpadded = false) {
  int64_t ns = -1;
  FractionForm form;
  REQUIRE(read_microseconds(token, unpadded, ns, form));
  return ns;
}

bool is_stamp(const std::string& token) {
  int64_t ns = 0;
  FractionForm form;
  return read_microseconds(token, false, ns, form);
}

// Fractions of nanoseconds `first`, `first + 1`, ... without padding, or padded to three digits.
std::string many_kernels(int count, bool padded) {
  std::string events;
  for (int i = 0; i < count; i++) {
    const std::string fraction = padded ? fmt::format("{:03}", i % 1000) : fmt::format("{}", i % 1000);
    events += (i ? "," : "") + kernel("k", fmt::format("1712000000{:06}.{}", i, fraction), "1");
  }
  return trace_of(events);
}

}  // namespace

TEST_CASE("a stamp is read from its digits, never through a double") {
  CHECK(ns_of("1661203462598738") == 1661203462598738000);
  CHECK(ns_of("1712195495520870.926") == 1712195495520870926);
  CHECK(ns_of("4458676526305.795") == 4458676526305795);
  CHECK(ns_of("0") == 0);
  CHECK(ns_of("21.953  \n") == 21953);
}

TEST_CASE("a short fraction is padded on the right: .37 is 370 ns") {
  CHECK(ns_of("1365627949842.37") == 1365627949842370);
  CHECK(ns_of("68.0") == 68000);
  CHECK(ns_of("1.5") == 1500);
}

TEST_CASE("an unpadded fraction counts nanoseconds: .5 is 5 ns") {
  CHECK(ns_of("1712000000000012.5", true) == 1712000000000012005);
  CHECK(ns_of("1712000000000012.988", true) == 1712000000000012988);
}

TEST_CASE("signs, exponents and quotes around a stamp are understood exactly") {
  CHECK(ns_of("-3.25") == -3250);
  CHECK(ns_of("1.712e15") == 1712000000000000000);
  CHECK(ns_of("1712195495520870926e-3") == 1712195495520870926);
  CHECK(ns_of("5e-3") == 5);
  CHECK(ns_of("\"12.5\"") == 12500);
  CHECK(ns_of("2.5E+1") == 25000);
}

TEST_CASE("what is no number, or beyond int64, is no stamp") {
  for (const char* token :
       {"", "nan", "N/A", "inf", "-", ".", "1.2.3", "12a", "99999999999999999999", "1e300", "null", "true"}) {
    CAPTURE(token);
    CHECK_FALSE(is_stamp(token));
  }
}

TEST_CASE("numbers of every length are read, and every stray character in them is seen") {
  const std::string digits = "9182736450918273645";
  for (size_t size = 1; size <= 18; ++size) {
    const std::string text = digits.substr(0, size);
    CAPTURE(text);
    int64_t number = 0;
    CHECK((read_integer(text, number) && number == std::stoll(text)));
    CHECK((read_integer(text + "\n    ", number) && number == std::stoll(text)));
    if (size <= 15) CHECK(ns_of(text) == std::stoll(text) * 1000);
    if (size <= 15) CHECK(ns_of(text + ".004") == std::stoll(text) * 1000 + 4);
    for (size_t at = 0; at < size; ++at) {
      for (const char stray : {'/', ':', ' ', 'a', '\xb5', '\0'}) {
        std::string broken = text;
        broken[at] = stray;
        CAPTURE(broken);
        if (stray != ' ' || (at > 0 && at + 1 < size)) CHECK_FALSE(read_integer(broken, number));
        CHECK_FALSE((stray != ' ' && is_stamp(broken)));
      }
    }
  }
}

TEST_CASE("what is known to be digits has the value that a check of it would find, whatever stands before it") {
  const std::string digits = "9182736450918273";
  for (const std::string before :
       {"                ", "9999999999999999", "\xff\xff\xff\xff\xff\xff\xff\xff, \"ts\": "}) {
    for (size_t count = 1; count <= kMostDigits; ++count) {
      const std::string text = before + digits.substr(0, count);
      CAPTURE(text);
      CHECK(value_of_digits(std::string_view(text).substr(before.size())) == std::stoull(digits.substr(0, count)));
    }
    for (const std::string token : {"7", "12.345", "0.000", "5432109876.054", "2999999999999999.999", "12.3450", "12.5",
                                    "1.", "1000", "1.0000", "3000000000000001", "91827364509182736450"}) {
      const std::string text = before + token;
      const std::string_view placed = std::string_view(text).substr(before.size());
      CAPTURE(text);
      int64_t ns = -1, expected = -1;
      FractionForm form, expected_form;
      if (!read_digit_microseconds(placed, ns, form)) continue;
      REQUIRE(read_microseconds(placed, false, expected, expected_form));
      CHECK(ns == expected);
      CHECK(form.digits == expected_form.digits);
      CHECK(form.starts_with_0 == expected_form.starts_with_0);
      CHECK(form.nonzero == expected_form.nonzero);
    }
  }
  int64_t ns = 0;
  FractionForm form;
  const std::string usual = "                5432109876.054";
  CHECK(read_digit_microseconds(std::string_view(usual).substr(16), ns, form));
}

TEST_CASE("integers may be quoted, hexadecimal, beyond int64, or carry a zero fraction") {
  int64_t number = 0;
  uint64_t large = 0;
  CHECK((read_integer("\"0x1f\"", number) && number == 31));
  CHECK((read_integer("-1", number) && number == -1));
  CHECK((read_integer("2560.0", number) && number == 2560));
  CHECK_FALSE(read_integer("18446744073709551615", number));
  CHECK((read_unsigned("18446744073709551615", large) && large == 18446744073709551615U));
  CHECK_FALSE(read_unsigned("18446744073709551616", large));
  CHECK_FALSE(read_integer("\"\"", number));
  CHECK(trailing_number("stream 7 ") == 7);
  CHECK(trailing_number("") == -1);
}

TEST_CASE("the base time is added wherever it stands") {
  const std::string events = kernel("k", "12.5", "1");
  const std::string base = "\"baseTimeNanoseconds\": 1711964646000000000";
  const FileContent before = read_text(trace_of(events, base + ", "));
  const FileContent after = read_text(trace_of(events, "", ", " + base));
  const FileContent none = read_text(trace_of(events));
  REQUIRE(before.gpu.size() == 1);
  CHECK(before.gpu[0].start.ns == 1711964646000012500);
  CHECK(after.gpu[0].start.ns == 1711964646000012500);
  CHECK(none.gpu[0].start.ns == 12500);
  CHECK(before.has_base_time);
  CHECK(after.has_base_time);
  CHECK_FALSE(none.has_base_time);
}

TEST_CASE("a base time that takes stamps out of all time is none of theirs, and is counted") {
  const std::string stamps_of_2023 = kernel("k", "1694128201000430", "1");
  const FileContent content = read_text(trace_of(stamps_of_2023, "\"baseTimeNanoseconds\": 1751410836000000000, "));
  REQUIRE(content.gpu.size() == 1);
  CHECK(content.gpu[0].start.ns == 1694128201000430000);
  CHECK_FALSE(content.has_base_time);
  CHECK(count_of(content, "damaged-head") == 1);
}

TEST_CASE("one absolute stamp among those that count from a base costs nobody the base") {
  std::string events = kernel("k", "1694128201000430", "1");
  for (int i = 0; i < 3; ++i) events += "," + kernel("k", std::to_string(12 + i) + ".5", "1");
  const FileContent content = read_text(trace_of(events, "\"baseTimeNanoseconds\": 1711964646000000000, "));
  CHECK(content.has_base_time);
  REQUIRE(content.gpu.size() == 4);
  CHECK(content.gpu[0].start.ns == kFurthestNs);  // the repair of GPU rows drops it
  CHECK(content.gpu[1].start.ns == 1711964646000012500);
  CHECK(count_of(content, "damaged-head") == 0);
}

TEST_CASE("whole microseconds are a resolution of 1000 ns, and so is a fraction of .0") {
  CHECK(read_text(trace_of(kernel("k", "1661203462598738", "19"))).resolution_ns == 1000);
  CHECK(read_text(trace_of(kernel("k", "1661203462598738", "19.0"))).resolution_ns == 1000);
  CHECK(read_text(trace_of(kernel("k", "1661203462598738.25", "19"))).resolution_ns == 1);
}

TEST_CASE("a thousand fractions of which none begins with 0 are unpadded") {
  const FileContent content = read_text(many_kernels(1200, false));
  REQUIRE(content.gpu.size() == 1200);
  CHECK(content.gpu[5].start.ns == 1712000000000005005);
  CHECK(content.gpu[1100].start.ns == 1712000000001100100);
  CHECK(count_of(content, "unpadded-fractions") == 1);
}

TEST_CASE("fractions that begin with 0 are ordinary decimals, and so are few fractions") {
  CHECK(read_text(many_kernels(1200, true)).gpu[5].start.ns == 1712000000000005005);
  CHECK(count_of(read_text(many_kernels(1200, true)), "unpadded-fractions") == 0);
  CHECK(read_text(many_kernels(100, false)).gpu[5].start.ns == 1712000000000005500);
}

TEST_CASE("digits beyond the nanosecond are cut off and counted") {
  const FileContent content = read_text(trace_of(kernel("k", "12.3456789", "1.0")));
  CHECK(content.gpu[0].start.ns == 12345);
  CHECK(count_of(content, "long-fraction") == 1);
}

TEST_CASE("a negative duration counts as 0") {
  const FileContent content = read_text(trace_of(kernel("k", "12.5", "-3")));
  CHECK(content.gpu[0].duration_ns == 0);
  CHECK(count_of(content, "negative-duration") == 1);
}

TEST_CASE("a kernel with stamp 0 and duration 0 is dropped") {
  const FileContent content = read_text(trace_of(kernel("lost", "0", "0") + "," + kernel("k", "0.5", "0")));
  REQUIRE(content.gpu.size() == 1);
  CHECK(name_of(content, 0) == "k");
  CHECK(count_of(content, "zero-stamp") == 1);
}

TEST_CASE("a stamp or a base time beyond the year 2065 is no time: sums stay within 64 bits") {
  int64_t ns = 0;
  FractionForm form;
  CHECK(read_microseconds("2999999999999999.999", false, ns, form));
  CHECK_FALSE(read_microseconds("9000000000000000", false, ns, form));
  const FileContent content =
      read_text(R"({"baseTimeNanoseconds": 9000000000000000000, "traceEvents": [)" + kernel("k", "5", "1") + "]}");
  CHECK_FALSE(content.has_base_time);
  REQUIRE(content.gpu.size() == 1);
  CHECK(content.gpu[0].start.ns == 5000);
}
