// Why a file is stored once and never deleted early: nothing but an answer with our own SHA-256 ends as accepted. After
// every doubt the offset is asked for, never assumed; a gatherer that lost the upload gets the file again and knows by
// the digest in the metadata whether it has it already.
#include "send.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace skewscope::ship {
namespace {

constexpr int kMostWrongDigests = 3;
constexpr int kMostConflicts = 4;
constexpr int kConflict = 409;
constexpr const char* kOtherContent =
    "has a different file for this rank (--replace replaces it, --capture keeps both)";

class Dialog {
 public:
  Dialog(Sending& sending, Item& item) : s_(sending), item_(item) {}

  Sent run() {
    for (;;) {
      if (!s_.unchanged()) return {Sent::End::changed, {}};
      const std::optional<Sent> ended = item_.upload.empty() ? create() : offset_known_ ? append() : ask();
      if (ended) return *ended;
    }
  }

 private:
  std::optional<Sent> create() {
    UploadMetadata metadata = s_.metadata;
    if (s_.age_s) metadata.age_s = s_.age_s();
    const Reply reply = s_.client.create(s_.payload.size(), metadata);
    if (!reply.job.empty()) item_.job = reply.job;
    if (reply.status == kConflict && reply.retry_after) {
      return Sent{Sent::End::run_goes_on, with_reason(reply, kOtherContent)};
    }
    if (advise(reply.status, About::creation) != Advice::go_on) return stop(reply, About::creation);
    if (is_complete(reply)) return Sent{Sent::End::accepted, reply};
    const auto path = upload_path(reply.location, s_.client.base());
    if (!path) return wait(reply, "answered without a location for the upload");
    item_.upload = *path;
    item_.offset = 0;
    offset_known_ = true;
    s_.save();
    return std::nullopt;
  }

  std::optional<Sent> ask() {
    const Reply reply = s_.client.head(item_.upload);
    const Advice advice = advise(reply.status, About::upload);
    if (advice == Advice::start_over) return start_over(reply);
    if (advice != Advice::go_on) return stop(reply, About::upload);
    if (is_complete(reply)) return Sent{Sent::End::accepted, reply};
    const bool ours =
        reply.offset && *reply.offset <= s_.payload.size() && (!reply.length || *reply.length == s_.payload.size());
    if (!ours) {
      forget();
      return wait(reply, "named an impossible offset");
    }
    item_.offset = *reply.offset;
    offset_known_ = true;
    return std::nullopt;
  }

  // One piece; at the end an empty one, to be answered with the digest.
  std::optional<Sent> append() {
    const uint64_t from = item_.offset;
    Piece piece;
    piece.begin = from;
    if (from < s_.payload.size()) {
      Result<Piece> next = s_.payload.piece(from);
      if (!next.ok()) return Sent{Sent::End::changed, {}};
      piece = std::move(next).value();
    }
    const Reply reply = s_.client.patch(item_.upload, s_.payload, piece);
    offset_known_ = false;
    switch (advise(reply.status, About::upload)) {
      case Advice::go_on:
        return appended(piece, reply);
      case Advice::resync:
        return conflict(reply);
      case Advice::start_over:
        return start_over(reply);
      default:
        return stop(reply, About::upload);
    }
  }

  std::optional<Sent> appended(const Piece& piece, const Reply& reply) {
    const uint64_t size = s_.payload.size();
    const bool forward = reply.offset && *reply.offset <= size && (*reply.offset > piece.begin || piece.begin == size);
    if (!forward) return wait(reply, "took the bytes but did not say how far");
    if (*reply.offset == size) {
      if (is_complete(reply)) return Sent{Sent::End::accepted, reply};
      if (reply.digest) return wrong_digest(reply);
      if (piece.begin == size) return wait(reply, "gave no digest at the end");
    }
    item_.offset = *reply.offset;
    offset_known_ = true;
    s_.payload.sent(piece);
    if (item_.offset > s_.furthest) {  // a gatherer that goes back and forth gets pauses
      s_.furthest = item_.offset;
      s_.conflicts = 0;
      s_.progressed(item_.offset);
    }
    s_.save();
    return std::nullopt;
  }

  // Another offset than we thought, or bytes that changed on their way: ask, go on. When that does not help, the
  // gatherer means the content.
  std::optional<Sent> conflict(const Reply& reply) {
    if (++s_.conflicts == 1) return std::nullopt;
    if (s_.conflicts < kMostConflicts) return wait(reply, "");
    s_.conflicts = 0;
    const bool content = reply.status == kConflict;
    forget();
    return content ? refused(reply, kOtherContent) : wrong_digest(reply);
  }

  std::optional<Sent> wrong_digest(const Reply& reply) {
    forget();
    if (++s_.wrong_digests < kMostWrongDigests) return wait(reply, "stored different bytes than were sent");
    return refused(reply, "stored different bytes than were sent, again and again");
  }

  std::optional<Sent> start_over(const Reply& reply) {
    forget();
    return started_over_++ == 0 ? std::nullopt : std::optional(wait(reply, "loses uploads"));
  }

  Sent stop(const Reply& reply, About about) {
    if (is_about_token(reply.status, about)) return untrusted(reply);
    if (advise(reply.status, about) != Advice::refuse) return wait(reply, "");
    return refused(reply, reply.status == kConflict ? kOtherContent : "");
  }

  static Sent untrusted(Reply reply) {
    reply.untrusted = true;
    return wait(std::move(reply), "");
  }

  static Sent wait(Reply reply, const char* why) { return {Sent::End::wait, with_reason(std::move(reply), why)}; }
  static Sent refused(Reply reply, const char* why) { return {Sent::End::refused, with_reason(std::move(reply), why)}; }

  static Reply with_reason(Reply reply, const std::string& why) {
    std::string text = !why.empty()       ? "the gatherer " + why
                       : reply.status > 0 ? fmt::format("the gatherer answered {}", reply.status)
                       : reply.untrusted  ? std::exchange(reply.detail, "")
                                          : "no answer";
    if (!reply.detail.empty()) text += ": " + reply.detail;
    reply.detail = text;
    return reply;
  }

  bool is_complete(const Reply& reply) const {
    return reply.digest && *reply.digest == s_.payload.sha256() && reply.offset == s_.payload.size();
  }

  void forget() {
    item_.upload.clear();
    item_.offset = s_.furthest = 0;
    offset_known_ = false;
    s_.save();
  }

  Sending& s_;
  Item& item_;
  bool offset_known_ = false;
  int started_over_ = 0;
};

}  // namespace

Sent send(Sending& sending, Item& item) { return Dialog(sending, item).run(); }

}  // namespace skewscope::ship
