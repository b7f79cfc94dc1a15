// A request goes through these doors in this order, and nothing of its body is read before the last:
//   handshake -> head -> gate -> credential -> scope, quota, slots (Service::begin) -> 100 -> body -> answer
// Each phase has a deadline of its own; when it passes, the connection ends. A body is read into one buffer, and the
// next bytes are read when the store has taken those: a slow disk slows the sender, not the memory.
#include "connection.h"

#include <unistd.h>

#include <algorithm>

#include "connection_phases.h"
#include "head.h"
#include "skewscope/protocol/sha256.h"

namespace skewscope::gather {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kMostRequests = 1000;
constexpr milliseconds kLookAgain{5};
constexpr seconds kGoodbye{2}, kShortIdle{5}, kHeldBack{1};
constexpr size_t kMostDiscarded = 1 << 20;

}  // namespace

void Connection::start() {
  if (!guests_.enter(shared_from_this(), wire_->peer())) return wire_->close();
  const auto& limits = service_.limits();
  known_by_ = Clock::now() + limits.before_authentication;
  end_after(std::min(limits.handshake, limits.before_authentication));
  wire_->handshake([self = shared_from_this()](bool done) {
    if (!done) return self->wire_->close();
    self->guests_.greeted(self.get());
    self->await_request();
  });
}

void Connection::end() {
  wire_->post([self = shared_from_this()] { self->wire_->close(); });
}

void Connection::end_idle() {
  wire_->post([self = shared_from_this()] {
    self->ending_ = true;
    if (!self->call_) self->wire_->close();
  });
}

void Connection::end_after(milliseconds time) {
  wire_->set_timer(time, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->wire_->close();
  });
}

// Who has not shown a credential has until known_by_ for all that they ask, whatever was answered.
milliseconds Connection::time_for(milliseconds usual) const {
  if (known_) return usual;
  const auto left = std::chrono::duration_cast<milliseconds>(known_by_ - Clock::now());
  return std::clamp(left, milliseconds(0), usual);
}

void Connection::await_request() {
  call_.reset();
  skipped_ = false;
  if (ending_) return say_goodbye();
  const auto& limits = service_.limits();
  if (!known_) {
    end_after(time_for(limits.before_authentication));
  } else if (inbox_.empty()) {
    const bool sooner = way_ == Way::admin || way_ == Way::registry || guests_.crowded();
    end_after(sooner ? std::min(limits.idle, kShortIdle) : limits.idle);
  } else {
    end_after(limits.before_authentication);
  }
  look_for_head();
}

void Connection::look_for_head() {
  // An empty line before the request: some clients end a body with one (RFC 9112, 2.2). One alone.
  if (!skipped_ && inbox_.starts_with("\r\n")) {
    inbox_.erase(0, 2);
    skipped_ = true;
  }
  const size_t end = end_of_head(inbox_);
  if (end != std::string::npos && end <= kLongestHead) return take_head(end);
  if (inbox_.size() >= kLongestHead) return refuse({431, "head too large", {}});
  wire_->read(arrivals_.data(), arrivals_.size(), [self = shared_from_this()](size_t bytes) {
    if (bytes == 0) return self->wire_->close();
    if (self->inbox_.empty() && self->known_ && !self->skipped_)
      self->end_after(self->service_.limits().before_authentication);
    self->inbox_.append(self->arrivals_.data(), bytes);
    self->look_for_head();
  });
}

void Connection::take_head(size_t end) {
  started_ = Clock::now();
  received_ = 0;
  ++served_;
  request_id_ = random_hex(8);
  auto read = read_head(std::string_view(inbox_).substr(0, end), way_ == Way::admin ? Listener::admin : Listener::main,
                        way_ == Way::proxy ? service_.user_header() : "");
  asks_for_head_ = inbox_.starts_with("HEAD ");
  inbox_.erase(0, end);
  if (auto* refused = std::get_if<Refused>(&read)) return refuse(*refused);
  auto& request = std::get<Request>(read);
  left_ = request.content_length.value_or(0);
  auto call = std::make_shared<Call>();
  call->request = std::move(request);
  call->peer = wire_->peer();
  call->registry = way_ == Way::registry;
  call->proxy = way_ == Way::proxy;
  call->certificate_name = wire_->certificate_name();
  call->evicted = [weak = weak_from_this(), serial = served_] {
    if (const auto self = weak.lock()) self->evict(serial);
  };
  call_ = call;
  authenticate(*call);
}

void Connection::refuse(const Refused& refused) {
  Response response = problem(refused.status, refused.reason);
  for (const auto& [name, value] : refused.fields) response.field(name, value);
  response.close = true;
  refused_ = refused.reason;
  send(std::move(response));
}

void Connection::authenticate(Call& call) {
  auto who = service_.admit_caller(call);
  if (std::holds_alternative<NotKnownYet>(who)) {
    return wire_->set_timer(kLookAgain, [self = shared_from_this()] { self->authenticate(*self->call_); });
  }
  if (auto* refusal = std::get_if<Response>(&who)) {
    if (refusal->status != 401) return send(std::move(*refusal));
    return hold_back(std::move(*refusal));
  }
  call.caller = std::move(std::get<Caller>(who));
  known_ = known_ || way_ != Way::main || (is_known(call.caller) && !service_.revoked(call));
  if (known_ && way_ != Way::admin) guests_.authenticated(this);
  // It may have to wait for its body's slot, and wakes all who have waited too long.
  wire_->set_timer(Lobby::kLongestWait,
                   [self = shared_from_this()] { self->service_.lobby().end_waits(Clock::now()); });
  service_.begin(call_, [self = shared_from_this()](Next next) {
    self->wire_->post([self, next = std::move(next)]() mutable { self->go_on(std::move(next)); });
  });
}

