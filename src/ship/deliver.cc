#include "deliver.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include "digest_process.h"
#include "held_file.h"
#include "remove_source.h"
#include "retry.h"
#include "scan.h"
#include "send.h"
#include "skewscope/base/human_units.h"
#include "skewscope/base/named_host.h"
#include "skewscope/ingest/whole_trace.h"
#include "skewscope/protocol/names.h"

namespace skewscope::ship {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using End = Delivery::End;

constexpr size_t kLongestFilename = 255;
constexpr int kOtherFile = 409;
constexpr uint64_t kDigestOfNothing = 1 << 20;  // more than an empty trace's

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

Delivery of_state(const HeldFile& held) {
  switch (held.state()) {
    case HeldFile::State::absent:
      return {End::not_now, "changed or went away"};
    case HeldFile::State::unreadable:
      return {End::unreadable, held.reason()};
    case HeldFile::State::written:
      return {End::not_now, "is being written"};
    case HeldFile::State::busy:
      return {End::not_now, "another agent has it"};
    default:
      return {End::bad, held.reason()};
  }
}

class Delivering {
 public:
  Delivering(const Candidate& candidate, Worker& worker)
      : candidate_(candidate), w_(worker), began_(Clock::now()), backoff_(worker.random) {}

  Delivery run() {
    const HeldFile held(candidate_.path, w_.ledger.held_path(candidate_.stamp), candidate_.stamp);
    if (held.state() == HeldFile::State::absent && was_accepted()) return {End::accepted, "", 0, -1, ""};
    if (held.state() != HeldFile::State::held) return of_state(held);
    Delivery delivery = deliver(held);
    delivery.rank = rank_;
    release(held, delivery.end);
    return delivery;
  }

 private:
  Delivery deliver(const HeldFile& held) {
    if (auto ended = identify(held)) return *ended;
    // From here on the file is whole and its rank is known.
    item_ = w_.ledger.load(candidate_.stamp).value_or(Item{});
    item_.path = candidate_.path;
    item_.stamp = candidate_.stamp;
    if (item_.accepted && !w_.options.verify && !w_.options.delete_source) return {End::accepted, "", 0, -1, item_.job};
    if (item_.accepted) {  // the gatherer says at creation whether it has it still
      item_.accepted = false;
      item_.upload.clear();
      item_.offset = 0;
    }
    save();  // whatever becomes of its name now, the next run finds it
    const Claim claim = w_.claim(rank_);
    if (!w_.go_on()) return {};
    if (claim == Claim::waits) return {End::waits, "waits for an older file of the same rank"};
    if (claim == Claim::outdated && w_.options.replace) return {End::bad, "is older than the file that replaced it"};
    // A digest is of one rank: of a file of several, the file itself is sent.
    const bool as_digest = w_.options.digest && metadata_.ranks == 1 && !is_dump(metadata_.capture);
    const std::optional<std::string> form = as_digest ? make_digest(held) : held.open_path();
    if (!form) return w_.go_on() ? Delivery{End::bad, reason_} : Delivery{};
    const Descriptor file(open(form->c_str(), O_RDONLY | O_CLOEXEC));
    if (auto ended = prepare(held, file.number())) return *ended;
    // From here on size and digest of what is sent are known.
    return send_until_decided(held);
  }

  // By another agent, which has removed it.
  bool was_accepted() const {
    const auto item = w_.ledger.load(candidate_.stamp);
    return item && item->accepted;
  }

  // The link of what is not sent goes, unless it is all that is left of a whole file.
  void release(const HeldFile& held, End end) const {
    // Nobody would come back for it: it would keep the disk full.
    if (end == End::accepted && (w_.options.once || w_.options.delete_source)) held.let_go();
    if (w_.options.digest && end != End::stopped) {
      std::error_code ignored;
      fs::remove_all(w_.ledger.digest_folder(candidate_.stamp), ignored);
    }
    const bool never_whole = !w_.ledger.load(candidate_.stamp);
    const bool waits = end == End::unfinished || end == End::not_now || end == End::unreadable;
    const bool useless = waits && (never_whole || !held.unchanged());
    if ((useless && (end != End::unreadable || lies_there())) ||
        ((end == End::bad || end == End::left) && lies_there()))
      held.let_go();
  }

