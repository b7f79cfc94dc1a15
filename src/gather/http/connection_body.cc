// A body on its way: a document as a whole, a file through one buffer into its writer.
#include <algorithm>
#include <cstring>

#include "connection_phases.h"

namespace skewscope::gather {

void Connection::ask_for_body(std::function<void()> then) {
  if (!call_->request.expects_continue || left_ == 0 || !inbox_.empty()) return then();
  end_after(time_for(service_.limits().silence));
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  wire_->write(kContinue, [self = shared_from_this(), then = std::move(then)](bool done) {
    if (!done) return self->wire_->close();
    then();
  });
}

// Body bytes into `into`: those that came with the head first. 0 as for Wire::read.
void Connection::read_body(char* into, size_t room, std::function<void(size_t)> then) {
  room = static_cast<size_t>(std::min<uint64_t>(room, left_));
  if (!inbox_.empty()) {
    const size_t bytes = std::min(room, inbox_.size());
    std::memcpy(into, inbox_.data(), bytes);
    inbox_.erase(0, bytes);
    take_note(bytes);
    return then(bytes);
  }
  wire_->read(into, room, [self = shared_from_this(), then = std::move(then)](size_t bytes) {
    self->take_note(bytes);
    then(bytes);
  });
}

void Connection::take_note(size_t bytes) {
  left_ -= bytes;
  received_ += bytes;
}

void Connection::read_document(const TakeDocument& document, std::string text) {
  if (left_ == 0) {
    wire_->stop_timer();
    return document.then(std::move(text), [self = shared_from_this()](Response response) {
      self->wire_->post([self, response = std::move(response)] {
        response.status == 401 ? self->hold_back(response) : self->send(response);
      });
    });
  }
  read_body(arrivals_.data(), arrivals_.size(),
            [self = shared_from_this(), document, text = std::move(text)](size_t bytes) mutable {
              if (bytes == 0) return self->wire_->close();
              text.append(self->arrivals_.data(), bytes);
              self->read_document(document, std::move(text));
            });
}

void Connection::fill(const std::shared_ptr<Body>& body) {
  if (body->filled == kBufferBytes || left_ == 0) return pass_on(body);
  wire_->set_timer(service_.limits().silence, [self = shared_from_this(), body] {
    body->status = 408;
    self->wire_->stop_reading();
  });
  read_body(body->buffer.get() + body->filled, kBufferBytes - body->filled,
            [self = shared_from_this(), body](size_t bytes) {
              if (bytes == 0) return self->break_off(body);
              body->filled += bytes;
              body->floor.received(bytes, Clock::now());
              if (self->left_ > 0 && body->floor.too_slow(Clock::now())) {
                body->status = 408;
                return self->break_off(body);
              }
              self->fill(body);
            });
}

RateFloor Connection::rate_floor() const {
  const GatherLimits limits = service_.limits();
  return {limits.least_rate, Clock::now(), limits.longest_body};
}

void Connection::pass_on(const std::shared_ptr<Body>& body) {
  wire_->stop_timer();
  if (service_.revoked(*call_)) {
    dismiss(body);
    Response refusal = unauthorized();
    refusal.close = true;
    return send(std::move(refusal));
  }
  if (body->filled == 0) {
    body->buffer.reset();
    return finish(body);
  }
  if (left_ > 0) return write(body, [self = shared_from_this(), body] { self->fill(body); });
  write(body, nullptr);
}

// Without `then` they are the last: the writer finishes without another word from here.
void Connection::write(const std::shared_ptr<Body>& body, std::function<void()> then) {
  const std::string_view bytes(body->buffer.get(), body->filled);
  body->filled = 0;
  const bool last = !then;
  const auto written = [self = shared_from_this(), body, begin = Clock::now(),
                        then = std::move(then)](const Outcome<Done>& outcome) {
    self->service_.lobby().end_turn();
    if (!then) return body->buffer.reset();
    self->wire_->post([self, body, begin, then, refusal = outcome.refusal] {
      body->floor.held_back(Clock::now() - begin);
      if (body->evicted) return self->let_go(body);
      if (refusal != Refusal::none) return self->conclude(body, {refusal, {}});
      then();
    });
  };
  service_.lobby().take_turn(body->file.job, bytes.size(), [self = shared_from_this(), body, bytes, written, last] {
    self->wire_->post([self, body, bytes, written, last] {
      body->file.writer->write(bytes, written);
      if (last) self->finish(body);
    });
  });
}

void Connection::finish(const std::shared_ptr<Body>& body) {
  body->finishing = true;
  const auto finished = [self = shared_from_this(), body](const Outcome<UploadState>& outcome) {
    self->wire_->post([self, body, outcome] { self->conclude(body, outcome); });
  };
  body->file.writer->finish(finished, std::move(body->file.slot));
}

void Connection::conclude(const std::shared_ptr<Body>& body, const Outcome<UploadState>& outcome) {
  Response response = body->file.answer(outcome);
  body_.reset();
  body->buffer.reset();  // before the slot: whoever gets that finds a buffer
  body->file = {};
  send(std::move(response));
}

// The sender is gone or too slow. What it sent counts: it is written, and dropping the writer makes it durable.
void Connection::break_off(const std::shared_ptr<Body>& body) {
  wire_->stop_timer();
  if (body->evicted || body->filled == 0) return let_go(body);
  write(body, [self = shared_from_this(), body] { self->let_go(body); });
}

void Connection::let_go(const std::shared_ptr<Body>& body) {
  const int status = body->status;
  dismiss(body);
  if (status == 0) return wire_->close();
  refused_ = "slow body";
  send(problem(status, "the body came too slowly"));
}

void Connection::dismiss(const std::shared_ptr<Body>& body) {
  if (body->file.broken_off) body->file.broken_off();
  body_.reset();
  body->buffer.reset();
  body->file = {};
}

void Connection::evict(int serial) {
  wire_->post([self = shared_from_this(), serial] {
    if (self->served_ != serial || !self->body_ || self->body_->finishing) return;  // its answer comes
    self->body_->evicted = true;
    self->wire_->close();
  });
}

}  // namespace skewscope::gather
