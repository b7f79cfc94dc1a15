// POST /v1/tokens: gives out a job's token for a proof of who asks: a MUNGE credential of the job's owner, the
// certificate of one of its nodes, or a token of scope admin; and a user's for a MUNGE credential of his.
//
// The body may say {"job": NAME, "life_s": N}, or {"user": true} in place of the job; a MUNGE credential says itself
// which. The answer is {"token", "job" or "uid", "scopes", "expires" (Unix time, s)}.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "src/gather/http/munge.h"
#include "src/gather/http/service.h"
#include "src/gather/http/tokens.h"

namespace skewscope::gather {

class TokenDesk {
 public:
  explicit TokenDesk(const Store& store) : store_(store) {}
  TokenDesk(const TokenDesk&) = delete;
  TokenDesk& operator=(const TokenDesk&) = delete;
  ~TokenDesk() { stop(); }
  void stop();  // who still waits is not answered

  struct Means {
    std::shared_ptr<const Munge> munge;  // null: credentials of MUNGE do not count
    TokenKeys keys;
    std::string server;  // whom a MUNGE credential must be for
  };
  // munged is asked on a thread of the desk: it may take its time. Few may wait for it, and fewer of one address.
  // `respond` from there or at once.
  void issue(const std::shared_ptr<const Call>& call, Means means, const std::string& body, Respond respond);

 private:
  struct Waiting {
    std::string address;
    std::function<void()> decode;
  };
  void work();

  const Store& store_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace skewscope::gather
