// One accepted connection as bytes: plain TCP or TLS, and its one timer. All callbacks of a wire run one after the
// other (its strand), never inside the call that was given them; an exception out of one ends this connection and no
// other.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace skewscope::gather {

class Wire {
 public:
  using Step = std::function<void()>;

  virtual ~Wire() = default;
  virtual void handshake(std::function<void(bool done)> then) = 0;  // nothing to do on plain TCP
  // At least one byte and at most `room`; 0: the other side ended, or the connection broke or was closed.
  virtual void read(char* into, size_t room, std::function<void(size_t bytes)> then) = 0;
  // All of `bytes`, which must live until `then`.
  virtual void write(std::string_view bytes, std::function<void(bool done)> then) = 0;
  // Says that nothing more comes. Over TLS `then` comes when the other side has said so, too: put a timer to it.
  virtual void end_writing(Step then) = 0;
  // A read that is pending ends with 0; the wire can still be written.
  virtual void stop_reading() = 0;
  virtual void close() = 0;
  // From any thread.
  virtual void post(Step step) = 0;
  // The timer: `expired` once after `time`, unless it is set again or stopped before.
  virtual void set_timer(std::chrono::milliseconds time, Step expired) = 0;
  virtual void stop_timer() = 0;

  virtual const std::string& peer() const = 0;  // address without port
  virtual bool secure() const = 0;
  virtual std::string certificate_name() const = 0;  // node that the client's verified certificate names; "": none
};

}  // namespace skewscope::gather
