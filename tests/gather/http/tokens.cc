#include "src/gather/http/tokens.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <fstream>

#include "skewscope/gather.h"
#include "skewscope/protocol/sha256.h"
#include "tests/temporary_folder.h"

namespace skewscope::gather {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;

const std::string kOldKey(32, 'o'), kNewKey(32, 'n'), kForeignKey(32, 'f');
const sys_seconds kNow{seconds(1790000000)};

TokenPayload payload_of(const std::string& job) {
  TokenPayload out;
  out.job = job;
  out.scopes = kUpload | kRead;
  out.uid = 1000;
  out.expires = kNow + seconds(3600);
  out.epoch = 3;
  return out;
}

std::string signed_with(const std::string& key, const std::string& payload) {
  const std::string text = "ss1." + base64url(payload);
  const Digest mac = hmac_sha256(key, text);
  return text + "." + base64url({reinterpret_cast<const char*>(mac.data()), mac.size()});
}

std::string payload_text(const std::string& token) {
  return from_base64url(token.substr(4, token.rfind('.') - 4)).value();
}

TEST_CASE("a token says what it was minted with") {
  const TokenKeys keys = TokenKeys::from({kNewKey});
  const std::optional<TokenPayload> read = keys.verify(keys.mint(payload_of("cluster-1.0")), kNow);
  REQUIRE(read);
  CHECK(read->job == "cluster-1.0");
  CHECK(read->scopes == (kUpload | kRead));
  CHECK(read->uid == 1000);
  CHECK(read->expires == kNow + seconds(3600));
  CHECK(read->epoch == 3);
}

TEST_CASE("a token ends at the second of its expiry") {
  const TokenKeys keys = TokenKeys::from({kNewKey});
  const std::string token = keys.mint(payload_of("j"));
  CHECK(keys.verify(token, kNow + seconds(3599)));
  CHECK(!keys.verify(token, kNow + seconds(3600)));
}

TEST_CASE("a key can be replaced while tokens of the one before still count") {
  const std::string old_token = TokenKeys::from({kOldKey}).mint(payload_of("j"));
  const TokenKeys both = TokenKeys::from({kNewKey, kOldKey});
  CHECK(both.verify(old_token, kNow));
  CHECK(TokenKeys::from({kNewKey}).verify(both.mint(payload_of("j")), kNow));
  CHECK(!TokenKeys::from({kNewKey}).verify(old_token, kNow));
  CHECK(!both.verify(TokenKeys::from({kForeignKey}).mint(payload_of("j")), kNow));
}

TEST_CASE("a token with any one character changed, added or missing is none") {
  const TokenKeys keys = TokenKeys::from({kNewKey, kOldKey});
  const std::string token = keys.mint(payload_of("j"));
  for (size_t i = 0; i < token.size(); ++i) {
    for (const char other : {'A', 'B', '.', '=', ' ', '\0'}) {
      std::string changed = token;
      changed[i] = other;
      if (changed != token) CHECK(!keys.verify(changed, kNow));
    }
    CHECK(!keys.verify(std::string(token).erase(i, 1), kNow));
    CHECK(!keys.verify(std::string(token).insert(i, 1, 'A'), kNow));
  }
  for (const std::string& text : {token + ".", token + "=", " " + token, token + "\n", std::string(), std::string("."),
                                  std::string("ss1."), std::string("ss1.."), std::string(3000, 'a')}) {
    CHECK(!keys.verify(text, kNow));
  }
}

TEST_CASE("a payload counts in one spelling alone, even well signed") {
  const TokenKeys keys = TokenKeys::from({kNewKey});
  const std::string good = payload_text(keys.mint(payload_of("j")));
  REQUIRE(keys.verify(signed_with(kNewKey, good), kNow));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    REQUIRE(text.find(from) != std::string::npos);
    return text.replace(text.find(from), from.size(), to);
  };
  for (const std::string& text : {" " + good,
                                  good + " ",
                                  good + "{}",
                                  std::string("{}"),
                                  std::string("[]"),
                                  std::string("null"),
                                  std::string(),
                                  with("\"uid\":1000", "\"uid\":-1"),
                                  with("\"uid\":1000", "\"uid\":1e3"),
                                  with("\"uid\":1000", "\"uid\":4294967296"),
                                  with("\"uid\":1000", "\"uid\":\"1000\""),
                                  with("\"uid\":1000", "\"uid\":1000,\"uid\":0"),
                                  with("\"uid\":1000", "\"uid\":1000,\"more\":1"),
                                  with("upload read", "read upload"),
                                  with("upload read", ""),
                                  with("upload read", "upload  read"),
                                  with("upload read", "root"),
                                  with("\"j\"", "\"*\""),
                                  with("\"j\"", "\"../j\""),
                                  with("\"j\"", "\"\\u006a\""),
                                  with("\"epoch\":3", "\"epoch\":03"),
                                  with("\"epoch\":3,", ""),
                                  with("\"key\":\"", "\"key\":\"0"),
                                  with("\"expires\":1790003600", "\"expires\":18446744073709551615"),
                                  std::string(2000, '[')}) {
    INFO(text);
    CHECK(!keys.verify(signed_with(kNewKey, text), kNow));
  }
}