  bool lies_there() const {
    struct stat status {};
    return lstat(candidate_.path.c_str(), &status) == 0 && stamp_of(status) == candidate_.stamp;
  }

  std::optional<Delivery> identify(const HeldFile& held) {
    const std::optional<int> dumped = rank_of_dump(candidate_.path, w_.options.dumps);
    return dumped ? identify_dump(held, *dumped) : identify_trace(held);
  }

  // A newer one of the same minute takes its place: the recorder has gone on.
  std::optional<Delivery> identify_dump(const HeldFile& held, int rank) {
    const std::string problem = why_no_whole_dump(held.descriptor());
    if (!held.unchanged()) return Delivery{End::not_now, "changed while it was read"};
    if (!problem.empty()) return Delivery{End::unfinished, problem};
    metadata_.job = w_.options.job;
    metadata_.capture = minute_of(candidate_.stamp);
    metadata_.rank = rank;
    metadata_.replace = true;
    metadata_.filename = fs::path(candidate_.path).filename().string();
    const std::string& given = w_.options.host;
    metadata_.filename = with_host(metadata_.filename, given.empty() ? host_of_disk(held.descriptor()) : given);
    rank_ = kMostRanks + rank;  // traces of its rank do not wait for it, nor it for them
    return std::nullopt;
  }

  std::optional<Delivery> identify_trace(const HeldFile& held) {
    const auto digest_memory = static_cast<int64_t>(w_.options.digest_memory_bytes);
    const FileCheckOptions how{w_.options.rank_regex, held.closed(), digest_memory, w_.go_on};
    const Result<FileCheck> checked = check_file(held.open_path(), candidate_.path, how);
    if (!checked.ok()) return w_.go_on() ? unchecked(checked.error()) : Delivery{};
    const FileCheck& check = checked.value();
    if (!held.unchanged()) return Delivery{End::not_now, "changed while it was read"};
    if (!check.whole) return Delivery{check.may_grow ? End::unfinished : End::bad, check.problem};
    const std::optional<int> world = w_.options.world_size
                                         ? w_.options.world_size
                                         : (check.world_size > 0 ? std::optional(int{check.world_size}) : std::nullopt);
    const int rank = check.rank.known() ? check.rank.value : world == 1 ? 0 : -1;
    if (rank < 0) return Delivery{End::bad, unknown_rank_of(check.ranks)};
    if (world && rank + check.ranks > *world && check.ranks > 1) {
      return Delivery{End::bad, fmt::format("holds ranks {} to {} ({}) of a world of {}", rank, rank + check.ranks - 1,
                                            check.rank_source, *world)};
    }
    if (world && rank >= *world) {
      return Delivery{End::bad, fmt::format("is rank {} ({}) of a world of {}", rank, check.rank_source, *world)};
    }
    metadata_.job = w_.options.job;
    metadata_.capture = w_.options.capture;
    metadata_.rank = rank_ = rank;
    metadata_.ranks = check.ranks;
    metadata_.world_size = world;
    metadata_.replace = w_.options.replace;
    metadata_.filename = fs::path(candidate_.path).filename().string();
    if (check.host.empty()) {
      const std::string& given = w_.options.host;
      metadata_.filename = with_host(metadata_.filename, given.empty() ? host_of_disk(held.descriptor()) : given);
    }
    plain_ = check.compression.empty() && metadata_.filename.size() > 5 &&
             metadata_.filename.compare(metadata_.filename.size() - 5, 5, ".json") == 0;
    return std::nullopt;
  }

  static Delivery unchecked(const Error& error) {
    if (error.kind == ErrorKind::unreadable) return {End::unreadable, error.message};
    const bool large = error.kind == ErrorKind::resource_limit;
    return {End::bad, large ? "a digest that takes more than --digest-memory to be checked" : error.message};
  }

