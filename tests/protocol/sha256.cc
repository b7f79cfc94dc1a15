#include <catch2/catch.hpp>

#include "skewscope/protocol/sha256.h"

namespace skewscope {
namespace {

// FIPS 180-4's example, and its base64 by coreutils.
constexpr const char* kAbcHex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* kAbcBase64 = "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=";

TEST_CASE("the digest of \"abc\" is FIPS 180-4's") {
  CHECK(hex(sha256("abc")) == kAbcHex);
  CHECK(repr_digest(sha256("abc")) == std::string("sha-256=:") + kAbcBase64 + ":");
  CHECK(upload_checksum(sha256("abc")) == std::string("sha256 ") + kAbcBase64);
}

TEST_CASE("a running digest can be looked at, copied and continued") {
  Sha256 sum;
  sum.update("a");
  Sha256 other = sum;
  sum.update("bc");
  other.update("x");
  CHECK(sum.digest() == sha256("abc"));
  CHECK(sum.digest() == sha256("abc"));
  CHECK(other.digest() == sha256("ax"));
}

TEST_CASE("HMAC-SHA-256 is that of RFC 4231") {
  CHECK(hex(hmac_sha256("Jefe", "what do ya want for nothing?")) ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST_CASE("a digest is read from hexadecimal of exactly its length") {
  CHECK(digest_from_hex(kAbcHex) == sha256("abc"));
  CHECK(digest_from_hex("BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD") == sha256("abc"));
  CHECK(!digest_from_hex(std::string(kAbcHex) + "00"));
  CHECK(!digest_from_hex("g" + std::string(63, '0')));
  CHECK(!digest_from_hex(""));
}

TEST_CASE("Repr-Digest may list other algorithms") {
  const std::string ours = repr_digest(sha256("abc"));
  CHECK(digest_from_repr(ours) == sha256("abc"));
  CHECK(digest_from_repr("md5=:AAAA:, " + ours) == sha256("abc"));
  CHECK(!digest_from_repr("md5=:AAAA:"));
  CHECK_FALSE(promises_sha256("md5=:AAAA:, sha-512=:AAAA:"));
  CHECK_FALSE(promises_sha256(""));
  for (const std::string& text : {ours, "md5=:AAAA:, " + ours, std::string("sha-256=:garbage:"), std::string("sha-256"),
                                  std::string("a=:AA==:,sha-256=AAAA")}) {
    CHECK(promises_sha256(text));
  }
  CHECK(!digest_from_repr("sha-256=:AAAA:"));
  CHECK(!digest_from_repr("sha-256=::"));
  CHECK(!digest_from_repr("sha-256=:"));
  CHECK(!digest_from_repr(""));
}

TEST_CASE("base64 is read only as it would be written") {
  CHECK(base64("") == "");
  CHECK(base64("f") == "Zg==");
  CHECK(base64("foob") == "Zm9vYg==");
  CHECK(from_base64("Zm9vYmFy") == "foobar");
  CHECK(from_base64("") == "");
  for (const char* wrong : {"Zg=", "Zg", "Zh==", " Zg==", "Zg==\n", "Z=g=", "====", "Zg==Zg==", "Z\xc3\xa9=="}) {
    INFO(wrong);
    CHECK(!from_base64(wrong));
  }
}

TEST_CASE("base64url has no padding and no characters that a URL would escape") {
  CHECK(base64url("\xfb\xff") == "-_8");
  CHECK(from_base64url("-_8") == "\xfb\xff");
  for (const char* wrong : {"-_8=", "+/8", "-", "-_9"}) {
    INFO(wrong);
    CHECK(!from_base64url(wrong));
  }
}

TEST_CASE("random names differ") { CHECK(random_hex(16) != random_hex(16)); }

}  // namespace
}  // namespace skewscope