TEST_CASE("a star is every job, for an admin or for reading alone") {
  const TokenKeys keys = TokenKeys::from({kNewKey});
  TokenPayload every = payload_of("*");
  for (const unsigned scopes : {kAdmin + 0u, kAdmin | kUpload, kRead + 0u}) {
    every.scopes = scopes;
    CHECK(keys.verify(keys.mint(every), kNow)->job == "*");
  }
  every.scopes = kUpload | kRead;
  CHECK(!keys.verify(keys.mint(every), kNow));
}

class KeyFile {
 public:
  KeyFile(const std::string& text, mode_t mode) : folder_("token_keys") {
    std::filesystem::create_directories(folder_.path);
    std::ofstream(path()) << text;
    ::chmod(path().c_str(), mode);
  }
  std::string path() const { return folder_.path / "keys"; }
  std::string problem() const {
    const Result<TokenKeys> keys = TokenKeys::read(path());
    return keys.ok() ? "" : keys.error().message;
  }

 private:
  skewscope::test::Folder folder_;
};

const std::string kLine = std::string(64, 'a');

TEST_CASE("a key file has one or two keys, and its owner alone can read it") {
  CHECK(KeyFile(kLine, 0600).problem() == "");
  CHECK(KeyFile(kLine + "\n" + std::string(64, '0') + "\n", 0400).problem() == "");
  CHECK_THAT(KeyFile(kLine, 0640).problem(), Catch::Contains("chmod 600"));
  CHECK_THAT(KeyFile(kLine, 0602).problem(), Catch::Contains("chmod 600"));
  CHECK_THAT(KeyFile("", 0600).problem(), Catch::Contains("one or two lines"));
  CHECK_THAT(KeyFile("secret\n", 0600).problem(), Catch::Contains("line 1 is not 64 hexadecimal digits"));
  CHECK_THAT(KeyFile(kLine + "\n\n", 0600).problem(), Catch::Contains("line 2"));
  CHECK_THAT(KeyFile(kLine + "\n" + kLine + "\n" + kLine, 0600).problem(), Catch::Contains("one or two lines"));
}

// Gives a file an access control list of (tag, permissions, id), as setfacl does; false where the file system has none.
bool set_list(const std::string& file, const std::vector<std::array<uint32_t, 3>>& entries) {
  std::vector<uint32_t> list = {2};
  for (const auto& [tag, permissions, id] : entries) {
    list.push_back(tag | permissions << 16);
    list.push_back(id);
  }
  return ::setxattr(file.c_str(), "system.posix_acl_access", list.data(), list.size() * sizeof list[0], 0) == 0;
}