  // Path of the digest, made again: a crash may have left another one.
  std::optional<std::string> make_digest(const HeldFile& held) {
    const std::string folder = w_.ledger.digest_folder(candidate_.stamp);
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    // make_digests names digests after their traces: a link gives it the trace's own name.
    const std::string source = folder + "/source/" + metadata_.filename;
    fs::create_directories(folder + "/source", ignored);
    fs::create_symlink(fmt::format("/proc/self/fd/{}", kTraceDescriptor), source, ignored);
    DigestProcess process;
    process.program = w_.options.program;
    process.descriptor = held.descriptor();
    process.source = source;
    process.folder = folder + "/made";
    process.most_memory = w_.options.digest_memory_bytes;
    process.most_bytes = candidate_.stamp.size + kDigestOfNothing;
    process.most_cpu = w_.options.digest_time;
    process.deadline = began_ + w_.options.give_up;
    const auto made = run_digest_process(process, w_.cpu, w_.go_on);
    const std::string digest = folder + "/made/" + metadata_.filename + ".digest";
    if (!made.ok() || !fs::exists(digest, ignored)) {
      reason_ = "cannot make a digest" + (made.ok() ? "" : ": " + made.error().message) +
                "; without --digest the trace is sent";
      return std::nullopt;
    }
    metadata_.filename += ".digest";
    plain_ = false;
    return digest;
  }

  std::optional<Delivery> prepare(const HeldFile& held, int descriptor) {
    struct stat status {};
    if (descriptor < 0 || fstat(descriptor, &status) != 0) return Delivery{End::unreadable, "cannot be read"};
    const bool compress = plain_ && w_.options.compress;
    const Payload::Source source{descriptor, static_cast<uint64_t>(status.st_size), compress, !w_.client.encrypted()};
    auto payload = Payload::make(source, w_.options.piece_bytes, w_.go_on);
    if (!payload.ok()) return w_.go_on() ? unreadable(held) : Delivery{};
    payload_.emplace(std::move(payload).value());
    if (compress) metadata_.filename += ".gz";
    if (metadata_.filename.size() > kLongestFilename) {
      metadata_.filename.erase(0, metadata_.filename.size() - kLongestFilename);
    }
    metadata_.sha256 = payload_->sha256();
    if (item_.sha256 != payload_->sha256()) {  // another form of it than before: the old upload is of no use
      item_.upload.clear();
      item_.offset = 0;
    }
    item_.sha256 = payload_->sha256();
    save();
    return std::nullopt;
  }

  Delivery send_until_decided(const HeldFile& held) {
    Sending sending{w_.client,
                    *payload_,
                    metadata_,
                    [&] { return held.unchanged() && w_.go_on(); },
                    [&](uint64_t offset) {
                      w_.arrived(static_cast<double>(offset) / static_cast<double>(payload_->size()));
                      backoff_.progressed();
                      w_.outage.over();
                    },
                    [&] { save(); },
                    is_dump(metadata_.capture) ? std::function<int64_t()>() : [&] { return age_s(); }};
    for (;;) {
      ++item_.tries;
      const Sent sent = send(sending, item_);
      if (!w_.go_on()) return {};
      switch (sent.end) {
        case Sent::End::accepted:
          return accepted();
        case Sent::End::changed:
          return unreadable(held);
        case Sent::End::run_goes_on:
          if (!candidate_.last_try) return later(sent.why);
          [[fallthrough]];
        case Sent::End::refused:
          return {End::bad, sent.why.detail + (sent.why.status == kOtherFile ? hint() : "")};
        case Sent::End::wait:
          if (!pause(sent.why)) return w_.go_on() ? Delivery{End::left, "given up: " + words_of(sent.why)} : Delivery{};
      }
    }
  }

  // As the clock of this node says, which need not be right, and the file's folder has it.
  int64_t age_s() const {
    constexpr int64_t kNsPerSecond = 1'000'000'000;
    return std::clamp<int64_t>(std::time(nullptr) - candidate_.stamp.mtime_ns / kNsPerSecond, 0, kLongestAge_s);
  }

