// SHA-256 and the three spellings HTTP has for it: hexadecimal, Repr-Digest (RFC 9530), Upload-Checksum (tus 1.0).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace skewscope {

using Digest = std::array<uint8_t, 32>;

// A running SHA-256. Copies continue independently.
class Sha256 {
 public:
  Sha256();
  Sha256(const Sha256& other);
  Sha256& operator=(const Sha256& other);
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();

  void update(std::string_view bytes);
  // The digest of all bytes so far; more may follow.
  Digest digest() const;

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

Digest sha256(std::string_view bytes);
Digest hmac_sha256(std::string_view key, std::string_view bytes);
// Takes a time that depends on the lengths alone.
bool equal_in_constant_time(std::string_view a, std::string_view b);

std::string hex(const Digest& digest);                     // 64 lower-case digits
std::optional<Digest> digest_from_hex(std::string_view);   // either case; nothing else around it
std::string repr_digest(const Digest& digest);             // sha-256=:BASE64:
std::optional<Digest> digest_from_repr(std::string_view);  // the sha-256 member of the list, if it has one
bool promises_sha256(std::string_view repr_digest);        // it has one, well-formed or not
std::string upload_checksum(const Digest& digest);         // sha256 BASE64

std::string base64(std::string_view bytes);
std::string base64url(std::string_view bytes);  // without padding
// nullopt unless `text` is exactly the encoding of some bytes (padding where base64 wants it, no spaces).
std::optional<std::string> from_base64(std::string_view text);
std::optional<std::string> from_base64url(std::string_view text);

// `bytes` of the system's entropy, as lower-case hexadecimal (twice as long).
std::string random_hex(size_t bytes);

}  // namespace skewscope