TEST_CASE(
    "a key file that an access control list opens to its reader alone is taken, as systemd's LoadCredential makes it") {
  constexpr uint32_t kOwner = 1, kUser = 2, kOwnerGroup = 4, kGroup = 8, kMask = 16, kOther = 32, kNobody = ~0u;
  const uint32_t me = ::geteuid();
  const KeyFile file(kLine + "\n", 0400);
  if (!set_list(file.path(), {{kOwner, 4, kNobody},
                              {kUser, 4, me},
                              {kOwnerGroup, 0, kNobody},
                              {kMask, 4, kNobody},
                              {kOther, 0, kNobody}})) {
    WARN("skipped: this file system has no access control lists");
    return;
  }
  struct stat status {};
  REQUIRE(::stat(file.path().c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0440);
  CHECK(file.problem() == "");
  REQUIRE(set_list(file.path(), {{kOwner, 4, kNobody},
                                 {kUser, 4, me + 1},
                                 {kOwnerGroup, 0, kNobody},
                                 {kMask, 4, kNobody},
                                 {kOther, 0, kNobody}}));
  CHECK_THAT(file.problem(), Catch::Contains("others can read"));
  REQUIRE(set_list(
      file.path(),
      {{kOwner, 4, kNobody}, {kOwnerGroup, 0, kNobody}, {kGroup, 4, 7}, {kMask, 4, kNobody}, {kOther, 0, kNobody}}));
  CHECK_THAT(file.problem(), Catch::Contains("others can read"));
}

TEST_CASE("what is no regular file holds no keys, and nobody waits for it") {
  const skewscope::test::Folder folder("no_token_keys");
  std::filesystem::create_directories(folder.path);
  const std::string fifo = folder.path / "fifo", none = folder.path / "none";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK_THAT(TokenKeys::read(fifo).error().message, Catch::Contains("not a regular file"));
  CHECK_THAT(TokenKeys::read(folder.path).error().message, Catch::Contains("not a regular file"));
  CHECK_THAT(TokenKeys::read(none).error().message, Catch::Contains("openssl rand -hex 32"));
}

TEST_CASE("a token is minted with the first key of the file") {
  const KeyFile file(kLine + "\n", 0600);
  GatherOptions options;
  options.token_key_file = file.path();
  TokenRequest request;
  request.job = "j";
  const Result<std::string> token = mint_token(options, request);
  REQUIRE(token.ok());
  const auto now = std::chrono::time_point_cast<seconds>(std::chrono::system_clock::now());
  const std::optional<TokenPayload> payload = TokenKeys::read(file.path()).value().verify(token.value(), now);
  REQUIRE(payload);
  CHECK(payload->job == "j");
  CHECK(payload->scopes == (kUpload | kRead));
}

TEST_CASE("a token that could not be believed is not minted") {
  const KeyFile file(kLine + "\n", 0600);
  GatherOptions options;
  options.token_key_file = file.path();
  const auto problem = [&](const TokenRequest& request) {
    const Result<std::string> token = mint_token(options, request);
    return token.ok() ? "" : token.error().message;
  };
  CHECK_THAT(problem({"../j", {"read"}, seconds(60), 0, {}}), Catch::Contains("letters, digits"));
  CHECK_THAT(problem({"*", {"upload", "read"}, seconds(60), 0, {}}), Catch::Contains("admin"));
  CHECK_THAT(problem({"j", {"root"}, seconds(60), 0, {}}), Catch::Contains("\"root\""));
  CHECK_THAT(problem({"j", {}, seconds(60), 0, {}}), Catch::Contains("scope"));
  CHECK_THAT(problem({"j", {"read"}, seconds(0)}), Catch::Contains("366 days"));
  CHECK_THAT(problem({"j", {"read"}, seconds::max()}), Catch::Contains("366 days"));
  CHECK(problem({"*", {"admin"}, seconds(60), 0, {}}) == "");
}

}  // namespace
}  // namespace skewscope::gather
