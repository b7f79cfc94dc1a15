#include "growing_logs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <random>
#include <thread>

#include "skewscope/base/human_units.h"
#include "skewscope/base/named_host.h"
#include "skewscope/base/whole_file.h"
#include "skewscope/ingest/whole_trace.h"
#include "skewscope/protocol/names.h"

namespace skewscope::ship {
namespace {

namespace fs = std::filesystem;
using Moment = std::chrono::steady_clock;

constexpr size_t kLogHead = 4 << 10, kLogTail = 4 << 10, kLogBlock = 1 << 20;
constexpr size_t kIdentifyBytes = 4 << 20;  // in which a rank's communicators are named
constexpr std::chrono::milliseconds kNap{50};
constexpr int kConflicting = 409;

class OpenFile {
 public:
  explicit OpenFile(int number) : number_(number) {}
  ~OpenFile() {
    if (number_ >= 0) close(number_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

int open_log(const std::string& path) { return open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC); }

// Fewer bytes at the end, and where it cannot be read.
std::string bytes_at(int file, uint64_t from, size_t size) {
  std::string bytes(size, '\0');
  size_t read = 0;
  while (read < size) {
    const ssize_t got = pread(file, bytes.data() + read, size - read, static_cast<off_t>(from + read));
    if (got <= 0) break;
    read += static_cast<size_t>(got);
  }
  bytes.resize(read);
  return bytes;
}

std::string tail_before(int file, uint64_t end) {
  const uint64_t size = std::min<uint64_t>(end, kLogTail);
  return hex(sha256(bytes_at(file, end - size, size)));
}

std::optional<Digest> digest_of_first(int file, uint64_t bytes) {
  Sha256 digest;
  for (uint64_t at = 0; at < bytes;) {
    const std::string block = bytes_at(file, at, std::min<uint64_t>(kLogBlock, bytes - at));
    if (block.empty()) return std::nullopt;
    digest.update(block);
    at += block.size();
  }
  return digest.digest();
}

// Since it was begun; nullopt: its file system does not say when that was.
std::optional<int64_t> age_of(int file) {
  struct statx status {};
  if (statx(file, "", AT_EMPTY_PATH, STATX_BTIME, &status) != 0 || (status.stx_mask & STATX_BTIME) == 0) {
    return std::nullopt;
  }
  return std::clamp<int64_t>(std::time(nullptr) - status.stx_btime.tv_sec, 0, kLongestAge_s);
}

// Whole lines alone: what is behind the last one is still being written.
std::string whole_lines_at(int file, uint64_t from, size_t most) {
  std::string bytes = bytes_at(file, from, most);
  const size_t end = bytes.find_last_of('\n');
  if (end != std::string::npos) {
    bytes.resize(end + 1);
  } else if (bytes.size() < most) {
    bytes.clear();  // else a line that is longer than a piece goes in several
  }
  return bytes;
}

bool is_inspector_log(const std::string& path) {
  if (!path.ends_with(".log")) return false;
  const OpenFile file(open_log(path));
  const std::string head = bytes_at(file.number(), 0, kLogHead);
  return head.starts_with('{') && (head.find("\"inspector_output_format_version\"") != std::string::npos ||
                                   head.find("\"coll_perf\"") != std::string::npos);
}

}  // namespace

GrowingLogs::GrowingLogs(const ShipOptions& options, std::string state_directory, const std::string& target)
    : options_(options), state_directory_(std::move(state_directory)), target_(hex(sha256(target)).substr(0, 12)) {
  std::error_code ignored;
  if (!state_directory_.empty()) fs::create_directories(state_directory_ + "/logs", ignored);
}

bool GrowingLogs::takes(const Candidate& file) {
  if (options_.digest) return false;
  const std::lock_guard lock(mutex_);
  const auto known = logs_.find({file.stamp.device, file.stamp.inode});
  if (known != logs_.end()) {
    known->second.path = file.path;
    return true;
  }
  if (!is_inspector_log(file.path)) return false;
  logs_[{file.stamp.device, file.stamp.inode}].path = file.path;
  return true;
}

void GrowingLogs::run(Client& client, const GoOn& go_on, const Say& say) {
  std::mt19937_64 engine{std::random_device{}()};
  const auto spread = std::chrono::duration_cast<std::chrono::milliseconds>(options_.spread).count();
  const auto begin = Moment::now() + std::chrono::milliseconds(
                                         std::uniform_int_distribution<int64_t>(0, options_.once ? 0 : spread)(engine));
  auto next = begin;
  while (go_on()) {
    const auto now = Moment::now();
    std::vector<Key> keys;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [key, log] : logs_) {
        const bool fails = log.failing_since != Moment::time_point{};
        const bool due = fails ? now >= log.not_before : now >= next || !log.looked_at;
        if (due && !log.bad && now >= begin) keys.push_back(key);
      }
    }
    if (now >= next) next = now + options_.rescan;
    for (const Key& key : keys) {
      Log log;
      {
        const std::lock_guard lock(mutex_);
        log = logs_.at(key);
      }
      Step step = Step::sent;
      while (step == Step::sent && go_on()) step = look_at(key, log, client, go_on);
      if (!go_on()) return;
      settle(log, step, say);
      const std::lock_guard lock(mutex_);
      log.path = logs_.at(key).path;
      logs_.at(key) = log;
    }
    if (keys.empty()) std::this_thread::sleep_for(kNap);
  }
}

void GrowingLogs::settle(Log& log, Step step, const Say& say) const {
  const auto now = Moment::now();
  log.looked_at = step != Step::failed;
  log.bad = step == Step::refused;
  if (step != Step::failed) {
    if (step == Step::nothing_new) log.reason.clear();
    log.not_before = log.failing_since = {};
    if (log.bad) say(Severity::error, log.path + ": " + log.reason);
    return;
  }
  if (log.failing_since == Moment::time_point{}) {
    log.failing_since = now;
    say(Severity::warning, fmt::format("{}: {}; trying again", log.path, log.reason));
  }
  const auto pause = std::min<Moment::duration>(kLongestWait, kFirstWait + (now - log.failing_since) / 4);
  log.not_before = now + std::chrono::duration_cast<std::chrono::milliseconds>(pause);
  log.bad = options_.once && now - log.failing_since >= options_.give_up;
}

GrowingLogs::Step GrowingLogs::look_at(const Key& key, Log& log, Client& client, const GoOn& go_on) {
  const OpenFile file(open_log(log.path));
  struct stat status {};
  const bool there = file.number() >= 0 && fstat(file.number(), &status) == 0 && S_ISREG(status.st_mode) &&
                     Key(stamp_of(status).device, stamp_of(status).inode) == key;
  if (!there) return Step::nothing_new;  // renamed, which the next scan tells, or gone
  if (flock(file.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    log.reason = "another agent has it";
    return Step::failed;
  }
  if (log.rank < 0 && !identify(file.number(), log, go_on)) return Step::failed;
  std::optional<StreamKey> of = stream_of(log.rank, key);
  if (!of || !streams_.at(*of).in_step) {
    const Step met = meet_gatherer(file.number(), key, log, of, client);
    if (met != Step::sent) return met;
  }
  return send_some(file.number(), key, log, *of, client);
}

// That which has it, the newest.
std::optional<GrowingLogs::StreamKey> GrowingLogs::stream_of(int rank, const Key& key) {
  if (loaded_.insert(rank).second) load(rank);
  for (auto of = streams_.rbegin(); of != streams_.rend(); ++of) {
    const std::vector<Source>& sources = of->second.sources;
    const bool has_it = std::any_of(sources.begin(), sources.end(),
                                    [&](const Source& one) { return Key(one.device, one.inode) == key; });
    if (of->first.first == rank && has_it) return of->first;
  }
  return std::nullopt;
}

// By its first whole lines, which say whose process it is.
bool GrowingLogs::identify(int file, Log& log, const GoOn& go_on) const {
  const std::string lines = whole_lines_at(file, 0, kIdentifyBytes);
  const OpenFile copy(memfd_create("log", MFD_CLOEXEC));
  if (lines.empty() || copy.number() < 0 ||
      write(copy.number(), lines.data(), lines.size()) != static_cast<ssize_t>(lines.size())) {
    log.reason = "no whole line yet";
    return false;
  }
  const FileCheckOptions how{options_.rank_regex, true, 0, go_on};
  const auto checked = check_file(fmt::format("/proc/self/fd/{}", copy.number()), log.path, how);
  if (!checked.ok()) {
    log.reason = checked.error().message;
    return false;
  }
  const FileCheck& check = checked.value();
  const std::optional<int> world = options_.world_size
                                       ? options_.world_size
                                       : (check.world_size > 0 ? std::optional(check.world_size) : std::nullopt);
  const int rank = check.rank.known() ? check.rank.value : world == 1 ? 0 : -1;
  if (rank < 0 || check.ranks != 1 || (world && rank >= *world)) {
    log.reason = unknown_rank_of(1);
    return false;
  }
  log.rank = rank;
  log.metadata.job = options_.job;
  log.metadata.capture = options_.capture;
  log.metadata.rank = rank;
  log.metadata.world_size = world;
  log.metadata.grows = true;
  log.metadata.filename = fs::path(log.path).filename().string();
  if (check.host.empty()) {
    log.metadata.filename =
        with_host(log.metadata.filename, options_.host.empty() ? host_of_disk(file) : options_.host);
  }
  return true;
}

GrowingLogs::Step GrowingLogs::failed(Log& log, const Reply& reply) {
  const std::string answer = reply.status > 0 ? fmt::format("the gatherer answered {}", reply.status) : "no answer";
  log.reason = answer + (reply.detail.empty() ? "" : ": " + reply.detail);
  return Step::failed;
}

// Where the gatherer's log of this rank is, and of which run, as it tells from when this file was begun; the piece
// under way is then there, or a part of it, or nothing.
GrowingLogs::Step GrowingLogs::meet_gatherer(int file, const Key& key, Log& log, std::optional<StreamKey>& of,
                                             Client& client) {
  UploadMetadata metadata = log.metadata;
  metadata.age_s = age_of(file);
  const Reply reply = client.create_log(metadata);
  const Advice advice = advise(reply.status, About::creation);
  if (advice != Advice::go_on) {
    failed(log, reply);
    if (reply.status == kConflicting)
      log.reason += " (the gatherer has another file of this rank, which does not grow)";
    return advice == Advice::refuse ? Step::refused : Step::failed;
  }
  const auto path = upload_path(reply.location, client.base());
  if (!path || !reply.offset) {
    log.reason = "the gatherer answered without a location for the log";
    return Step::failed;
  }
  of = {log.rank, number_of_run(reply.job)};
  Stream& stream = streams_[*of];
  const uint64_t ahead = *reply.offset - std::min(*reply.offset, stream.offset);
  const uint64_t most = stream.under_way ? stream.under_way->bytes : 0;
  const bool known = stream.upload == *path && *reply.offset >= stream.offset && ahead <= most;
  stream.upload = *path;
  stream.job = reply.job;
  if (known && stream.under_way) {
    Source& source = stream.sources.at(stream.under_way->source);
    source.sent += ahead;
    if (ahead > 0) source.tail = ahead == most ? stream.under_way->tail : "";
  } else if (!known && !adopt(file, key, stream, reply)) {
    log.reason = fmt::format("the gatherer has {} of another log of rank {}; --capture keeps both",
                             human_bytes(static_cast<int64_t>(*reply.offset)), log.rank);
    return Step::refused;
  }
  stream.offset = *reply.offset;
  stream.under_way.reset();
  stream.in_step = true;
  save(*of, stream);
  return Step::sent;
}

// Nobody remembers what was sent: the gatherer's bytes must be the first of this log.
bool GrowingLogs::adopt(int file, const Key& key, Stream& stream, const Reply& reply) {
  stream.sources.clear();
  if (*reply.offset == 0) return true;
  if (!reply.digest || digest_of_first(file, *reply.offset) != reply.digest) return false;
  stream.sources.push_back({key.first, key.second, *reply.offset, ""});
  return true;
}

GrowingLogs::Step GrowingLogs::send_some(int file, const Key& key, Log& log, const StreamKey& of, Client& client) {
  Stream& stream = streams_.at(of);
  const auto found = std::find_if(stream.sources.begin(), stream.sources.end(),
                                  [&](const Source& one) { return Key(one.device, one.inode) == key; });
  const size_t index = static_cast<size_t>(found - stream.sources.begin());
  if (found == stream.sources.end()) stream.sources.push_back({key.first, key.second, 0, ""});
  Source& source = stream.sources[index];
  struct stat status {};
  const uint64_t size = fstat(file, &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
  const bool begun_anew = size < source.sent || (!source.tail.empty() && tail_before(file, source.sent) != source.tail);
  if (begun_anew) source.sent = 0;
  Piece piece;
  piece.begin = stream.offset;
  piece.bytes = whole_lines_at(file, source.sent, std::min<uint64_t>(options_.piece_bytes, kIdentifyBytes));
  piece.size = piece.bytes.size();
  if (piece.size == 0) return Step::nothing_new;
  piece.sha256 = sha256(piece.bytes);
  const std::string tail = tail_before(file, source.sent + piece.size);
  stream.under_way = {index, piece.size, tail};
  save(of, stream);
  const Reply reply = client.append_log(stream.upload, piece);
  const bool all = advise(reply.status, About::upload) == Advice::go_on && reply.offset == piece.begin + piece.size;
  if (!all) {
    stream.in_step = false;
    const bool never = advise(reply.status, About::upload) == Advice::refuse;
    failed(log, reply);
    return never ? Step::refused : Step::failed;
  }
  source.sent += piece.size;
  source.tail = tail;
  stream.offset += piece.size;
  stream.under_way.reset();
  log.bytes += piece.size;
  log.job = stream.job;
  save(of, stream);
  return Step::sent;
}

bool GrowingLogs::all_decided() const {
  const std::lock_guard lock(mutex_);
  return std::all_of(logs_.begin(), logs_.end(), [](const auto& log) {
    const bool unnamed = log.second.rank < 0 && !log.second.reason.empty();  // with --once nobody waits for its rank
    return log.second.looked_at || log.second.bad || unnamed;
  });
}

void GrowingLogs::add_to(Shipped& shipped) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, log] : logs_) {
    if (log.bad) {
      shipped.bad.push_back(log.path + ": " + log.reason);
    } else if (!log.reason.empty() || !log.looked_at) {
      shipped.left.push_back(log.path + ": " + (log.reason.empty() ? "not sent yet" : log.reason));
    } else {
      ++(log.bytes > 0 ? shipped.files : shipped.before);
    }
    shipped.bytes += log.bytes;
    if (!log.job.empty()) shipped.jobs.insert(log.job);
  }
}

}  // namespace skewscope::ship