  Delivery later(const Reply& why) const {
    Delivery delivery{End::later, why.detail};
    delivery.again_in = std::min(*why.retry_after, kLongestRetryAfter);
    const std::string when = w_.options.once ? "after all others" : fmt::format("in {} s", delivery.again_in.count());
    w_.say(Severity::warning, fmt::format("{}: {}; again {}", candidate_.path, why.detail, when));
    return delivery;
  }

  std::string words_of(const Reply& why) const {
    if (!why.untrusted || why.status == 0) return why.detail;
    const std::string& file = w_.options.token_file;
    return why.detail + (file.empty() ? " (no --token-file was given)" : " (the token is that of " + file + ")");
  }

  std::string hint() const {
    return fmt::format("; each of several recordings needs its own --capture: {} is that of the first",
                       w_.options.capture);
  }

  static Delivery unreadable(const HeldFile& held) {
    return held.unchanged() ? Delivery{End::unreadable, "cannot be read to its end"}
                            : Delivery{End::not_now, "changed while it was sent"};
  }

  Delivery accepted() {
    w_.outage.over();
    item_.accepted = true;
    item_.accepted_at = std::time(nullptr);
    save();
    if (w_.options.delete_source && !is_dump(metadata_.capture) &&
        remove_source(candidate_.path, candidate_.stamp, w_.ledger.aside_path(candidate_.stamp)) == Removal::written) {
      w_.say(Severity::warning, candidate_.path + ": accepted, but kept: somebody has it open for writing");
    }
    w_.say(Severity::info,
           fmt::format("{}: {}rank {}, {}, accepted", candidate_.path, is_dump(metadata_.capture) ? "dump of " : "",
                       metadata_.rank, human_bytes(static_cast<int64_t>(payload_->size()))));
    return {End::accepted, "", payload_->size(), -1, item_.job};
  }

  // False: there is no time left for it.
  bool pause(const Reply& why) {
    const auto wait = backoff_.failed(why.status, why.retry_after);
    // With `once` one bound for all: a job's end waits for them.
    const auto since = w_.options.once ? w_.outage.failed(Clock::now()) : began_;
    const auto until = Clock::now() + wait, last = since + w_.options.give_up;
    if (until >= last) return false;
    if (!why.untrusted) {
      w_.say(Severity::warning, fmt::format("{}: {}; again in {:.1f} s", candidate_.path, why.detail,
                                            static_cast<double>(wait.count()) * 1e-3));
    } else if (w_.outage.is_news(words_of(why))) {
      w_.say(Severity::warning,
             fmt::format("{}: {}; trying again until that is fixed", candidate_.path, words_of(why)));
    }
    save();
    while (Clock::now() < until) {
      if (!w_.go_on()) return false;
      std::this_thread::sleep_for(std::min<Clock::duration>(until - Clock::now(), std::chrono::milliseconds(100)));
    }
    return true;
  }

  void save() {
    if (w_.ledger.save(item_) || warned_) return;
    warned_ = true;
    w_.say(Severity::warning,
           "the state directory cannot be written: after a restart this file is sent again: " + candidate_.path);
  }

  const Candidate& candidate_;
  Worker& w_;
  Clock::time_point began_;
  Backoff backoff_;
  Item item_;
  UploadMetadata metadata_;
  std::optional<Payload> payload_;
  int rank_ = -1;
  bool plain_ = false, warned_ = false;
  std::string reason_;
};

}  // namespace

std::string unknown_rank_of(int32_t ranks) {
  if (ranks == 1) return "its rank is neither in the file nor in its name: use --rank-regex";
  return fmt::format("holds {} ranks and does not say which: use --rank-regex, whose number is the first of them",
                     ranks);
}

Delivery deliver(const Candidate& candidate, Worker& worker) { return Delivering(candidate, worker).run(); }

}  // namespace skewscope::ship
