// What a connection asks of the rest of the daemon: who is it, what does it get, and where does its body go.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "authorize.h"
#include "buffer_pool.h"
#include "lobby.h"
#include "response.h"
#include "src/gather/kept/store.h"
#include "src/gather/process/file_threads.h"

namespace skewscope::gather {

struct Call {
  Request request;
  Caller caller;
  std::string peer;               // address
  bool registry = false;          // came over the registry's socket: root, or the named user
  bool proxy = false;             // came over the proxy's: a user that it has signed on
  std::string certificate_name;   // node of the client's certificate
  std::function<void()> evicted;  // the body is no longer wanted; from any thread
};

using Respond = std::function<void(Response)>;

// The body is a small document: it is read whole and handed over. An answer of 401 is a failed authentication.
struct TakeDocument {
  std::function<void(std::string body, Respond respond)> then;
};
// The body is (a part of) a file.
struct TakeFile {
  std::shared_ptr<Writer> writer;
  std::string job;  // whose turn it takes to write
  Lobby::Slot slot;
  std::function<Response(const Outcome<UploadState>&)> answer;  // to what the writer says
  std::function<void()> broken_off;                             // when the body did not come whole; may be empty
};
// The answer is made after this time: its asker has had his share of answers for now.
struct AnswerLater {
  std::chrono::milliseconds wait{};
  std::function<Response()> answer;
};
using Next = std::variant<Response, TakeDocument, TakeFile, AnswerLater>;

struct Served {
  Endpoint endpoint = Endpoint::page_jobs;
  const Call* call = nullptr;  // null: refused before it was understood
  const Response* response = nullptr;
  const char* refused = "";  // reason of a refusal
  std::string request_id, peer;
  uint64_t received_bytes = 0;
  std::chrono::steady_clock::duration duration{};
};

// Names of users are being looked up: to be asked again in some milliseconds, until there is another answer.
struct NotKnownYet {};
using Admitted = std::variant<Caller, Response, NotKnownYet>;

class Service {
 public:
  virtual ~Service() = default;
  // Credential and scope. A Response is the refusal; after one of 401 the connection ends.
  virtual Admitted admit_caller(const Call& call) = 0;
  // Quota, slots, then what comes next; `next` is called once, on any thread. No byte of the body was read before.
  virtual void begin(const std::shared_ptr<const Call>& call, std::function<void(Next)> next) = 0;
  // Its token was, meanwhile, or the job became another user's: no more is taken of its body, nor given of a file.
  virtual bool revoked(const Call& call) const = 0;
  virtual void served(const Served& served) = 0;
  virtual std::string user_header() const = 0;  // the field by which the proxy names a user

  virtual Lobby& lobby() = 0;
  virtual BufferPool& buffers() = 0;           // of bodies
  virtual BufferPool& download_buffers() = 0;  // of files that go out
  virtual FileThreads& readers() = 0;          // which read these
  virtual GatherLimits limits() const = 0;     // at present
};

}  // namespace skewscope::gather
