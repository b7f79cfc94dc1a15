#include "skewscope/protocol/sha256.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <new>
#include <stdexcept>

namespace skewscope {

struct Sha256::Context {
  EVP_MD_CTX* state = EVP_MD_CTX_new();
  Context() {
    if (state == nullptr) throw std::bad_alloc();
  }
  Context(const Context& other) : Context() {
    if (EVP_MD_CTX_copy_ex(state, other.state) != 1) throw std::bad_alloc();
  }
  Context& operator=(const Context&) = delete;
  ~Context() { EVP_MD_CTX_free(state); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  if (EVP_DigestInit_ex(context_->state, EVP_sha256(), nullptr) != 1) throw std::bad_alloc();
}
Sha256::Sha256(const Sha256& other) : context_(std::make_unique<Context>(*other.context_)) {}
Sha256& Sha256::operator=(const Sha256& other) {
  if (this != &other) context_ = std::make_unique<Context>(*other.context_);
  return *this;
}
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::update(std::string_view bytes) {
  if (EVP_DigestUpdate(context_->state, bytes.data(), bytes.size()) != 1) throw std::runtime_error("SHA-256 failed");
}

Digest Sha256::digest() const {
  const Context copy(*context_);
  Digest out;
  if (EVP_DigestFinal_ex(copy.state, out.data(), nullptr) != 1) throw std::runtime_error("SHA-256 failed");
  return out;
}

Digest sha256(std::string_view bytes) {
  Sha256 sum;
  sum.update(bytes);
  return sum.digest();
}

Digest hmac_sha256(std::string_view key, std::string_view bytes) {
  Digest out;
  unsigned length = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), data, bytes.size(), out.data(), &length) ==
      nullptr) {
    throw std::runtime_error("HMAC failed");
  }
  return out;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

namespace {

std::string_view as_text(const Digest& digest) { return {reinterpret_cast<const char*>(digest.data()), digest.size()}; }

std::optional<Digest> as_digest(const std::optional<std::string>& bytes) {
  Digest out;
  if (!bytes || bytes->size() != out.size()) return std::nullopt;
  std::copy(bytes->begin(), bytes->end(), out.begin());
  return out;
}

std::string hex_of(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

// The first member of a list in a field for which `holds` is true, without the spaces around it.
template <class Holds>
std::optional<std::string_view> find_member(std::string_view list, Holds holds) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    std::string_view member = list.substr(0, comma);
    member.remove_prefix(std::min(member.find_first_not_of(' '), member.size()));
    member.remove_suffix(member.size() - std::min(member.find_last_not_of(' ') + 1, member.size()));
    if (holds(member)) return member;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return std::nullopt;
}

}  // namespace

std::string hex(const Digest& digest) { return hex_of(as_text(digest)); }

std::optional<Digest> digest_from_hex(std::string_view text) {
  Digest out;
  if (text.size() != 2 * out.size()) return std::nullopt;
  for (size_t i = 0; i < out.size(); ++i) {
    const int high = OPENSSL_hexchar2int(static_cast<unsigned char>(text[2 * i]));
    const int low = OPENSSL_hexchar2int(static_cast<unsigned char>(text[2 * i + 1]));
    if (high < 0 || low < 0) return std::nullopt;
    out[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return out;
}

std::string repr_digest(const Digest& digest) { return "sha-256=:" + base64(as_text(digest)) + ":"; }

bool promises_sha256(std::string_view text) {
  return find_member(text,
                     [](std::string_view member) { return member.substr(0, member.find_first_of("=; ")) == "sha-256"; })
      .has_value();
}

std::optional<Digest> digest_from_repr(std::string_view text) {
  constexpr std::string_view kName = "sha-256=:";
  const auto is_digest = [&](std::string_view member) {
    return member.size() > kName.size() && member.starts_with(kName) && member.ends_with(':');
  };
  const std::optional<std::string_view> member = find_member(text, is_digest);
  return member ? as_digest(from_base64(member->substr(kName.size(), member->size() - kName.size() - 1)))
                : std::nullopt;
}

std::string upload_checksum(const Digest& digest) { return "sha256 " + base64(as_text(digest)); }

std::string base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), data, static_cast<int>(bytes.size()));
  out.resize(static_cast<size_t>(length));
  return out;
}

std::string base64url(std::string_view bytes) {
  std::string out = base64(bytes);
  std::replace(out.begin(), out.end(), '+', '-');
  std::replace(out.begin(), out.end(), '/', '_');
  while (!out.empty() && out.back() == '=') out.pop_back();
  return out;
}

// EVP_DecodeBlock skips spaces and lets stray bits pass: what encodes back to the same text is the one that counts.
std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string out(text.size() / 4 * 3, '\0');
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  const int length = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()), data, static_cast<int>(text.size()));
  if (length < 0) return std::nullopt;
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  out.resize(static_cast<size_t>(length) - padding);
  return base64(out) == text ? std::optional(out) : std::nullopt;
}

std::optional<std::string> from_base64url(std::string_view text) {
  std::string padded(text);
  if (padded.find_first_of("+/=") != std::string::npos) return std::nullopt;
  std::replace(padded.begin(), padded.end(), '-', '+');
  std::replace(padded.begin(), padded.end(), '_', '/');
  padded.append((4 - padded.size() % 4) % 4, '=');
  return from_base64(padded);
}

std::string random_hex(size_t bytes) {
  std::string out(bytes, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(bytes)) != 1) {
    throw std::runtime_error("the system gives no random bytes");
  }
  return hex_of(out);
}

}  // namespace skewscope
