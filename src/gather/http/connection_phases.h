// The phases of serve_connection(), one object per connection. Touched on its wire's strand alone.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "connection.h"

namespace skewscope::gather {

class Connection : public Guest, public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<Wire> wire, Way way, Service& service, Lobby& guests, Lobby::Slot seat)
      : wire_(std::move(wire)), way_(way), service_(service), guests_(guests), seat_(std::move(seat)) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() override { guests_.leave(this); }

  void start();
  void end() override;
  void end_idle() override;

 private:
  using Clock = std::chrono::steady_clock;

  struct Body {
    TakeFile file;
    BufferPool::Buffer buffer;
    size_t filled = 0;
    RateFloor floor;
    int status = 0;  // of the answer to a body that did not come whole; 0: none, nobody listens
    bool evicted = false, finishing = false;
  };

  struct Download {
    std::shared_ptr<void> slot;  // goes back after the buffer
    BufferPool::Buffer buffer;
    RateFloor floor;
  };

  void end_after(std::chrono::milliseconds time);
  std::chrono::milliseconds time_for(std::chrono::milliseconds usual) const;

  // The head.
  void await_request();
  void look_for_head();
  void take_head(size_t end);
  void refuse(const Refused& refused);

  // Who it is, and what comes next.
  void authenticate(Call& call);
  void hold_back(Response refusal);
  void go_on(Next next);

  // A body, by connection_body.cc: a document as a whole, or a file.
  void ask_for_body(std::function<void()> then);
  void read_body(char* into, size_t room, std::function<void(size_t)> then);
  void take_note(size_t bytes);
  void read_document(const TakeDocument& document, std::string text);
  void fill(const std::shared_ptr<Body>& body);
  RateFloor rate_floor() const;
  void pass_on(const std::shared_ptr<Body>& body);
  void write(const std::shared_ptr<Body>& body, std::function<void()> then);
  void finish(const std::shared_ptr<Body>& body);
  void conclude(const std::shared_ptr<Body>& body, const Outcome<UploadState>& outcome);
  void break_off(const std::shared_ptr<Body>& body);
  void let_go(const std::shared_ptr<Body>& body);
  void dismiss(const std::shared_ptr<Body>& body);
  void evict(int serial);

  // The answer.
  void send(Response response);
  void report_served();
  void send_file();
  void read_part();
  void write_part(ssize_t got);
  void answered();
  void discard();
  void say_goodbye();

  std::shared_ptr<Wire> wire_;
  Way way_;
  Service& service_;
  Lobby& guests_;
  Lobby::Slot seat_;
  std::array<char, 4096> arrivals_{};
  std::string inbox_;  // received, and no part of what was served
  Clock::time_point known_by_{}, started_{};
  int served_ = 0;
  bool known_ = false;  // has shown a credential that counts, or needs none
  bool ending_ = false, keep_ = false;
  bool skipped_ = false;        // an empty line before this request
  bool asks_for_head_ = false;  // the answer has no body, whatever it says
  std::string request_id_, outbox_;
  std::shared_ptr<Call> call_;        // being answered
  uint64_t left_ = 0, received_ = 0;  // of its body
  std::shared_ptr<Body> body_;
  Response response_;
  std::optional<Download> download_;
  const char* refused_ = "";
  size_t discarded_ = 0;
};

}  // namespace skewscope::gather