// Guessing a credential is slow, and after many guesses refused.
void Connection::hold_back(Response refusal) {
  refused_ = "credential";
  refusal.close = true;
  Lobby& lobby = service_.lobby();
  const auto verdict = lobby.verdict(wire_->peer());
  lobby.failed(wire_->peer());
  if (verdict == FailureThrottle::Verdict::refuse) {
    refusal = problem(429, "too many failed authentications");
    refusal.close = true;
  }
  if (verdict == FailureThrottle::Verdict::pass) return send(std::move(refusal));
  wire_->set_timer(kHeldBack, [self = shared_from_this(), refusal = std::move(refusal)] { self->send(refusal); });
}

void Connection::go_on(Next next) {
  wire_->stop_timer();
  if (auto* response = std::get_if<Response>(&next)) return send(std::move(*response));
  if (auto* later = std::get_if<AnswerLater>(&next)) {
    return wire_->set_timer(later->wait,
                            [self = shared_from_this(), later = std::move(*later)] { self->send(later.answer()); });
  }
  if (auto* document = std::get_if<TakeDocument>(&next)) {
    return ask_for_body([self = shared_from_this(), document = std::move(*document)] {
      self->end_after(self->time_for(self->service_.limits().silence));
      self->read_document(document, {});
    });
  }
  auto body =
      std::make_shared<Body>(Body{std::move(std::get<TakeFile>(next)), service_.buffers().take(), 0, rate_floor()});
  if (!body->buffer) {
    if (body->file.broken_off) body->file.broken_off();
    return send(problem(503, "no buffer left"));
  }
  body_ = body;
  ask_for_body([self = shared_from_this(), body] { self->fill(body); });
}

void Connection::send(Response response) {
  response_ = std::move(response);
  const bool asked_to_keep = call_ && call_->request.keep_alive;
  const bool may_stay = known_ || Clock::now() < known_by_;
  keep_ = asked_to_keep && may_stay && !response_.close && left_ == 0 && served_ < kMostRequests && !ending_;
  outbox_ = head_of(response_, request_id_, keep_);
  const bool bodiless = asks_for_head_;
  if (!bodiless && !response_.file) outbox_ += response_.body;
  const bool file_follows = response_.file && !bodiless && response_.file_size > 0;
  report_served();
  end_after(std::max<milliseconds>(time_for(service_.limits().silence), kGoodbye));
  wire_->write(outbox_, [self = shared_from_this(), file_follows](bool done) {
    if (!done) return self->wire_->close();
    if (!file_follows) return self->answered();
    self->send_file();
  });
}

void Connection::report_served() {
  Served served;
  served.call = call_.get();
  if (call_) served.endpoint = call_->request.endpoint;
  served.response = &response_;
  served.refused = refused_;
  served.request_id = request_id_;
  served.peer = wire_->peer();
  served.received_bytes = received_;
  served.duration = Clock::now() - started_;
  service_.served(served);
  refused_ = "";
}

void Connection::send_file() {
  download_.emplace(Download{std::move(response_.held), service_.download_buffers().take(), rate_floor()});
  if (!download_->buffer) return wire_->close();
  read_part();
}

// On a thread that may wait for the disk. Until it is back nothing else touches response_ and download_.
void Connection::read_part() {
  if (response_.file_size == 0) return answered();
  if (service_.revoked(*call_)) return wire_->close();
  const auto read = [self = shared_from_this(), begin = Clock::now()] {
    const Response& response = self->response_;
    const size_t wanted = static_cast<size_t>(std::min<uint64_t>(kBufferBytes, response.file_size));
    const ssize_t got =
        pread(response.file->get(), self->download_->buffer.get(), wanted, static_cast<off_t>(response.file_offset));
    self->wire_->post([self, begin, got] {
      self->download_->floor.held_back(Clock::now() - begin);
      self->write_part(got);
    });
  };
  service_.readers().post(std::hash<std::string>()(request_id_), read);
}

void Connection::write_part(ssize_t got) {
  if (got <= 0) return wire_->close();  // shorter than promised: only a broken connection says so
  const auto bytes = static_cast<size_t>(got);
  response_.file_offset += bytes;
  response_.file_size -= bytes;
  end_after(service_.limits().silence);
  wire_->write({download_->buffer.get(), bytes}, [self = shared_from_this(), bytes](bool done) {
    RateFloor& floor = self->download_->floor;
    floor.received(bytes, Clock::now());
    if (!done || floor.too_slow(Clock::now())) return self->wire_->close();
    self->read_part();
  });
}

void Connection::answered() {
  download_.reset();
  response_ = {};
  if (keep_) return await_request();
  call_.reset();
  end_after(kGoodbye);
  discarded_ = 0;
  if (left_ > 0) return discard();
  say_goodbye();
}

// A refused sender that is still sending would lose the answer if the connection were closed at once.
void Connection::discard() {
  wire_->read(arrivals_.data(), arrivals_.size(), [self = shared_from_this()](size_t bytes) {
    self->discarded_ += bytes;
    if (bytes == 0 || self->discarded_ > kMostDiscarded) return self->wire_->close();
    self->discard();
  });
}

void Connection::say_goodbye() {
  end_after(kGoodbye);
  wire_->end_writing([self = shared_from_this()] { self->wire_->close(); });
}

void serve_connection(std::shared_ptr<Wire> wire, Way way, Service& service, Lobby& guests, Lobby::Slot seat) {
  std::make_shared<Connection>(std::move(wire), way, service, guests, std::move(seat))->start();
}

}  // namespace skewscope::gather
