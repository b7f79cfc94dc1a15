// What the agent must know after a crash: one small JSON file per item, whole or not there, and a hard link to the
// item's content until it is no longer needed.
//
//   STATE/items/KEY.json   what became of it
//   STATE/held/KEY         the content, under whatever name the job gave it or took from it since
//   STATE/digests/KEY/     its digest, where digests are sent
//
// KEY names target (gatherer, job, capture, form) and stamp: other content, or another gatherer, is another item.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "file_stamp.h"
#include "skewscope/protocol/sha256.h"

namespace skewscope::ship {

struct Item {
  std::string path;  // where it was seen
  FileStamp stamp;
  bool accepted = false;
  int64_t accepted_at = 0;       // Unix seconds
  std::optional<Digest> sha256;  // of what is sent
  std::string upload;            // path of the upload on the gatherer; "": none
  uint64_t offset = 0;           // durable there
  int tries = 0;
  std::string job = "";  // which run of the job's name has it; "": not known
};

// A file of the state folder, its first `most` bytes; nullopt: none is there, or it is a link.
std::optional<std::string> read_small(const std::string& path, size_t most);

inline constexpr int64_t kHeldAfterwards_s = 72 * 3600;

class Ledger {
 public:
  // `directory` "": nothing outlives this process. `target`: names where to and in which form.
  Ledger(std::string directory, const std::string& target);

  std::string key(const FileStamp& stamp) const;
  // nullopt: not there, or not as we write it.
  std::optional<Item> load(const FileStamp& stamp) const;
  // False: the disk did not take it. The item goes on, but not over a crash.
  bool save(const Item& item) const;
  // Items of this target that are not accepted yet.
  std::vector<Item> unfinished() const;
  // Where the content is held; "" without a directory.
  std::string held_path(const FileStamp& stamp) const;
  // Where it is for a moment while it is removed; "" without a directory.
  std::string aside_path(const FileStamp& stamp) const;
  std::string digest_folder(const FileStamp& stamp) const;
  // What an agent that was killed had put aside: goes if it is what was accepted, else back to where it was, being what
  // had taken the name meanwhile. Returns what can do neither.
  std::vector<std::string> clear_asides() const;
  // For every target: lets go of what was accepted over 72 h ago, and forgets it once its file is gone or has changed.
  void sweep(int64_t now_unix_s) const;

 private:
  // By key, of the keys that begin so.
  std::map<std::string, Item> items(const std::string& prefix) const;

  std::string directory_, target_;
};

}  // namespace skewscope::ship
