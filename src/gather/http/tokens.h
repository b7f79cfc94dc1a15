// Tokens of jobs and of users: ss1.<base64url(payload)>.<base64url(HMAC-SHA-256)>. Stateless; they survive a restart
// and end by their expiry, those of a job also by raising its epoch. Two keys live at once so that a key can be
// replaced without refusing anybody.
//
// A user's token counts in every job that he owns, whoever that is at the time of the request. No epoch ends it: a job
// keeps its own in its row, a user has none. A leaked one ends with its expiry, or with the key that signed it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skewscope/base/result.h"

namespace skewscope::gather {

enum Scope : unsigned { kUpload = 1, kRead = 2, kAdmin = 4 };

struct TokenPayload {
  std::string job;      // is_name(); "*": every job; with kAdmin, or with kRead alone; jobs_of_user(): without kAdmin
  unsigned scopes = 0;  // of Scope
  uint32_t uid = 0;
  std::chrono::sys_seconds expires{};
  uint32_t epoch = 0;
};

// "@1000" in place of a job's name, which has no "@": each job of this user. `uid`: of whom owns_jobs() holds.
std::string jobs_of_user(uint32_t uid);
// Can this be a user who owns jobs: 0 represents nobody in a job, the largest no user at all (chown(2)).
bool owns_jobs(uint32_t uid);
// Whose jobs a token is for; nullopt: for those that its job names.
std::optional<uint32_t> user_of(const TokenPayload& payload);

class TokenKeys {
 public:
  // `file`: regular, readable by its owner alone (this user or root), a key of 64 hexadecimal digits a line, at most
  // two; the first signs, both are believed.
  static Result<TokenKeys> read(const std::string& file);
  static TokenKeys from(std::vector<std::string> keys);  // each 32 bytes

  // Payloads must be sound: at least one scope, and of a job what is said above.
  std::string mint(const TokenPayload& payload) const;
  // nullopt for whatever is not a token signed with one of the keys and unexpired at `now`. How long the comparison
  // takes tells neither how much of a forged token is right nor which key signed it. Epochs are compared by
  // authorize().
  std::optional<TokenPayload> verify(std::string_view token, std::chrono::sys_seconds now) const;

 private:
  std::vector<std::string> keys_;
};

// What is logged in place of a token: 8 hexadecimal digits of its SHA-256.
std::string token_trace(std::string_view token);

}  // namespace skewscope::gather
